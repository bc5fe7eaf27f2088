"""Further looks in a step: how alpha is divided, which look this attempt is, and what it is to run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from repeat_eval.action.earlier import Earlier, earlier_attempts
from repeat_eval.action.job import Job
from repeat_eval.analysis.look_verdicts import with_look
from repeat_eval.analysis.looks import FRESH, NOT_KNOWN, LookPlan, first_look, spent, trials_of
from repeat_eval.analysis.report import Look, Report
from repeat_eval.analysis.rules import exact
from repeat_eval.errors import ExitCode, RepeatEvalError
from repeat_eval.github.key import comment_key
from repeat_eval.github.request_note import MAX_TRIALS, RequestNote
from repeat_eval.records.fingerprints import trial_seed
from repeat_eval.statistics.further_looks import MAX_EXTRA_LOOKS, alpha_shares
from repeat_eval.steps.request import FreshTrials, Request
from repeat_eval.suite.second_look import parse_second_look
from repeat_eval.suite.selection import select
from repeat_eval.suite.settings import ResolvedSettings, Settings, resolve

if TYPE_CHECKING:
    from repeat_eval.suite.spec import SuiteSpec

MAX_CASES = 20
"""Cases of one look that a person may name by patterns."""


class LooksUsedUp(RepeatEvalError):
    """This commit may not be looked at again; `exit_code` is the one of its last look that gave a verdict."""

    def __init__(self, text: str, code: ExitCode) -> None:
        super().__init__(text)
        self.exit_code = code


class Looking(msgspec.Struct, frozen=True):
    """Which look a step is: `level` is what a first look spends of alpha; `plan` is None for the first look."""

    level: float
    plan: LookPlan | None = None


def keeps_alpha_back(job: Job, *, beside: bool) -> bool:
    """Whether further looks are provided for where nobody says otherwise: on pull requests with base beside head."""
    return beside and job.context.activity == "pull-request"


def with_extra_looks(options: Settings, spec: SuiteSpec | None) -> Settings:
    """The options with the action's own number of further looks, unless inputs or suite name one."""
    if options.extra_looks is not None or (spec is not None and spec.settings.extra_looks is not None):
        return options
    return options.model_copy(update={"extra_looks": MAX_EXTRA_LOOKS})


def looking(job: Job, request: Request, spec: SuiteSpec | None, suite: str, *, based: bool = True) -> Looking | None:
    """Which look this is; None where nothing of alpha is kept back, so that every run is judged by itself.

    Args:
        job: the step. request: what is to be run. spec: the suite whose settings decide. suite: its name.
        based: whether there is a base to look at. Without one, only what earlier looks found makes this one a look: it
            then gives no verdict, and what was red stays red.

    Raises:
        LooksUsedUp: this commit was looked at as often as it may be.
        Incomplete: the attempt was asked for at another commit.
    """
    settings = _resolved(request, spec)
    if job.context.activity != "pull-request" or not settings["extra_looks"] or settings["fail_on"] == "none":
        return None
    shares = alpha_shares(settings["extra_looks"])
    alpha = exact(settings["alpha"])
    first = Looking(level=round(float(alpha * shares[0]), 12))
    if job.context.first_at_commit:
        return first if based else None
    again = job.context.run_attempt > 1
    with job.log.group("repeat-eval: earlier looks"):
        earlier = earlier_attempts(job, _key(job, suite))
        for trouble in earlier.troubles:
            job.log.say(trouble)
    if not earlier.looks and not (again and based):
        return first if based else None
    note = earlier.note
    following = earlier.looks[-1].number + 1 if earlier.looks else 0
    number = max(job.context.run_attempt - 1, following, note.look if note is not None else 0)
    index = spent(earlier.looks, number)
    if index >= len(shares):
        raise _used_up(earlier, number)
    notes = _notes(earlier, note, number, again=again)
    plan = LookPlan(
        number=number, kind="whole", alpha=alpha, share=shares[index], looks=earlier.looks, notes=tuple(notes)
    )
    return Looking(level=first.level, plan=_chosen(job, request, spec, plan, note))


def fresh_request(request: Request, spec: SuiteSpec | None, plan: LookPlan) -> Request:
    """The request of a further look: new repetitions and seeds, the cases in question, and the look's own level."""
    settings = _resolved(request, spec)
    seed = trial_seed(settings["seed"], "look", plan.number) >> 4
    # What earlier looks may have used at most, whatever they were: the number needs no evidence.
    twice = parse_second_look(settings["second_look"] or "3+20")
    own = [(case.repeats or twice.first) + twice.fresh for case in (spec.cases if spec else ())]
    most = max([settings["repeats"], MAX_TRIALS, *own])
    share = f"{float(plan.alpha * plan.share):.12g}"
    update = {"seed": seed, "alpha": share, "extra_looks": 0}
    return msgspec.structs.replace(
        request,
        options=request.options.model_copy(update=update),
        fresh_trials=None if spec is None else FreshTrials(plan.number * most, plan.asked),
    )


def looked(report: Report, found: Looking | None, *, attempt: int, text: str) -> Report:
    """The report with its looks, and with the verdict that they make together.

    Args:
        report: of this attempt's trials. found: which look it is. attempt: of the run. text: the report's first line.
    """
    if found is None:
        return report
    if found.plan is None:
        look = first_look(report, attempt=attempt, text=text, level=found.level)
        return msgspec.structs.replace(report, looks=(look,))
    return with_look(report, found.plan, attempt=attempt, text=text)


def _resolved(request: Request, spec: SuiteSpec | None) -> ResolvedSettings:
    own = spec.settings if spec is not None else Settings.model_construct()
    return resolve(("option", request.options), ("variable", request.variables), ("suite", own))


def _key(job: Job, suite: str) -> str:
    return comment_key([suite], sorted(job.inputs.matrix.items()), job.inputs.key)


def _used_up(earlier: Earlier, number: int) -> LooksUsedUp:
    decided = [look for look in earlier.looks if look.verdict != "incomplete"]
    end = "A new commit is looked at afresh"
    if not decided:
        text = (
            f"this is further look {number} at this commit, more than there may be, and what the earlier ones found is"
        )
        return LooksUsedUp(f"{text} not known. {end}", ExitCode.INCOMPLETE)
    last = decided[-1]
    code = ExitCode.GATE_FAILED if last.red else ExitCode.PASSED
    word = "red" if last.red else "not red"
    text = f"this commit was looked at {number} times already; attempt {last.attempt} was {word}, and that stands"
    return LooksUsedUp(f"{text}. {end}", code)


def _notes(earlier: Earlier, note: RequestNote | None, number: int, *, again: bool) -> list[str]:
    who = "somebody ran the job again by hand" if again else "another run of the same commit looked before"
    who = f"{note.author} asked for it" if note is not None and note.author else who
    notes = [f"this is further look {number} at this commit: {who}"]
    if not earlier.looks:
        notes.append(NOT_KNOWN)
    return notes


def _chosen(job: Job, request: Request, spec: SuiteSpec | None, plan: LookPlan, note: RequestNote | None) -> LookPlan:
    """The plan with the cases that it takes; the whole suite where there is no telling, or no choosing."""
    notes = list(plan.notes)
    kind = "appeal" if plan.blame is not None else "whole"
    # Of a fork's run only counts are published, and judged again by them alone: they must be a whole run's.
    choosing = plan.looks and spec is not None and job.context.restricted is None
    if not choosing or spec is None or plan.looks[-1].verdict == "incomplete":
        if plan.looks and plan.looks[-1].verdict == "incomplete":
            notes.append("the look before gave no verdict, so it is made again as a whole")
        return msgspec.structs.replace(plan, kind=kind, notes=tuple(notes))
    cases = [case.id for case in select(spec.cases, request.cases, request.tags)]
    named, said = _named(spec, cases, note)
    notes += said
    if plan.blame is not None and note is not None and (named or (note.trials is not None and note.trials < FRESH)):
        notes.append("after a red look all that it blames is looked at again, with no fewer trials than usual")
    asked = trials_of(plan.looks, cases, wanted=named, repeats=note.trials if note is not None else None)
    if asked is not None and kind == "whole":
        kind = "escalation"
    if asked is None:
        notes.append("the whole suite was run again: " + _why_whole(plan.looks[-1]))
    return msgspec.structs.replace(plan, kind=kind, asked=asked, notes=tuple(notes))


def _named(spec: SuiteSpec, cases: Sequence[str], note: RequestNote | None) -> tuple[list[str], list[str]]:
    """The cases that the request names, and what is to be said about them."""
    if note is None or not note.cases:
        return [], []
    known = set(cases)
    found = [case.id for case in select(spec.cases, note.cases, ()) if case.id in known]
    if not found:
        return [], ["no case of the suite has the name that was asked for"]
    if len(found) > MAX_CASES:
        return found[:MAX_CASES], [f"{len(found):,} cases were asked for, and the first {MAX_CASES} were taken"]
    return found, []


def _why_whole(last: Look) -> str:
    if last.others:
        return "more than regressions made the gate fail"
    if last.red:
        return "what was blamed cannot be run alone"
    return "no case was near to being worse"
