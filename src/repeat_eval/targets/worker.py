"""The worker: runs the user's functions in the user's interpreter.

This one file is started as a script by Python 3.9 or newer, needs nothing but the standard library and never imports
repeat_eval. It speaks JSON lines over private duplicates of its first two file descriptors; what the user's code
prints goes to stderr. We import from it only what the Python API shares with it (`TrialContext` and its helpers).

Requests (objects, `do` says which):
    init    `folder`, `threads`, `scratch`, `functions` [{`reference`, `kind`: `target` or `check`}]
    call    `id`, `function` (index), `value`, `trial` {case, repetition, repeats, seed, and for checks more}
    cancel  `id`
    exit
Replies (arrays): [id, seconds, value] or [id, seconds, null, {kind, message, retry_after}]; init has the id 0.
"""

from __future__ import annotations

import sys

if __name__ == "__main__" and not getattr(sys.flags, "safe_path", False):
    del sys.path[0]  # our own folder: it holds an http.py, among others, which must not hide the standard library's

import json
import os
import threading
from time import perf_counter
from types import FunctionType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio
    import random
    from collections.abc import Callable, Iterator
    from pathlib import Path

MAX_ANSWER_BYTES = 5_000_000
"""Largest answer of one call, as JSON."""
MAX_MESSAGE_CHARACTERS = 500

_PROVIDER_STATUS = frozenset({408, 409, 429, *range(500, 600)})
# Named, not imported: the user's packages must not be loaded by us.
_PROVIDER_ERRORS = frozenset(
    {
        "aiohttp.ClientConnectionError",
        "anthropic.APIConnectionError",
        "asyncio.TimeoutError",
        "botocore.HTTPClientError",
        "httpcore.NetworkError",
        "httpcore.TimeoutException",
        "httpx.TransportError",
        "openai.APIConnectionError",
        "requests.ConnectionError",
        "requests.Timeout",
        "socket.gaierror",
        "socket.timeout",
        "urllib.URLError",
        "urllib3.HTTPError",
    }
)


class TrialContext:
    """What a function is told about its trial, when it takes a second argument. Read by attribute or by key.

    Attributes:
        case: id of the case. repetition: the trial's number, counted from 1, of `repeats`.
        seed: the trial's own seed; the same trial of the same run always gets the same one.
        input: the case's input.
    """

    fields: tuple[str, ...] = ("case", "repetition", "repeats", "seed", "input", "tmpdir", "random")

    def __init__(
        self, *, case: str, repetition: int, repeats: int, seed: int, input: Any = None, scratch: str | None = None
    ) -> None:
        self.case = case
        self.repetition = repetition
        self.repeats = repeats
        self.seed = seed
        self.input = input
        self._scratch = scratch
        self._tmpdir: Path | None = None
        self._random: random.Random | None = None

    @property
    def tmpdir(self) -> Path:
        """A folder of this trial's own, made when first asked for and removed after the call."""
        if self._tmpdir is None:
            import tempfile
            from pathlib import Path

            self._tmpdir = Path(tempfile.mkdtemp(prefix="trial-", dir=self._scratch))
        return self._tmpdir

    @property
    def random(self) -> random.Random:
        """A generator of random numbers, seeded with the trial's seed."""
        if self._random is None:
            import random

            self._random = random.Random(self.seed)  # noqa: S311 - to repeat, not to guard
        return self._random

    def __getitem__(self, key: str) -> Any:
        if key not in self.fields:
            raise KeyError(key)
        return getattr(self, key)

    def get(self, key: str, default: Any = None) -> Any:
        """The value behind `key`, or `default` where there is no such key."""
        return getattr(self, key) if key in self.fields else default

    def keys(self) -> tuple[str, ...]:
        """Names of everything the context holds."""
        return self.fields

    def cleanup(self) -> None:
        """Remove the trial's folder, if it was made."""
        if self._tmpdir is not None:
            import shutil

            shutil.rmtree(self._tmpdir, ignore_errors=True)
            self._tmpdir = None


class CheckContext(TrialContext):
    """What a check function is told besides the output: the trial, the case's `expected` and what the target reports.

    Attributes:
        expected: what the case says; None if nothing. tool_calls: list of {name, arguments}; None if unknown.
        duration: seconds. turns, cost (US dollars): None if unknown.
    """

    fields = (*TrialContext.fields, "expected", "tool_calls", "duration", "turns", "cost")

    def __init__(
        self,
        *,
        expected: Any = None,
        tool_calls: list[dict[str, Any]] | None = None,
        duration: float | None = None,
        turns: int | None = None,
        cost: float | None = None,
        **trial: Any,
    ) -> None:
        super().__init__(**trial)
        self.expected = expected
        self.tool_calls = tool_calls
        self.duration = duration
        self.turns = turns
        self.cost = cost


# ---- functions -----------------------------------------------------------------------------------------------------


def _parameters(function: Callable[..., Any]) -> tuple[list[str], int, list[str], list[str], bool]:
    """Names of positional parameters, how many are required, keyword-only ones, the required of them, has *args."""
    if type(function) is FunctionType and not hasattr(function, "__wrapped__"):
        # The usual case, without importing inspect, which costs more than the rest of the worker's start.
        code = function.__code__
        count = code.co_argcount
        keywords = list(code.co_varnames[count : count + code.co_kwonlyargcount])
        defaults = function.__kwdefaults__ or {}
        required = count - len(function.__defaults__ or ())
        needed = [name for name in keywords if name not in defaults]
        return list(code.co_varnames[:count]), required, keywords, needed, bool(code.co_flags & 0x04)
    import inspect

    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # built-in functions may not tell
        return ["input"], 1, [], [], True
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    positional = [one for one in parameters if one.kind in kinds]
    only = [one for one in parameters if one.kind is inspect.Parameter.KEYWORD_ONLY]
    return (
        [one.name for one in positional],
        sum(one.default is one.empty for one in positional),
        [one.name for one in only],
        [one.name for one in only if one.default is one.empty],
        any(one.kind is inspect.Parameter.VAR_POSITIONAL for one in parameters),
    )


def bind(function: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    """Make a function of (value, context) of one that takes only a value, or a value and a context.

    It is given the context if its second positional parameter has no default, or if a parameter is named `context` or
    `ctx`. Raises TypeError, with a text that says what is wrong, where the function cannot be called like that.
    """
    positional, required, keywords, needed, variadic = _parameters(function)
    if not positional and not variadic:
        raise TypeError("takes no argument; it must take the value to work on")
    if required > 2 or [name for name in needed if name not in ("context", "ctx")]:
        raise TypeError(f"needs {required + len(needed)} arguments; it may take a value, or a value and a context")
    for name in ("context", "ctx"):
        if name in keywords or name in positional[2:]:
            return lambda value, context: function(value, **{name: context})
    if required == 2 or (len(positional) > 1 and positional[1] in ("context", "ctx")):
        return function
    return lambda value, context: function(value)


def is_async(function: Callable[..., Any]) -> bool:
    """Whether calling it makes a coroutine: an `async def`, also behind a partial, a decorator or `__call__`."""
    if type(function) is FunctionType and not hasattr(function, "__wrapped__"):
        return bool(function.__code__.co_flags & 0x80)
    import functools
    import inspect

    while isinstance(function, functools.partial):
        function = function.func
    if inspect.iscoroutinefunction(function):
        return True
    called = getattr(type(function), "__call__", None)  # noqa: B004 - the method itself is wanted
    return not inspect.isroutine(function) and not inspect.isclass(function) and inspect.iscoroutinefunction(called)


class LoadError(Exception):
    """A function cannot be had. `place` says whether the interpreter may be the reason."""

    def __init__(self, message: str, *, place: bool = True) -> None:
        super().__init__(message)
        self.place = place


def load(reference: str) -> Any:
    """The object that `module:name` names (the name may have dots). Raises LoadError."""
    import importlib

    module_name, _, attribute = reference.partition(":")
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as exc:
        parents = [module_name.rsplit(".", count)[0] for count in range(module_name.count(".") + 1)]
        if exc.name in parents:
            raise LoadError(f"there is no module {exc.name!r}") from None
        _print_traceback(exc)
        raise LoadError(f"the module {module_name!r} needs {exc.name!r}, which is not installed") from None
    except SyntaxError as exc:
        where = f" ({_short(exc.filename)}:{exc.lineno})" if exc.filename else ""
        raise LoadError(f"the module {module_name!r} has a syntax error: {exc.msg}{where}") from None
    except BaseException as exc:
        _print_traceback(exc)
        raise LoadError(f"the module {module_name!r} could not be imported: {describe(exc)['message']}") from None
    found: Any = module
    for name in attribute.split("."):
        owner = found
        try:
            found = getattr(owner, name)
        except AttributeError:
            raise LoadError(_unknown_name(module_name, owner, name), place=False) from None
    if not callable(found):
        raise LoadError(f"{attribute!r} in {module_name!r} is {_a(found)}, not a function", place=False)
    return found


def _unknown_name(module_name: str, owner: Any, name: str) -> str:
    import difflib

    known = [other for other in dir(owner) if not other.startswith("_") and callable(getattr(owner, other, None))]
    near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
    hint = f"; did you mean {' or '.join(map(repr, near))}?" if near else ""
    return f"the module {module_name!r} has no {name!r}{hint}"


def _a(value: Any) -> str:
    """The type's name with its article."""
    name = "None" if value is None else type(value).__name__
    return name if value is None else f"an {name}" if name[:1].lower() in "aeiou" else f"a {name}"


# ---- errors --------------------------------------------------------------------------------------------------------


def _short(path: str) -> str:
    """A path as seen from the suite's folder, if it lies inside."""
    try:
        folder = os.getcwd() + os.sep  # noqa: PTH109 - pathlib costs start-up time
    except OSError:  # the user's code removed it
        return path
    return path[len(folder) :] if path.startswith(folder) else path


def _frames(exc: BaseException) -> Iterator[tuple[str, int]]:
    trace = exc.__traceback__
    while trace is not None:
        yield trace.tb_frame.f_code.co_filename, trace.tb_lineno
        trace = trace.tb_next


def _place(exc: BaseException) -> str:
    """File and line of the last frame in the user's own code; else of the last one that is not ours."""
    frames = [(file, line) for file, line in _frames(exc) if file != __file__ and not file.startswith("<frozen")]
    own = [(file, line) for file, line in frames if not _is_library(file)]
    for file, line in (own or frames)[-1:]:
        return f" ({_short(file)}:{line})"
    return ""


_LIBRARIES = (
    f"{os.sep}site-packages{os.sep}",
    f"{os.sep}dist-packages{os.sep}",
    os.path.dirname(os.__file__) + os.sep,  # noqa: PTH120 - pathlib costs start-up time
)


def _is_library(file: str) -> bool:
    """Whether a file is of an installed package or of the standard library."""
    return any(part in file for part in _LIBRARIES)


def _print_traceback(exc: BaseException) -> None:
    """The end of a traceback, for the log."""
    import traceback

    frames = [one for one in traceback.extract_tb(exc.__traceback__) if not one.filename.startswith("<frozen")]
    sys.stderr.write("".join(traceback.format_list([one for one in frames if one.filename != __file__][-5:])))
    sys.stderr.write("".join(traceback.format_exception_only(type(exc), exc)))
    sys.stderr.flush()


def _number(value: Any) -> float | None:
    """A finite number of seconds, not negative; None for anything else."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if 0 <= number < 1e9 else None


def _status(exc: BaseException) -> int | None:
    response = getattr(exc, "response", None)
    candidates = [getattr(exc, name, None) for name in ("status_code", "status", "code")]
    candidates.append(getattr(response, "status_code", None))
    if isinstance(response, dict):  # botocore
        candidates.append((response.get("ResponseMetadata") or {}).get("HTTPStatusCode"))
    for candidate in candidates:
        if isinstance(candidate, int) and not isinstance(candidate, bool):
            return int(candidate)
    return None


def _retry_after(exc: BaseException) -> float | None:
    seconds = _number(getattr(exc, "retry_after", None))
    headers = getattr(getattr(exc, "response", None), "headers", None) or getattr(exc, "headers", None)
    if seconds is not None or headers is None:
        return seconds
    written = headers.get("retry-after") or headers.get("Retry-After")
    seconds = _number(written)
    if seconds is None and written:
        from email.utils import parsedate_to_datetime
        from time import time

        seconds = max(0.0, parsedate_to_datetime(str(written)).timestamp() - time())
    return seconds


def describe(exc: BaseException) -> dict[str, Any]:
    """An exception of the user's code as data: kind (crash, provider, recording), message, retry_after (seconds)."""
    try:
        text = " ".join(str(exc)[:4000].split())
    except Exception:
        text = "(its text cannot be had)"
    if len(text) > MAX_MESSAGE_CHARACTERS:
        text = text[:MAX_MESSAGE_CHARACTERS] + "…"
    name = type(exc).__name__
    kind, retry_after = "crash", None
    if isinstance(exc, Exception):
        # The attributes belong to others and may do anything when read.
        try:
            names = {f"{one.__module__.split('.')[0]}.{one.__name__}" for one in type(exc).__mro__}
            if "repeat_eval.RecordingMissing" in names:
                return {"kind": "recording", "message": text, "retry_after": None}
            network = isinstance(exc, (ConnectionError, TimeoutError)) or not names.isdisjoint(_PROVIDER_ERRORS)
            status = _status(exc)
            if status in _PROVIDER_STATUS or (network and status is None):
                kind = "provider"
                retry_after = _retry_after(exc)
        except Exception:  # noqa: S110 - what it would have said is not known
            pass
    message = (f"{name}: {text}" if text else name) + _place(exc)
    return {"kind": kind, "message": message, "retry_after": retry_after}


class NotJson(Exception):
    """A function returned something that is no answer; the text says what it is."""


def _plain(value: Any) -> Any:
    """Numbers of numpy and its kin become Python's; everything else is not JSON."""
    if getattr(value, "ndim", None) == 0 and hasattr(value, "item"):
        return value.item()
    raise TypeError(f"{_a(value)} is not JSON")


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_plain)


def to_json(value: Any) -> bytes:
    """A returned value as JSON. Raises NotJson."""
    try:
        data = _ENCODER.encode(value).encode("utf-8", "replace")  # lone surrogates become question marks
    except RecursionError:
        raise NotJson(f"the function returned {_a(value)} that is nested too deeply") from None
    except Exception as exc:
        reason = str(exc)[:MAX_MESSAGE_CHARACTERS]
        if "Out of range float" in reason:
            reason = "it holds NaN or Infinity"
        raise NotJson(f"the function returned {_a(value)} that cannot be written as JSON: {reason}") from None
    if len(data) > MAX_ANSWER_BYTES:
        raise NotJson(f"the function returned {len(data) / 1e6:.1f} MB of JSON; at most {MAX_ANSWER_BYTES / 1e6:g} MB")
    return data


# ---- the process ---------------------------------------------------------------------------------------------------


class _Function:
    """A function of the user's, ready to be called with (value, context)."""

    __slots__ = ("call", "context", "file", "is_async")

    def __init__(self, reference: str, kind: str) -> None:
        found = load(reference)
        try:
            self.call = bind(found)
        except TypeError as exc:
            raise LoadError(f"{reference.partition(':')[2]!r} {exc}", place=False) from None
        self.is_async = is_async(found)
        self.file = getattr(sys.modules[reference.partition(":")[0]], "__file__", None)
        self.context = CheckContext if kind == "check" else TrialContext


def _own_modules() -> list[str]:
    """Files of all modules that are loaded by now, but for installed packages and the standard library."""
    files = []
    for name, module in list(sys.modules.items()):
        try:
            # Not by getattr, which would load a module that is lazy.
            file = object.__getattribute__(module, "__dict__").get("__file__")
        except AttributeError:  # anything may stand in sys.modules
            continue
        if isinstance(file, str) and name != "__main__" and not _is_library(file):
            files.append(file)
    return files


class _Lines:
    """Cuts a stream of bytes into lines."""

    __slots__ = ("rest",)

    def __init__(self) -> None:
        self.rest = b""

    def feed(self, data: bytes) -> list[bytes]:
        *lines, self.rest = (self.rest + data).split(b"\n")
        return lines


class _Process:
    """The worker: reads requests, runs functions, writes replies."""

    def __init__(self, read: int, write: int) -> None:
        self.read = read
        self.write = write
        self.lock = threading.Lock()
        self.lines = _Lines()
        self.functions: list[_Function] = []
        self.threads = 1
        self.started_threads = 0
        self.scratch: str | None = None
        self.queue: Any = None
        self.loop: asyncio.AbstractEventLoop | None = None
        self.tasks: dict[int, asyncio.Task[None]] = {}
        self.cancelled: set[int] = set()
        self.outbox: list[bytes] = []

    # -- talking

    def send(self, line: bytes) -> None:
        """Write replies; several threads may."""
        with self.lock:
            while line:
                try:
                    line = line[os.write(self.write, line) :]
                except OSError:  # nobody listens any more
                    os._exit(1)

    def reply(self, call: int, seconds: float, value: Any) -> bytes:
        try:
            return b"[%d,%.6f,%b]\n" % (call, seconds, to_json(value))
        except NotJson as exc:
            return self.failure(call, seconds, {"kind": "crash", "message": str(exc), "retry_after": None})

    @staticmethod
    def failure(call: int, seconds: float, error: dict[str, Any]) -> bytes:
        text = json.dumps(error, ensure_ascii=False).encode("utf-8", "replace")
        return b"[%d,%.6f,null,%b]\n" % (call, seconds, text)

    # -- running

    def context(self, request: dict[str, Any], function: _Function) -> TrialContext:
        value = None if function.context is CheckContext else request["value"]
        trial = request["trial"]
        if "input" not in trial:
            trial["input"] = value
        return function.context(scratch=self.scratch, **trial)

    def run(self, request: dict[str, Any]) -> bytes:
        """Run a function in this thread; gives the reply."""
        function = self.functions[request["function"]]
        context = self.context(request, function)
        call = request["id"]
        started = perf_counter()
        try:
            value = function.call(request["value"], context)
            if hasattr(value, "__await__"):
                value = self.await_here(value)
            return self.reply(call, perf_counter() - started, value)
        except BaseException as exc:  # also SystemExit: the user's code does not end the worker
            return self.failure(call, perf_counter() - started, describe(exc))
        finally:
            context.cleanup()

    def await_here(self, awaitable: Any) -> Any:
        """Wait for what a function that does not look async returned, on the one loop that all of them share."""
        import asyncio

        async def wait() -> Any:
            return await awaitable

        with self.lock:
            if self.loop is None:
                self.loop = asyncio.new_event_loop()
                threading.Thread(target=self.loop.run_forever, daemon=True).start()
        return asyncio.run_coroutine_threadsafe(wait(), self.loop).result()

    async def run_async(self, request: dict[str, Any]) -> None:
        function = self.functions[request["function"]]
        context = self.context(request, function)
        call = request["id"]
        started = perf_counter()
        try:
            value = await function.call(request["value"], context)
            line = self.reply(call, perf_counter() - started, value)
        except BaseException as exc:  # a task that lets SystemExit out would end the loop
            error = describe(exc)
            if call in self.cancelled:
                error = {"kind": "timeout", "message": "cancelled", "retry_after": None}
            line = self.failure(call, perf_counter() - started, error)
        finally:
            context.cleanup()
        del self.tasks[call]
        self.cancelled.discard(call)
        self.outbox.append(line)
        if not self.tasks:
            self.flush()
        elif len(self.outbox) == 1 and self.loop is not None:
            self.loop.call_soon(self.flush)  # replies of one turn of the loop leave together

    def cancel(self, call: int, task: asyncio.Task[None]) -> None:
        def answer(_: asyncio.Task[None]) -> None:
            if self.tasks.pop(call, None) is not None:  # cancelled before its first step, it could not reply
                self.cancelled.discard(call)
                self.send(self.failure(call, 0.0, {"kind": "timeout", "message": "cancelled", "retry_after": None}))

        self.cancelled.add(call)
        task.add_done_callback(answer)
        task.cancel()

    def flush(self) -> None:
        if self.outbox:
            line = b"".join(self.outbox)
            self.outbox.clear()
            self.send(line)

    def work(self) -> None:
        """One of the threads for functions that are not async."""
        while True:
            self.send(self.run(self.queue.get()))

    def hand_to_thread(self, request: dict[str, Any]) -> None:
        if self.started_threads < self.threads:
            self.started_threads += 1
            threading.Thread(target=self.work, daemon=True, name=f"trial-{self.started_threads}").start()
        self.queue.put(request)

    # -- living

    def requests(self) -> Iterator[dict[str, Any]]:
        while True:
            data = os.read(self.read, 1 << 18)
            if not data:
                return
            for line in self.lines.feed(data):
                yield json.loads(line)

    def init(self, request: dict[str, Any]) -> None:
        self.threads = request["threads"]
        self.scratch = request["scratch"]
        sys.path.insert(0, request["folder"])
        problems = []
        for wanted in request["functions"]:
            try:
                self.functions.append(_Function(wanted["reference"], wanted["kind"]))
            except LoadError as exc:
                problems.append({"reference": wanted["reference"], "message": str(exc), "place": exc.place})
        loaded = [{"file": one.file, "is_async": one.is_async} for one in self.functions]
        version = ".".join(map(str, sys.version_info[:3]))
        found = {"version": version, "functions": loaded, "modules": _own_modules(), "problems": problems}
        self.send(self.reply(0, 0.0, found))

    def serve(self) -> None:
        """Answer requests until told to exit or left alone."""
        threading.Thread(target=self.watch, daemon=True, name="watch").start()
        requests = self.requests()
        first = next(requests, None)
        if first is None or first["do"] != "init":
            return
        self.init(first)
        if self.threads > 1 or any(one.is_async for one in self.functions):
            from queue import SimpleQueue

            self.queue = SimpleQueue()
        if any(one.is_async for one in self.functions):
            self.serve_loop()
            return
        for request in requests:
            if request["do"] == "exit":
                return
            if request["do"] == "call":  # what is not async cannot be cancelled; a worker that hangs is killed
                if self.queue is None:
                    self.send(self.run(request))
                else:
                    self.hand_to_thread(request)

    def serve_loop(self) -> None:
        """The same with an event loop, for async functions; the others run in threads."""
        import asyncio

        # Before 3.10 a lock or queue made while a module was imported belongs to the loop that get_event_loop gave.
        loop = asyncio.new_event_loop() if sys.version_info >= (3, 10) else asyncio.get_event_loop()
        asyncio.set_event_loop(loop)
        self.loop = loop
        loop.add_reader(self.read, self.readable)
        while True:
            try:
                loop.run_forever()
                break
            except BaseException as exc:  # thrown in a callback or a task that the user's code left behind
                _print_traceback(exc)
        loop.remove_reader(self.read)
        left = [task for task in asyncio.all_tasks(loop) if not task.done()]
        for task in left:
            task.cancel()
        loop.run_until_complete(asyncio.gather(*left, return_exceptions=True))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()

    def readable(self) -> None:
        loop = self.loop
        data = os.read(self.read, 1 << 18)
        if loop is None or not data:
            os._exit(1)
        for line in self.lines.feed(data):
            request = json.loads(line)
            do = request["do"]
            if do == "exit":
                loop.stop()
            elif do == "cancel":
                task = self.tasks.get(request["id"])
                if task is not None:
                    self.cancel(request["id"], task)
            elif self.functions[request["function"]].is_async:
                self.tasks[request["id"]] = loop.create_task(self.run_async(request))
            else:
                self.hand_to_thread(request)

    def watch(self) -> None:
        """End with all children when the parent is gone, even if the user's code hangs."""
        import select

        poller = select.poll()
        poller.register(self.read, 0)  # nothing asked for: only the end of the connection is told
        while not poller.poll():
            pass
        if os.getpgrp() == os.getpid():
            os.killpg(0, 9)
        os._exit(1)


def main() -> None:
    """Take the connection for ourselves, give the user's code an empty stdin and the log as stdout, and serve."""
    if sys.version_info < (3, 9):  # noqa: UP036 - the user's Python, not ours
        raise SystemExit("repeat-eval needs Python 3.9 or newer to run functions")
    read, write = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)
    os.dup2(2, 1)
    _Process(read, write).serve()


if __name__ == "__main__":
    main()
