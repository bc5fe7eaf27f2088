"""Plain rows in CSV and JSON Lines, under the names that other tools give to the columns."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from repeat_eval.readers import FileResults, ReadError, ReadOptions, format_of, read_file
from repeat_eval.records.trial import Tokens


def rows(tmp_path: Path, text: str, name: str = "results.csv", options: ReadOptions | None = None) -> FileResults:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return read_file(path, options)


def problems(tmp_path: Path, text: str, name: str = "results.csv", options: ReadOptions | None = None) -> list[str]:
    with pytest.raises(ReadError) as caught:
        rows(tmp_path, text, name, options)
    return [f"{problem.line}: {problem.message}" for problem in caught.value.problems]


def test_a_row_is_a_trial(tmp_path: Path) -> None:
    results = rows(
        tmp_path,
        "case_id,pass,score,run_index,latency_ms,cost_usd,reason,input_tokens,output_tokens,response\n"
        'refund,yes,0.75,0,1500,0.002,,12,34,"a, b"\nrefund,No,0.25,1,500,,too slow,,,\n',
    )
    first, second = results.trials
    assert results.format == "csv"
    assert (first.case, first.outcome, first.score, first.repetition) == ("refund", "passed", 0.75, 1)
    assert (first.duration, first.cost, first.tokens, first.output) == (1.5, 0.002, Tokens(input=12, output=34), "a, b")
    assert (second.outcome, second.repetition, second.message, second.cost) == ("failed", 2, "too slow", None)
    assert second.tokens is None


def test_json_lines_hold_the_same(tmp_path: Path) -> None:
    text = "\n".join(
        json.dumps(row)
        for row in (
            {"id": 7, "ok": True, "epoch": 1, "duration_s": 2, "other": {"deep": [1]}},
            {"id": 7, "ok": 0, "epoch": 2, "seconds": "0.5"},
            {"id": 7, "status": "skipped", "epoch": 3},
        )
    )
    results = rows(tmp_path, text, "results.jsonl")
    assert [(trial.case, trial.outcome, trial.repetition, trial.duration) for trial in results.trials] == [
        ("7", "passed", 1, 2.0),
        ("7", "failed", 2, 0.5),
        ("7", "skipped", 3, None),
    ]


@pytest.mark.parametrize("word", ["true", "TRUE", "1", "1.0", "yes", "pass", "passed"])
def test_words_for_passed(tmp_path: Path, word: str) -> None:
    assert rows(tmp_path, f"case,passed\na,{word}\n").trials[0].outcome == "passed"


@pytest.mark.parametrize("word", ["false", "0", "No", "fail", "failed"])
def test_words_for_failed(tmp_path: Path, word: str) -> None:
    assert rows(tmp_path, f"case,passed\na,{word}\n").trials[0].outcome == "failed"


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_the_delimiter_is_found(tmp_path: Path, delimiter: str) -> None:
    text = delimiter.join(("name", "result", "score")) + "\n" + delimiter.join(("a", "passed", "0.5")) + "\n"
    (trial,) = rows(tmp_path, text).trials
    assert (trial.case, trial.outcome, trial.score) == ("a", "passed", 0.5)


def test_semicolons_go_with_decimal_commas(tmp_path: Path) -> None:
    (trial,) = rows(tmp_path, "case;passed;score;duration\na;1;0,5;1,234\n").trials
    assert (trial.score, trial.duration) == (0.5, 1.234)


def test_a_byte_order_mark_and_windows_line_ends_do_not_matter(tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    path.write_bytes("\ufeffcase,passed\r\na,1\r\n\r\n".encode())
    assert len(read_file(path).trials) == 1


def test_an_error_is_no_verdict_whatever_the_row_says_besides(tmp_path: Path) -> None:
    results = rows(tmp_path, "case,passed,error\na,1,RateLimitError: slow down\nb,0,\n")
    assert [(trial.outcome, trial.error_kind) for trial in results.trials] == [("error", "provider"), ("failed", None)]


def test_a_false_error_flag_is_no_error(tmp_path: Path) -> None:
    assert rows(tmp_path, '{"case": "a", "passed": true, "error": false}\n', "r.jsonl").trials[0].outcome == "passed"


def test_a_row_without_a_verdict_is_an_error(tmp_path: Path) -> None:
    trial = rows(tmp_path, "case,passed,score\na,,0.9\n").trials[0]
    assert (trial.outcome, trial.error_kind, trial.message) == ("error", "harness", "the row has no verdict")


def test_a_timeout_is_the_targets_own(tmp_path: Path) -> None:
    assert rows(tmp_path, "case,status\na,timeout\n").trials[0].error_kind == "timeout"


def test_a_column_called_result_may_hold_an_answer(tmp_path: Path) -> None:
    assert rows(tmp_path, "case,passed,result\na,1,Paris\n").trials[0].outcome == "passed"


def test_rows_without_repetitions_count_in_the_order_of_the_file(tmp_path: Path) -> None:
    results = rows(tmp_path, "case,passed\na,1\nb,1\na,0\n")
    assert [(trial.case, trial.repetition) for trial in results.trials] == [("a", 1), ("b", 1), ("a", 2)]


def test_rows_of_one_case_can_be_retries_or_refused(tmp_path: Path) -> None:
    text = "case,passed\na,0\na,1\n"
    (trial,) = rows(tmp_path, text, options=ReadOptions(duplicates="retries")).trials
    assert (trial.outcome, trial.attempts) == ("passed", 2)
    assert "another row" in problems(tmp_path, text, options=ReadOptions(duplicates="error"))[0]


def test_a_zero_anywhere_means_that_repetitions_count_from_zero(tmp_path: Path) -> None:
    results = rows(tmp_path, "case,passed,rep\na,1,1\nb,1,0\nb,1,2\n")
    assert [(trial.case, trial.repetition) for trial in results.trials] == [("a", 2), ("b", 1), ("b", 3)]


def test_all_problems_are_told_at_once_with_their_lines(tmp_path: Path) -> None:
    found = problems(
        tmp_path,
        "case,passed,score,cost,rep\na,maybe,1,,1\n,1,1,,1\na,1,nan,,2\na,1,0_8,,3\na,1,1,-1,4\na,1,1,,x\na,1,1,1\n",
    )
    assert [text.split(":")[0] for text in found] == ["2", "3", "4", "5", "6", "7", "8"]
    assert "'maybe'" in found[0]


def test_of_many_problems_twenty_are_told_and_all_are_counted(tmp_path: Path) -> None:
    found = problems(tmp_path, "case,passed\n" + "a,maybe\n" * 50)
    assert len(found) == 21
    assert "30 more" in found[-1]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("case,score\na,1\n", "a score is no verdict"),
        ("title,passed\na,1\n", "no column names the case"),
        ("case,passed,passed\na,1,1\n", "two columns"),
        ("case,passed,rep\na,1,1\na,0,1\n", "repetition 1 twice"),
        ("case,passed,rep\na,1,1\na,0,\n", "has no repetition"),
        ("case,passed,outcome\na,1,failed\n", "contradicts itself"),
        ('case,passed\n"a,1\n', "no CSV"),
    ],
)
def test_what_is_wrong_with_a_table(tmp_path: Path, text: str, says: str) -> None:
    assert any(says in problem for problem in problems(tmp_path, text))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"case": "a", "passed": true}\n{"case": "b", "pas', "2: the line is no JSON"),
        ('{"case": "a", "passed": true}\n[1]\n', "2: the line is no JSON object"),
        ('{"case": "a", "passed": true}\n\n{"other": 1}\n', "3: the line names no case and no verdict"),
        ('{"case": true, "passed": true}\n', "is no name of a case"),
        ('{"case": "a", "passed": 0.5}\n', "passed is 0.5"),
        ('{"case": "a", "passed": true, "score": "high"}\n', "which is no number"),
    ],
)
def test_what_is_wrong_with_json_lines(tmp_path: Path, text: str, says: str) -> None:
    assert any(says in problem for problem in problems(tmp_path, text, "results.jsonl"))


def test_an_unreadable_duration_is_unknown_and_said(tmp_path: Path) -> None:
    results = rows(tmp_path, "case,passed,duration\na,1,soon\n")
    assert results.trials[0].duration is None
    assert "1 durations" in results.warnings[0]


def test_the_content_decides_before_the_ending(tmp_path: Path) -> None:
    for text, name in (
        ("case,passed\na,1\n", "csv"),
        ('{"case": "a", "ok": true}\n', "jsonl"),
        ("<testsuite/>", "junit"),
    ):
        path = tmp_path / "results.txt"
        path.write_text(text)
        assert format_of(path).name == name


def test_our_own_run_files_are_known_and_not_read_as_rows(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text(
        '{"schema":"repeat-eval/run/1","suite":"s","repeats":3}\n{"case":"a","repetition":1,"outcome":"passed"}\n'
    )
    assert format_of(path).name == "run"
    with pytest.raises(ReadError, match="run file"):
        read_file(path)


def test_an_unknown_file_is_told_what_is_known(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("hello")
    with pytest.raises(ReadError, match=r"run files of repeat-eval, JUnit XML, .*rows in JSON Lines, rows in CSV"):
        read_file(path)


names = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=30).filter(
    lambda text: text.strip()
)
trials = st.lists(
    st.tuples(
        names.map(str.strip),
        st.sampled_from(["passed", "failed", "error", "skipped"]),
        st.none() | st.floats(0, 1),
        st.none() | st.floats(0, 1e6),
    ),
    min_size=1,
    max_size=20,
)


@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(trials=trials, delimiter=st.sampled_from([",", "\t"]))
def test_rows_come_back_as_they_were_written(
    tmp_path: Path, trials: list[tuple[str, str, float | None, float | None]], delimiter: str
) -> None:
    table, lines = tmp_path / "results.csv", tmp_path / "results.jsonl"
    with table.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow(["case", "outcome", "score", "duration"])
        writer.writerows(trials)
    with lines.open("w", encoding="utf-8") as file:
        for case, outcome, score, duration in trials:
            file.write(json.dumps({"case": case, "outcome": outcome, "score": score, "duration": duration}) + "\n")
    for path in (table, lines):
        found = [(trial.case, trial.outcome, trial.score, trial.duration) for trial in read_file(path).trials]
        assert found == trials


def test_rows_of_several_models_are_cases_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("case,model,passed\na,small,1\na,large,0\na,small,1\na,large,1\n")
    results = read_file(path)
    assert [(t.case, t.repetition, t.outcome) for t in results.trials] == [
        ("small::a", 1, "passed"),
        ("large::a", 1, "failed"),
        ("small::a", 2, "passed"),
        ("large::a", 2, "passed"),
    ]
    assert any("different models" in text for text in results.warnings)


def test_one_model_throughout_is_no_part_of_the_names(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(
        '{"case": "a", "model": "small", "passed": true}\n{"case": "a", "provider": "small", "ok": false}\n'
    )
    results = read_file(path)
    assert {trial.case for trial in results.trials} == {"a"}
    assert results.variant == "small"


@pytest.mark.parametrize("word", ["False", "none", "null", "NaN", " "])
def test_a_column_of_errors_may_say_that_there_is_none(tmp_path: Path, word: str) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(f"case,passed,error\na,1,{word}\na,0,{word}\na,,it broke\n")
    assert [trial.outcome for trial in read_file(path).trials] == ["passed", "failed", "error"]
