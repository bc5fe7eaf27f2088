"""What repeated runs of a command show: results of each run into trials, runs without results into errors."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

import msgspec

from repeat_eval.execution.command_runs import CommandRun
from repeat_eval.execution.stopping import Stop
from repeat_eval.readers.base import ReadOptions
from repeat_eval.readers.collect import collect
from repeat_eval.records.run import Run
from repeat_eval.records.trial import Trial, one_line
from repeat_eval.steps.recording import Recording
from repeat_eval.steps.request import Request
from repeat_eval.suite.settings import ResolvedSettings

WITHOUT_EFFECT = ("retries", "retry_on", "rate", "repeat_order", "isolation", "interpreter")
"""Settings of single trials: what a command does within one run is its own affair."""


class CommandEvidence:
    """Turns the results of each run into trials of its repetition, and runs without results into errors."""

    def __init__(self, record: Recording, request: Request, stop: Stop) -> None:
        self.record = record
        self._stop = stop
        self.request = request
        self._kept = {trial.key for trial in record.kept}
        self._repeats = record.header.repeats
        self._without: dict[int, str] = {}
        self.left: set[int] = set()
        """Repetitions that are wanted and did not come to their end."""
        self.missing: list[str] = []
        self.warnings: list[str] = []

    def wanted(self, repeats: int) -> list[int]:
        """Repetitions that are not there in full yet."""
        lacking = {repetition for _, repetition, _ in self._lacking(self._kept, range(1, repeats + 1))}
        wanted = [r for r in range(1, repeats + 1) if r in lacking or not self.record.trials]
        self.left = set(wanted)
        return wanted

    def _lacking(
        self, there: Collection[tuple[str, int]], repetitions: Iterable[int]
    ) -> Iterator[tuple[str, int, int]]:
        """What runs should hold and do not: the case, the run, and the number of the trial that is lacking.

        A run may hold several trials of a case: the k-th of run r has the number r + (k - 1) * repeats, so that all are
        told apart and the first ones are numbered as their runs are. Every run should hold as many as any other.
        """
        most: dict[str, int] = {}
        for trial in self.record.trials:
            most[trial.case] = max(most.get(trial.case, 0), (trial.repetition - 1) // self._repeats + 1)
        for repetition in repetitions:
            for case, count in most.items():
                for number in range(repetition, repetition + count * self._repeats, self._repeats):
                    if (case, number) not in there:
                        yield case, repetition, number

    def take(self, run: CommandRun) -> None:
        """Read the results of one run."""
        self.left.discard(run.repetition)
        if run.results is None:
            self._give_up(run.repetition, run.problem or "the command left no results")
            return
        options = ReadOptions(duplicates=self.request.duplicates, repetition_suffixes=False)
        self._scrub_file(run.results, options.max_bytes)
        collected = collect([run.results], repeats=1, options=options, one_file_a_repetition=True)
        self.warnings += collected.warnings
        for file in collected.unreadable:
            self._give_up(run.repetition, f"its results cannot be used: {file.reason}")
        if collected.unreadable:
            return
        self.missing += [f"repetition {run.repetition}: {text}" for text in collected.missing]
        if not collected.trials and not collected.missing:
            self.missing.append(f"repetition {run.repetition}: the results hold no test")
        seen: Counter[str] = Counter()
        for trial in collected.trials:
            number = run.repetition + seen[trial.case] * self._repeats
            seen[trial.case] += 1
            if (trial.case, number) not in self._kept:
                source = f"repetition {run.repetition}"
                self.record.add(msgspec.structs.replace(trial, repetition=number, source=source))
                self._stop.spend(trial.cost)
        if several := [case for case, count in seen.items() if count > 1]:
            text = f"one run of the command holds {seen[several[0]]} trials of {several[0]!r}; each counts as a trial"
            self.warnings.append(text)
        self.request.progress.step(failed=any(trial.outcome == "failed" for trial in collected.trials))

    def _scrub_file(self, path: Path, largest: int) -> None:
        """Results files stay in the output folder, which people hand on: they keep no secret either."""
        if path.stat().st_size > largest:
            return
        text = path.read_bytes().decode("utf-8", "surrogateescape")
        clean = self.record.scrub(text)
        if clean is not text:
            path.write_bytes(clean.encode("utf-8", "surrogateescape"))

    def _give_up(self, repetition: int, problem: str) -> None:
        self._without[repetition] = problem
        self.request.say(self.record.scrub(f"repetition {repetition}: {problem}"))
        self.request.progress.step(error=True)

    def finish(self, stop: Stop, settings: ResolvedSettings) -> Run:
        """Write the end of the run file, and give the run."""
        self._close()
        warnings = [*self.warnings, *settings_warnings(settings, stop)]
        return self.record.finish(
            stopped=stop.reason if self.left else None,
            missing=tuple(self.missing),
            warnings=tuple(dict.fromkeys(warnings)),
        )

    def _close(self) -> None:
        """What a run should hold and does not is an error, if its case is known from the others.

        The first trial of a case may simply not be there: that it is missing is seen without an error in its place.
        """
        there = {trial.key for trial in self.record.trials}
        ended = [r for r in range(1, self._repeats + 1) if r not in self.left]
        for case, repetition, number in list(self._lacking(there, ended)):
            problem = self._without.get(repetition)
            if problem is None and number > repetition:
                problem = "the run holds fewer trials of this case than the others do"
            if problem is not None:
                self.record.add(
                    Trial(
                        case=case,
                        repetition=number,
                        outcome="error",
                        error_kind="harness",
                        message=one_line(problem),
                        source=f"repetition {repetition}",
                    )
                )
        if not self.record.trials:
            self.missing += [f"repetition {r}: {problem}" for r, problem in sorted(self._without.items())]


def settings_warnings(settings: ResolvedSettings, stop: Stop) -> list[str]:
    """Settings that somebody gave and that do nothing here: said, so that nobody relies on them."""
    given = [name for name in WITHOUT_EFFECT if settings.source(name) != "default"]
    warnings = [f"without effect on a repeated command: {', '.join(given)}"] if given else []
    if settings["max_cost"] is not None and not stop.costs_known:
        warnings.append("max-cost is set, but the results tell no cost: it could not be watched")
    return warnings
