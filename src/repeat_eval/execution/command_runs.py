"""Command mode: a command line that runs a whole suite is run once for each repetition, with its own results file."""

from __future__ import annotations

import asyncio
import contextlib
import re
import shlex
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from repeat_eval.errors import UserError
from repeat_eval.execution.stopping import Stop
from repeat_eval.records.fingerprints import trial_seed
from repeat_eval.records.trial import bounded, one_line
from repeat_eval.targets.environment import child_environment
from repeat_eval.targets.processes import Finished, describe_exit, run_process
from repeat_eval.targets.run_as import RunAs
from repeat_eval.targets.workdirs import private_folder, to_the_end

_PLACEHOLDER = re.compile(r"\{results\}(\.[A-Za-z0-9]+(?:\.[A-Za-z0-9]+)*)?")
_CLOCK_SLACK = 2.0
"""Seconds by which a file's time may lie before the start of the command that wrote it."""


class CommandRun(msgspec.Struct, frozen=True):
    """One run of the command: its repetition, its results file if there is one, and what went wrong if there is none.

    `seconds` is how long the command ran.
    """

    repetition: int
    results: Path | None
    problem: str | None
    seconds: float


class CommandPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What is run.

    Attributes:
        command: a shell command line in which `{results}` (or `{results}.json`) stands for the results file.
        folder: where it runs. results: folder for the results files, one folder a repetition.
        repeats: how often. timeout: seconds for one run, None without limit.
        copy: whether each run gets a fresh copy of the folder.
        seed: the run's seed. environ: what the command inherits.
        run_as: the user that it runs as; None for our own.
    """

    command: str
    folder: Path
    results: Path
    repeats: int
    timeout: float | None
    copy: bool
    seed: int
    environ: Mapping[str, str]
    on_log: Callable[[str], None]
    run_as: RunAs | None = None


def check_command(command: str) -> None:
    """UserError when the command has no place for its results file."""
    if not command.strip():
        raise UserError("--command is empty")
    if not _PLACEHOLDER.search(command) and "REPEAT_EVAL_TRIAL_RESULTS" not in command:
        raise UserError(
            "--command must say where its results go: write {results} in place of the file, "
            "for instance: --command 'pytest evals --junitxml {results}'"
        )


class CommandLane(msgspec.Struct, frozen=True, kw_only=True):
    """One side of a run: what is run, which repetitions are wanted, and who takes each finished run."""

    plan: CommandPlan
    wanted: Sequence[int]
    on_run: Callable[[CommandRun], None]


async def run_commands(
    lanes: Sequence[CommandLane],
    *,
    workers: int,
    stop: Stop,
    time_budget: float | None = None,
    grace: float | None = None,
) -> None:
    """Run the command of every lane for every repetition that it wants, `workers` at once over all lanes.

    The sides of a repetition run one right after the other, in random order.
    """
    left = list(reversed(_in_turn(lanes)))
    loop = asyncio.get_running_loop()
    timer = loop.call_later(time_budget, stop.trigger, "time-budget") if time_budget is not None else None

    async def work() -> None:
        while left and stop.reason is None:
            lane, repetition = left.pop()
            lane.on_run(await _run_one(lane.plan, repetition))

    tasks = [asyncio.create_task(work()) for _ in range(min(workers, len(left)))]

    def cut_short() -> None:
        if stop.reason == "interrupted":
            loop.call_later(stop.grace if grace is None else grace, lambda: [task.cancel() for task in tasks])

    stop.on_trigger(cut_short)
    try:
        results = await asyncio.gather(*tasks, return_exceptions=True)
    finally:
        if timer is not None:
            timer.cancel()
    for result in results:
        if isinstance(result, BaseException) and not isinstance(result, asyncio.CancelledError):
            raise result


def _in_turn(lanes: Sequence[CommandLane]) -> list[tuple[CommandLane, int]]:
    def rank(entry: tuple[int, int]) -> tuple[int, int]:
        side, repetition = entry
        coin = trial_seed(lanes[-1].plan.seed, "", -repetition)
        return repetition, (side + coin) % len(lanes)

    turns = sorted(((side, repetition) for side, lane in enumerate(lanes) for repetition in lane.wanted), key=rank)
    return [(lanes[side], repetition) for side, repetition in turns]


async def _run_one(plan: CommandPlan, repetition: int) -> CommandRun:
    folder = plan.results / f"repetition-{repetition:03d}"
    command, results = place_results(plan.command, folder.resolve() / "results")
    begun = time.time()
    try:
        finished = await _finished(plan, repetition, command, folder, results)
    except (OSError, ValueError) as error:
        return CommandRun(repetition, None, f"the command could not be run: {one_line(str(error))}", 0.0)
    output = (finished.stdout + finished.stderr_tail).decode("utf-8", "replace")
    for line in output.splitlines():
        plan.on_log(f"[{repetition}] {line}")
    how = f"no end within {plan.timeout:g} s" if finished.timed_out else describe_exit(finished.exit_code)
    problem = None
    if not results.is_file():
        last = next((line.strip() for line in reversed(output.splitlines()) if line.strip()), "")
        problem = f"the command left no results ({how})" + (f": {bounded(last, 200)}" if last else "")
    elif results.stat().st_mtime < begun - _CLOCK_SLACK:
        problem = f"the results file {results.name} is older than the command's start: it is not of this run"
    elif finished.timed_out or finished.exit_code < 0 or finished.exit_code > 128:
        plan.on_log(f"[{repetition}] repeat-eval: the command ended badly ({how}), but left results, which are read")
    return CommandRun(repetition, results if problem is None else None, problem, finished.duration)


async def _finished(plan: CommandPlan, repetition: int, command: str, folder: Path, results: Path) -> Finished:
    """Run the command to its end, with an empty folder for its results and folders of its own."""
    _empty(folder)
    if plan.run_as is not None:
        plan.run_as.give(folder)
    with contextlib.ExitStack() as stack:
        tmpdir = stack.enter_context(private_folder(run_as=plan.run_as))
        where = plan.folder
        if plan.copy:
            copy = private_folder(plan.folder, left_out=(plan.results,), run_as=plan.run_as)
            where = await to_the_end(stack.enter_context, copy)
        environ = child_environment(
            plan.environ,
            {
                "REPEAT_EVAL_TRIAL_REPETITION": str(repetition),
                "REPEAT_EVAL_TRIAL_REPEATS": str(plan.repeats),
                "REPEAT_EVAL_TRIAL_SEED": str(trial_seed(plan.seed, "", repetition)),
                "REPEAT_EVAL_TRIAL_RESULTS": str(results),
                "TMPDIR": str(tmpdir),
            },
        )
        return await run_process(command, cwd=where, environ=environ, timeout=plan.timeout, run_as=plan.run_as)


def _empty(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)


def place_results(command: str, base: Path) -> tuple[str, Path]:
    """Put the results file into the command line.

    Returns:
        The command line, and the file: `base` with the ending that is written after `{results}`, or `.xml`.
    """
    match = _PLACEHOLDER.search(command)
    suffix = (match[1] if match else None) or ".xml"
    path = base.with_name(base.name + suffix)
    return _PLACEHOLDER.sub(lambda _: shlex.quote(str(path)), command), path
