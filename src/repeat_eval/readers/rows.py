"""Plain rows, one a trial: CSV with a header line, and JSON Lines.

A row says which case it belongs to and whether it passed; nothing is guessed. All problems of a file are told at once.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from repeat_eval.errors import Problem
from repeat_eval.readers.base import MAX_PROBLEMS, FileResults, FoundTrial, ReadError, ReadOptions, identity
from repeat_eval.readers.documents import listed
from repeat_eval.readers.kinds import error_kind
from repeat_eval.readers.numbers import count, json_number, local_number
from repeat_eval.records.trial import ErrorKind, Outcome, Tokens, bounded, clean, one_line

# What a field is called, in order of preference: our own name first, then the names that other tools give it.
ALIASES: dict[str, tuple[str, ...]] = {
    "case": (
        "case", "case_id", "id", "test_id", "test_case", "test_case_id", "example_id", "sample_id", "question_id",
        "item_id", "task_id", "scenario", "name", "test", "test_name", "case_name",
    ),
    "passed": ("passed", "pass", "success", "ok"),
    "outcome": ("outcome", "status", "verdict"),
    "result": ("result",),
    "score": ("score",),
    "repetition": (
        "repetition", "rep", "run_index", "trial", "trial_index", "epoch", "repeat", "repeat_index", "iteration",
    ),
    "duration": ("duration", "duration_s", "duration_seconds", "latency_s", "seconds"),
    "milliseconds": ("duration_ms", "latency_ms"),
    "cost": ("cost", "cost_usd"),
    "tokens_input": ("tokens_input", "input_tokens", "prompt_tokens"),
    "tokens_output": ("tokens_output", "output_tokens", "completion_tokens"),
    "message": ("message", "reason", "error_message"),
    "error": ("error",),
    "error_kind": ("error_kind",),
    "output": ("output", "response", "answer"),
    "started": ("started", "started_at", "timestamp"),
    "model": ("model", "model_name", "model_id", "provider"),
}  # fmt: skip
FIELDS = {alias: name for name, aliases in ALIASES.items() for alias in aliases}
RANK = {alias: rank for aliases in ALIASES.values() for rank, alias in enumerate(aliases)}

_TRUE = frozenset({"true", "1", "1.0", "yes", "y", "pass", "passed"})
_FALSE = frozenset({"false", "0", "0.0", "no", "n", "fail", "failed"})
_WORDS: dict[Outcome, tuple[str, ...]] = {
    "passed": ("passed", "pass", "success", "succeeded", "ok"),
    "failed": ("failed", "fail", "failure"),
    "error": ("error", "errored", "broken", "crashed", "timeout", "timed_out", "timedout"),
    "skipped": ("skipped", "skip", "pending", "disabled"),
}
_OUTCOMES: dict[str, Outcome] = {word: outcome for outcome, words in _WORDS.items() for word in words}
_TIMEOUTS = frozenset({"timeout", "timed_out", "timedout"})
_NO_ERROR = frozenset({"false", "none", "null", "nan"})
_MAX_REPETITION = 1_000_000
_SHOWN = 60


@dataclass(slots=True)
class Rows:
    """Collects the trials and the problems of one file."""

    path: Path
    options: ReadOptions
    decimal_comma: bool = False
    trials: list[FoundTrial] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    problem_count: int = 0
    models: list[str | None] = field(default_factory=list)
    unreadable_durations: int = 0

    def problem(self, line: int, text: str) -> None:
        """Note a problem; the first 20 are kept, all are counted."""
        self.problem_count += 1
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(Problem(text, str(self.path), line))

    def add(self, line: int, row: Mapping[str, Any]) -> None:
        """Add a row whose keys are our names of the fields; empty and null fields are left out."""
        if len(self.trials) >= self.options.max_testcases:
            raise ReadError(Problem(f"has more than {self.options.max_testcases:,} rows", str(self.path), line))
        before = self.problem_count
        case = self._case(line, row.get("case"))
        outcome, kind, message = self._outcome(line, row)
        trial = FoundTrial(
            case=case,
            outcome=outcome,
            error_kind=kind,
            repetition=self._whole(line, row, "repetition"),
            score=self._number(line, row, "score"),
            duration=self._duration(row),
            cost=self._number(line, row, "cost", negative=False),
            tokens=self._tokens(line, row),
            message=message,
            output=_text(row.get("output")),
            started=_text(row.get("started"), 100),
        )
        if self.problem_count == before:
            self.trials.append(trial)
            self.lines.append(line)
            self.models.append(None if (model := row.get("model")) is None else identity(_text(model, 200) or ""))

    def _case(self, line: int, value: object) -> str:
        if isinstance(value, str) and value.strip():
            return identity(value.strip())
        if isinstance(value, int) and not isinstance(value, bool):
            return identity(str(value))
        self.problem(line, "the row names no case" if value is None else f"{_shown(value)} is no name of a case")
        return ""

    def _outcome(self, line: int, row: Mapping[str, Any]) -> tuple[Outcome, ErrorKind | None, str | None]:
        passed = self._passed(line, row.get("passed"))
        word = _word(row.get("outcome"))
        # A column called result may hold an answer; it is a verdict if it reads like one, or if there is no other.
        if "outcome" not in row and "result" in row and (passed is None or _word(row["result"]) in _OUTCOMES):
            word = _word(row["result"])
        written = _OUTCOMES.get(word)
        if written is None and word:
            self.problem(line, f"outcome is {_shown(word)}; it is passed, failed, error or skipped")
        if written is not None and passed is not None and passed != (written == "passed"):
            self.problem(line, f"the row contradicts itself: passed is {_shown(row['passed'])}, outcome is {word!r}")
        message = one_line(_text(row.get("message")) or "") or None
        if "error" in row or written == "error":
            text = one_line(_text(row.get("error")) or "") or None
            type_name = "Timeout" if word in _TIMEOUTS else ""
            return "error", error_kind(type_name, text or message or "", written=row.get("error_kind")), message or text
        if written is not None:
            return written, None, message
        if passed is not None:
            return ("passed" if passed else "failed"), None, message
        return "error", "harness", message or "the row has no verdict"

    def _passed(self, line: int, value: object) -> bool | None:
        if value is None or isinstance(value, bool):
            return value
        word = str(value).strip().lower() if isinstance(value, str | int | float) else ""
        if word in _TRUE:
            return True
        if word in _FALSE:
            return False
        self.problem(line, f"passed is {_shown(value)}; it is true or false, yes or no, 1 or 0")
        return None

    def _parsed(self, value: object) -> float | None:
        if isinstance(value, str):
            return local_number(value.strip(), decimal_comma=True) if self.decimal_comma else json_number(value.strip())
        if isinstance(value, int | float) and not isinstance(value, bool):
            try:
                number = float(value)
            except OverflowError:
                return None
            return number if math.isfinite(number) else None
        return None

    def _number(self, line: int, row: Mapping[str, Any], name: str, *, negative: bool = True) -> float | None:
        value = row.get(name)
        if value is None:
            return None
        number = self._parsed(value)
        if number is None:
            self.problem(line, f"{name} is {_shown(value)}, which is no number")
        elif number < 0 and not negative:
            self.problem(line, f"{name} is {_shown(value)}; it cannot be negative")
        return number

    def _whole(self, line: int, row: Mapping[str, Any], name: str) -> int | None:
        value = row.get(name)
        if value is None:
            return None
        number = count(str(value)) if isinstance(value, str | int | float) and not isinstance(value, bool) else None
        if number is None or number > _MAX_REPETITION:
            self.problem(line, f"{name} is {_shown(value)}; it is a whole number from 0 to {_MAX_REPETITION:,}")
            return None
        return number

    def _duration(self, row: Mapping[str, Any]) -> float | None:
        for name, unit in (("duration", 1.0), ("milliseconds", 1000.0)):
            value = row.get(name)
            if value is not None:
                number = self._parsed(value)
                if number is None or number < 0:
                    self.unreadable_durations += 1
                    return None
                return number / unit
        return None

    def _tokens(self, line: int, row: Mapping[str, Any]) -> Tokens | None:
        if "tokens_input" not in row and "tokens_output" not in row:
            return None
        found = {}
        for name in ("tokens_input", "tokens_output"):
            value = self._number(line, row, name, negative=False)
            found[name] = int(value) if value is not None and value <= 2**53 else None
        return Tokens(input=found["tokens_input"], output=found["tokens_output"])

    def results(self, form: str) -> FileResults:
        """Number the repetitions, or raise all problems at once."""
        warnings, variant = self._tell_models_apart()
        trials = self._numbered()
        if self.problem_count:
            more = self.problem_count - len(self.problems)
            if more:
                self.problems.append(Problem(f"and {more} more problems", str(self.path)))
            raise ReadError(self.problems)
        if self.unreadable_durations:
            warnings.append(f"{self.unreadable_durations} durations could not be read and are unknown")
        return FileResults(path=self.path, format=form, trials=tuple(trials), warnings=tuple(warnings), variant=variant)

    def _tell_models_apart(self) -> tuple[list[str], str | None]:
        """Rows of several models are cases of their own; a file's one model is no part of the names."""
        found = list(dict.fromkeys(self.models))
        if len(found) < 2:
            return [], found[0] if found else None
        for place, model in enumerate(self.models):
            if model is not None:
                named = identity(f"{model}::{self.trials[place].case}")
                self.trials[place] = msgspec.structs.replace(self.trials[place], case=named)
        names = listed([name for name in found if name is not None])
        return [f"rows of different models are different cases: {names}"], None

    def _numbered(self) -> list[FoundTrial]:
        """Count repetitions from 1. Rows without them are one trial each, in the order of the file."""
        given = [trial.repetition for trial in self.trials if trial.repetition is not None]
        if given and len(given) < len(self.trials):
            for trial, line in zip(self.trials, self.lines, strict=True):
                if trial.repetition is None:
                    self.problem(line, "the row has no repetition, while other rows have one")
            return []
        shift = 1 if given and min(given) == 0 else 0
        kept: dict[tuple[str, int], FoundTrial] = {}
        seen: dict[str, int] = defaultdict(int)
        for trial, line in zip(self.trials, self.lines, strict=True):
            seen[trial.case] += 1
            number = seen[trial.case] if trial.repetition is None else trial.repetition + shift
            attempts = None
            if self.options.duplicates == "error" and trial.repetition is None and number > 1:
                self.problem(line, f"{_shown(trial.case)} has another row, and there is no column for the repetition")
            if self.options.duplicates == "retries" and trial.repetition is None:
                number = 1
            if (earlier := kept.get((trial.case, number))) is not None:
                if self.options.duplicates != "retries":
                    self.problem(line, f"{_shown(trial.case)} has repetition {trial.repetition} twice")
                attempts = (earlier.attempts or 1) + 1
            kept[trial.case, number] = msgspec.structs.replace(trial, repetition=number, attempts=attempts)
        return list(kept.values())


def is_empty(value: object) -> bool:
    """Whether a field is as good as absent: null, blank, or an empty list or object."""
    return (
        value is None
        or (isinstance(value, str) and not value.strip())
        or (isinstance(value, list | dict) and not value)
    )


def is_no_error(value: object) -> bool:
    """Whether a column of errors says that there is none."""
    return value is False or (isinstance(value, str) and value.strip().lower() in _NO_ERROR)


def _word(value: object) -> str:
    return (_text(value, _SHOWN) or "").strip().lower().replace(" ", "_")


def _text(value: object, limit: int | None = None) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str):
        value = json.dumps(value, ensure_ascii=False)
    text = clean(value)
    return bounded(text) if limit is None else text[:limit]


def _shown(value: object) -> str:
    text = repr(value) if isinstance(value, str | int | float | bool) else f"a {type(value).__name__}"
    return clean(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")


def normal(name: str) -> str:
    """A column's name as the aliases are written: lower case, with underscores."""
    return name.strip().lower().replace(" ", "_").replace("-", "_")


def canonical(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row under our names: of several aliases the preferred one that is not empty."""
    found: dict[str, Any] = {}
    ranks: dict[str, int] = {}
    for key, value in row.items():
        name = FIELDS.get(key) or FIELDS.get(alias := normal(key))
        if name is None or is_empty(value) or (name == "error" and is_no_error(value)):
            continue
        rank = RANK[key if key in RANK else alias]
        if name not in found or rank < ranks[name]:
            found[name], ranks[name] = value, rank
    return found
