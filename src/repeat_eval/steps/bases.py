"""What a run is compared with: base from files, and what base's own suite says about thresholds and repeats."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from repeat_eval.analysis.report import BaseSource, CaseReport, Report
from repeat_eval.errors import Problem, UserError
from repeat_eval.records.journal import looks_like_run_file, read_run
from repeat_eval.records.run import CasePlan, Run, RunFooter, RunHeader
from repeat_eval.records.stored import MAX_BYTES, decode, looks_like_store, run_of_stored
from repeat_eval.records.trial import Outcome, Trial
from repeat_eval.reports.json_report import looks_like_report, read
from repeat_eval.steps.files import find_files
from repeat_eval.steps.request import Request
from repeat_eval.steps.sides import Checkout
from repeat_eval.suite.settings import Settings

if TYPE_CHECKING:
    from repeat_eval.suite.spec import CaseSpec, SuiteSpec, TargetSpec

_LETTERS: dict[str, Outcome] = {"P": "passed", "F": "failed", "E": "error", "S": "skipped"}
_FROM_BASE = ("repeats", "threshold", "gate")


class Base(msgspec.Struct, frozen=True):
    """The run to compare with, and how it came about."""

    run: Run
    source: BaseSource


def base_from_files(request: Request, suite: str) -> Base | None:
    """The base that comes from the store or that --base names for a run of `suite`; None when there is none.

    Raises:
        UserError: the files cannot be read, hold nothing, or are of another suite. An explicit base that is broken is
            never taken for no base.
    """
    if request.base_stored is not None:
        found = base_from((str(request.base_stored),), request, suite)
        return Base(found.run, "stored")
    if request.base_run is not None:
        header = msgspec.structs.replace(request.base_run.header, suite=suite)
        return Base(msgspec.structs.replace(request.base_run, header=header), "stored")
    return base_from(request.base, request, suite) if request.base else None


def base_from(files: Sequence[str], request: Request, suite: str) -> Base:
    """The base in some files; see `base_from_files`. Of a file from the store the newest run with a verdict counts."""
    shown = ", ".join(files)
    paths = find_files(files)
    if len(paths) == 1 and looks_like_store(paths[0]):
        return Base(_newest_stored(paths[0], suite), "stored")
    run = run_from(files, request, lean=True)
    if not run.trials:
        reasons = [*(run.footer.missing if run.footer else ()), *run.header.warnings] or ["it holds no trial"]
        raise UserError([Problem(f"cannot be compared with: {reason}", shown) for reason in reasons[:5]])
    if run.header.shard:
        text = f"is {run.header.shard} of a run, not all of it: join its shards with `repeat-eval merge` first"
        raise UserError(Problem(text, shown))
    if run.header.source == "suite" and run.header.suite != suite:
        raise UserError(Problem(f"is a run of the suite {run.header.suite!r}, and head is {suite!r}", shown))
    # Results of other tools do not tell the suite's name; whoever names them as base says that they belong here.
    header = msgspec.structs.replace(run.header, suite=suite)
    return Base(msgspec.structs.replace(run, header=header), "file")


def _newest_stored(path: Path, suite: str) -> Run:
    try:
        with path.open("rb") as file:
            store = decode(file.read(MAX_BYTES + 1))
    except (OSError, UserError) as error:
        raise UserError(Problem(f"cannot be compared with: {error}", str(path))) from None
    judged = [run for run in store.runs if run.verdict != "incomplete" and run.suite == suite]
    if not judged:
        raise UserError(Problem(f"holds no run of the suite {suite!r} with a verdict", str(path)))
    return run_of_stored(judged[-1])


def run_from(files: Sequence[str], request: Request, *, lean: bool = False) -> Run:
    """A run from one run file, one report, or other tools' results; `lean` as for `read_run`.

    Raises:
        UserError: no file matches, several run files, or unreadable files.
    """
    paths = find_files(files)
    if len(paths) == 1 and looks_like_report(paths[0]):
        return run_of_report(read(paths[0]))
    own = [path for path in paths if looks_like_run_file(path)]
    if own and len(paths) > 1:
        raise UserError(Problem("is a run file; give one run file alone, or other tools' results", str(own[0])))
    return read_run(own[0], lean=lean) if own else run_of_results(paths, request)


def run_of_results(paths: Sequence[Path], request: Request) -> Run:
    """The run behind results files of other tools; UserError when they cannot go together."""
    from repeat_eval.readers.base import ReadOptions
    from repeat_eval.readers.collect import collect

    asked = request.options.repeats or request.variables.repeats
    options = ReadOptions(duplicates=request.duplicates, format=request.format, scorer=request.scorer)
    collected = collect(paths, repeats=asked, options=options)
    header = RunHeader(
        suite=request.name or "results",
        source="results",
        repeats=asked or max(collected.asked.values(), default=1),
        cases=tuple(CasePlan(id=case, asked=collected.asked[case]) for case in collected.cases),
        warnings=tuple(collected.warnings),
    )
    footer = RunFooter(complete=True, trials=len(collected.trials), missing=collected.missing)
    return Run(header=header, trials=collected.trials, footer=footer)


def run_of_report(report: Report) -> Run:
    """The run behind a report, as far as a report tells: outcomes and mean durations, but no outputs."""
    trials = [trial for case in report.case_reports for trial in _trials_of(case)]
    plans = tuple(
        CasePlan(
            id=case.id,
            asked=max(case.asked, 1),
            threshold=case.threshold,
            gate=case.gate,
            tags=case.tags,
            file=case.file,
            line=case.line,
        )
        for case in report.case_reports
    )
    header = RunHeader(
        suite=report.suite,
        commit=report.provenance.commit,
        repeats=max((plan.asked for plan in plans), default=1),
        cases=plans,
        settings={name: setting.value for name, setting in report.settings.items()},
        seed=report.provenance.seed or 0,
        tool_version=report.provenance.version,
        started=report.provenance.started,
    )
    return Run(header=header, trials=tuple(trials), footer=RunFooter(complete=True, trials=len(trials)))


def _trials_of(case: CaseReport) -> list[Trial]:
    letters = case.outcomes
    if len(letters) < case.trials:
        letters = "P" * case.passed + "F" * case.failed + "E" * case.errors + "S" * case.skipped
    duration = case.duration.mean if case.duration is not None else None
    cost = case.cost / case.trials if case.cost is not None and case.trials else None
    return [
        Trial(
            case=case.id,
            repetition=number,
            outcome=_LETTERS[letter],
            error_kind="harness" if letter == "E" else None,
            duration=duration,
            cost=cost,
        )
        for number, letter in enumerate(letters, start=1)
    ]


def suite_of_base(spec: SuiteSpec, checkout: Checkout, say: Callable[[str], None]) -> SuiteSpec | None:
    """The suite file as base has it; None when base has none, or none that can be read, which is said."""
    if spec.path is None:
        return None
    path = checkout.folder / spec.path.name
    if path.resolve() == spec.path.resolve() or not path.is_file():
        return None
    from repeat_eval.suite.load import load_suite

    try:
        return load_suite(path)
    except UserError as error:
        say(f"base's suite cannot be read, so how head changes its gate cannot be told: {error.problems[0]}")
        return None


def with_models_of(
    spec: SuiteSpec, cases: Sequence[CaseSpec], base: SuiteSpec
) -> tuple[SuiteSpec, tuple[CaseSpec, ...]]:
    """Head's suite and cases for the other side, with base's own targets where a target is a model.

    A model's prompt, tools and settings stand in the suite, so they are what a change changes. A case that only head
    has keeps its target.
    """
    target = base.target if base.target is not None and _is_model(spec.target, base.target) else spec.target
    own = {case.id: case for case in base.cases}
    theirs = []
    for case in cases:
        same = own.get(case.id)
        swap = same is not None and _is_model(case.target, same.target)
        theirs.append(msgspec.structs.replace(case, target=same.target) if swap and same is not None else case)
    return msgspec.structs.replace(spec, target=target), tuple(theirs)


def asks_models(spec: SuiteSpec, cases: Sequence[CaseSpec]) -> bool:
    """Whether the suite's target or that of a case is a model."""
    return _is_model(spec.target, *(case.target for case in cases))


def _is_model(*targets: TargetSpec | None) -> bool:
    return any(target is not None and target.kind == "model" for target in targets)


def with_settings_of(spec: SuiteSpec, base: SuiteSpec | None) -> SuiteSpec:
    """Head's suite with the settings of base's, and with its repeats, thresholds and gates for cases that both have.

    Raises:
        UserError: base has no such suite.
    """
    if base is None:
        raise UserError("--settings-from base: base has no suite file of this name that can be read")
    own = {case.id: case for case in base.cases}
    cases = [
        msgspec.structs.replace(
            case,
            written_repeat=own[case.id].written_repeat,
            **{name: getattr(own[case.id], name) for name in _FROM_BASE},
        )
        if case.id in own
        else case
        for case in spec.cases
    ]
    settings = Settings.model_construct(**{name: getattr(base.settings, name) for name in Settings.model_fields})
    return msgspec.structs.replace(spec, cases=tuple(cases), settings=settings, written_repeat=base.written_repeat)
