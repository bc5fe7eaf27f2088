"""Trials of a repeated command: how they are numbered, and what its runs should hold and do not."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from repeat_eval.records.trial import Trial, one_line


def run_of(number: int, repeats: int) -> int:
    """The run that the trial with this number is of, both counted from 1.

    A run may hold several trials of a case: the k-th of run r has the number r + (k - 1) * repeats, so that all are
    told apart and the first ones are numbered as their runs are.
    """
    return (number - 1) % repeats + 1


def trials_a_run(trials: Iterable[Trial], repeats: int) -> dict[str, int]:
    """How many trials of each case a run holds: as many as that one that holds the most of it.

    Args:
        trials: of all runs. repeats: the number of runs asked for.
    """
    most: dict[str, int] = {}
    for trial in trials:
        most[trial.case] = max(most.get(trial.case, 0), (trial.repetition - 1) // repeats + 1)
    return most


def lacking(
    trials: Iterable[Trial], repeats: int, there: Collection[tuple[str, int]], repetitions: Iterable[int]
) -> Iterator[tuple[str, int, int]]:
    """What some runs should hold and do not: the case, the run, and the number of the trial that is lacking.

    Every run should hold as many trials of a case as any other.

    Args:
        trials: of all runs. repeats: the number of runs asked for.
        there: case and number of the trials that count. repetitions: the runs that are looked at.
    """
    most = trials_a_run(trials, repeats)
    for repetition in repetitions:
        for case, count in most.items():
            for number in range(repetition, repetition + count * repeats, repeats):
                if (case, number) not in there:
                    yield case, repetition, number


def errors_of_lacking(
    trials: Collection[Trial], repeats: int, ended: Iterable[int], without: Mapping[int, str]
) -> list[Trial]:
    """What a run should hold and does not is an error, if its case is known from the others.

    The first trial of a case may simply not be there: that it is missing is seen without an error in its place.

    Args:
        trials: of all runs. repeats: the number of runs asked for.
        ended: the runs that came to their end. without: why runs left no results.
    """
    errors = []
    for case, repetition, number in lacking(trials, repeats, {trial.key for trial in trials}, ended):
        problem = without.get(repetition)
        if problem is None and number > repetition:
            problem = "the run holds fewer trials of this case than the others do"
        if problem is not None:
            errors.append(_lost(case, repetition, number, problem))
    return errors


def errors_of_lost(case: str, run: int, held: int, asked: int, repeats: int) -> list[Trial]:
    """What the results of one run say that they were asked for and do not hold, as errors.

    Args:
        case: the case. run: the run. held: trials of the case that its results hold. asked: what they were asked for.
        repeats: the number of runs asked for.
    """
    return [
        _lost(case, run, run + place * repeats, f"the results hold {held} of {asked} trials that they were asked for")
        for place in range(held, asked)
    ]


def missing_results(without: Mapping[int, str]) -> list[str]:
    """A sentence for each run that left no results, for when no run left any."""
    return [f"repetition {repetition}: {problem}" for repetition, problem in sorted(without.items())]


def _lost(case: str, run: int, number: int, problem: str) -> Trial:
    return Trial(
        case=case,
        repetition=number,
        outcome="error",
        error_kind="harness",
        message=one_line(problem),
        source=f"repetition {run}",
    )
