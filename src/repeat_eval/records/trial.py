"""The trial: one independent execution of a case, with one outcome. The neutral record behind every way in.

Trials are msgspec structs, since a run writes and reads one JSON line for each: encoding and validated decoding take
about a microsecond. Unknown is None, never 0.
"""

from __future__ import annotations

import hashlib
from typing import Annotated, Any, Literal, get_args

import msgspec

Outcome = Literal["passed", "failed", "error", "skipped"]
ErrorKind = Literal["crash", "timeout", "provider", "judge", "recording", "harness"]

OUTCOMES: tuple[str, ...] = get_args(Outcome)
ERROR_KINDS: tuple[str, ...] = get_args(ErrorKind)
OUTCOME_LETTERS: dict[str, str] = {"passed": "P", "failed": "F", "error": "E", "skipped": "S"}

MAX_OUTPUT_CHARACTERS = 20_000
MAX_MESSAGE_CHARACTERS = 2_000

PositiveInt = Annotated[int, msgspec.Meta(ge=1)]
NotNegativeInt = Annotated[int, msgspec.Meta(ge=0)]
NotNegative = Annotated[float, msgspec.Meta(ge=0)]
UnitInterval = Annotated[float, msgspec.Meta(ge=0, le=1)]


class Judge(msgspec.Struct, frozen=True, gc=False):
    """Who graded a check: the model and the hash of the rubric it was given.

    Where several votes were asked for, `votes` is their number and `confidence` the share of them that agree with the
    verdict; None where there was one.
    """

    model: str
    rubric: str | None = None
    votes: PositiveInt | None = None
    confidence: UnitInterval | None = None


class CheckResult(msgspec.Struct, frozen=True, gc=False):
    """One assertion on a trial. `score` lies in [0, 1]; `message` says in one line why it failed."""

    name: str
    passed: bool
    score: UnitInterval
    message: str | None = None
    judge: Judge | None = None


class ToolCall(msgspec.Struct, frozen=True):
    """One call of a tool by the target: the tool's name and the arguments it was given."""

    name: str
    arguments: Any = None


class Tokens(msgspec.Struct, frozen=True, gc=False):
    """Tokens that the target's models read and wrote."""

    input: NotNegativeInt | None = None
    output: NotNegativeInt | None = None


class Trial(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One independent execution of a case.

    Attributes:
        case: id of the case; stable, never an index.
        repetition: the trial's number within its case, counted from 1.
        outcome: `passed`, `failed`, `error` (no verdict) or `skipped`.
        error_kind: what kind of error, for outcome `error` only.
        score: weighted mean of the checks' scores, or the score that a foreign file gave; None if there is none.
        checks: the assertions made on it.
        message: why it did not pass, in one line.
        output: what the target answered, cut at 20,000 characters.
        output_sha256: hash of the whole output, so that identical long answers are seen even when cut.
        tool_calls: what tools the target called, in order; None if unknown.
        turns: number of turns of the conversation.
        duration: seconds.
        cost: US dollars.
        tokens: tokens read and written.
        judge_cost: US dollars that judging the output cost; not part of `cost`.
        judge_tokens: tokens that judges read and wrote; not part of `tokens`.
        attempts: how many tries this trial took (retries of errors); None if unknown.
        cached: whether the answer came from a cache or recording; None if unknown.
        started: RFC 3339 time.
        source: where the trial came from, for instance the results file it was read from.
    """

    case: str
    repetition: PositiveInt
    outcome: Outcome
    error_kind: ErrorKind | None = None
    score: float | None = None
    checks: tuple[CheckResult, ...] = ()
    message: str | None = None
    output: str | None = None
    output_sha256: str | None = None
    tool_calls: tuple[ToolCall, ...] | None = None
    turns: NotNegativeInt | None = None
    duration: NotNegative | None = None
    cost: NotNegative | None = None
    tokens: Tokens | None = None
    attempts: NotNegativeInt | None = None
    cached: bool | None = None
    started: str | None = None
    source: str | None = None
    judge_cost: NotNegative | None = None
    judge_tokens: Tokens | None = None

    @property
    def key(self) -> tuple[str, int]:
        """Case and repetition: what makes a trial of a run unique."""
        return self.case, self.repetition

    @property
    def spent(self) -> float | None:
        """US dollars that this trial is known to have cost, judges included; None when nothing is known."""
        known = [cost for cost in (self.cost, self.judge_cost) if cost is not None]
        return sum(known) if known else None


def bounded(text: str, limit: int = MAX_OUTPUT_CHARACTERS) -> str:
    """Cut `text` to `limit` characters, saying how much was cut."""
    if len(text) <= limit:
        return text
    return text[:limit] + f"… [{len(text) - limit} characters cut]"


def clean(text: str) -> str:
    """Make text from outside encodable: lone surrogates become question marks."""
    return text.encode("utf-8", "replace").decode("utf-8") if not text.isascii() else text


def one_line(text: str, limit: int = 500) -> str:
    """The first line of `text` that says something, bounded: for messages."""
    for line in clean(text).splitlines():
        if stripped := line.strip():
            return bounded(stripped, limit)
    return ""


def sha256_of(text: str) -> str:
    """Hash of a text, as hexadecimal digits."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
