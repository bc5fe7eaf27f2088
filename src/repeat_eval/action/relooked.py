"""Which look an uploaded report is, and the verdict that it makes together with the looks before it.

What a report says of earlier looks is not believed: they come from our own comment, where they stand as we judged them
from counts. So no report can call itself an appeal from a blame that never was.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import msgspec

from repeat_eval.action.earlier import looks_in_comment
from repeat_eval.action.publish import first_line
from repeat_eval.analysis.look_verdicts import with_look
from repeat_eval.analysis.looks import FRESH, FRESH_OF_SUITE, NOT_KNOWN, LookPlan, first_look
from repeat_eval.analysis.report import Look, Report
from repeat_eval.analysis.rules import exact
from repeat_eval.statistics.further_looks import MAX_EXTRA_LOOKS, alpha_shares

if TYPE_CHECKING:
    from repeat_eval.github.client import GitHub
    from repeat_eval.github.event import FinishedRun


def is_further(told: Report, finished: FinishedRun) -> bool:
    """Whether there may have been looks before this one, so that our comment is worth a request."""
    return finished.attempt > 1 or any(look.number for look in told.looks)


def published_looks(
    client: GitHub, number: int, key: str, finished: FinishedRun, troubles: list[str]
) -> tuple[Look, ...]:
    """The earlier looks at a finished run's commit, as our comment on the pull request tells them.

    Args:
        client: speaks to GitHub. number: of the pull request. key: of the comment. finished: the run.
        troubles: gets a sentence when the comments cannot be read.
    """
    looks, _ = looks_in_comment(
        client,
        number,
        key,
        head=finished.head_sha,
        run=finished.id,
        attempt=finished.attempt,
        troubles=troubles,
    )
    return looks


def relooked(judged: Report, told: Report, earlier: tuple[Look, ...], *, base: str, part: bool) -> Report:
    """The report with its looks, and with the verdict that they make together.

    Args:
        judged: the report as it was judged anew from its counts. told: the same as it was uploaded.
        earlier: the looks before it, as we published them. base: name of the other side.
        part: whether a look at chosen cases is believed to be one. From a fork it is not: it would be a way to leave
            out the cases that broke.
    """
    own = told.looks[-1] if told.looks else None
    if own is None and not earlier:
        return judged
    attempt = judged.provenance.attempt or 1
    text = first_line(judged, base)
    number = max(own.number if own is not None else 0, earlier[-1].number + 1 if earlier else 0)
    alpha, share = _level(judged)
    if not number:
        look = first_look(judged, attempt=attempt, text=text, level=float(round(alpha * share, 12)))
        return msgspec.structs.replace(judged, looks=(look,))
    notes = () if earlier else (NOT_KNOWN,)
    plan = LookPlan(number=number, kind="whole", alpha=alpha, share=share, looks=earlier, notes=notes)
    if plan.blame is not None:
        plan = msgspec.structs.replace(plan, kind="appeal")
    if part and earlier and own is not None and _is_part(told, own, plan.blame):
        kind = "appeal" if plan.blame is not None else "escalation"
        asked = {case.id: case.asked for case in told.case_reports}
        plan = msgspec.structs.replace(plan, kind=kind, asked=asked)
    return with_look(judged, plan, attempt=attempt, text=text)


def _level(report: Report) -> tuple[Fraction, Fraction]:
    """What a look spends, by the report's settings: alpha, and the share of it that is not kept back."""
    shown = {name: setting.value for name, setting in report.settings.items()}
    extra = shown.get("extra_looks")
    extra = extra if type(extra) is int and 0 <= extra <= MAX_EXTRA_LOOKS else 0
    return exact(str(shown.get("alpha") or "0.05")), alpha_shares(extra)[0]


def _is_part(told: Report, own: Look, blame: Look | None) -> bool:
    """Whether a report is about fresh trials of chosen cases, by which cases it has and how many trials of each."""
    if blame is None:
        return own.kind == "escalation"
    named = {case.id for case in blame.blamed}
    asked = {case.id: case.asked for case in told.case_reports}
    if own.kind != "appeal" or blame.others or blame.more or not named <= asked.keys():
        return False
    rest = [number for case, number in asked.items() if case not in named]
    enough = all(asked[case] >= FRESH for case in named)
    return enough and (all(number == FRESH_OF_SUITE for number in rest) if blame.suite else not rest)
