"""Pairs of runs for tests, written as counts: `compared((5, 5, 1, 5))` is one case, 5/5 on base and 1/5 on head."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
from analysis_runs import run_of

from repeat_eval.analysis.analyse import analyse
from repeat_eval.analysis.comparison import compare_runs
from repeat_eval.analysis.report import Comparison, Report
from repeat_eval.analysis.rules import Rules
from repeat_eval.records.run import Run

Row = tuple[int, int, int, int]


def letters(passed: int, verdicts: int) -> str:
    """Outcomes of one side of a case."""
    return "P" * passed + "F" * (verdicts - passed)


def sides(rows: Sequence[Row]) -> tuple[Run, Run]:
    """Base and head with these counts; cases are called `case 0`, `case 1` and so on."""
    base = run_of({f"case {number}": letters(row[0], row[1]) for number, row in enumerate(rows)})
    head = run_of({f"case {number}": letters(row[2], row[3]) for number, row in enumerate(rows)})
    return base, head


def compared(*rows: Row, **rules: Any) -> Comparison:
    """The comparison of these cases."""
    base, head = sides(rows)
    return compare_runs(base, head, Rules(**rules), source="side-by-side")


def judged(base: Run | None, head: Run, *, options: dict[str, Any] | None = None, **rules: Any) -> Report:
    """Head's report against base under these rules; `options` go to `analyse`."""
    return analyse(head, Rules(**rules), base=base, **{"base_source": "side-by-side", **(options or {})})


def judged_rows(*rows: Row, options: dict[str, Any] | None = None, **rules: Any) -> Report:
    """The report of these cases, with gate none for single cases unless the rules say otherwise."""
    base, head = sides(rows)
    return judged(base, head, options=options, **{"gate": "none", **rules})


def with_header(run: Run, **fields: Any) -> Run:
    """The run with other words in its header."""
    return msgspec.structs.replace(run, header=msgspec.structs.replace(run.header, **fields))
