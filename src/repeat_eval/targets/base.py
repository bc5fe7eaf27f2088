"""What a target is: it takes a case's input and gives an answer, or raises TargetError."""

from __future__ import annotations

from typing import Any, Protocol

import msgspec

from repeat_eval.records.trial import ErrorKind
from repeat_eval.suite.checks.base import Answer


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """One trial as a target sees it.

    Attributes:
        case: the case's id. input: the case's input, any JSON value. repetition: counted from 1, of `repeats`.
        seed: the trial's own seed, made of the run's seed, the case and the repetition.
        timeout: seconds the target may take; None without limit.
        variables: the case's `vars:`, for templated requests.
    """

    case: str
    input: Any
    repetition: int
    repeats: int
    seed: int
    timeout: float | None = None
    variables: dict[str, Any] = msgspec.field(default_factory=dict)


class TargetError(Exception):
    """A target gave no answer. `kind` says whose fault, `retry_after` (seconds) when another try is welcome.

    `attempts` counts the tries that were made; whoever retries sets it.
    """

    def __init__(
        self, kind: ErrorKind, message: str, *, retry_after: float | None = None, retryable: bool = True
    ) -> None:
        super().__init__(message)
        self.kind: ErrorKind = kind
        self.message = message
        self.retry_after = retry_after
        self.retryable = retryable
        self.attempts = 1


class Target(Protocol):
    """Anything that answers calls. `start` may raise UserError; `answer` raises only TargetError or is cancelled."""

    async def start(self) -> None:
        """Get ready; called once, before any call."""

    async def answer(self, call: Call) -> tuple[Answer, int]:
        """Answer one call; gives the answer and the number of attempts it took. Enforces `call.timeout` by itself."""

    async def close(self) -> None:
        """Release everything; called once, also after errors."""
