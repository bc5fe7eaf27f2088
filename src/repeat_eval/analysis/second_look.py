"""Two runs whose trials came in two waves: what is to be re-run after the first, and what both say.

Repetitions 1 to n1 of a case are its first look, or as many as the run's header asks for; its fresh trials follow.
Fresh trials that the first look did not ask for are not looked at, so nobody can add trials until a verdict pleases.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec
from msgspec import UNSET

from repeat_eval.analysis import second_look_model as model
from repeat_eval.analysis.case_figures import MAX_LETTERS, PASS_HAT_KS, outcome_letters
from repeat_eval.analysis.look_evidence import look_counts, look_evidence
from repeat_eval.analysis.second_look_calls import calls_of
from repeat_eval.analysis.second_look_wording import wording
from repeat_eval.analysis.sides import plans_of, trials_by_case
from repeat_eval.records.run import Run
from repeat_eval.records.trial import Trial
from repeat_eval.statistics import repeats
from repeat_eval.statistics.counts import Count, Row
from repeat_eval.statistics.difference import suite_difference
from repeat_eval.statistics.gates import DECIMALS
from repeat_eval.statistics.second_look import (
    FirstLook,
    Judged,
    Screened,
    SecondLook,
    SecondLookSettings,
    first_look,
    second_look,
)
from repeat_eval.statistics.second_look_planning import chance_to_find, looks_twice
from repeat_eval.statistics.stored_base import LEAST, split_stored


class ReRunPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What the first look asks for.

    Attributes:
        trials: fresh trials a side of each case that is re-run, in the suite's order; their repetitions begin after
            those of the first look.
        suspects: ids, the strongest suspicion first. not_rerun: candidates beyond the cap.
        alarm: whether every case is re-run.
    """

    trials: dict[str, int]
    suspects: tuple[str, ...]
    not_rerun: tuple[str, ...]
    alarm: bool


class StoredBase(msgspec.Struct, frozen=True, kw_only=True):
    """Counts of base from a store: (passes, verdicts) a case, and the commit they belong to."""

    commit: str
    counts: Mapping[str, Count]


class _Side(msgspec.Struct, frozen=True):
    """One side's outcomes: a letter by case and repetition. Base that was not run has none."""

    letters: Mapping[str, Mapping[int, str]]
    trials: tuple[Trial, ...] = ()

    def count(self, case: str, begin: int, end: int) -> model.LookCounts:
        """Outcomes of the repetitions from `begin` to `end`."""
        found = self.letters.get(case, {})
        letters = [found[repetition] for repetition in range(begin, end + 1) if repetition in found]
        passed = letters.count("P")
        verdicts = passed + letters.count("F")
        return look_counts(
            passed,
            verdicts,
            errors=letters.count("E"),
            skipped=letters.count("S"),
            missing=end - begin + 1 - len(letters),
        )


class _Evidence(msgspec.Struct, frozen=True):
    """Both sides of the cases that have verdicts on both in the first look, in the suite's order."""

    settings: SecondLookSettings
    ids: tuple[str, ...]
    first: tuple[tuple[model.LookCounts, model.LookCounts], ...]
    base: _Side
    head: _Side
    asked: tuple[int, ...]
    """Trials a side that each case's first look was asked for."""
    second_half: Mapping[str, Count]
    """The stored trials that are base's second look, for a base that cannot be run."""

    @property
    def rows(self) -> list[Row]:
        return [_row(base, head) for base, head in self.first]

    def fresh_letters(self, case: int) -> str:
        """Letters of head's fresh trials of a suspect, in their order."""
        found, n1 = self.head.letters.get(self.ids[case], {}), self.asked[case]
        return "".join([found[number] for number in sorted(found) if n1 < number <= n1 + self.settings.n2])

    def failing(self, case: int) -> model.LookEvidence | None:
        """A fresh trial of head that did not pass: a failure before an error, then what most of them say."""
        name, n1 = self.ids[case], self.asked[case]
        letters = self.head.letters.get(name, {})
        return look_evidence(
            (trial, letters[trial.repetition])
            for trial in self.head.trials
            if trial.case == name and n1 < trial.repetition <= n1 + self.settings.n2
        )

    def fresh(self, case: int, trials: int) -> tuple[model.LookCounts, model.LookCounts]:
        """The first so many fresh trials of a case, on both sides."""
        name, begin = self.ids[case], self.asked[case] + 1
        head = self.head.count(name, begin, begin + trials - 1)
        if self.settings.mode == "split":
            return look_counts(*self.second_half[name]), head
        return self.base.count(name, begin, begin + trials - 1), head


def plan_rerun(
    base: Run | None,
    head: Run,
    settings: SecondLookSettings,
    *,
    count_as_failed: frozenset[str] = frozenset(),
    stored: StoredBase | None = None,
) -> ReRunPlan | None:
    """What is to be run again after the first look.

    Args:
        base: base's run with its first look; None where a store has it. head: head's run with its first look.
        settings: of the looks.
        count_as_failed: error kinds that count as failures.
        stored: base's counts, for the modes `screen` and `split`.

    Returns:
        The plan; None with fewer than 6 cases that can be compared, which get a fixed number of repeats.

    Raises:
        ValueError: base's counts do not come from where the mode says.
    """
    evidence = _evidence(base, head, settings, count_as_failed, stored)
    if not looks_twice(len(evidence.ids)):
        return None
    first, ids = first_look(evidence.rows, settings), evidence.ids
    return ReRunPlan(
        trials={ids[case]: first.rerun[case] for case in sorted(first.rerun)},
        suspects=tuple([ids[case] for screened in _directions(first) for case in screened.suspects]),
        not_rerun=tuple([ids[case] for case in _not_rerun(first)]),
        alarm=first.alarm,
    )


def look_twice(
    base: Run | None,
    head: Run,
    settings: SecondLookSettings,
    *,
    alpha: str | None = None,
    count_as_failed: frozenset[str] = frozenset(),
    stored: StoredBase | None = None,
) -> model.SecondLook | None:
    """Judge two runs by both looks.

    Args:
        base, head, settings, count_as_failed, stored: as for `plan_rerun`, the runs with all their trials.
        alpha: the budget as the user wrote it, to be shown.

    Returns:
        The result; None with fewer than 6 cases that can be compared.

    Raises:
        ValueError: base's counts do not come from where the mode says.
    """
    evidence = _evidence(base, head, settings, count_as_failed, stored)
    if not looks_twice(len(evidence.ids)):
        return None
    rows, ids = evidence.rows, evidence.ids
    first = first_look(rows, settings)
    fresh = {case: evidence.fresh(case, trials) for case, trials in first.rerun.items()}
    whole = {case: _row(*evidence.fresh(case, settings.n3)) for case in first.rerun} if first.alarm else None
    missing = any(side.missing for sides in fresh.values() for side in sides)
    found = second_look(
        rows,
        {case: _row(*sides) for case, sides in fresh.items()},
        settings,
        fresh_suite=whole,
        cut_short=missing or _mostly_without_verdict(list((whole or {}).values()), settings.n3),
    )
    suspects = [*_rerun_cases(evidence, first.down, found.down, found, fresh, direction="down")]
    if first.up is not None and found.up is not None:
        suspects += _rerun_cases(evidence, first.up, found.up, found, fresh, direction="up")
    calls = calls_of(
        (*evidence.base.trials, *evidence.head.trials),
        dict(zip(ids, evidence.asked, strict=True)),
        rows,
        first,
        settings,
    )
    return model.SecondLook(
        mode=settings.mode,
        first=settings.n1,
        fresh=settings.n2,
        rest=settings.n3,
        alpha=alpha if alpha is not None else f"{settings.alpha:g}",
        cut=settings.cut,
        alarm_below=settings.alarm,
        cap=settings.cap_of(len(ids)),
        both=settings.both,
        cases=len(ids),
        verdict=found.verdict,
        incomplete=found.incomplete,
        incomplete_cases=tuple([ids[case] for case in found.incomplete_cases]),
        alarm_cut_short=found.alarm_cut_short,
        suspects=tuple(suspects),
        not_rerun=tuple([ids[case] for case in _not_rerun(first)]),
        rerun_others=len(first.rerun) - len(suspects),
        down=_half(first.down, found.down),
        up=_half(first.up, found.up) if first.up is not None and found.up is not None else None,
        improved=found.improved,
        first_difference=_difference(rows),
        fresh_difference=_difference_of(whole or {}),
        together=_difference_of({case: _row(*fresh[case]) for case in first.down.suspects}),
        calls=calls,
        chance_half=chance_to_find(0.5, settings, suspects=min(len(ids), settings.cap_of(len(ids)))),
        wording=wording(found, settings),
        whole=tuple(
            [model.LookRow(id=ids[case], base=row[:2], head=row[2:]) for case, row in sorted((whole or {}).items())]
        ),
    )


def _evidence(
    base: Run | None,
    head: Run,
    settings: SecondLookSettings,
    count_as_failed: frozenset[str],
    stored: StoredBase | None,
) -> _Evidence:
    if (stored is None) != (settings.mode == "side-by-side"):
        raise ValueError(f"in the mode {settings.mode} base's first look comes from {_origin(settings)}")
    if settings.mode == "side-by-side" and base is None:
        raise ValueError("in the mode side-by-side base has a run")
    base_side, head_side = _side(base, count_as_failed), _side(head, count_as_failed)
    ids: list[str] = []
    rows: list[tuple[model.LookCounts, model.LookCounts]] = []
    asked: list[int] = []
    second_half: dict[str, Count] = {}
    told = head.header.second_look is not UNSET
    for plan in plans_of(head, head_side.letters):
        first = plan.asked if told else settings.n1
        ours = head_side.count(plan.id, 1, first)
        if stored is None:
            theirs = base_side.count(plan.id, 1, first)
        elif settings.mode == "screen":
            theirs = look_counts(*stored.counts.get(plan.id, (0, 0)))
        else:
            passes, verdicts = stored.counts.get(plan.id, (0, 0))
            if verdicts < LEAST:
                continue
            parts = split_stored(passes, verdicts, base=stored.commit, case=plan.id)
            theirs, second_half[plan.id] = look_counts(*parts.first), parts.second
        if theirs.verdicts and ours.verdicts:
            ids.append(plan.id)
            rows.append((theirs, ours))
            asked.append(first)
    return _Evidence(settings, tuple(ids), tuple(rows), base_side, head_side, tuple(asked), second_half)


def _origin(settings: SecondLookSettings) -> str:
    return "its run" if settings.mode == "side-by-side" else "the store"


def _side(run: Run | None, count_as_failed: frozenset[str]) -> _Side:
    if run is None:
        return _Side({})
    letters: dict[str, dict[int, str]] = {}
    kept: list[Trial] = []
    for case, trials in trials_by_case(run.trials).items():
        outcomes = outcome_letters(trials, count_as_failed)
        letters[case] = {trial.repetition: letter for trial, letter in zip(trials, outcomes, strict=True)}
        kept += trials
    return _Side(letters, tuple(kept))


def _row(base: model.LookCounts, head: model.LookCounts) -> Row:
    return base.passed, base.verdicts, head.passed, head.verdicts


def _mostly_without_verdict(whole: Sequence[Row], trials: int) -> bool:
    """Whether a side's fresh trials of all cases gave fewer than half of their verdicts, which clears nothing."""
    return any(2 * sum(row[side] for row in whole) < trials * len(whole) for side in (1, 3))


def _directions(first: FirstLook) -> list[Screened]:
    return [first.down] if first.up is None else [first.down, first.up]


def _not_rerun(first: FirstLook) -> list[int]:
    """Candidates beyond the cap; after an alarm they are among the others that are re-run."""
    return [case for screened in _directions(first) for case in screened.left_out if case not in first.rerun]


def _rerun_cases(
    evidence: _Evidence,
    screened: Screened,
    judged: Judged,
    found: SecondLook,
    fresh: Mapping[int, tuple[model.LookCounts, model.LookCounts]],
    *,
    direction: model.Direction,
) -> Iterable[model.ReRunCase]:
    incomplete, rejected = frozenset(found.incomplete_cases), frozenset(judged.rejected)
    for case in screened.suspects:
        base, head = fresh[case]
        difference = _difference([_row(base, head)]) if base.verdicts and head.verdicts else None
        outcome: model.Outcome = "incomplete" if case in incomplete else "not confirmed"
        yield model.ReRunCase(
            id=evidence.ids[case],
            direction=direction,
            # Fresh trials that reject are evidence, however few came back.
            outcome="confirmed" if case in rejected else outcome,
            first_base=evidence.first[case][0],
            first_head=evidence.first[case][1],
            fresh_base=base,
            fresh_head=head,
            p1=screened.p1[case],
            p2=judged.p2.get(case),
            adjusted=judged.adjusted.get(case),
            delta=difference.delta if difference is not None else None,
            interval=difference.interval if difference is not None else None,
            pass_hat_k={str(k): repeats.pass_hat_k(head.passed, head.verdicts, k) for k in PASS_HAT_KS},
            outcomes=evidence.fresh_letters(case)[:MAX_LETTERS],
            evidence=evidence.failing(case),
        )


def _half(screened: Screened, judged: Judged) -> model.SuiteHalf:
    return model.SuiteHalf(
        alarm=screened.alarm,
        p1=round(screened.suite_p1, DECIMALS),
        p2=round(judged.suite_p2, DECIMALS),
        p=round(judged.deciding, DECIMALS),
        changed=judged.suite,
        claim=judged.claim,
    )


def _difference(rows: Sequence[Row]) -> model.LookDifference:
    found = suite_difference(rows)
    return model.LookDifference(
        delta=found.delta,
        interval=(found.low, found.high),
        base=found.base.rate,
        head=found.head.rate,
        cases=len(rows),
    )


def _difference_of(fresh: Mapping[int, Row]) -> model.LookDifference | None:
    rows = [row for row in fresh.values() if row[1] and row[3]]
    return _difference(rows) if rows else None
