"""Trials as plain rows, one a trial: CSV with a header line, or JSON Lines. Our own reader of rows reads both back."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Literal

import msgspec

from repeat_eval.records.rows import ROW_COLUMNS, inert
from repeat_eval.records.trial import Trial, clean, one_line

RowForm = Literal["csv", "jsonl"]
_QUOTED = re.compile(r"""[,;"'\s]""")
_TEXTS = frozenset({"case", "message", "output", "started"})


def write_rows(trials: Iterable[Trial], form: RowForm) -> bytes:
    """Trials as rows, in their order.

    In CSV a text that a spreadsheet would take for a formula begins with an apostrophe (see `records.rows.inert`), and
    NUL characters, which CSV cannot hold, become U+FFFD. Unknown values are empty cells, or keys that are not there.
    Checks, tool calls, turns, attempts and what judging cost have no column.

    Args:
        trials: what is written. form: `csv` (UTF-8, commas, lines end with a line feed) or `jsonl`.
    """
    if form == "jsonl":
        return b"".join(msgspec.json.encode(_row(trial)) + b"\n" for trial in trials)
    lines = [",".join(ROW_COLUMNS)]
    for trial in trials:
        row = _row(trial)
        lines.append(",".join([_cell(name, row.get(name)) for name in ROW_COLUMNS]))
    return ("\n".join(lines) + "\n").encode()


def _row(trial: Trial) -> dict[str, str | int | float]:
    tokens = trial.tokens
    values: dict[str, str | int | float | None] = {
        "case": clean(trial.case),
        "repetition": trial.repetition,
        "outcome": trial.outcome,
        "error_kind": trial.error_kind,
        "score": _finite(trial.score),
        "duration": _finite(trial.duration),
        "cost": _finite(trial.cost),
        "tokens_input": tokens.input if tokens else None,
        "tokens_output": tokens.output if tokens else None,
        "message": one_line(trial.message) if trial.message else None,
        "output": clean(trial.output) if trial.output is not None else None,
        "started": clean(trial.started) if trial.started is not None else None,
    }
    return {name: value for name, value in values.items() if value is not None and value != ""}


def _cell(name: str, value: str | int | float | None) -> str:
    if value is None:
        return ""
    if name in _TEXTS:
        text = inert(str(value).replace("\0", "\ufffd"))
        # csv.writer leaves a carriage return unquoted, which readers take for the end of a line. The other separators
        # are quoted for programs that expect them in place of commas.
        return '"' + text.replace('"', '""') + '"' if _QUOTED.search(text) else text
    return repr(value) if isinstance(value, float) else str(value)


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
