"""Trials written as rows: our own reader reads the same trials back, and no cell is a formula."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from repeat_eval.readers import FoundTrial, collect, read_file
from repeat_eval.records.rows import ROW_COLUMNS, inert, plain
from repeat_eval.records.trial import ERROR_KINDS, Tokens, Trial, one_line
from repeat_eval.reports.rows import RowForm, write_rows

FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "'=1", "''", "'", "＝1", '=HYPERLINK("x";"y")']

texts = st.one_of(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")), st.sampled_from(FORMULAS))
numbers = st.floats(min_value=0, max_value=1e12, allow_nan=False)
counts = st.integers(0, 2**53)


@st.composite
def trials(draw: st.DrawFn) -> Trial:
    outcome = draw(st.sampled_from(["passed", "failed", "error", "skipped"]))
    return Trial(
        case=draw(texts.map(str.strip).filter(bool).filter(lambda text: len(text) <= 1000)),
        repetition=draw(st.integers(1, 1_000_000)),
        outcome=outcome,  # type: ignore[arg-type]
        error_kind=draw(st.sampled_from(ERROR_KINDS)) if outcome == "error" else None,  # type: ignore[arg-type]
        score=draw(st.none() | st.floats(allow_nan=False, allow_infinity=False)),
        duration=draw(st.none() | numbers),
        cost=draw(st.none() | numbers),
        tokens=draw(st.none() | st.builds(Tokens, counts, st.none() | counts) | st.builds(Tokens, st.none(), counts)),
        message=draw(st.none() | texts.map(one_line).filter(bool)),
        output=draw(st.none() | texts.filter(lambda text: bool(text.strip()))),
        started=draw(st.none() | st.just("2026-11-30T20:50:58.970507+00:00")),
    )


def as_found(trial: Trial) -> FoundTrial:
    names = set(FoundTrial.__struct_fields__) & set(Trial.__struct_fields__)
    return FoundTrial(**{name: getattr(trial, name) for name in names})


def read_back(written: bytes, form: RowForm) -> tuple[FoundTrial, ...]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"rows.{form}"
        path.write_bytes(written)
        return read_file(path).trials


@pytest.mark.parametrize("form", ["csv", "jsonl"])
@settings(max_examples=150)
@given(st.lists(trials(), min_size=1, max_size=6, unique_by=lambda trial: trial.key))
@example([Trial(case="'=x", repetition=1, outcome="passed", output="-1", message=None, score=-0.5)])
def test_what_is_written_is_read_back(form: RowForm, written: list[Trial]) -> None:
    assert list(read_back(write_rows(written, form), form)) == [as_found(trial) for trial in written]


@pytest.mark.parametrize("text", FORMULAS)
def test_a_spreadsheet_sees_no_formula(text: str) -> None:
    trial = Trial(case=f"{text}x", repetition=1, outcome="failed", message=text, output=text, score=-0.5)
    (row,) = csv.DictReader(io.StringIO(write_rows([trial], "csv").decode(), newline=""))
    for name in ("case", "message", "output"):
        assert not row[name].startswith(("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"))
    # A number stays one: it cannot be a formula.
    assert row["score"] == "-0.5"


@given(texts)
def test_every_text_comes_back_from_its_cell(text: str) -> None:
    assert plain(inert(text)) == text
    assert not inert(text).startswith(tuple("=+-@\t\r\n＝＋－＠"))


def test_apostrophes_in_csv_of_other_tools_stay(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("case,passed\n'=x,true\n")
    assert read_file(path).trials[0].case == "'=x"


def test_columns_are_always_the_same_and_unknown_is_empty() -> None:
    text = write_rows([Trial(case="a", repetition=2, outcome="passed")], "csv").decode()
    assert text == ",".join(ROW_COLUMNS) + "\na,2,passed,,,,,,,,,\n"
    line = write_rows([Trial(case="a", repetition=2, outcome="passed")], "jsonl")
    assert json.loads(line) == {"case": "a", "repetition": 2, "outcome": "passed"}


def test_what_csv_cannot_hold_does_not_break_it() -> None:
    trial = Trial(case="a\0b", repetition=1, outcome="passed", output='quo"te\r\n,;\ud800', score=float("inf"))
    for form in ("csv", "jsonl"):
        (found,) = read_back(write_rows([trial], form), form)
        assert found.score is None
        assert found.output == 'quo"te\r\n,;?'
    assert read_back(write_rows([trial], "csv"), "csv")[0].case == "a\ufffdb"


def test_no_trials_make_a_file_that_holds_none(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(write_rows([], "csv"))
    assert collect([path]).trials == ()
    assert write_rows([], "jsonl") == b""
