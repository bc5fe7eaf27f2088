"""What never reaches a cassette: headers, users and queries of URLs, values of secrets, and whatever looks like one."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import msgspec

from repeat_eval.models.call import ModelRequest
from repeat_eval.records.trial import clean
from repeat_eval.targets.environment import MIN_SECRET_CHARACTERS, Scrubber, looks_secret

HIDDEN = "***"

_WELL_KNOWN = (
    r"sk-[A-Za-z0-9_-]{16,}"
    r"|gh[pousr]_[A-Za-z0-9]{20,}"
    r"|github_pat_[A-Za-z0-9_]{20,}"
    r"|glpat-[A-Za-z0-9_-]{16,}"
    r"|xox[abeoprs]-[A-Za-z0-9-]{10,}"
    r"|hf_[A-Za-z0-9]{20,}"
    r"|(?:AKIA|ASIA)[A-Z0-9]{16}"
    r"|AIza[A-Za-z0-9_-]{30,}"
    r"|eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}"
)
_BEARER = r"(?:[Bb]earer|[Bb]asic)\s+(?=[A-Za-z0-9._~+/-]*[0-9])[A-Za-z0-9._~+/-]{16,}=*"
_QUERY_NAME = r"[?&](?:key|api[_-]?key|access[_-]?token|token|sig|signature|secret|password)="
_PRIVATE_KEY = r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----"

_PARTS = (
    (re.compile(rf"(?<![A-Za-z0-9])(?:{_WELL_KNOWN})"), HIDDEN),
    (re.compile(rf"(?<![A-Za-z0-9])({_BEARER})"), HIDDEN),
    (re.compile(r"(?<=://)[^/\s@\"'<>]{1,400}@"), f"{HIDDEN}@"),
    (re.compile(rf"({_QUERY_NAME})[^&\s\"'<>#]+", re.IGNORECASE), rf"\1{HIDDEN}"),
    (re.compile(rf"{_PRIVATE_KEY}.*?(?:-----END [A-Z ]{{0,40}}PRIVATE KEY-----|\Z)", re.DOTALL), HIDDEN),
)
# Finds anything that one of the patterns could find, also in JSON, where `\n` before a token is a letter.
_SUSPICIOUS = re.compile(
    rf"{_WELL_KNOWN}|{_BEARER}|://[^/\s@\"'<>]{{1,400}}@|{_QUERY_NAME}|{_PRIVATE_KEY}", re.IGNORECASE
)
# Every text that the pattern finds holds one of these in small letters; looking for them takes a fraction of the time.
_BEGINNINGS = (
    *(
        "sk-",
        "ghp_",
        "gho_",
        "ghu_",
        "ghs_",
        "ghr_",
        "github_pat_",
        "glpat-",
        "xox",
        "hf_",
        "akia",
        "asia",
        "aiza",
        "eyj",
    ),
    *("bearer", "basic", "key=", "token=", "sig=", "signature=", "secret=", "password=", "private key"),
)
_HEADERS = re.compile(r"(?:^|[_-])headers?$", re.IGNORECASE)
_SECRET_KEY = re.compile(
    r"authorization|passwords?|passwd|passphrase|(?:client_?)?secret|api_?key|x_?api_?key|(?:access|auth|refresh)_?token"
    r"|private_?key|cookie",
    re.IGNORECASE,
)


# How keys end, in JSON without blanks, that `_SECRET_KEY` or `_HEADERS` find.
_KEY_ENDINGS = (
    *('authorization":', 'password":', 'passwords":', 'passwd":', 'passphrase":', 'secret":', 'key":', 'token":'),
    *('cookie":', 'header":', 'headers":'),
)


def _is_suspicious(text: str) -> bool:
    small = text.lower()
    begun = any(beginning in small for beginning in _BEGINNINGS) or ("@" in text and "://" in text)
    return begun and _SUSPICIOUS.search(text) is not None


class Cleaner:
    """Takes secrets out of what is recorded.

    Values of secret-looking environment variables, texts that look like keys and tokens of well-known services,
    users, passwords and secret parameters in URLs, values behind keys such as `password`, and headers altogether.
    Cleaning what is clean changes nothing, so what was replayed has the same fingerprint as what was recorded.
    """

    def __init__(self, environ: Mapping[str, str]) -> None:
        """Learn the secrets of an environment."""
        self._scrub = Scrubber(environ).scrub
        values = {
            value.strip()
            for name, value in environ.items()
            if len(value.strip()) >= MIN_SECRET_CHARACTERS and looks_secret(name)
        }
        values |= {line.strip() for value in values for line in value.splitlines() if len(line.strip()) >= 16}
        written = {json.dumps(value, ensure_ascii=False)[1:-1] for value in values}
        self._known = re.compile("|".join(map(re.escape, sorted(values | written)))) if values else None

    def text(self, text: str) -> str:
        """The text without secrets, encodable as UTF-8."""
        text = self._scrub(clean(text))
        # What is taken out can leave a border beside what was part of a word before, so once more until nothing is.
        while _is_suspicious(text):
            before = text
            for pattern, shown in _PARTS:
                text = pattern.sub(shown, text)
            text = self._scrub(text)
            if text == before:
                break
        return text

    def value(self, value: Any) -> Any:
        """A JSON value with every text in it cleaned, keys too."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.value(key): self._behind(key, inner) for key, inner in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.value(inner) for inner in value]
        return value

    def request(self, request: ModelRequest) -> ModelRequest:
        """The request without secrets; what its recording's fingerprint is made of."""
        request = request.in_values()
        settings = {name: value for name, value in request.settings.items() if not _HEADERS.search(name)}
        url = None if request.url is None else self.url(request.url)
        if url != request.url or settings != request.settings:
            request = msgspec.structs.replace(request, url=url, settings=settings)
        if not self._may_hold_secrets(request):
            return request
        return msgspec.structs.replace(
            request,
            messages=tuple(self.value(message) for message in request.messages),
            settings=self.value(settings),
            tools=tuple(self.value(tool) for tool in request.tools),
            output_schema=self.value(request.output_schema),
        )

    def url(self, url: str) -> str:
        """A URL without user, password, query and fragment."""
        try:
            parts = urlsplit(url)
            host = parts.netloc.rpartition("@")[2]
            return self.text(urlunsplit((parts.scheme, host, parts.path, "", "")))
        except ValueError:
            return HIDDEN

    def finds(self, text: str) -> bool:
        """Whether cleaning would change a text."""
        return self.text(text) != text

    def finds_in(self, value: Any) -> bool:
        """Whether cleaning would change anything in a JSON value."""
        return bool(self.value(value) != value)

    def _behind(self, key: Any, value: Any) -> Any:
        if isinstance(key, str):
            if _HEADERS.search(key) and isinstance(value, dict):
                return dict.fromkeys(map(self.value, value), HIDDEN)
            if _SECRET_KEY.fullmatch(key.replace("-", "_")) and isinstance(value, str) and value:
                return HIDDEN
        return self.value(value)

    def _may_hold_secrets(self, request: ModelRequest) -> bool:
        try:
            text = msgspec.json.encode(request).decode()
        except (UnicodeEncodeError, ValueError):
            return True  # lone surrogates
        small = text.lower()
        if _is_suspicious(text) or any(ending in small for ending in _KEY_ENDINGS):
            return True
        return self._known is not None and ("…" in text or self._known.search(text) is not None)
