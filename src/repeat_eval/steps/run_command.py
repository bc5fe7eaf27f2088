"""Repeat a command that runs a whole suite, read each run's results, judge."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from repeat_eval.errors import UserError
from repeat_eval.execution.command_runs import CommandLane, CommandPlan, check_command, run_commands
from repeat_eval.execution.stopping import Stop, signals_stop
from repeat_eval.readers.registry import format_named
from repeat_eval.records.fingerprints import trial_seed
from repeat_eval.records.revision import commit_of
from repeat_eval.records.run import RunHeader
from repeat_eval.steps.bases import Base, base_from_files
from repeat_eval.steps.budgets import stop_of
from repeat_eval.steps.cassette_session import cassette_folder, child_variables, misses_file, noted_misses
from repeat_eval.steps.command_evidence import CommandEvidence
from repeat_eval.steps.finished import Finished
from repeat_eval.steps.judging import report_of, rules_of
from repeat_eval.steps.recording import BASE_FILE, RUN_FILE, now, recordings, target_log
from repeat_eval.steps.request import Request
from repeat_eval.steps.run_suite import load_reports_meanwhile
from repeat_eval.steps.sides import base_checkout, side_environ
from repeat_eval.suite.settings import ResolvedSettings, resolve
from repeat_eval.targets.scratch import new_folder, remove_tree
from repeat_eval.version import __version__

RESULTS_FOLDER = "results"


def run_command(request: Request) -> Finished:
    """Run a command once for each repetition, beside base if one is given, and read what it leaves.

    Raises:
        UserError: the command has no place for its results, their format is none that is known, base is not there, or
            the output folder cannot be used; nothing was run.
    """
    command = request.command or ""
    check_command(command)
    if request.base_target is not None:
        raise UserError("--base-target goes with a suite; with --command give --base-dir or --base-ref")
    if request.format is not None:
        # A format that there is not is said before anything runs.
        format_named(request.format)
    settings = resolve(("option", request.options), ("variable", request.variables))
    if settings.source("second_look") != "default":
        from repeat_eval.steps.second_look import why_fixed

        why = why_fixed(settings, None, command=True)
        if why is not None:
            request.say(why)
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
    if request.shard is not None:
        from repeat_eval.steps.shards import with_shard

        header = with_shard(header, request)
    with contextlib.ExitStack() as stack:
        headers, folders = {RUN_FILE: header}, [folder]
        if request.base_dir is not None or request.base_ref is not None:
            checkout = stack.enter_context(base_checkout(request, folder))
            seed = trial_seed(header.seed, "base", 0) >> 4
            base_header = msgspec.structs.replace(header, commit=checkout.commit, seed=seed)
            headers, folders = {BASE_FILE: base_header, **headers}, [checkout.folder, folder]
        base = base_from_files(request, header.suite)
        loading = load_reports_meanwhile()
        records = stack.enter_context(recordings(headers, request))
        on_log = stack.enter_context(target_log(request))
        results = stack.enter_context(_results_folder(request))
        misses = stack.enter_context(misses_file(cassette_folder(settings, folder), request))
        told = [
            child_variables(
                cassette_folder(settings, folder, "base" if number + 1 < len(folders) else "head"),
                settings["cassette_mode"],
                request.environ,
                misses,
            )
            for number in range(len(folders))
        ]
        stop = stop_of(settings, records, request)
        sides = [CommandEvidence(record, request, stop) for record in records]
        lanes = [
            _lane(side, where, _side_results(results, len(folders), number), settings, on_log, told=told[number])
            for number, (side, where) in enumerate(zip(sides, folders, strict=True))
        ]
        asyncio.run(_run(lanes, sides, stop, settings, request))
        sides[-1].missing += noted_misses(misses)
        runs = [side.finish(stop, settings) for side in sides]
        wall = records[-1].wall
        loading.join()
    if len(runs) > 1:
        base = Base(runs[0], "side-by-side")
    report = report_of(runs[-1], settings, wall=wall, base=base, base_missing=request.base_missing)
    return Finished(report, records[-1])


def _side_results(results: Path, sides: int, number: int) -> Path:
    return results / ("base", "head")[number] if sides > 1 else results


def _lane(
    side: CommandEvidence,
    folder: Path,
    results: Path,
    settings: ResolvedSettings,
    on_log: Callable[[str], None],
    *,
    told: Mapping[str, str],
) -> CommandLane:
    side.record.begin()
    plan = CommandPlan(
        command=side.request.command or "",
        folder=folder,
        results=results,
        repeats=settings["repeats"],
        timeout=settings["timeout"] if settings.source("timeout") != "default" else None,
        copy=settings["workdir"] == "copy",
        seed=side.record.header.seed,
        environ={**side_environ(side.request, folder), **told},
        on_log=on_log,
        run_as=side.request.run_as,
    )
    return CommandLane(plan=plan, wanted=side.wanted(), on_run=side.take)


async def _run(
    lanes: Sequence[CommandLane],
    sides: Sequence[CommandEvidence],
    stop: Stop,
    settings: ResolvedSettings,
    request: Request,
) -> None:
    shard = sides[-1].record.header.shard
    total = len(lanes) * (len(shard.repetitions) if shard else settings["repeats"])
    request.progress.start(total, total - sum(len(lane.wanted) for lane in lanes), "runs")
    workers = settings["workers"] if settings.source("workers") != "default" else 1
    try:
        with signals_stop(stop, asyncio.get_running_loop(), request.say):
            await run_commands(lanes, workers=workers, stop=stop, time_budget=settings["time_budget"])
    finally:
        request.progress.stop()


@contextmanager
def _results_folder(request: Request) -> Iterator[Path]:
    if request.out is not None:
        yield request.out / RESULTS_FOLDER
        return
    folder = new_folder()
    try:
        if request.run_as is not None:
            request.run_as.give(folder)
        yield folder
    finally:
        remove_tree(folder)
