"""The file format `repeat-eval/cassette/1`: one JSON file a case, laid out to be read and compared in a review.

    {"schema": "repeat-eval/cassette/1", "case": "greets", "calls": [...], "responses": [...]}

A call's key is `PART/INDEX`, followed by `#REPETITION` from the second repetition on; a response's key is `response`,
followed by the same. So raising the number of repeats leaves every entry as it was. Entries stand in the order of
repetition, part and index. A text of several lines is a list of its lines.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from repeat_eval.cassettes.entries import Asked, RecordedCall, RecordedResponse
from repeat_eval.errors import Problem, UserError
from repeat_eval.models.call import CallSlot, ModelReply, RequestedTool
from repeat_eval.records.trial import NotNegative, NotNegativeInt, Tokens, ToolCall
from repeat_eval.suite.checks.base import Answer

SCHEMA = "repeat-eval/cassette/1"
SUFFIX = ".json"
MAX_ENTRY_BYTES = 1_000_000
"""A longer reply is not recorded."""
MAX_FILE_BYTES = 20_000_000
"""A case's file that would become longer takes no further recordings; a longer one is not read."""

_SCHEMA = re.compile(r"repeat-eval/cassette/([0-9]{1,6})")
_CALL_KEY = re.compile(r"(.*)/([1-9][0-9]{0,8})(?:#([1-9][0-9]{0,8}))?", re.DOTALL)
_RESPONSE_KEY = re.compile(r"response(?:#([1-9][0-9]{0,8}))?")
_BYTE = re.compile(r"\(byte (\d+)\)")
_UNSAFE = re.compile(r"[^A-Za-z0-9_.-]+")

_Lines = str | tuple[str, ...]


class _Call(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    key: str
    fingerprint: str
    asked: Asked
    text: _Lines | None = None
    tool_calls: tuple[RequestedTool, ...] = ()
    tokens: Tokens | None = None
    cost: NotNegative | None = None
    model: str | None = None
    finish_reason: str | None = None
    seconds: NotNegative | None = None


class _Response(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    key: str
    request_key: str
    text: _Lines | None = None
    output: Any = None
    tool_calls: tuple[ToolCall, ...] | None = None
    turns: NotNegativeInt | None = None
    tokens: Tokens | None = None
    cost: NotNegative | None = None
    seconds: NotNegative | None = None


class _File(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    schema: str
    case: str
    calls: tuple[msgspec.Raw, ...] = ()
    responses: tuple[msgspec.Raw, ...] = ()


class _Schema(msgspec.Struct, frozen=True):
    schema: str


class CaseCassette(msgspec.Struct, frozen=True):
    """The recordings of one case: calls by slot, responses by repetition."""

    case: str
    calls: dict[CallSlot, RecordedCall] = {}
    responses: dict[int, RecordedResponse] = {}

    @property
    def repetitions(self) -> set[int]:
        """The repetitions that anything is recorded of."""
        return {slot.repetition for slot in self.calls} | set(self.responses)


def file_name(case: str) -> str:
    """A safe file name for a case, whatever its id: readable, and different for different ids."""
    slug = _UNSAFE.sub("-", case)[:60].strip(".-") or "case"
    return f"{slug}-{hashlib.sha256(case.encode('utf-8', 'surrogatepass')).hexdigest()[:10]}{SUFFIX}"


def call_key(slot: CallSlot) -> str:
    """The key of a call within its case; bare for the first repetition."""
    return f"{slot.part}/{slot.index}{_suffix(slot.repetition)}"


def encode_call(call: RecordedCall) -> bytes:
    """One call as compact JSON; arguments stay in the model's order, in which a judge is shown them."""
    reply = call.reply
    return msgspec.json.encode(
        _Call(
            key=call_key(call.slot),
            fingerprint=call.fingerprint,
            asked=call.asked,
            text=None if reply.text is None else _lines(reply.text),
            tool_calls=reply.tool_calls,
            tokens=reply.tokens,
            cost=reply.cost,
            model=reply.model,
            finish_reason=reply.finish_reason,
            seconds=call.seconds,
        )
    )


def encode_response(response: RecordedResponse) -> bytes:
    """One response as compact JSON."""
    answer = response.answer
    is_text = isinstance(answer.output, str)
    return msgspec.json.encode(
        _Response(
            key=f"response{_suffix(response.repetition)}",
            request_key=response.request_key,
            text=_lines(answer.output) if is_text else None,
            output=None if is_text else answer.output,
            tool_calls=answer.tool_calls,
            turns=answer.turns,
            tokens=answer.tokens,
            cost=answer.cost,
            seconds=response.seconds,
        )
    )


def encode(cassette: CaseCassette) -> bytes:
    """A case's file, with entries in their stable order."""
    calls = sorted(cassette.calls.values(), key=lambda one: (one.slot.repetition, one.slot.part, one.slot.index))
    responses = sorted(cassette.responses.values(), key=lambda one: one.repetition)
    file = _File(
        schema=SCHEMA,
        case=cassette.case,
        calls=tuple(msgspec.Raw(encode_call(call)) for call in calls),
        responses=tuple(msgspec.Raw(encode_response(response)) for response in responses),
    )
    return msgspec.json.format(msgspec.json.encode(file), indent=2) + b"\n"


def write(path: Path, cassette: CaseCassette) -> None:
    """Write a case's file whole or not at all; a file without entries is removed. OSError when it cannot be."""
    if not cassette.calls and not cassette.responses:
        path.unlink(missing_ok=True)
        return
    descriptor, name = tempfile.mkstemp(prefix=".", suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(encode(cassette))
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise


def read(path: Path) -> CaseCassette:
    """Read a case's file.

    Raises:
        UserError: it cannot be read, is no cassette, is broken, or was written by a newer version; with the line.
    """
    try:
        if path.is_symlink():
            raise UserError(Problem("is a link, as no cassette may be", str(path)))
        if path.stat().st_size > MAX_FILE_BYTES:
            raise UserError(Problem(f"is larger than {MAX_FILE_BYTES:,} bytes, as no cassette may be", str(path)))
        data = path.read_bytes()
    except OSError as error:
        raise UserError(Problem(f"cannot be read: {error.strerror}", str(path))) from None
    try:
        _check_schema(msgspec.json.decode(data, type=_Schema).schema, path)
        file = msgspec.json.decode(data, type=_File)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UserError(_broken(path, data, error)) from None
    calls: dict[CallSlot, RecordedCall] = {}
    responses: dict[int, RecordedResponse] = {}
    problems: list[Problem] = []
    for kind, raws in (("calls", file.calls), ("responses", file.responses)):
        place = 0
        for raw in raws:
            text = bytes(raw)
            place = data.find(text, place)
            line = data.count(b"\n", 0, place) + 1 if place >= 0 else None
            try:
                if kind == "calls":
                    _add_call(calls, file.case, text)
                else:
                    _add_response(responses, text)
            except (msgspec.DecodeError, ValueError, RecursionError) as error:
                problems.append(Problem(f"is no recording: {error}", str(path), line))
            place += len(text)
    if problems:
        raise UserError(problems)
    return CaseCassette(file.case, calls, responses)


def cassette_files(folder: Path) -> Iterable[Path]:
    """The cassette files of a folder, in order of their names."""
    return sorted(path for path in folder.glob(f"*{SUFFIX}") if path.is_file() and not path.name.startswith("."))


def _check_schema(schema: str, path: Path) -> None:
    match = _SCHEMA.fullmatch(schema)
    if match is None:
        raise UserError(Problem(f"is no cassette: its schema is {schema[:80]!r}, not {SCHEMA!r}", str(path)))
    if int(match[1]) > 1:
        raise UserError(
            Problem(f"was written by a newer version (schema {schema}); this one knows {SCHEMA}", str(path))
        )


def _broken(path: Path, data: bytes, error: Exception) -> Problem:
    match = _BYTE.search(str(error))
    if match is not None:
        line = data.count(b"\n", 0, int(match[1])) + 1
    elif isinstance(error, UnicodeDecodeError):
        line = data.count(b"\n", 0, error.start) + 1
    else:
        return Problem(f"is a broken cassette: {error}", str(path), data.count(b"\n") or 1)
    return Problem(f"is a broken cassette: {error}", str(path), line)


def _add_call(calls: dict[CallSlot, RecordedCall], case: str, data: bytes) -> None:
    one = msgspec.json.decode(data, type=_Call)
    match = _CALL_KEY.fullmatch(one.key)
    if match is None or match[3] == "1":
        raise ValueError(f"the key {one.key[:80]!r} is not of the form PART/INDEX or PART/INDEX#REPETITION")
    slot = CallSlot(case=case, repetition=int(match[3] or 1), part=match[1], index=int(match[2]))
    if slot in calls:
        raise ValueError(f"the key {one.key[:80]!r} is there twice")
    reply = ModelReply(
        text=None if one.text is None else _joined(one.text),
        tool_calls=one.tool_calls,
        tokens=one.tokens,
        cost=one.cost,
        model=one.model,
        finish_reason=one.finish_reason,
    )
    calls[slot] = RecordedCall(
        slot=slot, fingerprint=one.fingerprint, asked=one.asked, reply=reply, seconds=one.seconds
    )


def _add_response(responses: dict[int, RecordedResponse], data: bytes) -> None:
    one = msgspec.json.decode(data, type=_Response)
    match = _RESPONSE_KEY.fullmatch(one.key)
    if match is None or match[1] == "1":
        raise ValueError(f"the key {one.key[:80]!r} is not of the form response or response#REPETITION")
    repetition = int(match[1] or 1)
    if repetition in responses:
        raise ValueError(f"the key {one.key[:80]!r} is there twice")
    answer = Answer(
        output=one.output if one.text is None else _joined(one.text),
        tool_calls=one.tool_calls,
        turns=one.turns,
        tokens=one.tokens,
        cost=one.cost,
        duration=one.seconds,
        cached=True,
    )
    responses[repetition] = RecordedResponse(
        repetition=repetition, request_key=one.request_key, answer=answer, seconds=one.seconds
    )


def _suffix(repetition: int) -> str:
    return "" if repetition == 1 else f"#{repetition}"


def _lines(text: str) -> _Lines:
    lines = tuple(re.findall(r"[^\n]*\n|[^\n]+\Z", text)) if "\n" in text else ()
    return lines if len(lines) > 1 else text


def _joined(text: _Lines) -> str:
    return text if isinstance(text, str) else "".join(text)
