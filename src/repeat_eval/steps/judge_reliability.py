"""Run a suite's evaluators again and again on fixed outputs, and say how far each can be trusted."""

from __future__ import annotations

import fnmatch
import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from repeat_eval.analysis.evaluator_model import EvaluatorReliability, GateFound, Measure, TraceReliability
from repeat_eval.analysis.evaluator_reliability import Judged, Requirement, figures, judge_by, summarise
from repeat_eval.analysis.judge_agreement import Rated, against_labels, groups_of_raters
from repeat_eval.analysis.judge_drift import Baseline, baseline_of, drift_of
from repeat_eval.analysis.vocabulary import SuiteVerdict
from repeat_eval.errors import ExitCode, Incomplete, Problem, UserError
from repeat_eval.execution.fixed_outputs import FixedOutput, Unit, judge_outputs
from repeat_eval.execution.prepare import Workshop
from repeat_eval.execution.stopping import Stop
from repeat_eval.records.fingerprints import fingerprint
from repeat_eval.records.scrubbing import scrub_trial
from repeat_eval.records.thresholds import parse_threshold
from repeat_eval.records.trial import Trial
from repeat_eval.reports.files import write_atomic
from repeat_eval.steps.files import make_output_folder
from repeat_eval.steps.judge_baseline import read_baseline, write_baseline
from repeat_eval.steps.judge_checks import evaluators, refuse_nothing
from repeat_eval.steps.judge_traces import Labels, Traces, read_labels, read_traces, sample
from repeat_eval.steps.recording import now, target_log
from repeat_eval.steps.request import Request
from repeat_eval.steps.sides import side_environ
from repeat_eval.suite.load import load_suite
from repeat_eval.suite.selection import select
from repeat_eval.suite.settings import ResolvedSettings, resolve
from repeat_eval.suite.spec import SuiteSpec
from repeat_eval.targets.environment import Scrubber

_T = TypeVar("_T")
RUNS = 10
"""Runs of each check and trace where nobody says otherwise."""
USED_SETTINGS = (
    "workers",
    "seed",
    "timeout",
    "retries",
    "retry_on",
    "rate",
    "max_cost",
    "time_budget",
    "isolation",
    "judge",
    "interpreter",
    "max_error_rate",
)
"""Settings that mean something here."""
_EXIT_CODES: Mapping[SuiteVerdict, ExitCode] = {
    "pass": ExitCode.PASSED,
    "fail": ExitCode.GATE_FAILED,
    "incomplete": ExitCode.INCOMPLETE,
}
JSON_FILE, MARKDOWN_FILE = "judge-reliability.json", "judge-reliability.md"


class JudgeWishes(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked about evaluators, beside the settings.

    Attributes:
        traces: run file, folder of recordings, file of JSON Lines, or traces as mappings.
        runs: of each check on each trace. sample_size: traces that are judged; None for all.
        checks: globs on names of checks; empty for all that can vary.
        models: each `judge` check is asked of each of these instead of its own.
        raters: globs on names of checks that are to agree with each other; empty for judges with the same rubric.
        requirements: gates on the mean of each check.
        labels: a file of what humans said, or the labels. baseline: file to compare with. save_baseline: file to write.
        fail_on_drift: a check that drifted fails the gate.
    """

    traces: Path | Sequence[Mapping[str, Any]]
    runs: int = RUNS
    sample_size: int | None = None
    checks: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    raters: tuple[str, ...] = ()
    requirements: tuple[Requirement, ...] = ()
    labels: Path | Labels | None = None
    baseline: Path | None = None
    save_baseline: Path | None = None
    fail_on_drift: bool = False


def requirement(text: str, measure: Measure = "pass-to") -> Requirement:
    """A gate written as `3=0.9`: the mean of the measure for k = 3 must be greater than 0.9.

    Raises:
        ValueError: it is written otherwise, or no result could be greater.
    """
    k, sign, rate = (part.strip() for part in text.partition("="))
    if not sign or not (k.isascii() and k.isdigit()) or not 1 <= int(k[:4]) <= 100:
        raise ValueError(f"takes K=RATE with K from 1 to 100, for instance 3=0.9; found {text[:40]!r}")
    if measure == "agree-to" and int(k) == 1:
        raise ValueError("needs K from 2 on: one run always agrees with itself; write for instance 3=0.9")
    if parse_threshold(rate) == 1:
        raise ValueError("must be exceeded, and nothing is greater than 1; write for instance 3=0.9")
    return Requirement(measure, int(k), rate)


def judge_reliability(wishes: JudgeWishes, request: Request, *, spec: SuiteSpec | None = None) -> EvaluatorReliability:
    """Judge fixed outputs again and again, and sum up what that says about the evaluators.

    Args:
        wishes: what is asked. request: suite, settings, selection and output folder. spec: the suite if it is loaded.

    Raises:
        UserError: suite, traces, labels, baseline or settings are wrong, or nothing in the suite can vary.
        Incomplete: no run gave a verdict.
    """
    if spec is None:
        if request.suite is None:
            raise UserError("a suite is needed: its checks are what is tested")
        spec = load_suite(request.suite)
    settings = resolve(("option", request.options), ("variable", request.variables), ("suite", spec.settings))
    chosen = select(spec.cases, request.cases, request.tags)
    spec = msgspec.structs.replace(
        spec, cases=tuple(evaluators(case, wishes.checks, wishes.models, settings) for case in chosen)
    )
    refuse_nothing(spec.cases, wishes.checks, wishes.raters)
    baseline, labels, traces = _read(wishes, spec, request)
    available = [output for output in traces.outputs if output.case.checks]
    if not available:
        raise UserError("none of the traces is of a case with a check that can vary")
    outputs = sample(available, wishes.sample_size, settings["seed"])
    units = [Unit(output, check) for output in outputs for check in output.case.checks]
    truth = _truth(labels, units)
    if request.out is not None:
        make_output_folder(request.out)
    trials, stop = _run(units, spec, settings, wishes, request)
    found = [
        figures(
            Judged(
                trace=unit.output.trace,
                case=unit.output.case.id,
                check=unit.check.name,
                asked=wishes.runs,
                trials=tuple(sorted(trials[_key(unit)], key=lambda trial: trial.repetition)),
                fingerprint=_fingerprint(unit.output),
                truth=truth.get(_key(unit)),
            )
        )
        for unit in units
    ]
    if not any(one.verdicts for one in found):
        raise Incomplete(f"no run gave a verdict: {next((one.error for one in found if one.error), stop.reason)}")
    rated = [Rated(one, _question(unit, wishes, settings)) for one, unit in zip(found, units, strict=True)]
    drift = None if baseline is None else drift_of(baseline, found)
    gates = tuple(
        judge_by(one, name, [each for each in found if each.check == name])
        for one in wishes.requirements
        for name in dict.fromkeys(each.check for each in found)
    )
    warnings = [*spec.warnings, *traces.warnings, *_warnings(found, wishes, labels, outputs, traces.outputs)]
    if len(available) < len(traces.outputs):
        without = len(traces.outputs) - len(available)
        warnings.append(f"traces of cases without a check that can vary are left out: {without:,}")
    verdict = _verdict(gates, found, stop, settings, warnings)
    if drift is not None and wishes.fail_on_drift and verdict != "incomplete":
        # What the baseline knows and nothing was compared of may have drifted.
        known = {one.check for one in baseline.traces} if baseline is not None else set()
        unknown = [one.check in known for one in drift if one.drifted is None]
        verdict = "incomplete" if any(unknown) or len(unknown) == len(drift) else verdict
        verdict = "fail" if any(one.drifted for one in drift) else verdict
    report = EvaluatorReliability(
        suite=spec.name,
        source=str(wishes.traces) if isinstance(wishes.traces, Path) else "traces",
        runs=wishes.runs,
        seed=settings["seed"],
        available=len(available),
        sampled=len(outputs),
        settings=settings.judge(),
        verdict=verdict,
        exit_code=int(_EXIT_CODES[verdict]),
        summary=summarise(found, seed=settings["seed"]),
        checks=tuple(
            summarise([one for one in found if one.check == name], name, seed=settings["seed"])
            for name in dict.fromkeys(one.check for one in found)
        ),
        traces=tuple(found),
        gates=gates,
        agreement=groups_of_raters(rated, seed=settings["seed"]),
        labels=against_labels(rated, seed=settings["seed"]),
        drift=drift,
        judge_cost=_cost([trial for several in trials.values() for trial in several]),
        stopped=stop.reason,
        warnings=tuple(warnings),
    )
    if wishes.save_baseline is not None and verdict == "incomplete":
        report = msgspec.structs.replace(
            report, warnings=(*report.warnings, "the evidence is incomplete: no baseline was saved")
        )
    elif wishes.save_baseline is not None:
        write_baseline(baseline_of(spec.name, found, now()), wishes.save_baseline)
    return report


def write_reliability(report: EvaluatorReliability, out: Path) -> list[Path]:
    """Write the report as JSON and Markdown into a folder; gives the files."""
    from repeat_eval.reports.reliability_text import markdown_of

    make_output_folder(out)
    data = msgspec.json.format(msgspec.json.encode(report), indent=2) + b"\n"
    write_atomic(out / JSON_FILE, data)
    write_atomic(out / MARKDOWN_FILE, markdown_of(report).encode())
    return [out / JSON_FILE, out / MARKDOWN_FILE]


def _read(wishes: JudgeWishes, spec: SuiteSpec, request: Request) -> tuple[Baseline | None, Labels | None, Traces]:
    """All files that were given. What is wrong with any of them is said at once, before a model is asked."""
    problems: list[Problem] = []

    def tried(read: Callable[[], _T]) -> _T | None:
        try:
            return read()
        except UserError as error:
            problems.extend(error.problems)
            return None

    path, place = wishes.baseline, wishes.labels
    baseline = None if path is None else tried(lambda: read_baseline(path, spec.name))
    labels = tried(lambda: read_labels(place)) if isinstance(place, Path) else place
    traces = tried(lambda: read_traces(wishes.traces, spec, request))
    if wishes.fail_on_drift and path is None:
        problems.append(Problem("--fail-on-drift needs --baseline: what it may have drifted from"))
    if (saved := wishes.save_baseline) is not None and not saved.parent.is_dir() and saved.parent != request.out:
        problems.append(Problem("cannot be written: its folder does not exist", str(saved)))
    if problems or traces is None:
        raise UserError(problems)
    return baseline, labels, traces


def _run(
    units: Sequence[Unit], spec: SuiteSpec, settings: ResolvedSettings, wishes: JudgeWishes, request: Request
) -> tuple[dict[tuple[str, str], list[Trial]], Stop]:
    trials: dict[tuple[str, str], list[Trial]] = {_key(unit): [] for unit in units}
    scrub = Scrubber(request.environ).scrub
    stop = Stop(max_cost=settings["max_cost"], grace=request.grace)

    def take(check: str, trial: Trial) -> None:
        trials[trial.case, check].append(scrub_trial(trial, scrub))
        request.progress.step(failed=trial.outcome == "failed", error=trial.outcome == "error", cost=trial.judge_cost)

    with target_log(request) as on_log:
        workshop = Workshop(spec, settings, side_environ(request, spec.folder), on_log, run_as=request.run_as)
        try:
            judge_outputs(
                units,
                workshop,
                runs=wishes.runs,
                stop=stop,
                on_trial=take,
                on_start=lambda: request.progress.start(len(units) * wishes.runs, 0, "runs of checks"),
                say=request.say,
            )
        finally:
            request.progress.stop()
    return trials, stop


def _cost(trials: Sequence[Trial]) -> float | None:
    """US dollars that models cost; None when none was asked, or when it is unknown for any that was."""
    costs = [trial.judge_cost for trial in trials if trial.judge_tokens or (trial.checks and trial.checks[0].judge)]
    known = [cost for cost in costs if cost is not None]
    return math.fsum(known) if known and len(known) == len(costs) else None


def _verdict(
    gates: Sequence[GateFound],
    found: Sequence[TraceReliability],
    stop: Stop,
    settings: ResolvedSettings,
    warnings: list[str],
) -> SuiteVerdict:
    """Incomplete before fail before pass; too many errors are incomplete whatever the gates say."""
    asked = sum(one.asked for one in found)
    errors = sum(one.errors for one in found)
    allowed = parse_threshold(str(settings["max_error_rate"]))
    if Fraction(errors, asked) > allowed:
        warnings.append(f"{errors:,} of {asked:,} runs gave no verdict, more than max-error-rate {float(allowed):g}")
        return "incomplete"
    if any(one.verdict == "incomplete" for one in gates) or (stop.reason is not None and not gates):
        return "incomplete"
    return "fail" if any(one.verdict == "fail" for one in gates) else "pass"


def _warnings(
    found: Sequence[TraceReliability],
    wishes: JudgeWishes,
    labels: Labels | None,
    outputs: Sequence[FixedOutput],
    available: Sequence[FixedOutput],
) -> list[str]:
    said = []
    errors, runs = sum(one.errors for one in found), sum(one.errors + one.verdicts for one in found)
    if errors:
        first = next(one.error for one in found if one.errors)
        said.append(f"{errors:,} of {runs:,} runs gave no verdict and count as neither; the first: {first}")
    missing = sum(one.asked for one in found) - runs
    if missing:
        said.append(f"{missing:,} runs were asked for and not made")
    if wishes.runs < 5:
        said.append(f"{wishes.runs} runs a trace say little: make at least 5")
    if labels is not None:
        known = {one.trace for one in available}
        unknown = sum(trace not in known for trace, _ in labels)
        if unknown:
            said.append(f"labels of traces that are not here: {unknown:,}")
    if wishes.sample_size is not None and wishes.sample_size > len(outputs):
        said.append(f"there are only {len(outputs):,} traces: all of them were judged")
    return said


def _truth(labels: Labels | None, units: Sequence[Unit]) -> dict[tuple[str, str], bool]:
    """What humans said about each check on each trace; a label for a check holds for all models that it asks."""
    if labels is None:
        return {}
    names = {name for unit in units for name in (unit.check.name, _own_name(unit.check.name))}
    unknown = sorted({check for _, check in labels if check is not None and check not in names})
    if unknown:
        raise UserError(
            f"labels name checks that are not tested: {', '.join(unknown[:5])}; tested are {', '.join(sorted(names))}"
        )
    truth = {}
    for unit in units:
        trace, check = _key(unit)
        for name in (check, _own_name(check), None):
            if (trace, name) in labels:
                truth[trace, check] = labels[trace, name]
                break
    return truth


def _own_name(check: str) -> str:
    return check.rpartition(" [")[0] or check


def _question(unit: Unit, wishes: JudgeWishes, settings: ResolvedSettings) -> str | None:
    if wishes.raters:
        chosen = any(fnmatch.fnmatchcase(unit.check.name, glob) for glob in wishes.raters)
        return "chosen" if chosen else None
    if unit.check.check.kind != "judge":
        return None
    from repeat_eval.execution.judges import panel_of

    return panel_of(unit.check, settings).rubric_hash


def _fingerprint(output: FixedOutput) -> str:
    case, answer = output.case, output.answer
    calls = msgspec.to_builtins(answer.tool_calls)
    return fingerprint({"input": case.input, "expected": case.expected, "output": answer.output, "tool_calls": calls})


def _key(unit: Unit) -> tuple[str, str]:
    return unit.output.trace, unit.check.name
