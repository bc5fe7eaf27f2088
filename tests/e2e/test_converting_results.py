"""`repeat-eval convert`: results of any tool in another form, and nothing lost without a word."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from whole_program import program, write

ROWS = "case,repetition,passed,error\na,1,true,\na,2,false,\nb,1,true,\nb,2,,down\n"
UNEVEN = "case,repetition,passed\na,1,true\na,2,false\nb,1,true\n"


def figures(folder: Path, file: str) -> list[tuple[str, str, int]]:
    ended = program("report", file, "--out", f"shown-{file}", "--gate", "none", cwd=folder)
    assert ended.code in (0, 3), ended.text
    report = json.loads((folder / f"shown-{file}" / "report.json").read_text())
    return [(case["id"], case["outcomes"], case["missing"]) for case in report["cases"]]


def test_each_form_is_read_back_as_the_same_run(tmp_path: Path) -> None:
    write(tmp_path / "in.csv", ROWS)
    expected = figures(tmp_path, "in.csv")
    assert expected == [("a", "PF", 0), ("b", "PE", 0)]
    source = "in.csv"
    for out in ("run.jsonl", "out.ctrf.json", "rows.csv", "rows.jsonl", "again.jsonl"):
        ended = program("convert", source, "-o", out, cwd=tmp_path)
        assert (ended.code, ended.out) == (0, f"{out}: 4 trials of 2 cases ({FORM[out]})\n"), ended.text
        assert figures(tmp_path, out) == expected, out
        source = out


FORM = {
    "run.jsonl": "run",
    "again.jsonl": "run",
    "out.ctrf.json": "ctrf",
    "rows.csv": "rows-csv",
    "rows.jsonl": "rows-jsonl",
}


def test_a_run_file_keeps_what_was_asked_and_is_compared_as_ever(tmp_path: Path) -> None:
    write(tmp_path / "in.csv", UNEVEN)
    assert program("convert", "in.csv", "-o", "run.jsonl", "--name", "capitals", cwd=tmp_path).code == 0
    assert figures(tmp_path, "run.jsonl") == [("a", "PF", 0), ("b", "P", 1)]
    header = json.loads((tmp_path / "run.jsonl").read_text().splitlines()[0])
    assert (header["suite"], header["source"]) == ("capitals", "results")
    assert program("compare", "run.jsonl", "in.csv", "--gate", "none", cwd=tmp_path).code in (0, 3)


def test_rows_cannot_tell_of_missing_trials_so_it_is_said(tmp_path: Path) -> None:
    write(tmp_path / "in.csv", UNEVEN)
    ended = program("convert", "in.csv", "-o", "rows.jsonl", cwd=tmp_path)
    assert ended.code == 3
    assert "not told by rows.jsonl: b has 1 of 2 trials that were asked for" in ended.err
    assert len((tmp_path / "rows.jsonl").read_text().splitlines()) == 3
    # CTRF tells how many were asked for.
    assert program("convert", "in.csv", "-o", "out.json", cwd=tmp_path).code == 0
    assert figures(tmp_path, "out.json") == [("a", "PF", 0), ("b", "P", 1)]


def test_statuses_of_ctrf_follow_the_gate_that_is_asked_for(tmp_path: Path) -> None:
    write(tmp_path / "in.csv", "case,passed\n" + "a,true\n" * 9 + "a,false\n")
    for gate, status in (("wilson", "passed"), ("strict", "failed")):
        arguments = ("convert", "in.csv", "-o", "out.json", "--gate", gate, "--threshold", "0.95")
        assert program(*arguments, cwd=tmp_path).code == 0
        (test,) = json.loads((tmp_path / "out.json").read_text())["results"]["tests"]
        assert test["status"] == status


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("in.csv", "-o", "out.txt"), "does not say what to write"),
        (("in.csv", "-o", "in.csv"), "is one of the files that are read"),
        (("none.csv", "-o", "out.csv"), "no file matches"),
        (("empty.csv", "-o", "out.csv"), "nothing to convert"),
        (("in.csv", "-o", "open.jsonl"), "holds an unfinished run"),
        (("in.csv", "-o", "no/such/folder/out.csv"), "cannot be written"),
        (("in.csv",), "Missing option"),
    ],
)
def test_what_cannot_be_converted_is_refused(tmp_path: Path, arguments: tuple[str, ...], says: str) -> None:
    write(tmp_path / "in.csv", ROWS)
    write(tmp_path / "empty.csv", "case,passed\n")
    write(tmp_path / "open.jsonl", '{"schema":"repeat-eval/run/1","suite":"s","repeats":2}\n')
    ended = program("convert", *arguments, cwd=tmp_path)
    assert (ended.code, says in ended.err) == (2, True), ended.text


def test_an_unfinished_run_stays_unfinished(tmp_path: Path) -> None:
    run = (
        '{"schema":"repeat-eval/run/1","suite":"s","repeats":2,"cases":[{"id":"a","asked":2}]}\n'
        '{"case":"a","repetition":1,"outcome":"passed"}\n'
    )
    write(tmp_path / "open.jsonl", run)
    assert program("convert", "open.jsonl", "-o", "copy.jsonl", cwd=tmp_path).code == 0
    assert program("report", "copy.jsonl", cwd=tmp_path).code == 3
    ended = program("convert", "open.jsonl", "-o", "rows.csv", cwd=tmp_path)
    assert ended.code == 3
    assert "the run is not finished" in ended.err


def test_secrets_of_the_environment_do_not_get_into_the_file(tmp_path: Path) -> None:
    secret = "sk-1234567890abcdefghij"  # noqa: S105 - none, of course
    write(tmp_path / "in.csv", f"case,passed,output\na,true,key {secret}\n")
    ended = program("convert", "in.csv", "-o", "rows.csv", cwd=tmp_path, env={"MODEL_API_KEY": secret})
    assert ended.code == 0, ended.text
    assert secret not in (tmp_path / "rows.csv").read_text()
