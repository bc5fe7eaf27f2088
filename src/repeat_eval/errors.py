"""Errors that a user can cause or must hear about, each with its exit code. Everything else is a bug of ours."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

import msgspec


class ExitCode(IntEnum):
    """What the process tells its caller; an interface, see docs/exit-codes.md."""

    PASSED = 0
    GATE_FAILED = 1
    USER_ERROR = 2
    INCOMPLETE = 3
    PUBLISHING_FAILED = 4


class Problem(msgspec.Struct, frozen=True):
    """One fault in something the user wrote: where it is, what was found, what is allowed.

    `line` and `column` count from 1; None where the place is not known.
    """

    message: str
    file: str | None = None
    line: int | None = None
    column: int | None = None

    def __str__(self) -> str:
        place = self.file or ""
        if self.line is not None:
            place += f":{self.line}" if place else f"line {self.line}"
            if self.column is not None:
                place += f":{self.column}"
        return f"{place}: {self.message}" if place else self.message


class RepeatEvalError(Exception):
    """Base of all errors that repeat-eval raises on purpose; its text is a sentence for the user."""

    exit_code: ExitCode = ExitCode.USER_ERROR


class UserError(RepeatEvalError):
    """The user must fix configuration, suite, files or arguments (exit code 2). Carries every problem found at once."""

    exit_code = ExitCode.USER_ERROR

    def __init__(self, problems: str | Problem | Sequence[Problem]) -> None:
        if isinstance(problems, str):
            problems = [Problem(problems)]
        elif isinstance(problems, Problem):
            problems = [problems]
        self.problems: tuple[Problem, ...] = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


class Incomplete(RepeatEvalError):
    """The evidence is incomplete and there is not even enough of it for a report (exit code 3)."""

    exit_code = ExitCode.INCOMPLETE
