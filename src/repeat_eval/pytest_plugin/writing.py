"""The run of a session: judged as every run is, and written as every run is."""

from __future__ import annotations

from pathlib import Path

from repeat_eval.analysis.analyse import analyse
from repeat_eval.analysis.report import Report, Setting
from repeat_eval.analysis.rules import Rules
from repeat_eval.pytest_plugin.options import Options
from repeat_eval.records.revision import commit_of
from repeat_eval.records.run import CasePlan, RunHeader
from repeat_eval.records.trial import Trial
from repeat_eval.steps.recording import now, recording
from repeat_eval.steps.request import Request
from repeat_eval.steps.write_reports import write_reports
from repeat_eval.version import __version__


def judge_and_write(
    plans: tuple[CasePlan, ...],
    trials: tuple[Trial, ...],
    options: Options,
    *,
    root: Path,
    interrupted: bool,
    missing: tuple[str, ...],
) -> Report:
    """Make the session's report; write run file and reports where a folder is named.

    Args:
        plans: what was asked of each test. trials: what was done.
        options: the session's settings.
        root: pytest's root folder; its name is the suite's.
        interrupted: the session was interrupted.
        missing: a sentence for what else is missing.

    Raises:
        UserError: the folder cannot be written, or holds what must not be overwritten.
    """
    defaults = options.defaults
    rules = Rules(threshold=defaults.threshold, gate=defaults.gate, count_as_failed=defaults.count_as_failed)  # type: ignore[arg-type]
    request = Request(out=options.out, fresh=True)
    header = RunHeader(
        suite=root.name or "pytest",
        source="results",
        commit=commit_of(root) if options.out is not None else None,
        repeats=options.defaults.repeats,
        cases=plans,
        settings=rules.as_settings(),
        seed=options.seed,
        target="pytest",
        tool_version=__version__,
        started=min((trial.started for trial in trials if trial.started), default=now()),
    )
    with recording(header, request) as record:
        for trial in trials:
            record.add(trial)
        run = record.finish(stopped="interrupted" if interrupted else None, missing=missing)
    values = {
        "repeats": options.defaults.repeats,
        "threshold": options.defaults.threshold,
        "gate": options.defaults.gate,
        "count_as_failed": sorted(options.defaults.count_as_failed),
        "seed": options.seed,
    }
    settings = {name: Setting(value, options.sources[name]) for name, value in values.items()}
    report = analyse(run, rules, settings=settings)
    write_reports(report, request, trials=run.trials)
    return report
