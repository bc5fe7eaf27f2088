"""Repeat a command that runs a whole suite, read each run's results, judge."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from repeat_eval.execution.command_runs import CommandPlan, CommandRun, check_command, run_commands
from repeat_eval.execution.stopping import Stop, signals_stop
from repeat_eval.readers.base import ReadOptions
from repeat_eval.readers.collect import collect
from repeat_eval.records.revision import commit_of
from repeat_eval.records.run import RunHeader
from repeat_eval.records.trial import Trial, one_line
from repeat_eval.steps.judging import report_of, rules_of
from repeat_eval.steps.recording import Recording, now, recording, target_log
from repeat_eval.steps.request import Request
from repeat_eval.steps.run_suite import Finished, load_reports_meanwhile
from repeat_eval.suite.settings import ResolvedSettings, resolve
from repeat_eval.version import __version__

RESULTS_FOLDER = "results"
WITHOUT_EFFECT = ("retries", "retry_on", "rate", "repeat_order", "isolation", "interpreter")
"""Settings of single trials: what a command does within one run is its own affair."""


def run_command(request: Request) -> Finished:
    """Run a command once for each repetition and read what it leaves.

    Raises:
        UserError: the command has no place for its results, or the output folder cannot be used; nothing was run.
    """
    command = request.command or ""
    check_command(command)
    settings = resolve(("option", request.options), ("variable", request.variables))
    folder = Path.cwd()
    header = RunHeader(
        suite=request.name or "command",
        source="command",
        commit=commit_of(folder),
        repeats=settings["repeats"],
        settings=rules_of(settings).as_settings(),
        seed=settings["seed"],
        command=command,
        tool_version=__version__,
        started=now(),
    )
    loading = load_reports_meanwhile()
    with recording(header, request) as record, target_log(request) as on_log, _results_folder(request) as results:
        plan = CommandPlan(
            command=command,
            folder=folder,
            results=results,
            repeats=settings["repeats"],
            workers=settings["workers"] if settings.source("workers") != "default" else 1,
            timeout=settings["timeout"] if settings.source("timeout") != "default" else None,
            copy=settings["workdir"] == "copy",
            seed=settings["seed"],
            environ=request.environ,
            on_log=on_log,
        )
        record.begin()
        stop = Stop(max_cost=settings["max_cost"])
        evidence = _Evidence(record, request, stop)
        asyncio.run(_run(plan, stop, evidence, settings, request))
        evidence.close()
        evidence.warnings += settings_warnings(settings, stop)
        run = record.finish(
            stopped=stop.reason if evidence.left else None,
            missing=tuple(evidence.missing),
            warnings=tuple(dict.fromkeys(evidence.warnings)),
        )
        wall = record.wall
    loading.join()
    return Finished(report_of(run, settings, wall=wall), record)


async def _run(
    plan: CommandPlan, stop: Stop, evidence: _Evidence, settings: ResolvedSettings, request: Request
) -> None:
    wanted = evidence.wanted(plan.repeats)
    request.progress.start(plan.repeats, plan.repeats - len(wanted), "runs")
    try:
        with signals_stop(stop, asyncio.get_running_loop(), request.say):
            await run_commands(plan, wanted, stop=stop, on_run=evidence.take, time_budget=settings["time_budget"])
    finally:
        request.progress.stop()


def settings_warnings(settings: ResolvedSettings, stop: Stop) -> list[str]:
    """Settings that somebody gave and that do nothing here: said, so that nobody relies on them."""
    given = [name for name in WITHOUT_EFFECT if settings.source(name) != "default"]
    warnings = [f"without effect on a repeated command: {', '.join(given)}"] if given else []
    if settings["max_cost"] is not None and not stop.costs_known:
        warnings.append("max-cost is set, but the results tell no cost: it could not be watched")
    return warnings


class _Evidence:
    """Turns the results of each run into trials of its repetition, and runs without results into errors."""

    def __init__(self, record: Recording, request: Request, stop: Stop) -> None:
        self._record = record
        self._stop = stop
        self._request = request
        self._kept = {trial.key for trial in record.kept}
        self._without: dict[int, str] = {}
        self.left: set[int] = set()
        """Repetitions that are wanted and did not come to their end."""
        self.missing: list[str] = []
        self.warnings: list[str] = []

    def wanted(self, repeats: int) -> list[int]:
        """Repetitions that are not there in full yet."""
        cases = {case for case, _ in self._kept}
        full = {r for r in range(1, repeats + 1) if cases and all((case, r) in self._kept for case in cases)}
        wanted = [r for r in range(1, repeats + 1) if r not in full]
        self.left = set(wanted)
        return wanted

    def take(self, run: CommandRun) -> None:
        """Read the results of one run."""
        self.left.discard(run.repetition)
        if run.results is None:
            self._give_up(run.repetition, run.problem or "the command left no results")
            return
        options = ReadOptions(duplicates=self._request.duplicates, repetition_suffixes=False)
        self._scrub_file(run.results, options.max_bytes)
        collected = collect([run.results], repeats=1, options=options, one_file_a_repetition=True)
        self.warnings += collected.warnings
        self.missing += [f"repetition {run.repetition}: {text}" for text in collected.missing]
        for file in collected.unreadable:
            self._give_up(run.repetition, f"its results cannot be used: {file.reason}")
        if collected.unreadable:
            return
        if not collected.trials and not collected.missing:
            self.missing.append(f"repetition {run.repetition}: the results hold no test")
        for trial in collected.trials:
            if (trial.case, run.repetition) not in self._kept:
                source = f"repetition {run.repetition}"
                self._record.add(msgspec.structs.replace(trial, repetition=run.repetition, source=source))
                self._stop.spend(trial.cost)
        self._request.progress.step(failed=any(trial.outcome == "failed" for trial in collected.trials))

    def _scrub_file(self, path: Path, largest: int) -> None:
        """Results files stay in the output folder, which people hand on: they keep no secret either."""
        if path.stat().st_size > largest:
            return
        text = path.read_bytes().decode("utf-8", "surrogateescape")
        clean = self._record.scrub(text)
        if clean is not text:
            path.write_bytes(clean.encode("utf-8", "surrogateescape"))

    def _give_up(self, repetition: int, problem: str) -> None:
        self._without[repetition] = problem
        self._request.say(self._record.scrub(f"repetition {repetition}: {problem}"))
        self._request.progress.step(error=True)

    def close(self) -> None:
        """A repetition without results is an error for every case known from the others."""
        cases = list(dict.fromkeys(trial.case for trial in self._record.trials))
        for repetition, problem in sorted(self._without.items()):
            if not cases:
                self.missing.append(f"repetition {repetition}: {problem}")
            for case in cases:
                if (case, repetition) not in self._kept:
                    self._record.add(
                        Trial(
                            case=case,
                            repetition=repetition,
                            outcome="error",
                            error_kind="harness",
                            message=one_line(problem),
                        )
                    )


@contextmanager
def _results_folder(request: Request) -> Iterator[Path]:
    if request.out is not None:
        yield request.out / RESULTS_FOLDER
        return
    with tempfile.TemporaryDirectory(prefix="repeat-eval-results-") as name:
        yield Path(name)
