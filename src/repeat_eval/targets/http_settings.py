"""What an `http:` target is made of, checked before anything is sent."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit

from repeat_eval.records.trial import bounded
from repeat_eval.targets.json_pointer import problem_of_pointer
from repeat_eval.targets.placeholders import Template, compile_value, parse_template

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
POINTERS = ("output", "tokens_input", "tokens_output", "cost", "tool_calls")
KEYS = ("url", "method", "headers", "json", "body", *POINTERS)

DEFAULT_JSON = {
    "case": "{{case}}",
    "input": "{{input}}",
    "repetition": "{{repetition}}",
    "repeats": "{{repeats}}",
    "seed": "{{seed}}",
    "vars": "{{vars}}",
}
"""What is sent when neither `json` nor `body` says: the same object that a command reads."""

KeyPath = tuple[str, ...]

_TOKEN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_CONTROL = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_SECRET_NAME = re.compile(
    r"(?:^|[-_.])(?:authorization|token|secret|password|passwd|pwd|cookie|credentials?|apikey|sig|signature)(?:$|[-_.])"
    r"|(?:^|[-_.])auth$|(?:api|access|subscription|functions?|private|auth|secret|account)[-_.]?key$|^key$",
    re.IGNORECASE,
)
_SHORTEST_SECRET = 4


class HttpSettingsError(ValueError):
    """An `http:` target that cannot work. `problems` holds (key path, message) for every fault."""

    def __init__(self, problems: list[tuple[KeyPath, str]]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(f"{'.'.join(path) or 'http'}: {message}" for path, message in problems))


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpSettings:
    """One request as a template, and where in the answer things are.

    Attributes:
        url: http or https; values are percent-encoded.
        method: one of METHODS.
        headers: names and values, in the order in which they were written.
        json: what `compile_value` made of the body; used when `body` is None and `has_json` holds.
        has_json: whether a JSON body is sent.
        body: a body that is text; None for a JSON body or none.
        output: JSON pointer to the output; None for the whole body as text.
        tokens_input: JSON pointer to the number of tokens read, or None; likewise `tokens_output`, `cost` (US dollars)
            and `tool_calls`.
        secrets: values of environment variables that are part of the request, to be kept out of messages.
    """

    url: Template = field(repr=False)
    method: str = "POST"
    headers: tuple[tuple[str, Template], ...] = field(default=(), repr=False)
    json: Any = None
    has_json: bool = False
    body: Template | None = None
    output: str | None = None
    tokens_input: str | None = None
    tokens_output: str | None = None
    cost: str | None = None
    tool_calls: str | None = None
    secrets: tuple[str, ...] = field(default=(), repr=False)

    @classmethod
    def from_mapping(cls, value: object, environ: Mapping[str, str]) -> HttpSettings:
        """Check what stands behind `http:` and make settings of it.

        Args:
            value: the mapping as written, or just the URL.
            environ: where `${NAME}` in URL and headers is looked up.

        Raises:
            HttpSettingsError: with every fault found.
        """
        if isinstance(value, str):
            value = {"url": value}
        if not isinstance(value, Mapping):
            raise HttpSettingsError([((), "http needs a URL, or a mapping with the key url")])
        reader = _Reader(value, environ)
        url = reader.url()
        method = reader.method()
        headers = reader.headers()
        has_json, json, body = reader.body(method)
        pointers = {name: reader.pointer(name) for name in POINTERS}
        reader.unknown_keys()
        if reader.problems or url is None:
            raise HttpSettingsError(reader.problems)
        secrets = {*url.secrets, *(secret for _, template in headers for secret in template.secrets)}
        return cls(
            url=url,
            method=method,
            headers=headers,
            json=json,
            has_json=has_json,
            body=body,
            secrets=tuple(secrets),
            **pointers,
        )

    def scrub(self, text: str) -> str:
        """`text` without values of environment variables, however they may be written."""
        spellings = set()
        for secret in self.secrets:
            if len(secret) >= _SHORTEST_SECRET:
                spellings |= {secret, quote(secret), quote(secret, safe=""), secret.replace("/", "\\/")}
        for spelling in sorted(spellings, key=len, reverse=True):
            text = text.replace(spelling, "***")
        return text


class _Reader:
    """Reads one mapping and collects the faults in it."""

    def __init__(self, value: Mapping[object, object], environ: Mapping[str, str]) -> None:
        self.problems: list[tuple[KeyPath, str]] = []
        self._value = value
        self._environ = environ

    def url(self) -> Template | None:
        url = self._value.get("url")
        if not isinstance(url, str) or not url.strip():
            self._problem("url", message="needs a URL such as https://example.com/chat")
            return None
        template = self._template(url, "url")
        if template is None:
            return None
        shown = "".join(part if isinstance(part, str) else "{{}}" for part in template.parts)
        if _CONTROL.search(shown) or " " in shown:
            self._problem("url", message="holds blanks or control characters")
            return None
        try:
            address = urlsplit(shown)
            host, _ = address.hostname, address.port
        except ValueError:
            address, host = urlsplit(""), None
        if address.scheme not in ("http", "https") or not host:
            self._problem("url", message="must begin with http:// or https:// and name a host")
        elif "{" in address.netloc:
            self._problem("url", message="placeholders may stand after the host only")
        self._refuse_secrets_in_url(url)
        return template

    def method(self) -> str:
        method = self._value.get("method", "POST")
        if not isinstance(method, str) or method.upper() not in METHODS:
            self._problem("method", message=f"{bounded(repr(method), 40)} is not one of {', '.join(METHODS)}")
            return "POST"
        return method.upper()

    def headers(self) -> tuple[tuple[str, Template], ...]:
        headers = self._value.get("headers")
        if headers is None:
            return ()
        if not isinstance(headers, Mapping):
            self._problem("headers", message="must be a mapping of names to values")
            return ()
        read = []
        for name, value in headers.items():
            if not isinstance(name, str) or not _TOKEN.fullmatch(name):
                self._problem("headers", message=f"{bounded(repr(name), 60)} is not the name of a header")
                continue
            if isinstance(value, bool) or not isinstance(value, str | int | float):
                self._problem("headers", name, message="must be text")
                continue
            if _looks_secret(name) and _has_literal_only(str(value)):
                self._problem("headers", name, message=_advice(name))
                continue
            template = self._template(str(value), "headers", name)
            if template is None:
                continue
            if any(isinstance(part, str) and _CONTROL.search(part) for part in template.parts):
                self._problem("headers", name, message="holds control characters")
                continue
            read.append((name, template))
        return tuple(read)

    def body(self, method: str) -> tuple[bool, Any, Template | None]:
        """Whether there is a JSON body, the JSON body, the text body."""
        if "json" in self._value and "body" in self._value:
            self._problem("body", message="give either json or body, not both")
        elif "body" in self._value:
            body = self._value["body"]
            if isinstance(body, str):
                return False, None, self._template(body, "body", variables=False)
            self._problem("body", message="must be text; write any other JSON value under json")
        elif "json" in self._value or method not in ("GET", "DELETE"):
            try:
                return True, compile_value(self._value.get("json", DEFAULT_JSON)), None
            except ValueError as error:
                self._problem("json", message=str(error))
            except RecursionError:
                self._problem("json", message="is nested too deeply")
        return False, None, None

    def pointer(self, name: str) -> str | None:
        pointer = self._value.get(name)
        if pointer is None:
            return None
        if message := problem_of_pointer(pointer):
            self._problem(name, message=message)
        return str(pointer)

    def unknown_keys(self) -> None:
        for key in self._value:
            if key not in KEYS:
                from difflib import get_close_matches

                close = get_close_matches(str(key), KEYS, n=1)
                hint = f"did you mean {close[0]}?" if close else f"allowed are {', '.join(KEYS)}"
                self._problem(str(key), message=f"unknown key; {hint}")

    def _refuse_secrets_in_url(self, url: str) -> None:
        # As written: what comes from the environment is where it belongs.
        written = re.sub(r"\{\{[^{}]*\}\}", "x", url)
        try:
            address = urlsplit(written)
            password = address.password
        except ValueError:
            return
        if password and _has_literal_only(password):
            self._problem("url", message=_advice("password"))
        for name, value in parse_qsl(address.query):
            if _looks_secret(name) and _has_literal_only(value):
                self._problem("url", message=_advice(name))

    def _template(self, text: str, *path: str, variables: bool = True) -> Template | None:
        try:
            return parse_template(text, self._environ if variables else None)
        except ValueError as error:
            self._problem(*path, message=str(error))
            return None

    def _problem(self, *path: str, message: str) -> None:
        self.problems.append((path, message))


def _looks_secret(name: str) -> bool:
    return _SECRET_NAME.search(name) is not None


def _has_literal_only(value: str) -> bool:
    return bool(value.strip()) and "${" not in value


def _advice(name: str) -> str:
    variable = re.sub(r"[^A-Z0-9]+", "_", name.upper()).strip("_")
    return f"a secret does not belong into a file; put it into the environment and write ${{{variable}}}"
