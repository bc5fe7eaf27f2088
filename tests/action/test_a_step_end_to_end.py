"""Whole steps: inputs and an event in; exit code, outputs, summary, report files and log out."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import yaml

from repeat_eval.action.outputs import OUTPUTS

GOOD = "def answer(input):\n    return input\n"


def test_a_case_that_broke_makes_the_step_red_and_is_compared_with_the_merge_commits_first_parent(broken) -> None:
    assert broken.run() == 1
    assert broken.outputs["verdict"] == "fail"
    assert broken.outputs["comparison"] == "regressed"
    assert broken.outputs["regressions"] == "1"
    assert broken.outputs["base-commit"] == broken.base
    assert broken.outputs["commit"] == broken.merge
    assert broken.summary.startswith("### ❌ Worse than `main`: 1 of 3 cases broke")
    assert "refunds" in broken.summary


def test_a_red_step_prints_one_error_the_comments_first_line(broken) -> None:
    broken.run()
    assert len(broken.errors) == 1
    assert "Worse than main: 1 of 3 cases broke" in broken.errors[0]


def test_a_harmless_change_is_green_and_says_what_was_compared(harmless) -> None:
    assert harmless.run() == 0
    assert harmless.errors == []
    assert harmless.outputs["comparison"] == "no detectable change"
    assert harmless.outputs["exit-code"] == "0"
    assert harmless.summary.startswith("### ✅ No detectable change against `main`")


def test_all_declared_outputs_are_written_as_texts_and_paths_are_relative_to_the_workspace(harmless) -> None:
    harmless.run()
    assert set(harmless.outputs) == set(OUTPUTS)
    assert harmless.outputs["attempt"] == "2"
    assert harmless.outputs["report-dir"] == "repeat-eval-report"
    report = json.loads((harmless.workspace / harmless.outputs["report-json"]).read_text())
    assert report["schema"] == "repeat-eval/report/1"
    assert (harmless.workspace / harmless.outputs["junit"]).read_text().startswith("<?xml")
    assert (harmless.workspace / "repeat-eval-report/.gitignore").is_file()


def test_ctrf_is_written_into_the_report_folder_where_it_is_asked_for(harmless) -> None:
    folder = harmless.workspace / "repeat-eval-report"
    assert harmless.run() == 0
    assert not (folder / "ctrf.json").exists()
    assert harmless.run(ctrf="true") == 0
    tests = json.loads((folder / "ctrf.json").read_text())["results"]["tests"]
    assert [test["name"] for test in tests] == ["greets", "thanks", "refunds"]


def test_the_users_repository_is_not_touched(harmless) -> None:
    files = {path: path.read_bytes() for path in (harmless.workspace / ".git").rglob("*") if path.is_file()}
    harmless.run()
    assert {path: path.read_bytes() for path in (harmless.workspace / ".git").rglob("*") if path.is_file()} == files


def test_without_base_the_thresholds_decide(broken) -> None:
    assert broken.run(base="none") == 1
    assert broken.outputs["comparison"] == ""
    assert broken.outputs["failing"] == "1"


def test_a_suite_that_is_new_has_no_base_which_is_said_and_not_red(tmp_path: Path, new_suite) -> None:
    assert new_suite.run() == 0
    assert new_suite.outputs["comparison"] == "not comparable"
    assert "base has no folder evals" in new_suite.summary
    assert str(tmp_path) not in new_suite.summary


def test_a_base_that_must_be_there_and_is_not_stops_the_step(new_suite) -> None:
    assert new_suite.run(base="run") == 2
    assert "cannot be run: " in new_suite.errors[0]


def test_a_target_that_does_not_start_on_base_is_no_base(started_late) -> None:
    assert started_late.run() == 0
    assert "base cannot be run" in started_late.summary


def test_a_push_is_compared_with_what_was_there_before(broken) -> None:
    broken.event("push", {"before": broken.base, "forced": False}, GITHUB_REF="refs/heads/main")
    assert broken.run() == 1
    assert broken.outputs["base-commit"] == broken.base


def test_a_rewritten_branch_has_no_base(harmless) -> None:
    harmless.event("push", {"before": harmless.base, "forced": True}, GITHUB_REF="refs/heads/main")
    assert harmless.run() == 0
    assert "rewrote the branch" in harmless.summary


def test_a_merge_group_is_compared_with_what_it_is_put_on(broken) -> None:
    broken.event("merge_group", {"action": "checks_requested", "merge_group": {"base_sha": broken.base}})
    assert broken.run() == 1
    assert broken.outputs["base-commit"] == broken.base


def test_a_schedule_has_no_base_and_nobody_is_warned(harmless) -> None:
    harmless.event("schedule", {}, GITHUB_REF="refs/heads/main")
    assert harmless.run() == 0
    assert "compared with nothing: no base\n" in harmless.summary
    assert "not compared with base" not in harmless.summary


def test_a_command_is_repeated_on_both_sides(command_step) -> None:
    code = command_step.run(command="python3 evals/check.py {results}", repeats="6", base="run")
    assert code == 1
    assert command_step.outputs["comparison"] == "regressed"


def test_results_that_are_there_are_judged(harmless) -> None:
    for number in range(4):
        case = f'<testsuite><testcase classname="a" name="b" time="0.{number}"/></testsuite>'
        (harmless.workspace / f"out-{number}.xml").write_text(case)
    assert harmless.run(results="out-*.xml") == 0
    assert harmless.outputs["trials"] == "4"


def test_paths_start_at_the_working_directory(harmless) -> None:
    assert harmless.run(working_directory="evals", suite="suite.yaml") == 0
    assert harmless.outputs["comparison"] == "no detectable change"
    assert (harmless.workspace / "repeat-eval-report/report.json").is_file()


def test_a_missing_secret_is_noticed_before_any_trial(harmless) -> None:
    harmless.environ["SHOP_API_KEY"] = ""
    assert harmless.run() == 3
    assert harmless.outputs["verdict"] == "not evaluated"
    assert harmless.summary.startswith("### ⚠️ Not evaluated: SHOP\\_API\\_KEY is not set")
    assert not (harmless.workspace / "repeat-eval-report").exists()


def test_a_missing_secret_can_be_a_reason_to_be_green(harmless) -> None:
    harmless.environ["SHOP_API_KEY"] = ""
    assert harmless.run(**{"on_missing_secret": "skip"}) == 0
    assert harmless.outputs["verdict"] == "not evaluated"
    assert harmless.run(**{"on_missing_secret": "run"}) == 0


def test_an_event_that_asks_for_nothing_is_green_and_not_evaluated(harmless) -> None:
    harmless.event("push", {"deleted": True, "before": harmless.base}, GITHUB_REF="refs/heads/x")
    assert harmless.run() == 0
    assert harmless.outputs["verdict"] == "not evaluated"


def test_pull_request_target_is_refused(harmless) -> None:
    payload = json.loads(Path(harmless.environ["GITHUB_EVENT_PATH"]).read_text())
    harmless.event("pull_request_target", payload)
    assert harmless.run() == 2
    assert "pull_request_target is not supported" in harmless.errors[0]


def test_an_editable_install_of_head_that_would_serve_both_sides_is_refused(harmless) -> None:
    """Base's function would be head's: the same code twice."""
    suite = harmless.workspace / "evals/suite.yaml"
    text = yaml.safe_load(suite.read_text())
    text["target"] = {"python": "shop_agent:answer"}
    (harmless.workspace / "lib").mkdir()
    (harmless.workspace / "lib/shop_agent.py").write_text(GOOD)
    suite.write_text(yaml.safe_dump(text))
    harmless.environ["PYTHONPATH"] = str(harmless.workspace / "lib")
    assert harmless.run() == 2
    assert any("base and head would be the same" in error for error in harmless.errors)


def test_an_empty_workspace_hints_at_the_missing_checkout(harmless, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    harmless.environ["GITHUB_WORKSPACE"] = str(tmp_path / "empty")
    assert harmless.run(working_directory="evals") == 2
    assert "actions/checkout" in harmless.errors[0]


def test_a_report_folder_that_is_a_link_out_of_the_workspace_is_refused(harmless, tmp_path: Path) -> None:
    (harmless.workspace / "report").symlink_to(tmp_path)
    assert harmless.run(report_dir="report") == 2


def test_what_a_model_says_is_no_command_to_the_runner(forging) -> None:
    assert forging.run(base="none") == 1
    inside = False
    for line in forging.log.splitlines():
        if line.startswith("::stop-commands::"):
            inside, word = True, line.removeprefix("::stop-commands::")
        elif inside and line == f"::{word}::":
            inside = False
        elif not inside:
            assert not line.lstrip().startswith(("::set-output", "::add-path", "::warning"))
            assert "##[" not in line
    assert set(forging.outputs) == set(OUTPUTS)


@pytest.mark.parametrize("setup", ["false", "echo no such package; exit 3"])
def test_a_setup_that_fails_stops_the_step(harmless, setup: str) -> None:
    assert harmless.run(setup=setup) == 2
    assert "the setup of head failed" in harmless.errors[0]


def test_a_setup_that_fails_on_base_only_is_no_base(harmless) -> None:
    (harmless.workspace / "ready").touch()
    assert harmless.run(setup="test -e ../ready") == 0
    assert "the setup of base failed" in harmless.summary


def test_each_sides_commands_find_the_programs_of_its_own_environment(command_step) -> None:
    """The setup makes a program of each side's own files; only head's says that something is broken."""
    setup = (
        "mkdir -p .venv/bin; { echo '#!/bin/sh'; echo \"exec python3 $PWD/evals/check.py \\$1\"; } > .venv/bin/check"
    )
    code = command_step.run(command="cd evals/.. && check {results}", setup=f"{setup}; chmod +x .venv/bin/check")
    assert code == 1
    assert command_step.outputs["comparison"] == "regressed"
    assert command_step.outputs["base-commit"] == command_step.base


def test_on_the_runner_the_jobs_own_python_runs_the_functions(harmless, tmp_path: Path) -> None:
    python = tmp_path / "jobs-python"
    python.write_text(f'#!/bin/sh\necho ran >> {tmp_path}/ran\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    harmless.environ["REPEAT_EVAL_RUNNER_PYTHON"] = str(python)
    assert harmless.run(setup="none", base="none") == 0
    assert (tmp_path / "ran").exists()


def test_a_pull_request_that_lowers_its_own_threshold_is_told_in_the_first_lines(harmless) -> None:
    suite = harmless.workspace / "evals/suite.yaml"
    suite.write_text(suite.read_text().replace("repeats: 10", "repeats: 10\nthreshold: 0.5"))
    assert harmless.run() == 0
    first = "\n".join(harmless.summary.splitlines()[:10])
    assert "0.8" in first
    assert "0.5" in first
