"""One request at a time to GitHub's REST API, tried again within the budget. The only place that knows PyGithub."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import quote, urlsplit

import requests

import github
from repeat_eval.errors import UserError
from repeat_eval.github.errors import GitHubError
from repeat_eval.github.retries import Failure, Patience, failure_of
from repeat_eval.version import __version__

T = TypeVar("T")

PER_PAGE = 100
PAGES = 1_000
"""Pages that are followed; a list that never ends is a fault of the server."""
MESSAGE_LIMIT = 500
"""Characters of GitHub's words that are kept."""
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
_NEXT = re.compile(r'<([^<>]*)>[^<,]*;\s*rel="next"')


@dataclass(frozen=True, slots=True)
class _Ask:
    """A request: method, path, what it sends and the permission that it needs."""

    verb: str
    path: str
    body: Mapping[str, Any] | None = None
    query: Mapping[str, str | int] | None = None
    permission: str | None = None


class Transport:
    """Sends requests and reads answers; see `GitHub` for the meaning of the arguments."""

    def __init__(
        self, token: str | None, *, api_url: str, ca_bundle: str | None, timeout: int, patience: Patience
    ) -> None:
        parts = urlsplit(api_url)
        if parts.scheme not in {"https", "http"} or not parts.hostname or parts.username or parts.query:
            raise UserError("the address of GitHub's API must look like https://api.github.com")
        self._token = token or None
        self._patience = patience
        self._github = github.Github(
            auth=github.Auth.Token(token) if token else None,
            base_url=api_url.rstrip("/"),
            timeout=timeout,
            per_page=PER_PAGE,
            verify=ca_bundle or True,
            user_agent=f"repeat-eval/{__version__}",
            # Retries are ours: PyGithub's leave out PATCH, repeat a POST blindly and wait without an end.
            retry=None,
            seconds_between_requests=None,
            seconds_between_writes=None,
        )

    def close(self) -> None:
        """Close the connections."""
        self._github.close()

    def call(
        self,
        verb: str,
        path: str,
        read: Callable[[Any], T],
        *,
        body: Mapping[str, Any] | None = None,
        query: Mapping[str, str | int] | None = None,
        permission: str | None = None,
        recover: Callable[[], T | None] | None = None,
    ) -> T:
        """One request, tried again where that can help; `read` makes the result of the answer's JSON.

        Args:
            verb: the method. path: below the API's address. body: sent as JSON. query: sent in the address.
            permission: what the token needs for it, named in the error when GitHub says that it lacks it.
            recover: for requests that must not take effect twice: looks after a lost answer whether the request has
                taken effect, and gives its result, or None when it has not.

        Raises:
            GitHubError: refused, or not answered within the budget.
        """
        found: list[T] = []

        def recovered() -> bool:
            found.extend(each for each in [recover() if recover else None] if each is not None)
            return bool(found)

        _, data = self._answer(_Ask(verb, path, body, query, permission), recovered)
        return found[0] if found else self.read(read, data)

    def pages(
        self, path: str, *, query: Mapping[str, str | int] | None = None, permission: str | None = None, key: str = ""
    ) -> Iterator[Any]:
        """The items of a list, page by page as they are asked for; `key` names the list in each answer."""
        ask = _Ask("GET", path, query={**(query or {}), "per_page": PER_PAGE}, permission=permission)
        for _ in range(PAGES):
            headers, data = self._answer(ask)
            yield from self.read(lambda page: _items(page, key), data)
            following = _NEXT.search(headers.get("link", ""))
            if following is None:
                return
            ask = _Ask("GET", following[1], permission=permission)

    def location(self, path: str, *, permission: str | None = None) -> str:
        """The address that an operation redirects to, not followed: the token must not go there."""
        headers, _ = self._answer(_Ask("GET", path, permission=permission))
        return self.read(lambda told: str(told["location"]), headers)

    def read(self, reader: Callable[[Any], T], data: Any) -> T:
        """A reader's result.

        Raises:
            GitHubError: the answer is not what GitHub's description says.
        """
        try:
            return reader(data)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError):
            raise GitHubError(None, "its answer is not what its description says") from None

    def _answer(self, ask: _Ask, recovered: Callable[[], bool] | None = None) -> tuple[Mapping[str, str], Any]:
        """Headers and JSON of the answer; nothing and None when `recovered` says that the request took effect."""
        self._patience.check()
        tries = 0
        while True:
            tries += 1
            started = self._patience.moment()
            outcome = self._try(ask)
            if not isinstance(outcome, Failure):
                self._patience.succeeded()
                return outcome
            self._patience.wait(outcome, tries, started)
            if outcome.lost and recovered is not None and recovered():
                return {}, None

    def _try(self, ask: _Ask) -> tuple[Mapping[str, str], Any] | Failure:
        """Headers and JSON of an answer below 300 or of a redirection, or what went wrong."""
        query = None if ask.query is None else dict(ask.query)
        try:
            # The host is always the API's own: of an absolute address (a next page) only path and query are taken.
            status, headers, text = self._github.requester.requestJson(ask.verb, ask.path, query, input=ask.body)
        except Exception as error:
            return self._unanswered(error)
        try:
            data = json.loads(text) if text else None
        except ValueError:
            data = None
            if status < 300:
                return Failure(GitHubError(None, "its answer is not JSON"), again=True, lost=True)
        if status < 300 or status == 302:
            return headers, data
        refusal = self._error(status, data, ask.permission)
        return failure_of(refusal, headers) if status >= 400 else Failure(refusal)

    def _unanswered(self, error: Exception) -> Failure:
        """What it means that a request raised: PyGithub raises what requests raises, and some errors of its own."""
        known = requests.exceptions
        match error:
            case known.SSLError():
                return Failure(GitHubError(None, "its certificate is not trusted here"), silent=True)
            case known.ConnectTimeout():
                return Failure(GitHubError(None, "no connection in time"), again=True, silent=True)
            case known.Timeout():
                return Failure(GitHubError(None, "no answer in time"), again=True, lost=True, silent=True)
            case known.ConnectionError() | known.ChunkedEncodingError():
                return Failure(GitHubError(None, "the connection failed"), again=True, lost=True, silent=True)
            case known.RequestException() | OSError() | RuntimeError() | AssertionError() | ValueError():
                return Failure(GitHubError(None, self._clean(f"the request failed: {type(error).__name__}: {error}")))
        raise error

    def _error(self, status: int, data: Any, permission: str | None) -> GitHubError:
        told = data if isinstance(data, dict) else {}
        words = [str(told.get("message") or "no reason given")]
        errors = told.get("errors")
        for each in errors if isinstance(errors, list) else []:
            if isinstance(each, dict):
                words.append(str(each.get("message") or f"{each.get('field', '?')} {each.get('code', '?')}"))
            else:
                words.append(str(each))
        message = self._clean("; ".join(words))
        lacking = status == 403 and "resource not accessible by" in message.lower()
        return GitHubError(status, message, permission if lacking else None)

    def _clean(self, text: str) -> str:
        if self._token:
            text = text.replace(self._token, "***").replace(quote(self._token, safe=""), "***")
        text = _CONTROL.sub(" ", text).strip()
        return text if len(text) <= MESSAGE_LIMIT else text[: MESSAGE_LIMIT - 1] + "…"


def _items(data: Any, key: str) -> list[Any]:
    items = data[key] if key else data
    if not isinstance(items, list):
        raise TypeError(key)
    return items
