"""Several results files become one run: repetitions are numbered, and what is missing is said."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from repeat_eval.errors import UserError
from repeat_eval.readers import Collected, ReadOptions, collect

SAMPLES = Path(__file__).parent / "samples"


def junit(
    path: Path, outcomes: dict[str, str], *, started: str | None = None, extra: str = "", totals: str = ""
) -> Path:
    inner = {"P": "", "F": "<failure message='no'/>", "E": "<error/>", "S": "<skipped/>"}
    cases = "".join(
        f'<testcase classname="c" name="{name}" time="0.00{index}">{inner[letter]}</testcase>'
        for index, (name, letter) in enumerate(outcomes.items(), 1)
    )
    stamp = f' timestamp="{started}"' if started else ""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'<!-- {path.name} --><testsuite name="s"{stamp} {totals}>{cases}{extra}</testsuite>')
    return path


def letters(collected: Collected, case: str) -> dict[int, str]:
    return {trial.repetition: trial.outcome[0] for trial in collected.trials if trial.case == case}


def test_files_are_repetitions_in_natural_order(tmp_path: Path) -> None:
    files = [junit(tmp_path / f"run-{number}.xml", {"a": "F" if number == 2 else "P"}) for number in (10, 1, 2)]
    collected = collect(files)
    assert letters(collected, "c::a") == {1: "p", 2: "f", 3: "p"}
    assert [Path(trial.source or "").name for trial in collected.trials] == ["run-1.xml", "run-2.xml", "run-10.xml"]
    assert collected.asked == {"c::a": 3}
    assert not collected.missing


def test_files_with_repetitions_inside_follow_each_other(tmp_path: Path) -> None:
    first, second = tmp_path / "1.csv", tmp_path / "2.csv"
    first.write_text("case,passed,rep\na,1,0\na,0,1\n")
    second.write_text("case,passed,rep\na,1,0\na,1,1\n")
    assert letters(collect([first, second]), "a") == {1: "p", 2: "f", 3: "p", 4: "p"}


def test_repetitions_that_go_on_in_the_next_file_keep_their_numbers(tmp_path: Path) -> None:
    first, second = tmp_path / "1.csv", tmp_path / "2.csv"
    first.write_text("case,passed,rep\na,1,1\na,0,2\n")
    second.write_text("case,passed,rep\na,1,3\na,0,4\n")
    assert letters(collect([first, second]), "a") == {1: "p", 2: "f", 3: "p", 4: "f"}


def test_files_may_hold_different_cases(tmp_path: Path) -> None:
    collected = collect([junit(tmp_path / "A.xml", {"a": "P"}), junit(tmp_path / "B.xml", {"b": "F"})])
    assert collected.cases == ("c::a", "c::b")
    assert collected.asked == {"c::a": 1, "c::b": 1}


def test_an_unreadable_file_is_a_missing_repetition_of_every_case(tmp_path: Path) -> None:
    files = [junit(tmp_path / f"{number}.xml", {"a": "P", "b": "P"}) for number in (1, 2, 3)]
    files[1].write_text("<testsuite><testcase")
    collected = collect(files)
    for case in ("c::a", "c::b"):
        assert letters(collected, case) == {1: "p", 2: "e", 3: "p"}
    broken = [trial for trial in collected.trials if trial.outcome == "error"]
    assert {trial.error_kind for trial in broken} == {"harness"}
    assert all("2.xml" in (trial.message or "") for trial in broken)
    assert [file.path for file in collected.unreadable] == [files[1]]
    assert collected.asked == {"c::a": 3, "c::b": 3}


def test_a_file_that_is_not_there_is_a_missing_repetition_too(tmp_path: Path) -> None:
    collected = collect([junit(tmp_path / "1.xml", {"a": "P"}), tmp_path / "2.xml"])
    assert letters(collected, "c::a") == {1: "p", 2: "e"}


def test_a_file_that_contradicts_itself_is_no_evidence(tmp_path: Path) -> None:
    good = junit(tmp_path / "1.xml", {"a": "P", "b": "P"})
    bad = junit(tmp_path / "2.xml", {"a": "P"}, totals='tests="2" failures="1" errors="0"')
    collected = collect([good, bad])
    assert letters(collected, "c::a") == {1: "p", 2: "e"}
    assert letters(collected, "c::b") == {1: "p", 2: "e"}
    assert "contradicts itself" in collected.unreadable[0].reason


def test_a_single_file_that_contradicts_itself_has_errors_only(tmp_path: Path) -> None:
    collected = collect([junit(tmp_path / "1.xml", {"a": "P"}, totals='tests="2"')])
    assert letters(collected, "c::a") == {1: "e"}


def test_without_any_readable_file_all_is_missing(tmp_path: Path) -> None:
    (tmp_path / "1.xml").write_text("<testsuite>")
    collected = collect([tmp_path / "1.xml"])
    assert collected.trials == ()
    assert len(collected.missing) == 1
    assert collected.warnings == ()
    assert collect([]).missing == ("no results were found",)


def test_an_empty_suite_is_missing_evidence(tmp_path: Path) -> None:
    (tmp_path / "1.xml").write_text('<testsuites tests="0"/>')
    assert collect([tmp_path / "1.xml"]).missing == ("no file holds a result",)


def test_what_was_asked_is_repeats_or_the_most_that_any_case_has(tmp_path: Path) -> None:
    files = [junit(tmp_path / "1.xml", {"a": "P", "b": "P"}), junit(tmp_path / "2.xml", {"a": "P"})]
    assert collect(files).asked == {"c::a": 2, "c::b": 2}
    assert collect(files, repeats=5).asked == {"c::a": 5, "c::b": 5}
    assert any("fewer trials" in warning for warning in collect(files).warnings)


def test_more_trials_than_asked_all_count_and_are_said(tmp_path: Path) -> None:
    collected = collect([junit(tmp_path / f"{number}.xml", {"a": "P"}) for number in (1, 2, 3)], repeats=2)
    assert collected.asked == {"c::a": 3}
    assert any("up to 3 trials although 2" in warning for warning in collected.warnings)


def test_a_hole_in_the_numbers_is_a_missing_trial(tmp_path: Path) -> None:
    path = tmp_path / "1.csv"
    path.write_text("case,passed,rep\na,1,1\na,1,3\n")
    assert collect([path]).asked == {"a": 3}


def test_a_key_that_changes_from_run_to_run_is_pointed_out(tmp_path: Path) -> None:
    collected = collect([junit(tmp_path / f"{number}.xml", {f"a at {number}": "P"}) for number in (1, 2, 3)], repeats=3)
    assert any("may change from run to run" in warning for warning in collected.warnings)
    assert set(collected.asked.values()) == {3}


def test_a_module_that_cannot_be_collected_costs_its_cases_a_repetition(tmp_path: Path) -> None:
    good, bad = tmp_path / "1.xml", tmp_path / "2.xml"
    good.write_text(
        '<testsuite><testcase classname="m.a" name="t"/><testcase classname="m.b.Test" name="t"/></testsuite>'
    )
    bad.write_text(
        '<testsuite><testcase classname="m.a" name="t"/>'
        '<testcase classname="" name="m.b"><error message="collection failure"/></testcase></testsuite>'
    )
    collected = collect([good, bad])
    assert collected.cases == ("m.a::t", "m.b.Test::t")
    assert letters(collected, "m.a::t") == {1: "p", 2: "p"}
    assert letters(collected, "m.b.Test::t") == {1: "p", 2: "e"}
    assert not collected.missing


def test_a_module_that_can_never_be_collected_is_missing_evidence(tmp_path: Path) -> None:
    bad = '<testcase classname="" name="m.b"><error message="collection failure"/></testcase>'
    collected = collect([junit(tmp_path / f"{number}.xml", {"a": "P"}, extra=bad) for number in (1, 2)])
    assert len(collected.missing) == 2
    assert letters(collected, "c::a") == {1: "p", 2: "p"}


def test_two_gaps_cost_one_repetition(tmp_path: Path) -> None:
    nameless = '<testcase name=""><error/></testcase>' * 2
    collected = collect(
        [junit(tmp_path / "1.xml", {"a": "P", "b": "P"}), junit(tmp_path / "2.xml", {"a": "P"}, extra=nameless)]
    )
    assert letters(collected, "c::b") == {1: "p", 2: "e"}


def test_equal_bytes_are_refused(tmp_path: Path) -> None:
    first = junit(tmp_path / "1.xml", {"a": "P"})
    second = tmp_path / "2.xml"
    shutil.copy(first, second)
    with pytest.raises(UserError, match="byte for byte") as caught:
        collect([first, second])
    assert caught.value.exit_code == 2


def test_one_file_under_two_names_is_refused(tmp_path: Path) -> None:
    first = junit(tmp_path / "1.xml", {"a": "P"})
    (tmp_path / "2.xml").symlink_to(first)
    with pytest.raises(UserError, match="same file"):
        collect([first, tmp_path / "2.xml"], one_file_a_repetition=True)


def test_equal_start_times_and_durations_throughout_are_refused(tmp_path: Path) -> None:
    files = [junit(tmp_path / f"{number}.xml", {"a": "P"}, started="2026-11-30T20:51:00.021248") for number in (1, 2)]
    with pytest.raises(UserError, match="start times and durations"):
        collect(files)


def test_coarse_times_prove_nothing(tmp_path: Path) -> None:
    files = [junit(tmp_path / f"{number}.xml", {"a": "P"}, started="2026-11-30T20:51:00") for number in (1, 2)]
    assert len(collect(files).trials) == 2


def test_two_runs_that_died_with_the_same_bytes_are_two_missing_repetitions(tmp_path: Path) -> None:
    good = junit(tmp_path / "1.xml", {"a": "P"})
    for name in ("2.xml", "3.xml"):
        (tmp_path / name).write_text("<testsuite>")
    assert letters(collect([good, tmp_path / "2.xml", tmp_path / "3.xml"]), "c::a") == {1: "p", 2: "e", 3: "e"}


def test_files_of_one_command_keep_the_number_of_their_run(tmp_path: Path) -> None:
    files = [tmp_path / f"{number}.csv" for number in (1, 2, 3)]
    files[0].write_text("case,passed\na,1\nb,1\n")
    files[1].write_text("case,passed\na,1\n")
    files[2].write_text("case,passed\na,1\nb,1\n")
    collected = collect(files, one_file_a_repetition=True)
    assert letters(collected, "a") == {1: "p", 2: "p", 3: "p"}
    assert letters(collected, "b") == {1: "p", 3: "p"}
    assert collected.asked == {"a": 3, "b": 3}


def test_our_own_run_files_are_not_mixed_in(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text('{"schema":"repeat-eval/run/1","suite":"s"}\n')
    with pytest.raises(UserError, match="run file"):
        collect([path])


def test_error_kinds_can_count_as_failures(tmp_path: Path) -> None:
    path = junit(tmp_path / "1.xml", {"a": "E"})
    assert collect([path]).trials[0].outcome == "error"
    trial = collect([path], options=ReadOptions(count_as_failed=frozenset({"crash"}))).trials[0]
    assert (trial.outcome, trial.error_kind) == ("failed", None)


def test_a_case_that_is_skipped_stays_skipped(tmp_path: Path) -> None:
    collected = collect([junit(tmp_path / "1.xml", {"a": "P"}), junit(tmp_path / "2.xml", {"a": "S"})])
    assert letters(collected, "c::a") == {1: "p", 2: "s"}


def test_retried_trials_are_counted_once_and_said() -> None:
    collected = collect([SAMPLES / "surefire-flaky.junit.xml"])
    assert len(collected.trials) == 4
    assert any("3 trials were retried" in warning for warning in collected.warnings)


def test_results_of_a_plugin_that_repeats_have_all_their_repetitions() -> None:
    collected = collect([SAMPLES / "pytest-repeat.junit.xml"])
    assert set(collected.asked.values()) == {3}
    assert letters(collected, "test_capitals::test_flaky") == {1: "p", 2: "f", 3: "p"}
    assert collected.trials[0].started == "2026-11-30T20:50:58.970507+00:00"


def test_memory_holds_the_trials_and_not_the_file(tmp_path: Path) -> None:
    import tracemalloc

    path = tmp_path / "big.xml"
    with path.open("w") as file:
        file.write("<testsuite>")
        for number in range(20_000):
            file.write(f'<testcase classname="c" name="t{number}"><system-out>{"x" * 1_000}</system-out></testcase>')
        file.write("</testsuite>")
    tracemalloc.start()
    try:
        collected = collect([path])
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(collected.trials) == 20_000
    assert peak < 1_200 * 20_000


def test_three_runs_of_pytest_are_three_repetitions(tmp_path: Path) -> None:
    (tmp_path / "test_paris.py").write_text(
        "import os\n"
        "def test_stable(): pass\n"
        "def test_flaky(record_property):\n"
        "    record_property('score', 0.25)\n"
        "    assert os.environ['TRIAL'] != '2'\n"
    )
    files = [tmp_path / f"{number}.xml" for number in (1, 2, 3)]
    for number, file in enumerate(files, 1):
        command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", f"--junitxml={file}", "test_paris.py"]
        environment = {"TRIAL": str(number), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        subprocess.run(command, cwd=tmp_path, env=environment, check=False, stdout=subprocess.DEVNULL)
    collected = collect(files, repeats=3, one_file_a_repetition=True)
    assert letters(collected, "test_paris::test_stable") == {1: "p", 2: "p", 3: "p"}
    assert letters(collected, "test_paris::test_flaky") == {1: "p", 2: "f", 3: "p"}
    assert {trial.score for trial in collected.trials if trial.case.endswith("flaky")} == {0.25}
    assert (collected.missing, collected.warnings) == ((), ())
