"""The `command:` target: one process a trial, the case as JSON on stdin, the answer on stdout."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import shlex
import shutil
import stat
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

from repeat_eval.errors import UserError
from repeat_eval.records.trial import one_line
from repeat_eval.suite.checks.base import Answer
from repeat_eval.targets.base import Call, TargetError
from repeat_eval.targets.environment import child_environment, trial_variables
from repeat_eval.targets.processes import MAX_OUTPUT_BYTES, Finished, describe_exit, run_process
from repeat_eval.targets.python_target import answer_from
from repeat_eval.targets.run_as import RunAs
from repeat_eval.targets.scratch import new_folder, remove_tree
from repeat_eval.targets.workdirs import copy_folder, to_the_end

Workdir = Literal["shared", "copy"]

MAX_LOG_CHARACTERS = 20_000

_PRIVATE_FOLDER = stat.S_IFDIR | 0o700


class CommandTarget:
    """Runs a command for each trial.

    The command reads one JSON object from stdin: `case`, `input`, `repetition`, `repeats`, `seed`, `vars`. What it
    prints is the answer; a JSON object with the key `output` may also tell tool calls, tokens and cost.
    """

    def __init__(
        self,
        command: str | Sequence[str],
        *,
        folder: Path,
        environ: Mapping[str, str],
        shell: bool = True,
        workdir: Workdir = "shared",
        on_log: Callable[[str], None] | None = None,
        max_output: int = MAX_OUTPUT_BYTES,
        run_as: RunAs | None = None,
    ) -> None:
        """Describe the target; nothing is started yet.

        Args:
            command: a string is run by `/bin/sh -c` (without `shell` it is split as a shell would do and run as it
                is); a list is a program and its arguments.
            folder: where the command runs, the suite's folder as a rule.
            environ: the environment that trials inherit, less what children must not see.
            shell: whether a string is a shell's command line.
            workdir: `shared` runs all trials in `folder`, `copy` each in a fresh copy of it.
            on_log: gets every line that a trial wrote to stderr, of a long text the last 20,000 characters.
            max_output: bytes that a trial may print.
            run_as: the user that the command runs as; None for our own.
        """
        self._command = command
        self._folder = folder
        self._base = environ
        self._shell = shell and isinstance(command, str)
        self._workdir = workdir
        self._on_log = on_log
        self._max_output = max_output
        self._run_as = run_as
        self._arguments: list[str] = []
        self._environ: dict[str, str] = {}
        self._scratch: Path | None = None
        self._empty: list[str] = []
        self._numbers = itertools.count(1)

    async def start(self) -> None:
        """Look whether folder and program are there, and make the folder that the trials' TMPDIRs are in.

        Raises:
            UserError: the folder is missing, the command is empty, or its program cannot be found or run.
        """
        self._environ = dict(child_environment(self._base, {}))
        if not self._folder.is_dir():
            raise UserError(f"the command's folder {self._folder} is not there")
        self._arguments = self._split()
        if not self._shell:
            self._require_program(self._arguments[0])
        self._scratch = new_folder(self._environ.get("TMPDIR") or None)
        self._give(self._scratch)

    async def answer(self, call: Call) -> tuple[Answer, int]:
        """Run the command once.

        Raises:
            TargetError: `timeout`; `crash` when it fails or prints what is no answer; `harness` when its private
                folders cannot be made.
        """
        if self._scratch is None:
            raise RuntimeError("the target was not started")
        folder = self._folder
        private = copy = None
        try:
            try:
                private = self._take_private(self._scratch)
                if self._workdir == "copy":
                    folder = copy = self._scratch / f"{next(self._numbers)}.copy"
                    await to_the_end(self._copy_folder, copy)
            except (OSError, shutil.Error) as error:
                raise TargetError("harness", f"no private folder for the trial: {_reason(error)}") from error
            finished = await self._run(call, folder, private)
        finally:
            if private is not None:
                await self._give_back(private)
            if copy is not None:
                await asyncio.to_thread(remove_tree, copy)
        return self._answer_of(call, finished), 1

    async def close(self) -> None:
        """Remove the trials' folders."""
        if self._scratch is not None:
            await asyncio.to_thread(remove_tree, self._scratch)
            self._scratch = None
            self._empty.clear()

    def _split(self) -> list[str]:
        if self._shell:
            arguments = ["/bin/sh", "-c", str(self._command)] if str(self._command).strip() else []
        elif isinstance(self._command, str):
            try:
                arguments = shlex.split(self._command)
            except ValueError as error:
                raise UserError(f"the command cannot be split into words: {error}") from error
        else:
            arguments = list(self._command)
        if not arguments or not arguments[0]:
            raise UserError("the command is empty")
        return arguments

    def _require_program(self, program: str) -> None:
        if "/" in program:
            path = self._folder / program
            if not path.exists():
                raise UserError(f"command not found: {program} (in the folder {self._folder})")
            if not path.is_file() or not os.access(path, os.X_OK):
                raise UserError(f"{program} is not an executable file; try: chmod +x {program}")
        elif shutil.which(program, path=self._environ.get("PATH", os.defpath)) is None:
            raise UserError(f"command not found: {program} (it is in no folder of PATH)")

    async def _run(self, call: Call, folder: Path, private: str) -> Finished:
        environ = self._environ | trial_variables(call)
        environ["TMPDIR"] = private
        try:
            return await run_process(
                self._arguments,
                cwd=folder,
                environ=environ,
                stdin=request_of(call),
                timeout=call.timeout,
                max_output=self._max_output,
                stop_when_full=True,
                run_as=self._run_as,
            )
        except (OSError, ValueError) as error:
            raise TargetError("crash", f"the command could not be started: {_reason(error)}") from error

    def _answer_of(self, call: Call, finished: Finished) -> Answer:
        if finished.stderr_tail and self._on_log is not None:
            text = finished.stderr_tail.decode("utf-8", "replace")[-MAX_LOG_CHARACTERS:]
            for line in text.splitlines():
                self._on_log(line)
        if finished.timed_out:
            raise TargetError("timeout", f"no answer within {call.timeout:g} s")
        if finished.truncated:
            raise TargetError("crash", f"printed more than {self._max_output:,} bytes", retryable=False)
        if finished.exit_code != 0:
            message = describe_exit(finished.exit_code)
            last_words = _last_line(finished.stderr_tail)
            raise TargetError("crash", f"{message}: {last_words}" if last_words else message)
        # Waiting for a turn or for a retry is not the target's time.
        return answer_of_text(finished.stdout, seconds=finished.duration)

    def _copy_folder(self, folder: Path) -> None:
        # Our own folder may lie in the user's one.
        copy_folder(self._folder, folder, left_out=() if self._scratch is None else (self._scratch,))
        self._give(folder)

    def _give(self, path: Path | str) -> None:
        if self._run_as is not None:
            self._run_as.give(path)

    def _take_private(self, scratch: Path) -> str:
        if self._empty:
            return self._empty.pop()
        private = str(scratch / f"{next(self._numbers)}.tmp")
        os.mkdir(private, 0o700)  # noqa: PTH102
        self._give(private)
        return private

    async def _give_back(self, private: str) -> None:
        """Keep the folder for another trial if it is as it was; making one takes a tenth of a command's time."""
        try:
            state = os.lstat(private)
            untouched = state.st_mode == _PRIVATE_FOLDER and not os.listdir(private)  # noqa: PTH208
        except OSError:
            untouched = False
        if untouched:
            self._empty.append(private)
        else:
            await asyncio.to_thread(remove_tree, Path(private))


def request_of(call: Call) -> bytes:
    """What a command reads from stdin: one JSON object in one line."""
    request = {
        "case": call.case,
        "input": call.input,
        "repetition": call.repetition,
        "repeats": call.repeats,
        "seed": call.seed,
        "vars": call.variables,
    }
    try:
        return msgspec.json.encode(request) + b"\n"
    except (TypeError, ValueError, OverflowError):
        # Numbers of any size, lone surrogates, objects that a caller of the Python API put in.
        return json.dumps(request, default=str).encode() + b"\n"


def answer_of_text(printed: bytes, *, seconds: float | None = None) -> Answer:
    """The answer in what a command printed: a JSON object with the key `output`, or else the text itself.

    Args:
        printed: all of stdout.
        seconds: how long the command took; holds unless the answer says otherwise.

    Raises:
        TargetError: `crash`; the bytes are not UTF-8, or the object holds what an answer cannot hold.
    """
    try:
        text = printed.decode("utf-8")
    except UnicodeDecodeError as error:
        raise TargetError("crash", f"printed bytes that are not UTF-8 at offset {error.start}") from None
    if text.lstrip().startswith("{"):
        value: Any = None
        with contextlib.suppress(ValueError, RecursionError):
            # NaN is no number that could be reported; as everywhere, unknown is None.
            value = json.loads(text, parse_constant=lambda _: None)
        if isinstance(value, dict) and "output" in value:
            return answer_from(value, seconds=seconds)
    return Answer(output=_without_newline(text), duration=seconds)


def _without_newline(text: str) -> str:
    return text[:-2] if text.endswith("\r\n") else text.removesuffix("\n")


def _last_line(stderr: bytes) -> str:
    for line in reversed(stderr.splitlines()):
        if text := one_line(line.decode("utf-8", "replace")):
            return text
    return ""


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    return one_line(str(error))
