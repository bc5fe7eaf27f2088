"""HTTP-level recordings for code that calls APIs by itself: Python targets, pytest suites, any Python command.

    from repeat_eval.recording import recording

    def answer(question, context):
        with recording(context):
            return client.chat(question)

The runner says in environment variables where recordings are kept and what is to be done with them; outside of a run,
or where no cassettes are asked for, `recording()` does nothing. Needs vcrpy: pip install 'repeat-eval[recording]'.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import threading
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn

__all__ = ["RecordingMissing", "recording"]

_MODES = {"auto": "new_episodes", "record": "new_episodes", "replay": "none"}
_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")
_KEPT_HEADERS = frozenset({"content-type", "location", "retry-after"})
_MATCHED_ON = ("method", "scheme", "host", "port", "path", "query", "body")
_ERROR_STATUSES = frozenset({408, 409, 425, 429})
# vcrpy replaces the HTTP libraries of the whole process, so only one trial of a process records at a time.
_ONE_AT_A_TIME = threading.Lock()


class RecordingMissing(RuntimeError):
    """A request in mode `replay` that was never recorded. The trial is an error of the kind `recording`."""


def recording(context: Any = None, *, case: str | None = None, repetition: int | None = None) -> Recording:
    """Record, or replay, the HTTP requests that are made inside a `with` or `async with` block.

    Args:
        context: the trial's context as Python targets are handed it; tells case and repetition.
        case: the case's id, where there is no context. Without it the variable REPEAT_EVAL_TRIAL_CASE counts, and in
            pytest the id of the running test.
        repetition: the trial's number, counted from 1; without it REPEAT_EVAL_TRIAL_REPETITION counts.

    Returns:
        A context manager. It may be used once. Trials of one process take turns.

    Raises:
        ValueError: recordings are asked for, and nothing says which trial this is; or the mode is none.
        RecordingMissing: when the block ends, if in mode `replay` a request had no recording, also where the code
            inside caught that.
    """
    return Recording(os.environ, context, case, repetition)


class Recording:
    """The context manager that `recording` makes."""

    def __init__(self, environ: Mapping[str, str], context: Any, case: str | None, repetition: int | None) -> None:
        self._mode = environ.get("REPEAT_EVAL_RECORDING_MODE", "auto")
        self._stack = ExitStack()
        self._missed: list[str] = []
        self._misses_file = environ.get("REPEAT_EVAL_RECORDING_MISSES")
        self._path: Path | None = None
        folder = environ.get("REPEAT_EVAL_RECORDING_FOLDER")
        if not folder or self._mode == "off":
            return
        if self._mode not in _MODES:
            raise ValueError(f"REPEAT_EVAL_RECORDING_MODE must be auto, record, replay or off; found {self._mode!r}")
        case = case or _of_context(context, "case") or environ.get("REPEAT_EVAL_TRIAL_CASE") or _running_test(environ)
        number = repetition or _of_context(context, "repetition") or environ.get("REPEAT_EVAL_TRIAL_REPETITION")
        if case is None or number is None or not str(number).isdecimal() or int(number) < 1:
            raise ValueError("nothing says which trial this is: give recording() the context, or case and repetition")
        self._case, self._repetition = case, int(number)
        self._path = Path(folder) / "http" / _file_name(case, self._repetition)

    def __enter__(self) -> Recording:
        if self._path is not None:
            if not _ONE_AT_A_TIME.acquire(blocking=not _in_event_loop()):
                raise RuntimeError("another trial is recording in this event loop: use `async with recording(...)`")
            self._open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._path is not None:
            self._stack.close()
            if self._missed:
                self._note()

    async def __aenter__(self) -> Recording:
        import asyncio

        if self._path is not None:
            # The holder may be a task of this very loop or another thread: neither kind of lock alone serves both.
            while not _ONE_AT_A_TIME.acquire(blocking=False):  # noqa: ASYNC110
                await asyncio.sleep(0.005)
            self._open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, trace)

    def _open(self) -> None:
        self._stack.callback(_ONE_AT_A_TIME.release)
        try:
            self._stack.enter_context(self._vcr())
        except BaseException:
            self._stack.close()
            raise

    def _vcr(self) -> Any:
        try:
            import vcr  # type: ignore[import-untyped]
        except ImportError:
            raise RuntimeError("HTTP-level recordings need vcrpy: pip install 'repeat-eval[recording]'") from None
        from contextlib import contextmanager

        from repeat_eval.cassettes.scrub import Cleaner

        assert self._path is not None  # noqa: S101 - checked by the callers
        clean = Cleaner(os.environ)
        if self._mode == "record":
            self._path.unlink(missing_ok=True)

        def before_request(request: Any) -> Any:
            request.headers = {}
            request.uri = clean.text(request.uri)
            request.body = _cleaned_body(request.body, clean)
            return request

        def before_response(response: dict[str, Any]) -> dict[str, Any] | None:
            status = response["status"]["code"]
            if status in _ERROR_STATUSES or status >= 500:
                return None
            response["headers"] = {
                name: values for name, values in response["headers"].items() if name.lower() in _KEPT_HEADERS
            }
            body = response.get("body", {})
            if "string" in body:
                body["string"] = _cleaned_body(body["string"], clean)
            return response

        recorder = vcr.VCR(
            record_mode=_MODES[self._mode],
            match_on=_MATCHED_ON,
            decode_compressed_response=True,
            before_record_request=before_request,
            before_record_response=before_response,
        )

        @contextmanager
        def opened() -> Any:
            with recorder.use_cassette(str(self._path)) as cassette:
                playable = cassette.can_play_response_for

                def can_play(request: Any) -> Any:
                    found = playable(request)
                    if not found and cassette.write_protected:
                        self._missed.append(f"{request.method} {clean.url(request.uri)}")
                    return found

                cassette.can_play_response_for = can_play
                yield cassette

        return opened()

    def _note(self) -> NoReturn:
        shown = f"{self._case!r}, repetition {self._repetition}: {self._missed[0]} has no recording"
        how = "record it with REPEAT_EVAL_RECORDING_MODE=auto"
        text = f"case {shown}; {how}"
        if self._misses_file:
            with Path(self._misses_file).open("a", encoding="utf-8") as file:
                file.write(json.dumps(text) + "\n")
        raise RecordingMissing(f"cassette miss: {text}")


def _of_context(context: Any, name: str) -> Any:
    return None if context is None else getattr(context, name, None)


def _running_test(environ: Mapping[str, str]) -> str | None:
    test = environ.get("PYTEST_CURRENT_TEST")
    return None if test is None else test.rpartition(" (")[0] or test


def _file_name(case: str, repetition: int) -> str:
    slug = _UNSAFE.sub("-", case)[:60].strip(".-") or "case"
    suffix = "" if repetition == 1 else f".{repetition}"
    return f"{slug}-{hashlib.sha256(case.encode('utf-8', 'surrogatepass')).hexdigest()[:10]}{suffix}.yaml"


def _cleaned_body(body: Any, clean: Any) -> Any:
    """A body without secrets; one that is no text stays as it is."""
    if isinstance(body, str):
        return clean.text(body)
    if isinstance(body, (bytes, bytearray)):
        try:
            text = bytes(body).decode()
        except UnicodeDecodeError:
            return body
        return clean.text(text).encode()
    return body


def _in_event_loop() -> bool:
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
