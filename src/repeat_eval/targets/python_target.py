"""The `python:` target and `python:` checks: functions of the user's, called in workers; and what they may return."""

from __future__ import annotations

import json
import math
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from repeat_eval.errors import UserError
from repeat_eval.records.trial import Tokens, ToolCall, one_line
from repeat_eval.suite.checks.base import Answer, NoVerdict, Observation, Score
from repeat_eval.suite.checks.python import Python
from repeat_eval.targets.base import Call, TargetError
from repeat_eval.targets.worker import NotJson, describe, to_json
from repeat_eval.targets.worker_process import FunctionSpec

if TYPE_CHECKING:
    from repeat_eval.targets.worker_pool import WorkerPool

ANSWER_KEYS = frozenset({"output", "tool_calls", "tokens", "cost", "turns", "duration", "cached"})
"""Keys of a mapping that is an answer with its circumstances rather than an output."""

_ARGUMENT_KEYS = ("arguments", "args", "input")
_INPUT_TOKENS = ("input", "prompt", "input_tokens", "prompt_tokens")
_OUTPUT_TOKENS = ("output", "completion", "output_tokens", "completion_tokens")


class PythonTarget:
    """A function of the user's as a target. Owns nothing but its place in the pool, and closes that."""

    def __init__(self, reference: str, pool: WorkerPool) -> None:
        """Describe the target: `reference` is `module:function`."""
        self.reference = reference
        self._pool = pool
        self._function = pool.add(FunctionSpec(reference, "target"))

    async def start(self) -> None:
        """Start the pool, unless another target has. Raises UserError."""
        await self._pool.start()

    async def answer(self, call: Call) -> tuple[Answer, int]:
        """Call the function. Its own time is the answer's duration, unless it reports another."""
        reply = await self._pool.call(self._function, call, call.input)
        return answer_from(reply.value, seconds=reply.seconds), 1

    async def close(self) -> None:
        """Close the pool."""
        await self._pool.close()


class PythonCheck:
    """Calls the function of a `python:` check in a worker. Its pool is closed by who made it."""

    def __init__(self, check: Python, pool: WorkerPool) -> None:
        """Have the pool load the check's function; only before the pool starts."""
        self.check = check
        self._pool = pool
        self._function = pool.add(FunctionSpec(check.argument, "check"))

    async def judge(self, observation: Observation, call: Call) -> Score:
        """Judge one trial.

        Args:
            observation: what the target answered.
            call: the trial; its timeout holds for the check by itself.

        Raises:
            NoVerdict: the function raised, took too long, or returned no verdict.
        """
        answer = observation.answer
        calls = answer.tool_calls
        about = {
            "input": observation.input,
            "expected": observation.expected,
            "tool_calls": None if calls is None else [{"name": one.name, "arguments": one.arguments} for one in calls],
            "duration": observation.duration,
            "turns": answer.turns,
            "cost": answer.cost,
        }
        try:
            reply = await self._pool.call(self._function, call, answer.output, about)
        except TargetError as exc:
            raise NoVerdict(f"the check {self.check.argument} gave no verdict: {exc.message}") from None
        return self.check.interpret(reply.value)


def find_interpreter(folder: Path, given: str | None = None) -> Path:
    """The Python that runs the functions of a suite.

    Args:
        folder: the suite's folder.
        given: what the user named: a path, seen from the suite's folder or else from the current one, a virtual
            environment's folder, or a name to look for on PATH. Without it the `.venv` in the suite's folder is taken
            if there is one, else the Python that runs us.

    Returns:
        An absolute path, with links kept: a virtual environment is known by the link's place.

    Raises:
        UserError: there is no such interpreter.
    """
    if given is not None:
        return _given_interpreter(folder, given)
    for candidate in _interpreters_of(folder / ".venv"):
        if candidate.is_file():
            return candidate.absolute()
        if candidate.is_symlink():
            raise UserError(
                f"the interpreter {candidate} is a link to nothing; make the environment anew, or name another with"
                " `interpreter:` in the suite or with `--python`"
            )
    return Path(sys.executable)


def _interpreters_of(environment: Path) -> tuple[Path, Path]:
    return environment / "bin" / "python", environment / "Scripts" / "python.exe"


def _given_interpreter(folder: Path, given: str) -> Path:
    path = Path(given).expanduser()
    for candidate in (folder / path, path):
        options = _interpreters_of(candidate) if candidate.is_dir() else (candidate,)
        for option in options:
            if option.is_file() and os.access(option, os.X_OK):
                return option.absolute()
    if path.name == given and (found := shutil.which(given)):
        return Path(found).absolute()
    raise UserError(
        f"there is no interpreter {given!r}; name a Python with `interpreter:` in the suite or with `--python`"
    )


# ---- what functions may return -------------------------------------------------------------------------------------


def answer_from(value: Any, *, seconds: float | None = None) -> Answer:
    """Read what a target returned.

    Text is the output. A mapping with `output` (or with `tool_calls` and nothing that an answer does not know) is an
    answer with its circumstances; other keys in it are ignored. Any other JSON value is the output itself.

    Args:
        value: JSON values only; `answer_from_object` takes any object.
        seconds: the duration, unless the value has one.

    Raises:
        TargetError: (crash) a part of the answer has the wrong shape; says which, and what was found.
    """
    if not isinstance(value, dict) or not (
        "output" in value or ("tool_calls" in value and ANSWER_KEYS.issuperset(value))
    ):
        return Answer(output=value, duration=seconds)
    duration = _amount(value, "duration")
    cached = value.get("cached")
    if cached is not None and not isinstance(cached, bool):
        _wrong("cached", "true or false", cached)
    return Answer(
        output=value.get("output"),
        tool_calls=_tool_calls(value.get("tool_calls")),
        turns=_count(value.get("turns"), "turns"),
        tokens=_tokens(value.get("tokens")),
        cost=_amount(value, "cost"),
        duration=seconds if duration is None else duration,
        cached=cached,
    )


def answer_from_object(value: Any, *, seconds: float | None = None) -> Answer:
    """Read what a function in our own process returned: as `answer_from`, after the way through JSON.

    Raises TargetError (crash) also for what is not JSON.
    """
    if isinstance(value, str):
        return Answer(output=value, duration=seconds)
    try:
        return answer_from(json.loads(to_json(value)), seconds=seconds)
    except NotJson as exc:
        raise TargetError("crash", str(exc)) from None
    except RecursionError:
        raise TargetError("crash", "the function returned a value that is nested too deeply") from None


def error_from_exception(exc: BaseException) -> TargetError:
    """An exception of the user's code as an error of the target: `crash`, or `provider` where a service is to blame."""
    about = describe(exc)
    return TargetError(about["kind"], about["message"], retry_after=about["retry_after"])


def _wrong(key: str, allowed: str, found: Any) -> NoReturn:
    raise TargetError("crash", f"`{key}` of the answer must be {allowed}, not {_shown(found)}")


def _shown(value: Any) -> str:
    """A value for a message: its type, and itself where it is short."""
    name = {dict: "a mapping", list: "a list", str: "text", bool: "a truth value", type(None): "null"}.get(
        type(value), "a number"
    )
    text = one_line(json.dumps(value, ensure_ascii=False), 60) if not isinstance(value, dict | list) else ""
    return f"{name} ({text})" if text and value is not None else name


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _amount(answer: Mapping[str, Any], key: str) -> float | None:
    found = answer.get(key)
    if found is None:
        return None
    if not _is_number(found) or found < 0:
        _wrong(key, "a number that is not negative", found)
    return float(found)


def _count(found: Any, key: str) -> int | None:
    if found is None:
        return None
    if not _is_number(found) or found < 0 or found != int(found):
        _wrong(key, "a whole number that is not negative", found)
    return int(found)


def _tokens(found: Any) -> Tokens | None:
    if found is None:
        return None
    if not isinstance(found, dict):
        _wrong("tokens", "a mapping with `input` and `output`", found)
    read = next((found[key] for key in _INPUT_TOKENS if key in found), None)
    written = next((found[key] for key in _OUTPUT_TOKENS if key in found), None)
    return Tokens(input=_count(read, "tokens.input"), output=_count(written, "tokens.output"))


def _tool_calls(found: Any) -> tuple[ToolCall, ...] | None:
    if found is None:
        return None
    if not isinstance(found, list):
        _wrong("tool_calls", "a list", found)
    return tuple(_tool_call(one, f"tool_calls[{place}]") for place, one in enumerate(found))


def _tool_call(found: Any, place: str) -> ToolCall:
    match found:
        case str():
            return ToolCall(found)
        case [str(name)]:
            return ToolCall(name)
        case [str(name), arguments]:
            return ToolCall(name, arguments)
        case {"name": str(name)}:
            return ToolCall(name, next((found[key] for key in _ARGUMENT_KEYS if key in found), None))
        case {"function": {"name": str(name), **rest}}:  # as chat APIs report them, with the arguments as JSON text
            return ToolCall(name, _decoded(rest.get("arguments")))
    _wrong(place, "a name, [name, arguments] or a mapping with `name` and `arguments`", found)


def _decoded(arguments: Any) -> Any:
    if not isinstance(arguments, str):
        return arguments
    try:
        return json.loads(arguments)
    except (ValueError, RecursionError):
        return arguments
