"""The `http:` target: one request a trial, made from a template; the output is found by a JSON pointer."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import msgspec

from repeat_eval.errors import UserError
from repeat_eval.records.trial import bounded, one_line
from repeat_eval.suite.checks.base import Answer
from repeat_eval.targets.base import Call, TargetError
from repeat_eval.targets.http_settings import HttpSettings, HttpSettingsError
from repeat_eval.targets.json_pointer import PointerFindsNothing, find
from repeat_eval.targets.placeholders import MissingValue, Template, render_value, what_is
from repeat_eval.targets.python_target import answer_from
from repeat_eval.version import __version__

if TYPE_CHECKING:
    import httpx

__all__ = ["MAX_ANSWER_BYTES", "HttpSettings", "HttpSettingsError", "HttpTarget", "retry_after_seconds"]

MAX_ANSWER_BYTES = 5_000_000
MAX_EXCERPT_BYTES = 4_096
MAX_EXCERPT_CHARACTERS = 200

_TRY_AGAIN = frozenset({408, 425, 429})


@dataclass(frozen=True, slots=True)
class _Reply:
    status: int
    headers: httpx.Headers
    charset: str | None
    body: bytes
    complete: bool


class HttpTarget:
    """Sends one request for each trial over a pool of connections; follows no redirects and keeps no cookies."""

    def __init__(
        self,
        settings: HttpSettings,
        *,
        workers: int = 10,
        max_answer: int = MAX_ANSWER_BYTES,
        now: Callable[[], float] = time.time,
    ) -> None:
        """Describe the target; nothing is opened yet.

        Args:
            settings: the request, and where in the answer things are.
            workers: how many requests there may be at once.
            max_answer: bytes that an answer may have.
            now: seconds since 1970, to understand a Retry-After that is a date.
        """
        self._settings = settings
        self._workers = workers
        self._max_answer = max_answer
        self._now = now
        self._client: httpx.AsyncClient | None = None

    async def start(self) -> None:
        """Make the pool; no request is sent.

        Raises:
            UserError: a proxy or certificate setting in the environment cannot be used.
        """
        from http.cookiejar import CookieJar, DefaultCookiePolicy

        import httpx  # takes a tenth of a second, and most runs never send a request

        try:
            self._client = httpx.AsyncClient(
                timeout=None,  # noqa: S113 - each trial has its own limit, over everything
                limits=httpx.Limits(max_connections=self._workers, max_keepalive_connections=self._workers),
                follow_redirects=False,
                # A cookie would tie one trial to the next.
                cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
                headers={"User-Agent": f"repeat-eval/{__version__}", "Accept-Encoding": "gzip"},
            )
        except (ValueError, OSError, ImportError, httpx.InvalidURL) as error:
            raise UserError(f"no HTTP client: {self._settings.scrub(one_line(str(error)))}") from error

    async def answer(self, call: Call) -> tuple[Answer, int]:
        """Send the request once and read the answer.

        Raises:
            TargetError: `provider` for 408, 425, 429, 5xx and network errors, with `retry_after` where it was said;
                `timeout`; `crash` for other statuses and for answers that are not what the settings expect;
                `harness` when no request can be made for this case. Never quotes a value from the environment.
        """
        request = self._request(call)
        started = time.perf_counter()
        try:
            async with asyncio.timeout(call.timeout):
                reply = await self._exchange(request)
        except TimeoutError:
            raise TargetError("timeout", f"no answer within {call.timeout or 0:g} s") from None
        duration = time.perf_counter() - started
        if not 200 <= reply.status <= 299:
            raise self._refusal(reply)
        if not reply.complete:
            raise TargetError("crash", f"answered more than {self._max_answer:,} bytes", retryable=False)
        return msgspec.structs.replace(self._answer_of(reply), duration=duration), 1

    async def close(self) -> None:
        """Close all connections."""
        if self._client is not None:
            await self._client.aclose()
            self._client = None

    def _request(self, call: Call) -> httpx.Request:
        if self._client is None:
            raise RuntimeError("the target was not started")
        import httpx

        settings = self._settings
        try:
            url = settings.url.text(call, lambda text: quote(text, safe=""))
            headers = [(name, _header_value(name, template, call)) for name, template in settings.headers]
            named = {name.lower() for name, _ in headers}
            content: bytes | None = None
            if settings.body is not None:
                content = settings.body.text(call).encode()
                media_type = "text/plain; charset=utf-8"
            elif settings.has_json:
                content = json.dumps(render_value(settings.json, call), ensure_ascii=False, default=str).encode()
                media_type = "application/json"
            if content is not None and "content-type" not in named:
                headers.append(("Content-Type", media_type.encode()))
            return self._client.build_request(
                settings.method, url, headers=[(name.encode(), value) for name, value in headers], content=content
            )
        except (MissingValue, ValueError, RecursionError, httpx.InvalidURL) as error:
            message = settings.scrub(f"no request for this case: {one_line(str(error))}")
            # Not chained: the cause may hold a secret.
            raise TargetError("harness", message, retryable=False) from None

    async def _exchange(self, request: httpx.Request) -> _Reply:
        if self._client is None:
            raise RuntimeError("the target was not started")
        import httpx

        try:
            response = await self._client.send(request, stream=True)
            try:
                good = response.is_success
                body = bytearray()
                limit = self._max_answer if good else MAX_EXCERPT_BYTES
                async for chunk in response.aiter_raw():
                    body += chunk
                    if len(body) > limit:
                        break
                complete = len(body) <= limit
                headers = response.headers
                decoded, whole = _decoded(bytes(body[:limit]), headers.get("content-encoding", ""), limit, good)
                return _Reply(response.status_code, headers, response.charset_encoding, decoded, complete and whole)
            finally:
                await response.aclose()
        except httpx.TimeoutException:
            raise TimeoutError from None
        except (httpx.UnsupportedProtocol, httpx.LocalProtocolError) as error:
            raise TargetError("harness", self._failure("no request could be sent", error), retryable=False) from None
        except (httpx.HTTPError, httpx.StreamError, OSError) as error:
            raise TargetError("provider", self._failure("the connection to the endpoint failed", error)) from None

    def _failure(self, what: str, error: Exception) -> str:
        # Scrubbed before it is cut: half a secret would no longer be recognised.
        words = bounded(_printable(self._settings.scrub(str(error))), MAX_EXCERPT_CHARACTERS)
        return f"{what}: {words or type(error).__name__}"

    def _refusal(self, reply: _Reply) -> TargetError:
        try:
            phrase = f" {HTTPStatus(reply.status).phrase}"
        except ValueError:
            phrase = ""
        message = f"the endpoint answered {reply.status}{phrase}"
        if reply.status in _TRY_AGAIN or 500 <= reply.status <= 599:
            wait = retry_after_seconds(reply.headers.get("retry-after"), self._now())
            return TargetError("provider", message, retry_after=wait)
        excerpt = self._excerpt(reply)
        if 300 <= reply.status <= 399:
            place = _printable(self._settings.scrub(reply.headers.get("location", ""))) or "nowhere"
            excerpt = f"redirects are not followed; it points to {place}"
        if excerpt:
            message += ": " + bounded(excerpt, MAX_EXCERPT_CHARACTERS)
        return TargetError("crash", message, retryable=False)

    def _answer_of(self, reply: _Reply) -> Answer:
        settings = self._settings
        pointers = (settings.output, settings.tokens_input, settings.tokens_output, settings.cost, settings.tool_calls)
        if all(pointer is None for pointer in pointers):
            return Answer(output=_text(reply))
        found = self._parsed(reply)
        try:
            output = _text(reply) if settings.output is None else find(found, settings.output)
        except PointerFindsNothing as error:
            raise self._crash(f"output {error}") from None
        parts: dict[str, Any] = {"output": output}
        tokens = {
            side: number
            for side, pointer in (("input", settings.tokens_input), ("output", settings.tokens_output))
            if (number := self._number(found, f"tokens_{side}", pointer, whole=True)) is not None
        }
        if tokens:
            parts["tokens"] = tokens
        if (cost := self._number(found, "cost", settings.cost)) is not None:
            parts["cost"] = cost
        if settings.tool_calls is not None:
            parts["tool_calls"] = self._tool_calls(found, settings.tool_calls)
        return answer_from(parts)

    def _parsed(self, reply: _Reply) -> Any:
        if not reply.body.strip():
            raise self._crash("the answer is empty, not JSON")
        try:
            return json.loads(reply.body, parse_constant=lambda _: None)
        except (ValueError, RecursionError):
            excerpt = self._excerpt(reply)[:MAX_EXCERPT_CHARACTERS]
            raise self._crash(f"the answer is not JSON; it begins with {excerpt!r}") from None

    def _number(self, found: Any, name: str, pointer: str | None, *, whole: bool = False) -> int | float | None:
        if pointer is None:
            return None
        try:
            number = find(found, pointer)
        except PointerFindsNothing:
            return None  # providers leave out what they do not know, and unknown is None
        if number is None:
            return None
        if isinstance(number, bool) or not isinstance(number, int | float) or not 0 <= number < math.inf:
            raise self._crash(f"{name} {pointer} is {what_is(number)}, not a number")
        if whole and number != int(number):
            raise self._crash(f"{name} {pointer} is {what_is(number)}, not a whole number")
        return int(number) if whole else number

    def _tool_calls(self, found: Any, pointer: str) -> list[dict[str, Any]]:
        try:
            calls = find(found, pointer)
        except PointerFindsNothing as error:
            if error.last_only:
                return []  # providers leave the key out when no tool was called
            raise self._crash(f"tool_calls {error}") from None
        if calls is None:
            return []
        if not isinstance(calls, list):
            raise self._crash(f"tool_calls {pointer} is {what_is(calls)}, not a list")
        return [self._tool_call(call, pointer) for call in calls]

    def _tool_call(self, call: Any, pointer: str) -> dict[str, Any]:
        """One call in any usual shape: name and arguments (also `args` or `input`), flat or under `function`."""
        inner = call.get("function", call) if isinstance(call, dict) else call
        name = inner.get("name") if isinstance(inner, dict) else inner
        if not isinstance(name, str) or not name:
            raise self._crash(f"tool_calls {pointer} holds {what_is(call)}, which has no name")
        arguments = None
        if isinstance(inner, dict):
            arguments = next((inner[key] for key in ("arguments", "args", "input") if key in inner), None)
        if isinstance(arguments, str):
            # A model may well write arguments that are not JSON; they stay text.
            with contextlib.suppress(ValueError, RecursionError):
                arguments = json.loads(arguments, parse_constant=lambda _: None)
        return {"name": name, "arguments": arguments}

    def _excerpt(self, reply: _Reply) -> str:
        return _printable(self._settings.scrub(reply.body[:MAX_EXCERPT_BYTES].decode("utf-8", "replace")))

    def _crash(self, message: str) -> TargetError:
        return TargetError("crash", self._settings.scrub(message))


def retry_after_seconds(value: str | None, now: float) -> float | None:
    """Seconds to wait by a Retry-After header: a number of seconds, or a date (RFC 9110, section 10.2.3).

    Args:
        value: the header's value, None if there is none.
        now: seconds since 1970.

    Returns:
        At least 0; None if nothing understandable was said.
    """
    if value is None:
        return None
    value = value.strip()
    if value.isascii() and value.replace(".", "", 1).isdigit() and len(value) <= 12:
        return float(value)
    from email.utils import parsedate_to_datetime

    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - now)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _header_value(name: str, template: Template, call: Call) -> bytes:
    value = template.text(call)
    if any((character < " " and character != "\t") or character == "\x7f" for character in value):
        raise ValueError(f"the header {name} would hold control characters")
    return value.strip().encode()


def _decoded(body: bytes, encoding: str, limit: int, good: bool) -> tuple[bytes, bool]:
    """The body without its compression, at most `limit` bytes of it, and whether that is all."""
    encoding = encoding.strip().lower()
    if encoding in ("", "identity"):
        return body, True
    if encoding not in ("gzip", "x-gzip"):
        if good:
            raise TargetError("crash", f"the answer is compressed with {one_line(encoding, 40)}, not asked for")
        return b"", True
    unpacker = zlib.decompressobj(wbits=31)
    try:
        decoded = unpacker.decompress(body, limit + 1)
    except zlib.error:
        if good:
            raise TargetError("crash", "the answer's compression is damaged") from None
        return b"", True
    whole = len(decoded) <= limit
    if good and whole and not unpacker.eof and len(body) < limit:
        raise TargetError("crash", "the answer's compression is damaged")
    return decoded[:limit], whole


def _text(reply: _Reply) -> str:
    charset = reply.charset or "utf-8"
    try:
        return reply.body.decode(charset)
    except UnicodeDecodeError as error:
        raise TargetError("crash", f"answered bytes that are not {charset} at offset {error.start}") from None
    except (LookupError, ValueError):
        return reply.body.decode("utf-8", "replace")


def _printable(text: str) -> str:
    """Text from outside in one line, without control characters."""
    return " ".join("".join(character if character.isprintable() else " " for character in text).split())
