"""Troubles that a test orders: answers that GitHub gives on a bad day."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Fault:
    """Answers `times` matching requests with `status` instead of what was asked.

    `path` is a regular expression searched for in the path. `delay` seconds pass before the answer. `cut` closes the
    connection without an answer. `act` lets the request take effect first, as when only the answer is lost.
    """

    method: str
    path: str
    status: int = 200
    message: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    times: int = 1
    delay: float = 0.0
    cut: bool = False
    act: bool = False
    more: dict[str, Any] = field(default_factory=dict)

    def fits(self, method: str, path: str) -> bool:
        """Whether this fault is for that request and not used up."""
        return self.times > 0 and self.method in {method, "*"} and re.search(self.path, path) is not None


def unauthorized(method: str = "*", path: str = "", **more: Any) -> Fault:
    """401: the token is wrong or has run out."""
    return Fault(method, path, 401, "Bad credentials", **more)


def forbidden(method: str = "*", path: str = "", **more: Any) -> Fault:
    """403: the job's token lacks a permission."""
    return Fault(method, path, 403, "Resource not accessible by integration", **more)


def secondary_limit(method: str = "*", path: str = "", retry_after: int | None = None, **more: Any) -> Fault:
    """403: too fast, with or without Retry-After."""
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    text = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."
    return Fault(method, path, 403, text, headers, **more)


def too_many(method: str = "*", path: str = "", retry_after: int | None = None, **more: Any) -> Fault:
    """429, with or without Retry-After."""
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    return Fault(method, path, 429, "Too many requests", headers, **more)


def exhausted(method: str = "*", path: str = "", seconds: float = 30.0, **more: Any) -> Fault:
    """403: the hour's requests are used up; new ones come in `seconds`."""
    headers = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(int(time.time() + seconds))}
    return Fault(method, path, 403, "API rate limit exceeded for installation ID 1.", headers, **more)


def broken(method: str = "*", path: str = "", status: int = 502, **more: Any) -> Fault:
    """5xx: GitHub itself is in trouble."""
    return Fault(method, path, status, "Server Error", **more)


def answered(method: str, path: str, status: int, message: str = "", **more: Any) -> Fault:
    """Any other status."""
    return Fault(method, path, status, message or f"Answered with {status}", **more)


def cut(method: str = "*", path: str = "", **more: Any) -> Fault:
    """The connection breaks before an answer."""
    return Fault(method, path, cut=True, **more)


def slow(method: str = "*", path: str = "", delay: float = 1.0, **more: Any) -> Fault:
    """The right answer, late; with `cut=True`, none at all after that time."""
    return Fault(method, path, delay=delay, **more)
