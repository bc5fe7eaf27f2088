"""The run file: every trial is there as soon as it ended, and the file is readable after any death."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from repeat_eval.errors import Problem, UserError
from repeat_eval.records.journal import Journal, looks_like_run_file, open_run, read_run
from repeat_eval.records.run import RUN_SCHEMA, CasePlan, RunFooter, RunHeader
from repeat_eval.records.trial import CheckResult, Judge, Tokens, ToolCall, Trial

HEADER = RunHeader(suite="refunds", repeats=3, cases=(CasePlan(id="a", asked=3), CasePlan(id="b", asked=2)), seed=7)
FOOTER = RunFooter(complete=True, trials=1)


def passed(case: str = "a", repetition: int = 1, **more: Any) -> Trial:
    return Trial(case=case, repetition=repetition, outcome="passed", **more)


def crashed(case: str = "a", repetition: int = 1) -> Trial:
    return Trial(case=case, repetition=repetition, outcome="error", error_kind="crash", message="boom")


def line(value: Any) -> bytes:
    return msgspec.json.encode(value) + b"\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "run.jsonl"


def written(path: Path, *values: Any, tail: bytes = b"") -> Path:
    path.write_bytes(b"".join(line(value) for value in values) + tail)
    return path


def refused(path: Path) -> tuple[Problem, ...]:
    with pytest.raises(UserError) as caught:
        open_run(path)
    assert {problem.file for problem in caught.value.problems} == {str(path)}
    return caught.value.problems


# ---- writing ----


def test_another_reader_sees_each_line_as_soon_as_it_was_appended(path: Path) -> None:
    journal = Journal.create(path, HEADER)
    for repetition in (1, 2, 3):
        journal.append(passed(repetition=repetition))
        run = read_run(path)
        assert [trial.repetition for trial in run.trials] == list(range(1, repetition + 1))
        assert not run.complete
    journal.finish(RunFooter(complete=True, trials=3))
    assert read_run(path).complete


def test_a_run_comes_back_as_it_was_written(path: Path) -> None:
    trial = passed(
        score=0.25,
        checks=(CheckResult("tone", False, 0.25, "cold", Judge("m", "r")),),
        output="größe \u2028 \x00",
        tool_calls=(ToolCall("look_up", {"order": ["A1", None]}),),
        turns=2,
        duration=0.5,
        cost=0.001,
        tokens=Tokens(10, 3),
        attempts=2,
        cached=False,
        started="2026-01-01T00:00:00Z",
        source="x",
    )
    with Journal.create(path, HEADER) as journal:
        journal.append(trial)
        journal.finish(FOOTER)
    run = read_run(path)
    assert (run.header, run.trials, run.footer, run.warnings) == (HEADER, (trial,), FOOTER, ())


def test_the_file_is_one_json_object_a_line_and_unknown_is_null(path: Path) -> None:
    with Journal.create(path, HEADER) as journal:
        journal.append(passed())
        journal.finish(FOOTER)
    header, trial, footer = [json.loads(text) for text in path.read_text(encoding="utf-8").splitlines()]
    assert header["schema"] == RUN_SCHEMA
    assert trial["duration"] is None
    assert footer == {"footer": {"complete": True, "trials": 1, "stopped": None, "ended": None, "missing": []}}


def test_a_journal_that_is_left_by_an_exception_has_no_footer(path: Path) -> None:
    with pytest.raises(ZeroDivisionError), Journal.create(path, HEADER) as journal:
        journal.append(passed())
        raise ZeroDivisionError
    run = read_run(path)
    assert run.footer is None
    assert len(run.trials) == 1


def test_creating_a_journal_replaces_what_was_there(path: Path) -> None:
    written(path, HEADER, passed(), passed(repetition=2))
    Journal.create(path, HEADER).close()
    assert read_run(path).trials == ()


# ---- interrupted files ----


def test_a_torn_last_line_is_left_out_with_a_warning(path: Path) -> None:
    run = read_run(written(path, HEADER, passed(), tail=b'{"case":"a","repet'))
    assert [trial.repetition for trial in run.trials] == [1]
    assert run.warnings == (f"{path}:3: the last line was torn and is left out",)


def test_a_whole_last_line_without_a_line_end_counts(path: Path) -> None:
    opened = open_run(written(path, HEADER, tail=line(passed())[:-1]))
    assert len(opened.run.trials) == 1
    assert opened.run.warnings == ()
    assert opened.missing_newline


@pytest.mark.parametrize("cut", range(1, 60, 7))
def test_wherever_the_file_was_cut_it_goes_on_whole(path: Path, cut: int) -> None:
    written(path, HEADER, passed(), passed(repetition=2))
    path.write_bytes(path.read_bytes()[:-cut])
    opened = open_run(path)
    with Journal.resume(path, opened) as journal:
        for repetition in range(len(opened.run.trials) + 1, 4):
            journal.append(passed(repetition=repetition))
        journal.finish(RunFooter(complete=True, trials=journal.trials))
    run = read_run(path)
    assert [trial.repetition for trial in run.trials] == [1, 2, 3]
    assert run.complete
    assert run.warnings == ()
    assert path.read_bytes().endswith(b"\n")


def test_resuming_after_a_missing_line_end_adds_it(path: Path) -> None:
    written(path, HEADER, tail=line(passed())[:-1])
    with Journal.resume(path, open_run(path)) as journal:
        journal.append(passed(repetition=2))
    assert [trial.repetition for trial in read_run(path).trials] == [1, 2]


def test_blank_lines_are_no_trials(path: Path) -> None:
    written(path, HEADER, tail=b"\n  \n" + line(passed()) + b"\n")
    assert len(read_run(path).trials) == 1


def test_a_footer_in_the_middle_is_superseded_by_the_last_one(path: Path) -> None:
    stopped = {"footer": RunFooter(complete=False, trials=1, stopped="max-cost")}
    done = {"footer": RunFooter(complete=True, trials=2)}
    assert read_run(written(path, HEADER, passed(), stopped)).footer == stopped["footer"]
    assert read_run(written(path, HEADER, passed(), stopped, passed(repetition=2))).footer is None
    run = read_run(written(path, HEADER, passed(), stopped, passed(repetition=2), done))
    assert run.complete
    assert len(run.trials) == 2


# ---- superseding ----


def test_a_later_line_supersedes_an_error(path: Path) -> None:
    run = read_run(written(path, HEADER, crashed(), passed(repetition=2), crashed(), passed()))
    assert [(trial.repetition, trial.outcome) for trial in run.trials] == [(1, "passed"), (2, "passed")]


@pytest.mark.parametrize("second", [passed(), crashed(), Trial(case="a", repetition=1, outcome="failed")])
@pytest.mark.parametrize("first", ["passed", "failed", "skipped"])
def test_nothing_supersedes_a_verdict(path: Path, first: Any, second: Trial) -> None:
    (problem,) = refused(written(path, HEADER, Trial(case="a", repetition=1, outcome=first), second))
    assert problem.line == 3
    assert problem.message == "trial 1 of case 'a' is there twice; only an error may be superseded"


def test_what_a_superseded_error_cost_was_spent_all_the_same(path: Path) -> None:
    costly = msgspec.structs.replace(crashed(), cost=0.25)
    opened = open_run(written(path, HEADER, costly, passed(cost=0.5), passed(repetition=2)))
    assert opened.spent == 0.75
    assert open_run(written(path, HEADER, passed())).spent is None


def test_a_superseded_error_is_not_counted_twice(path: Path) -> None:
    with Journal.create(path, HEADER) as journal:
        journal.append(crashed())
        journal.append(passed(), supersedes=True)
        assert journal.trials == 1
    with Journal.resume(path, open_run(path)) as journal:
        assert journal.trials == 1


# ---- bad files ----


@pytest.mark.parametrize(
    ("bad", "says"),
    [
        (b"garbage\n", "is not a valid trial"),
        (b"[]\n", "is not a valid trial"),
        (b"{}\n", "is not a valid trial"),
        (b"\xff\xfe\n", "is not a valid trial"),
        (b"[" * 100_000 + b"\n", "is not a valid trial"),
        (b'{"case":"a","repetition":0,"outcome":"passed"}\n', "is not a valid trial"),
        (b'{"case":"a","repetition":1.5,"outcome":"passed"}\n', "is not a valid trial"),
        (b'{"case":"a","repetition":1,"outcome":"great"}\n', "is not a valid trial"),
        (b'{"case":"a","repetition":1,"outcome":"passed","duration":-1}\n', "is not a valid trial"),
        (b'{"case":"a","repetition":1,"outcome":"passed","duration":NaN}\n', "is not a valid trial"),
        (b'{"case":"a","repetition":1,"outcome":"error"}\n', "does not go with error_kind None"),
        (b'{"case":"a","repetition":1,"outcome":"failed","error_kind":"crash"}\n', "does not go with error_kind"),
        (b'{"case":"z","repetition":1,"outcome":"passed"}\n', "case 'z' is not among the cases in the header"),
        (b'{"case":"b","repetition":3,"outcome":"passed"}\n', "repetition 3 of case 'b', which asks for 2"),
        (b'{"footer":{"complete":1}}\n', "is not a valid trial"),
    ],
)
def test_any_other_bad_line_is_an_error_that_names_file_and_line(path: Path, bad: bytes, says: str) -> None:
    written(path, HEADER, passed(repetition=2), tail=bad + line(passed(repetition=3)))
    (problem,) = refused(path)
    assert problem.line == 3
    assert says in problem.message


def test_all_bad_lines_are_said_but_no_more_than_twenty(path: Path) -> None:
    assert [problem.line for problem in refused(written(path, HEADER, tail=b"x\n" * 3))] == [2, 3, 4]
    assert len(refused(written(path, HEADER, tail=b"x\n" * 100))) == 20


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is empty"),
        (b"\n", "is empty"),
        (b"{}\n", "is not a run file"),
        (b"\x89PNG\r\n", "is not a run file"),
        (b'{"schema":"repeat-eval/report/1"}\n', "is not a run file"),
        (b'{"schema":["repeat-eval/run/1"]}\n', "is not a run file"),
        (b'{"schema":"repeat-eval/run/2","new":1}\n', "was written by a newer version (schema repeat-eval/run/2)"),
        (b'{"schema":"repeat-eval/run/1"}\n', "the header is not valid"),
        (b'{"schema":"repeat-eval/run/1","suite":"x","repeats":0}\n', "the header is not valid"),
        (b'{"schema":"repeat-eval/run/1","suite":"x","re', "is not a run file"),
    ],
)
def test_a_file_without_a_header_of_this_version_is_refused(path: Path, content: bytes, says: str) -> None:
    path.write_bytes(content)
    (problem,) = refused(path)
    assert says in problem.message


def test_a_missing_file_and_a_folder_are_refused_in_a_sentence(path: Path, tmp_path: Path) -> None:
    assert refused(path)[0].message == "cannot be read: No such file or directory"
    assert refused(tmp_path)[0].message == "cannot be read: Is a directory"


def test_unknown_keys_are_ignored_everywhere(path: Path) -> None:
    header = msgspec.to_builtins(HEADER) | {"new": 1}
    trial = msgspec.to_builtins(passed()) | {"new": {"deep": []}}
    footer = {"footer": msgspec.to_builtins(FOOTER) | {"new": 1}, "other": 2}
    run = read_run(written(path, header, trial, footer))
    assert (run.header, run.trials, run.footer) == (HEADER, (passed(),), FOOTER)


def test_a_header_without_cases_takes_any_case(path: Path) -> None:
    header = RunHeader(suite="command", source="command", repeats=2)
    assert len(read_run(written(path, header, passed("x", 1), passed("y", 9))).trials) == 2


@pytest.mark.parametrize(
    ("content", "ours"),
    [
        (b'{"schema":"repeat-eval/run/1","suite":"x","repeats":3}\n', True),
        (b'{"schema":"repeat-eval/run/9"}\n', True),
        (b'{"schema":"repeat-eval/report/1"}\n', False),
        (b'{"case":"a"}\n', False),
        (b"<xml/>\n", False),
        (b"", False),
    ],
)
def test_a_run_file_is_known_by_its_first_line(path: Path, content: bytes, ours: bool) -> None:
    path.write_bytes(content)
    assert looks_like_run_file(path) is ours


# ---- properties ----

TRIALS = st.lists(
    st.builds(
        lambda case, repetition, outcome, message: Trial(
            case=case,
            repetition=repetition,
            outcome=outcome,
            error_kind="provider" if outcome == "error" else None,
            message=message,
        ),
        st.sampled_from(["a", "b"]),
        st.integers(1, 2),
        st.sampled_from(["passed", "failed", "error", "skipped"]),
        st.none() | st.text(max_size=10),
    ),
    unique_by=lambda trial: trial.key,
    max_size=4,
)


@given(TRIALS, st.data())
def test_a_file_cut_at_any_byte_after_its_header_loses_only_what_was_not_whole(
    tmp_path_factory: pytest.TempPathFactory, trials: list[Trial], data: st.DataObject
) -> None:
    path = tmp_path_factory.getbasetemp() / "cut.jsonl"
    lines = [line(HEADER), *(line(trial) for trial in trials)]
    whole = b"".join(lines)
    cut = data.draw(st.integers(len(lines[0]), len(whole)))
    path.write_bytes(whole[:cut])
    ends = [sum(map(len, lines[: count + 1])) for count in range(len(lines))]
    survived = sum(1 for end in ends[1:] if cut >= end - 1)
    run = read_run(path)
    assert list(run.trials) == trials[:survived]
    assert bool(run.warnings) == (cut not in ends and cut + 1 not in ends)


@given(st.binary(max_size=300))
def test_arbitrary_bytes_are_a_run_or_refused(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    path = tmp_path_factory.getbasetemp() / "bytes.jsonl"
    path.write_bytes(line(HEADER) + data)
    try:
        open_run(path)
    except UserError as error:
        assert error.problems


def test_a_lean_reading_keeps_what_a_comparison_needs_and_no_more(path: Path) -> None:
    full = passed(output="x" * 100, message="m", checks=(CheckResult(name="c", passed=True, score=1.0),))
    full = msgspec.structs.replace(full, duration=1.5, cost=0.01, cached=True)
    written(path, HEADER, full, crashed("b"), {"footer": FOOTER})
    one, other = read_run(path, lean=True).trials
    assert one == passed(duration=1.5, cost=0.01, cached=True)
    assert (other.outcome, other.error_kind, other.message) == ("error", "crash", None)
    assert read_run(path, lean=True).header == read_run(path).header


@pytest.mark.parametrize("bad", [{"score": "high"}, {"checks": [{"name": 1}]}, {"repetition": 9}, {"case": "unknown"}])
def test_a_lean_reading_refuses_what_a_full_one_refuses(path: Path, bad: dict[str, Any]) -> None:
    written(path, HEADER, {"case": "a", "repetition": 1, "outcome": "passed", **bad}, {"footer": FOOTER})
    with pytest.raises(UserError) as full:
        read_run(path)
    with pytest.raises(UserError) as lean:
        read_run(path, lean=True)
    assert str(lean.value) == str(full.value)


def test_a_file_that_lost_lines_tells_so_by_its_footer(path: Path) -> None:
    lacking = "holds 1 trials, and its last line tells of 2"
    run = read_run(written(path, HEADER, passed(), {"footer": RunFooter(complete=True, trials=2)}))
    assert run.footer is not None and run.complete
    assert [lacking in text for text in run.footer.missing] == [True]


def test_a_full_disk_is_said_with_the_file_and_what_was_whole_is_kept(path: Path) -> None:
    code = """
        import resource, sys
        from pathlib import Path
        from repeat_eval.errors import UserError
        from repeat_eval.records.journal import Journal
        from repeat_eval.records.run import RunHeader
        from repeat_eval.records.trial import Trial

        resource.setrlimit(resource.RLIMIT_FSIZE, (5_000, 5_000))
        journal = Journal.create(Path(sys.argv[1]), RunHeader(suite="s", repeats=9))
        try:
            for number in range(1, 10):
                journal.append(Trial(case="a", repetition=number, outcome="passed", output="x" * 1_000))
        except UserError as error:
            print(number, error)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), str(path)], capture_output=True, text=True, check=True
    )
    number, _, said = done.stdout.partition(" ")
    assert said.startswith(f"{path}: cannot be written: ")
    assert [trial.repetition for trial in read_run(path).trials] == list(range(1, int(number)))
