"""How long it is worth waiting for GitHub: one budget of seconds over all requests of a client."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from repeat_eval.github.errors import GitHubError

ATTEMPTS = 8
"""Tries of one request, whatever the budget."""
LIMIT_WAIT = 60.0
"""Seconds that GitHub asks for after a secondary limit that names no time."""


@dataclass(frozen=True, slots=True)
class Failure:
    """A try that failed.

    Attributes:
        error: what is raised when nobody tries again.
        again: whether trying again can help.
        wait: seconds that GitHub asks for; None when it names none.
        lost: whether the request may have taken effect although it failed.
        silent: whether there was no answer at all.
        limited: whether a secondary limit was met.
    """

    error: GitHubError
    again: bool = False
    wait: float | None = None
    lost: bool = False
    silent: bool = False
    limited: bool = False


def failure_of(error: GitHubError, headers: Mapping[str, str]) -> Failure:
    """What an answer with a status of 400 or more means for trying again.

    Args:
        error: the answer. headers: its headers, names in lower case.
    """
    status, text = error.status or 0, error.message.lower()
    after = _seconds(headers.get("retry-after"))
    if status in {403, 429}:
        if after is None and headers.get("x-ratelimit-remaining") == "0":
            return Failure(error, again=True, wait=_until_reset(headers))
        limited = "secondary rate limit" in text or "abuse detection" in text
        again = status == 429 or limited or after is not None
        return Failure(error, again=again, wait=after, limited=limited)
    broken = status >= 500
    return Failure(error, again=broken, wait=after, lost=broken)


class Patience:
    """Waits between tries until the budget is spent: waiting and tries that fail count, successes do not."""

    def __init__(self, seconds: float, *, sleep: Callable[[float], None], clock: Callable[[], float]) -> None:
        self._left = seconds
        self._sleep = sleep
        self._clock = clock
        self._silent = False

    def moment(self) -> float:
        """Now, in seconds of the clock."""
        return self._clock()

    def check(self) -> None:
        """Raise GitHubError at once when the budget was spent on silence: another request would only hang again."""
        if self._silent and self._left <= 0:
            raise GitHubError(None, "no more tries: the time to wait for it is used up")

    def succeeded(self) -> None:
        """Note that GitHub answers."""
        self._silent = False

    def wait(self, failure: Failure, tries: int, started: float) -> None:
        """Sleep before the next try, or raise the failure's error when there is to be none.

        Args:
            failure: what happened. tries: how many there were. started: the moment at which the last one began.
        """
        self._silent = failure.silent
        self._left -= max(self._clock() - started, 0.0)
        if not failure.again or tries >= ATTEMPTS:
            raise failure.error
        seconds = failure.wait
        if seconds is None and failure.limited:
            # The whole minute if there is one; half of it is still worth a try, less is not.
            seconds = LIMIT_WAIT if self._left < LIMIT_WAIT / 2 else min(LIMIT_WAIT, self._left)
        if seconds is None:
            seconds = float(2 ** (tries - 1))
        seconds = max(seconds, 1.0)
        if seconds > self._left:
            raise failure.error
        self._left -= seconds
        self._sleep(seconds)


def _seconds(text: str | None) -> float | None:
    """A header's plain number; None when it is missing or something else."""
    return float(text) if text and re.fullmatch(r"[0-9]{1,12}", text.strip()) else None


def _until_reset(headers: Mapping[str, str]) -> float | None:
    """Seconds until the hour's requests are given anew, by GitHub's own clock where it is told."""
    reset = _seconds(headers.get("x-ratelimit-reset"))
    if reset is None:
        return None
    try:
        now = parsedate_to_datetime(headers.get("date", "")).timestamp()
    except ValueError:
        now = time.time()
    return max(reset - now, 0.0) + 1.0
