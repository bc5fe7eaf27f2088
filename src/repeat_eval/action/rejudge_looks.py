"""Two looks in a report that somebody else made: the runs behind them, made of its counts, to be judged anew."""

from __future__ import annotations

import msgspec

from repeat_eval.analysis.looks_alone_model import LooksAlone
from repeat_eval.analysis.second_look_model import LookCounts, SecondLook
from repeat_eval.errors import UserError
from repeat_eval.records.run import Run, RunFooter
from repeat_eval.records.trial import Outcome, Trial
from repeat_eval.records.two_looks import TwoLooks
from repeat_eval.steps.bases import Base
from repeat_eval.suite.second_look import MAX_TRIALS

_LETTERS: dict[str, Outcome] = {"P": "passed", "F": "failed", "E": "error", "S": "skipped"}


def with_two_looks(head: Run, base: Base, told: SecondLook) -> tuple[Run, Base | None, Run | None]:
    """Head and base with their fresh trials, and the stored base, if that was base's first look.

    Whom the first look suspects is worked out again; what a suspect has no fresh trials for is missing then.

    Args:
        head, base: the runs of the first look. told: what the report says of both.

    Raises:
        UserError: the counts or settings cannot be.
    """
    looks = _looks(told)
    first = {plan.id: plan.asked for plan in head.header.cases}
    fresh: dict[str, tuple[str, str]] = {}
    begin = {row.id: (row.base, row.head) for row in told.whole}
    for case in told.suspects:
        start = begin.get(case.id, ((0, 0), (0, 0)))
        fresh[case.id] = _letters(case.fresh_base, start[0], looks), _letters(case.fresh_head, start[1], looks)
    for name, (one, other) in begin.items():
        fresh.setdefault(name, (_padded(one, looks), _padded(other, looks)))
    if not fresh.keys() <= first.keys():
        raise UserError("the uploaded report has fresh trials of cases that it does not have")
    looks = msgspec.structs.replace(looks, trials={case: max(map(len, pair)) or 1 for case, pair in fresh.items()})

    def marked(run: Run, side: int, *, alone: bool = False) -> Run:
        new = [trial for case in fresh for trial in _trials(case, first[case], fresh[case][side])]
        trials = (*(() if alone else run.trials), *new)
        plans = tuple(
            [msgspec.structs.replace(plan, asked=first.get(plan.id, plan.asked)) for plan in run.header.cases]
        )
        header = msgspec.structs.replace(run.header, second_look=looks, cases=plans)
        return Run(header=header, trials=trials, footer=RunFooter(complete=True, trials=len(trials)))

    if looks.mode == "side-by-side":
        return marked(head, 1), Base(marked(base.run, 0), base.source), None
    ran = looks.mode == "screen" and any(pair[0] for pair in fresh.values())
    return marked(head, 1), Base(marked(base.run, 0, alone=True), "side-by-side") if ran else None, base.run


def looked_alone(head: Run, told: LooksAlone) -> Run:
    """The run without a base with its fresh trials; what a case below its threshold has none for is missing then.

    Args:
        head: the run of the first look. told: what the report says of both looks.

    Raises:
        UserError: the counts or settings cannot be.
    """
    first = {plan.id: plan.asked for plan in head.header.cases}
    if not 1 <= told.first <= MAX_TRIALS or not 1 <= told.fresh <= MAX_TRIALS:
        raise UserError("the uploaded report's two looks cannot be")
    looks = TwoLooks.alone(told.first, told.fresh)
    if not {case.id for case in told.cases} <= first.keys():
        raise UserError("the uploaded report has fresh trials of cases that it does not have")
    letters = {case.id: _letters(case.fresh_head, (0, 0), looks) for case in told.cases}
    new = [trial for case, outcomes in letters.items() for trial in _trials(case, first[case], outcomes)]
    trials = (*head.trials, *new)
    closed = msgspec.structs.replace(looks, trials=dict.fromkeys(letters, told.fresh)) if told.ended else looks
    header = msgspec.structs.replace(head.header, second_look=closed)
    return Run(header=header, trials=trials, footer=RunFooter(complete=True, trials=len(trials)))


def _looks(told: SecondLook) -> TwoLooks:
    whole = (told.first, told.fresh, told.rest, told.cap)
    shares = 0.0 < told.cut < 1.0 and 0.0 <= told.alarm_below <= 0.5
    if min(whole) < 1 or max(whole[:3]) > MAX_TRIALS or not shares:
        raise UserError("the uploaded report's two looks cannot be")
    return TwoLooks(
        first=told.first,
        fresh=told.fresh,
        rest=told.rest,
        cut=told.cut,
        alarm=told.alarm_below,
        cap=told.cap,
        both=told.both,
        mode=told.mode,
    )


def _letters(side: LookCounts, begin: tuple[int, int], looks: TwoLooks) -> str:
    """Outcomes of a suspect's fresh trials; those that count for an alarm come first."""
    failed = side.verdicts - side.passed
    counts = (side.passed, failed, side.errors, side.skipped)
    rest = (side.passed - begin[0], failed - (begin[1] - begin[0]))
    if min(*counts, *rest, *begin) < 0 or sum(counts) > looks.fresh or begin[0] > begin[1]:
        raise UserError("the uploaded report's counts of fresh trials cannot be")
    early = min(side.errors, looks.rest - begin[1]) if begin[1] else 0
    late = "P" * rest[0] + "F" * rest[1] + "E" * (side.errors - early) + "S" * side.skipped
    return "P" * begin[0] + "F" * (begin[1] - begin[0]) + "E" * early + late


def _padded(count: tuple[int, int], looks: TwoLooks) -> str:
    """Outcomes of a case that was run again for an alarm alone: what gave no verdict was an error."""
    passed, verdicts = count
    if not 0 <= passed <= verdicts <= looks.rest:
        raise UserError("the uploaded report's counts of fresh trials cannot be")
    return "P" * passed + "F" * (verdicts - passed) + "E" * (looks.rest - verdicts)


def _trials(case: str, first: int, letters: str) -> list[Trial]:
    return [
        Trial(
            case=case,
            repetition=number,
            outcome=_LETTERS[letter],
            error_kind="harness" if letter == "E" else None,
        )
        for number, letter in enumerate(letters, start=first + 1)
    ]
