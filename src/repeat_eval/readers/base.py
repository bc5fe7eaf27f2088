"""What every reader of foreign results gives back, and how it says that it cannot."""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import msgspec

from repeat_eval.errors import Problem, UserError
from repeat_eval.records.trial import ErrorKind, Outcome, Tokens, clean

Duplicates = Literal["ask", "repeats", "retries", "error"]

MAX_IDENTITY_CHARACTERS = 1_000
MAX_PROBLEMS = 20


class ReadError(UserError):
    """A results file that cannot be read: why, with the file and, where known, the line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """How results files are read.

    Attributes:
        duplicates: what equal names within one file are: `ask` (one retried trial, or an error where nothing shows
            that it was one), `repeats` (every one a repetition), `retries` (one trial, the last counts), `error`
            (such a file is refused).
        count_as_failed: error kinds that count as failures.
        scorer: of several scorers the one that decides, `scorer` or `scorer.key`; None: the file's own choice.
        format: name of the format that all files have, whatever they look like; None: their content tells.
        repetition_suffixes: whether the endings that repeating plugins put into test names are read as repetitions.
        max_bytes: size of the largest file that is read.
        max_testcases: number of testcases or rows of the longest file that is read.
    """

    duplicates: Duplicates = "ask"
    count_as_failed: frozenset[ErrorKind] = frozenset()
    scorer: str | None = None
    format: str | None = None
    repetition_suffixes: bool = True
    max_bytes: int = 256_000_000
    max_testcases: int = 2_000_000


class FoundTrial(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One trial as a file tells it.

    Attributes:
        case: the text that names the case in the file.
        outcome: `passed`, `failed`, `error` or `skipped`.
        repetition: as written, moved to count from 1; None where the file does not say.
        error_kind: for outcome `error` only.
        score: as written; None if there is none.
        duration: seconds, not negative. cost: US dollars, not negative. tokens: tokens read and written.
        message: why it did not pass, in one line.
        output: what the target answered.
        attempts: how many tries the trial took; None if the file does not say.
        cached: whether the answer came from the tool's cache; None if the file does not say.
        turns: number of turns of the conversation.
        started: start time as written.
        origin: the tool's own id of this very trial, which no other trial has; None if there is none.
    """

    case: str
    outcome: Outcome
    repetition: int | None = None
    error_kind: ErrorKind | None = None
    score: float | None = None
    duration: float | None = None
    cost: float | None = None
    tokens: Tokens | None = None
    message: str | None = None
    output: str | None = None
    attempts: int | None = None
    cached: bool | None = None
    turns: int | None = None
    started: str | None = None
    origin: str | None = None

    @property
    def retried(self) -> bool:
        """Whether the trial took more than one try."""
        return self.attempts is not None and self.attempts > 1


class Gap(msgspec.Struct, frozen=True, kw_only=True):
    """Trials that a readable file should hold and does not, such as those of a module that could not be collected.

    `scope` is the class or module that they belong to; None where it is not known. `message` is a clause.
    """

    message: str
    scope: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FileResults:
    """What one file holds.

    Attributes:
        path: the file. format: name of its format.
        trials: in the order of the file; case and repetition together are unique where a repetition is given.
        gaps: trials that are missing from it.
        warnings: sentences for the user.
        broken: why the file contradicts itself; None if it does not. Its trials are no evidence then.
        asked: trials that the file says were asked for, per case; a case that is not there: the file does not say.
        variant: what the trials were made with that is no part of their cases' names, such as the one model of the
            file, so that another model's results still belong to the same cases; None if there is nothing to tell.
    """

    path: Path
    format: str
    trials: tuple[FoundTrial, ...]
    gaps: tuple[Gap, ...] = ()
    warnings: tuple[str, ...] = ()
    broken: str | None = None
    asked: Mapping[str, int] = field(default_factory=dict)
    variant: str | None = None


@dataclass(frozen=True, slots=True)
class Format:
    """One foreign format.

    Attributes:
        name: its name, as `FileResults.format` gives it. title: what people call it.
        suffixes: endings of files that are taken for this format when their content does not tell.
        sniff: whether the first bytes of a file look like it.
        read: reads a file; raises ReadError, or whatever its parser raises.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    sniff: Callable[[bytes, Path], bool]
    read: Callable[[Path, ReadOptions], FileResults]


def identity(text: str) -> str:
    """A case's identity from foreign text: encodable and bounded; what is cut goes into a hash, to keep it unique."""
    text = text if text.isascii() else clean(text)
    if len(text) <= MAX_IDENTITY_CHARACTERS:
        return text
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    return f"{text[: MAX_IDENTITY_CHARACTERS - 20]}… {digest}"


def check_file(path: Path, options: ReadOptions) -> None:
    """Refuse what is no file, is empty or is too large, before it is opened.

    Raises:
        ReadError: with the reason.
    """
    try:
        status = path.stat()
    except (OSError, ValueError) as error:
        reason = "there is no such file" if isinstance(error, FileNotFoundError) else f"cannot be opened: {error}"
        raise ReadError(Problem(reason, file=str(path))) from error
    if not stat.S_ISREG(status.st_mode):
        raise ReadError(Problem("is not a regular file", file=str(path)))
    if status.st_size == 0:
        raise ReadError(Problem("is empty", file=str(path)))
    if status.st_size > options.max_bytes:
        text = f"has {status.st_size:,} bytes, more than the {options.max_bytes:,} that are read"
        raise ReadError(Problem(text, file=str(path)))
