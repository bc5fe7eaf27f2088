"""Run a suite: load, plan, run every trial, judge."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from repeat_eval.errors import UserError
from repeat_eval.execution.plan import describe_target, fingerprint_targets, plan_cases
from repeat_eval.records.fingerprints import trial_seed
from repeat_eval.records.revision import commit_of
from repeat_eval.records.run import RunHeader, Selection
from repeat_eval.reports.registry import preload
from repeat_eval.steps.bases import Base, asks_models, base_from_files, suite_of_base, with_models_of, with_settings_of
from repeat_eval.steps.cassette_session import folder_in_base
from repeat_eval.steps.finished import Finished
from repeat_eval.steps.judging import report_of, rules_of
from repeat_eval.steps.recording import now
from repeat_eval.steps.request import Request
from repeat_eval.steps.run_sides import BaseNotStarted, SidePlan, run_sides
from repeat_eval.steps.sides import Checkout, base_checkout, root_of
from repeat_eval.suite.load import load_suite, target_from_text
from repeat_eval.suite.selection import nothing_selected, select
from repeat_eval.suite.settings import ResolvedSettings, resolve
from repeat_eval.suite.spec import CaseSpec, SuiteSpec
from repeat_eval.version import __version__

if TYPE_CHECKING:
    from repeat_eval.records.run import Run
    from repeat_eval.steps.screening import Screening
    from repeat_eval.targets.function_target import FunctionTarget

IN_PROCESS = "a function of this process"


def run_suite(
    request: Request,
    *,
    spec: SuiteSpec | None = None,
    function: FunctionTarget | None = None,
    base_function: FunctionTarget | None = None,
) -> Finished:
    """Run a suite as requested, alone or beside base.

    Args:
        request: what is asked for.
        spec: the suite, if it is loaded already.
        function: a target that is in this process already; it stands for the suite's.
        base_function: such a target of base, run beside head.

    Raises:
        UserError: suite, settings, target, base or output folder are wrong; nothing was run.
    """
    if spec is None:
        assert request.suite is not None  # noqa: S101 - the caller chose this step
        spec = load_suite(request.suite)
    if request.target is not None:
        spec = _with_target(spec, request.target)
    settings = resolve(("option", request.options), ("variable", request.variables), ("suite", spec.settings))
    if request.scheduler is not None:
        from repeat_eval.steps.cluster import refuse_on_cluster

        refuse_on_cluster(spec, settings, request, in_process=function is not None or base_function is not None)
    with contextlib.ExitStack() as stack:
        checkout = None
        if request.base_dir is not None or request.base_ref is not None:
            checkout = stack.enter_context(base_checkout(request, spec.folder))
        elif request.base_target is not None or base_function is not None:
            checkout = Checkout(root_of(spec.folder), spec.folder, commit_of(spec.folder))
        base_suite = None if checkout is None else suite_of_base(spec, checkout, request.say)
        if request.settings_from == "base":
            spec = with_settings_of(spec, base_suite)
            settings = resolve(("option", request.options), ("variable", request.variables), ("suite", spec.settings))
        cases = select(spec.cases, request.cases, request.tags)
        header = _header(spec, cases, settings, request, in_process=function is not None)
        if request.fresh_trials is not None:
            header = request.fresh_trials.chosen(header)
            cases = _planned(cases, header)
        if request.shard is not None:
            from repeat_eval.steps.shards import with_shard

            header = with_shard(header, request)
        written = None if base_suite is None else _as_base_wrote_it(base_suite, request)
        base = base_from_files(request, header.suite)
        stored = base.run if base is not None and (request.base_run or request.base_stored) else None
        header, settings, screening = _looking_twice(
            header, settings, cases, request, beside=checkout is not None, stored=stored
        )
        loading = load_reports_meanwhile()
        head = SidePlan(spec=spec, cases=cases, settings=settings, header=header, function=function)
        base_plan = None
        if checkout is not None:
            base_plan = _base_plan(head, checkout, request, base_suite, written, function=base_function)
        if screening is None:
            _ready(request, checkout)
        finished = run_sides(head, base_plan, request, screening=screening)
        loading.join()
    if finished.base_run is not None or screening is not None:
        # Beside a stored base that screens, base may not have run at all.
        base = None if finished.base_run is None else Base(finished.base_run, "side-by-side")
    if written is not None and request.fresh_trials is not None:
        written = request.fresh_trials.chosen(written)
    report = report_of(
        finished.run,
        settings,
        wall=finished.recording.wall,
        base=base,
        base_stored=screening.stored if screening is not None else None,
        base_written=written,
        base_missing=request.base_missing,
    )
    return Finished(report, finished.recording)


def _looking_twice(
    header: RunHeader,
    settings: ResolvedSettings,
    cases: Sequence[CaseSpec],
    request: Request,
    *,
    beside: bool,
    stored: Run | None,
) -> tuple[RunHeader, ResolvedSettings, Screening | None]:
    """Header and settings of a run that takes two looks, if it does, and a line about what that can cost.

    With a stored base comes the part that it plays, if it plays one.
    """
    unasked = settings.source("second_look") == "default"
    splits = stored is not None and not beside and rules_of(settings).gate_stored
    if request.fresh_trials is not None or not (beside or splits or not unasked):
        return header, settings, None
    from repeat_eval.steps.second_look import (
        chosen,
        most_said,
        shown_settings,
        tell,
        unforgiving,
        why_fixed,
        with_looks,
    )

    if not beside and stored is None and not request.base:
        from repeat_eval.steps.looks_alone import looking_alone

        made, text = None, ""
        if request.looks_alone:
            made, text = looking_alone(header, settings, cases, shard=request.shard is not None)
        if made is not None:
            tell(request, text)
        elif text:
            request.say(text)
        return made or header, settings, None
    looks = chosen(settings, cases, shard=request.shard is not None) if beside or splits else None
    screening = None
    if looks is not None and stored is not None:
        from repeat_eval.steps.screening import screening_of

        screening, why = screening_of(stored, header, looks, rules_of(settings), beside=beside)
        if screening is None:
            end = "base runs beside head from the start" if beside else "the number of repeats is fixed"
            request.say(f"the stored base cannot be the first look: {why}; {end}")
            looks = looks if beside else None
    elif looks is None:
        why_not = why_fixed(settings, len(cases) if beside else None)
        if why_not is not None:
            request.say(why_not)
    if looks is None:
        return header, settings, None
    if screening is not None:
        looks = screening.looks(looks)
    unknown = screening.unknown if screening is not None else ()
    header = with_looks(header, looks, cases, fixed={*unknown, *unforgiving(settings, cases)})
    settings = shown_settings(settings, looks)
    tell(request, most_said(header, settings))
    return header, settings, screening


def _base_plan(
    head: SidePlan,
    checkout: Checkout,
    request: Request,
    base_suite: SuiteSpec | None,
    written: RunHeader | None,
    *,
    function: FunctionTarget | None,
) -> SidePlan:
    """Base runs head's suite with base's code. Its trials have other seeds, so that the sides are independent.

    Where the target is a model, its prompt, tools and settings in the suite are the code under test: base has its own.
    """
    base = msgspec.structs.replace(head.spec, folder=checkout.folder)
    cases = head.cases
    if request.target is None and request.base_target is None and function is None:
        if base_suite is not None:
            base, cases = with_models_of(base, cases, base_suite)
        elif head.spec.path is not None and head.function is None and asks_models(base, cases):
            raise BaseNotStarted("base: there is no suite of this name that can be read, so it has no model target")
    if request.base_target is not None:
        base = _with_target(base, request.base_target)
    base_header = msgspec.structs.replace(
        head.header,
        commit=checkout.commit,
        seed=trial_seed(head.header.seed, "base", 0) >> 4,
        target=IN_PROCESS if function is not None else describe_target(base.target),
        target_fingerprint=None if function is not None else fingerprint_targets(base, cases),
    )
    if base_header.shard:
        from repeat_eval.steps.shards import with_base_written

        base_header = with_base_written(base_header, written)
    root = None if request.base_target is not None or function is not None else checkout.root
    return SidePlan(
        spec=base,
        cases=cases,
        settings=head.settings,
        header=base_header,
        function=function,
        root=root,
        recordings=None if root is None else folder_in_base(head.settings, head.spec.folder, checkout, base_suite),
    )


def _as_base_wrote_it(base_suite: SuiteSpec, request: Request) -> RunHeader:
    """What base's own suite asks for, under the same options, so that only what the files say differs."""
    layers = resolve(("option", request.options), ("variable", request.variables), ("suite", base_suite.settings))
    cases = select(base_suite.cases, request.cases, request.tags)
    header = _header(base_suite, cases, layers, request, in_process=False)
    if request.fresh_trials is not None or request.shard is not None:
        return header
    from repeat_eval.steps.second_look import chosen, unforgiving, with_looks

    with contextlib.suppress(UserError):
        looks = chosen(layers, cases)
        fixed = unforgiving(layers, cases)
        return header if looks is None else with_looks(header, looks, cases, fixed=fixed)
    return header


def _ready(request: Request, checkout: Checkout | None) -> None:
    """Make base's own environment, for a base that runs from the start."""
    if checkout is not None and request.ready_base is not None:
        request.ready_base()


def _planned(cases: Sequence[CaseSpec], header: RunHeader) -> tuple[CaseSpec, ...]:
    planned = {plan.id for plan in header.cases}
    return tuple(case for case in cases if case.id in planned)


def _with_target(spec: SuiteSpec, text: str) -> SuiteSpec:
    return msgspec.structs.replace(spec, target=target_from_text(text))


def _header(
    spec: SuiteSpec, cases: Sequence[CaseSpec], settings: ResolvedSettings, request: Request, *, in_process: bool
) -> RunHeader:
    warnings = list(spec.warnings)
    if not cases and (request.cases or request.tags):
        warnings.append(nothing_selected(spec.cases, request.cases, request.tags))
    return RunHeader(
        suite=spec.name,
        source="suite",
        commit=commit_of(spec.folder),
        selection=Selection(cases=request.cases, tags=request.tags),
        repeats=settings["repeats"],
        cases=plan_cases(spec, cases, settings),
        settings={**rules_of(settings).as_settings(), **_judge_settings(settings)},
        seed=settings["seed"],
        target_fingerprint=None if in_process else fingerprint_targets(spec, cases),
        target=IN_PROCESS if in_process else describe_target(spec.target),
        tool_version=__version__,
        started=now(),
        warnings=tuple(warnings),
    )


def _judge_settings(settings: ResolvedSettings) -> dict[str, Any]:
    """Who grades, for the header; only the name of the key's variable is known here, and not its value."""
    said = settings.judge()
    return {"judge": said} if said else {}


def load_reports_meanwhile() -> threading.Thread:
    """Load what renders reports while the first trials run; join the thread before rendering."""
    thread = threading.Thread(target=preload, daemon=True)
    thread.start()
    return thread
