"""One request at a time to GitHub's REST API, tried again within the budget. The only place that knows PyGithub."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar
from urllib.parse import quote, urlsplit

import github
import requests

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
        return self._send(verb, path, lambda _, data: read(data), body, query, permission, recover)

    def pages(
        self, path: str, *, query: Mapping[str, str | int] | None = None, permission: str | None = None, key: str = ""
    ) -> Iterator[Any]:
        """The items of a list, page by page as they are asked for; `key` names the list in each answer."""
        address: str | None = path
        asked: Mapping[str, str | int] | None = {**(query or {}), "per_page": PER_PAGE}
        for _ in range(PAGES):
            if address is None:
                return
            address, items = self._send(
                "GET", address, lambda headers, data: _page(headers, data, key), None, asked, permission, None
            )
            asked = None  # the next page's address holds it
            yield from items

    def location(self, path: str, *, permission: str | None = None) -> str:
        """The address that an operation redirects to, not followed: the token must not go there."""
        return self._send("GET", path, lambda headers, _: headers["location"], None, None, permission, None)

    def read(self, reader: Callable[[Any], T], data: Any) -> T:
        """A reader's result.

        Raises:
            GitHubError: the answer is not what GitHub's description says.
        """
        try:
            return reader(data)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError):
            raise GitHubError(None, "its answer is not what its description says") from None

    def _send(
        self,
        verb: str,
        path: str,
        read: Callable[[Mapping[str, str], Any], T],
        body: Mapping[str, Any] | None,
        query: Mapping[str, str | int] | None,
        permission: str | None,
        recover: Callable[[], T | None] | None,
    ) -> T:
        self._patience.check()
        tries = 0
        while True:
            tries += 1
            started = self._patience.moment()
            outcome = self._try(verb, path, body, query, permission)
            if not isinstance(outcome, Failure):
                self._patience.succeeded()
                headers, data = outcome
                return self.read(lambda answer: read(headers, answer), data)
            self._patience.wait(outcome, tries, started)
            if outcome.lost and recover is not None:
                found = recover()
                if found is not None:
                    return found

    def _try(
        self,
        verb: str,
        path: str,
        body: Mapping[str, Any] | None,
        query: Mapping[str, str | int] | None,
        permission: str | None,
    ) -> tuple[Mapping[str, str], Any] | Failure:
        """Headers and JSON of an answer below 400, or what went wrong."""
        parameters = None if query is None else dict(query)
        try:
            # The host is always the API's own: of an absolute address (a next page) only path and query are taken.
            status, headers, text = self._github.requester.requestJson(verb, path, parameters, input=body)
        except requests.exceptions.SSLError:
            return Failure(GitHubError(None, "its certificate is not trusted here"), silent=True)
        except requests.exceptions.ConnectTimeout:
            return Failure(GitHubError(None, "no connection in time"), again=True, silent=True)
        except requests.exceptions.Timeout:
            return Failure(GitHubError(None, "no answer in time"), again=True, lost=True, silent=True)
        except (requests.exceptions.ConnectionError, requests.exceptions.ChunkedEncodingError):
            return Failure(GitHubError(None, "the connection failed"), again=True, lost=True, silent=True)
        except (requests.exceptions.RequestException, RuntimeError, AssertionError, ValueError) as error:
            return Failure(GitHubError(None, self._clean(f"the request failed: {type(error).__name__}: {error}")))
        try:
            data = json.loads(text) if text else None
        except ValueError:
            data = None
            if status < 300:
                return Failure(GitHubError(None, "its answer is not JSON"), again=True, lost=True)
        if status >= 300 and status != 302:
            error = self._error(status, data, permission)
            return failure_of(error, headers) if status >= 400 else Failure(error)
        return headers, data

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


def _page(headers: Mapping[str, str], data: Any, key: str) -> tuple[str | None, list[Any]]:
    """The next page's address and this page's items."""
    items = data[key] if key else data
    if not isinstance(items, list):
        raise TypeError(key)
    following = _NEXT.search(headers.get("link", ""))
    return (following[1] if following else None), items
