"""Base and head side by side with the real program: checkouts, worktrees, targets, commands, what is refused."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from whole_program import lines_of, program, report_in, suite, trials_in, write

GOOD = """
def answer(input, context):
    return "yes"
"""
BROKEN = """
def answer(input, context):
    return "yes" if input != "second" or context.random.random() < 0.1 else "no"
"""
CASES: dict[str, Any] = {
    name: {"input": name, "expect": [{"equals": "yes"}]} for name in ("first", "second", "third", "fourth")
}


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *identity, *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def checkouts(tmp_path: Path) -> tuple[Path, Path]:
    """Two folders that hold the same suite, base with a good agent, head with one that breaks the second case."""
    base, head = tmp_path / "base", tmp_path / "head"
    for folder, agent in ((base, GOOD), (head, BROKEN)):
        suite(folder / "evals", CASES, agent=agent, seed=3)
    return base, head


def test_a_regression_is_found_beside_a_base_checkout(checkouts: tuple[Path, Path]) -> None:
    base, head = checkouts
    ended = program("run", "evals/suite.yaml", "--base-dir", base, "--out", "out", cwd=head)
    assert ended.code == 1, ended.text
    comparison = report_in(head / "out")["comparison"]
    assert comparison["verdict"] == "regressed"
    changes = {case["id"]: case["change"] for case in comparison["cases"]}
    assert changes["second"] in ("regressed", "newly broken")
    assert changes["first"] == "unchanged"
    assert comparison["base"]["source"] == "side-by-side"
    assert any("second" in line for line in (head / "out/comment.md").read_text("utf-8").splitlines()[:10])


def test_both_sides_are_recorded_in_full_with_seeds_of_their_own(checkouts: tuple[Path, Path]) -> None:
    base, head = checkouts
    program("run", "evals/suite.yaml", "--base-dir", base, "--repeats", "6", "--out", "out", cwd=head)
    ours, theirs = head / "out/run.jsonl", head / "out/base.jsonl"
    assert len(trials_in(ours)) == len(trials_in(theirs)) == 24
    assert lines_of(ours)[0]["seed"] == 3 != lines_of(theirs)[0]["seed"]
    assert lines_of(theirs)[-1]["footer"]["complete"] is True


def test_the_sides_take_turns_in_random_order(tmp_path: Path) -> None:
    agent = """
        import os
        def answer(input, context):
            with open(os.environ["ORDER"], "a") as file:
                file.write(f"SIDE {input} {context.repetition}\\n")
            return "yes"
        """
    for side in ("base", "head"):
        suite(tmp_path / side, CASES, agent=agent.replace("SIDE", side))
    order = tmp_path / "order.txt"
    arguments = ("run", "suite.yaml", "--base-dir", "../base", "--repeats", "8", "--workers", "1", "--out", "out")
    ended = program(*arguments, cwd=tmp_path / "head", env={"ORDER": str(order)})
    assert ended.code == 0, ended.text
    calls = [line.split() for line in order.read_text("utf-8").splitlines()]
    pairs = [(calls[at], calls[at + 1]) for at in range(0, len(calls), 2)]
    assert len(pairs) == 32
    assert all(one[1:] == other[1:] and one[0] != other[0] for one, other in pairs), "a case's sides follow each other"
    assert 5 < sum(one[0] == "base" for one, _ in pairs) < 27, "which side is first is random"
    rounds = [[pair[0][1] for pair in pairs[at : at + 4]] for at in range(0, 32, 4)]
    assert len({tuple(names) for names in rounds}) > 1, "the cases come in another order each round"


def test_a_revision_is_checked_out_and_removed_again(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    suite(tmp_path / "evals", CASES, agent=GOOD)
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "good")
    base = git(tmp_path, "rev-parse", "HEAD")
    write(tmp_path / "evals/agent.py", BROKEN)
    git(tmp_path, "commit", "-qam", "broken")
    hook = write(tmp_path / ".git/hooks/post-checkout", f"#!/bin/sh\ntouch '{tmp_path}/was-run'")
    hook.chmod(0o755)
    ended = program("run", "evals/suite.yaml", "--base-ref", "HEAD~1", "--out", "out", cwd=tmp_path)
    assert ended.code == 1, ended.text
    assert not list(tmp_path.glob("was-run"))
    report = report_in(tmp_path / "out")
    assert report["comparison"]["base"]["commit"] == base
    assert report["provenance"]["commit"] == git(tmp_path, "rev-parse", "HEAD")
    assert len(git(tmp_path, "worktree", "list").splitlines()) == 1
    assert git(tmp_path, "status", "--porcelain", "--untracked-files=no", "evals") == ""


def test_two_targets_of_one_folder_can_be_compared(tmp_path: Path) -> None:
    suite(tmp_path, CASES, agent=BROKEN)
    write(tmp_path / "older.py", GOOD)
    ended = program("run", "suite.yaml", "--base-target", "python:older:answer", "--out", "out", cwd=tmp_path)
    assert ended.code == 1, ended.text
    assert report_in(tmp_path / "out")["comparison"]["verdict"] == "regressed"


def test_both_sides_have_the_same_judge(tmp_path: Path) -> None:
    cases = {"only": {"input": "x", "expect": [{"python": "checks:judge"}]}}
    for side, verdict in (("base", "False"), ("head", "True")):
        suite(tmp_path / side, cases, agent=GOOD)
        write(tmp_path / side / "checks.py", f"def judge(output):\n    return {verdict}\n")
    ended = program("run", "suite.yaml", "--base-dir", "../base", "--out", "out", cwd=tmp_path / "head")
    assert ended.code == 0, ended.text
    (case,) = report_in(tmp_path / "head/out")["comparison"]["cases"]
    assert (case["base"]["passed"], case["head"]["passed"]) == (10, 10)


def test_a_target_that_is_the_other_sides_code_is_refused(tmp_path: Path) -> None:
    """As an editable install would have it: both sides import the same installed module."""
    shared = tmp_path / "installed"
    write(shared / "agent.py", GOOD)
    for side in ("base", "head"):
        suite(tmp_path / side, CASES, target={"python": "agent:answer"})
    env = {"PYTHONPATH": str(shared)}
    ended = program("run", "suite.yaml", "--base-dir", "../base", "--out", "out", cwd=tmp_path / "head", env=env)
    assert ended.code == 2
    assert "code outside of both sides" in ended.err and "editable install" in ended.err
    assert not (tmp_path / "head/out/run.jsonl").exists()


def test_heads_code_in_bases_place_is_refused(tmp_path: Path) -> None:
    suite(tmp_path / "head", CASES, agent=GOOD)
    suite(tmp_path / "base", CASES, target={"python": "agent:answer"})
    env = {"PYTHONPATH": str(tmp_path / "head")}
    ended = program("run", "suite.yaml", "--base-dir", "../base", "--out", "out", cwd=tmp_path / "head", env=env)
    assert ended.code == 2
    assert "base: its target was loaded from" in ended.err and "the other side's code" in ended.err


def test_a_target_that_imports_the_other_sides_package_is_refused(tmp_path: Path) -> None:
    """Each side has a target of its own, and both import the package that is installed from head's folder."""
    for side in ("base", "head"):
        suite(tmp_path / side, CASES, agent="from desk.words import answer")
        write(tmp_path / side / "src/desk/words.py", GOOD)
    env = {"PYTHONPATH": str(tmp_path / "head/src")}
    arguments = ("run", "suite.yaml", "--base-dir", "../base", "--out", "out")
    ended = program(*arguments, cwd=tmp_path / "head", env=env)
    assert ended.code == 2
    assert "base: its target imports" in ended.err and "editable install" in ended.err
    assert "head: " not in ended.err
    assert not (tmp_path / "head/out/run.jsonl").exists()
    each = program(*arguments, cwd=tmp_path / "head", env={"PYTHONPATH": "src"})
    assert each.code == 0, each.text


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--base-dir", "nowhere"), "--base-dir is no folder"),
        (("--base-dir", "."), "base is head itself"),
        (("--base-dir", "empty"), "base has no folder evals"),
        (("--base-ref", "no-such-branch"), "--base-ref no-such-branch: git could not make a worktree"),
        (("--base-ref", "--force"), "is no revision"),
        (("--base", "missing.jsonl"), "no file matches"),
        (("--base", "evals/agent.py"), "format"),
        (("--base-dir", "empty", "--base-ref", "HEAD"), "there is one base; found --base-dir and --base-ref"),
        (("--base-target", "no such thing"), "must be python:module:function"),
        (("--base-ref", "HEAD", "--require", "non-inferior"), "go together"),
    ],
)
def test_a_broken_base_is_the_users_to_mend(tmp_path: Path, arguments: tuple[str, ...], sentence: str) -> None:
    git(tmp_path, "init", "-q")
    suite(tmp_path / "evals", CASES, agent=GOOD)
    (tmp_path / "empty").mkdir()
    ended = program("run", "evals/suite.yaml", *arguments, "--repeats", "2", "--out", "out", cwd=tmp_path)
    assert ended.code == 2, ended.text
    assert sentence in ended.err
    assert "Traceback" not in ended.err


def test_a_base_whose_code_does_not_load_is_named_as_such(checkouts: tuple[Path, Path]) -> None:
    base, head = checkouts
    write(base / "evals/agent.py", "def answer(:\n")
    ended = program("run", "evals/suite.yaml", "--base-dir", base, "--out", "out", cwd=head)
    assert ended.code == 2
    assert "base: agent:answer" in ended.err


def test_errors_of_base_are_errors_of_base_and_not_of_head(tmp_path: Path) -> None:
    raising = """
        def answer(input):
            if input == "second":
                raise RuntimeError("this tool is new")
            return "yes"
        """
    suite(tmp_path / "base", CASES, agent=raising)
    suite(tmp_path / "head", CASES, agent=GOOD)
    ended = program("run", "suite.yaml", "--base-dir", "../base", "--out", "out", cwd=tmp_path / "head")
    assert ended.code == 0, ended.text
    report = report_in(tmp_path / "head/out")
    assert report["totals"]["errors"] == 0
    assert report["comparison"]["verdict"] == "no detectable change"


def test_a_pull_request_that_lowers_its_own_threshold_is_told_on(checkouts: tuple[Path, Path]) -> None:
    base, head = checkouts
    suite(base / "evals", CASES, agent=GOOD, threshold=0.9, gate="strict")
    suite(head / "evals", CASES, agent=GOOD, threshold=0.5, gate="wilson")
    ended = program("run", "evals/suite.yaml", "--base-dir", base, "--out", "out", cwd=head)
    assert ended.code == 0, ended.text
    changes = " ".join(report_in(head / "out")["comparison"]["gate_changes"])
    assert "0.9" in changes and "0.5" in changes and "strict" in changes
    assert "0.5" in "\n".join((head / "out/comment.md").read_text("utf-8").splitlines()[:8])
    arguments = ("--base-dir", base, "--settings-from", "base", "--out", "out")
    program("run", "evals/suite.yaml", *arguments, cwd=head)
    report = report_in(head / "out")
    assert {case["threshold"] for case in report["cases"]} == {"0.9"}
    assert report["gate"] == "strict"


def test_a_suite_of_base_that_cannot_be_read_is_said(checkouts: tuple[Path, Path]) -> None:
    base, head = checkouts
    write(base / "evals/suite.yaml", "cases: [")
    ended = program("run", "evals/suite.yaml", "--base-dir", base, "--repeats", "2", "--out", "out", cwd=head)
    assert "base's suite cannot be read, so how head changes its gate cannot be told" in ended.err


def test_a_base_file_of_an_earlier_run_does_not_stay_beside_a_run_without_base(checkouts: tuple[Path, Path]) -> None:
    base, head = checkouts
    program("run", "evals/suite.yaml", "--base-dir", base, "--repeats", "2", "--out", "out", cwd=head)
    assert (head / "out/base.jsonl").exists()
    program("run", "evals/suite.yaml", "--repeats", "2", "--out", "out", cwd=head)
    assert not (head / "out/base.jsonl").exists()


def test_both_sides_of_an_interrupted_run_are_resumed(checkouts: tuple[Path, Path]) -> None:
    base, head = checkouts
    arguments = ("run", "evals/suite.yaml", "--base-dir", base, "--out", "out")
    program(*arguments, cwd=head)
    for name in ("run.jsonl", "base.jsonl"):
        path = head / "out" / name
        lines = path.read_text("utf-8").splitlines(keepends=True)
        path.write_text("".join(lines[:15]), "utf-8")
    ended = program(*arguments, "--resume", cwd=head)
    assert ended.code == 1, ended.text
    for name in ("run.jsonl", "base.jsonl"):
        assert len({(trial["case"], trial["repetition"]) for trial in trials_in(head / "out" / name)}) == 40


def test_a_repeated_command_is_compared_too(tmp_path: Path) -> None:
    script = """
        import json, sys
        word, path = sys.argv[1:]
        with open(path, "w") as file:
            for name in ("one", "two", "three"):
                passed = not (word == "bad" and name == "two")
                file.write(json.dumps({"case": name, "passed": passed}) + "\\n")
        """
    for side, word in (("base", "good"), ("head", "bad")):
        write(tmp_path / side / "evals.py", script)
        write(tmp_path / side / "word.txt", word)
    command = f'{sys.executable} evals.py "$(cat word.txt)" {{results}}.jsonl'
    arguments = ("run", "--command", command, "--base-dir", "../base", "--repeats", "8", "--out", "out")
    ended = program(*arguments, cwd=tmp_path / "head")
    assert ended.code == 1, ended.text
    comparison = report_in(tmp_path / "head/out")["comparison"]
    assert comparison["verdict"] == "regressed"
    broken = next(case for case in comparison["cases"] if case["id"] == "two")
    assert (broken["base"]["passed"], broken["head"]["passed"]) == (8, 0)


class TestCompare:
    """`repeat-eval compare BASE HEAD`, from files alone."""

    def test_run_files_and_reports_give_the_same_comparison(self, checkouts: tuple[Path, Path]) -> None:
        base, head = checkouts
        program("run", "evals/suite.yaml", "--base-dir", base, "--out", "out", cwd=head)
        program("report", "out/base.jsonl", "--out", "base-report", cwd=head)
        from_runs = program("compare", "out/base.jsonl", "out/run.jsonl", "--out", "one", cwd=head)
        from_report = program("compare", "base-report/report.json", "out/run.jsonl", "--out", "two", cwd=head)
        assert from_runs.code == from_report.code == 1, from_runs.text
        one, two = (report_in(head / name)["comparison"] for name in ("one", "two"))
        assert (one["delta"], one["p"], one["verdict"]) == (two["delta"], two["p"], two["verdict"])

    def test_a_run_against_itself_shows_no_change(self, checkouts: tuple[Path, Path]) -> None:
        base, _ = checkouts
        program("run", "evals/suite.yaml", "--out", "out", cwd=base)
        ended = program("compare", "out/run.jsonl", "out/run.jsonl", "--out", "same", cwd=base)
        assert ended.code == 0, ended.text
        comparison = report_in(base / "same")["comparison"]
        assert (comparison["verdict"], comparison["delta"], comparison["p"]) == ("no detectable change", 0.0, 1.0)

    def test_other_cases_are_not_comparable(self, tmp_path: Path) -> None:
        for name in ("a", "b"):
            write(tmp_path / f"{name}.jsonl", json.dumps({"case": f"case of {name}", "passed": True}) + "\n")
        ended = program("compare", "a.jsonl", "b.jsonl", "--out", "out", cwd=tmp_path)
        comparison = report_in(tmp_path / "out")["comparison"]
        assert comparison["verdict"] == "not comparable"
        assert "common" in comparison["text"]
        assert ended.code == 3, ended.text

    def test_a_newer_run_file_is_refused(self, checkouts: tuple[Path, Path], tmp_path: Path) -> None:
        base, _ = checkouts
        write(tmp_path / "new.jsonl", '{"schema": "repeat-eval/run/2", "suite": "desk"}\n')
        program("run", "evals/suite.yaml", "--out", "out", cwd=base)
        ended = program("compare", tmp_path / "new.jsonl", "out/run.jsonl", cwd=base)
        assert ended.code == 2
        assert "newer version" in ended.err


def test_the_sides_keep_a_rate_together(tmp_path: Path) -> None:
    agent = """
    import time

    def answer(input):
        with open("starts.txt", "a") as starts:
            starts.write(f"{time.monotonic()}\\n")
        return "yes"
    """
    for side in ("base", "head"):
        suite(tmp_path / side, {"a": {"input": "x"}}, agent=agent, repeats=5, rate="20/s")
    ended = program("run", "suite.yaml", "--base-dir", "../base", "--out", "out", cwd=tmp_path / "head")
    assert ended.code == 0, ended.text
    starts = [
        float(line) for side in ("base", "head") for line in (tmp_path / side / "starts.txt").read_text().splitlines()
    ]
    assert len(starts) == 10
    # Nine intervals of 0.05 s, one of which may be saved as credit.
    assert max(starts) - min(starts) > 0.35


def test_a_run_with_a_base_is_not_resumed_without_it(checkouts: tuple[Path, Path]) -> None:
    base, head = checkouts
    arguments = ("run", "evals/suite.yaml", "--repeats", "2", "--out", "out")
    program(*arguments, "--base-dir", base, cwd=head)
    ended = program(*arguments, "--resume", cwd=head)
    assert ended.code == 2 and "name the same base again" in ended.err
    assert (head / "out/base.jsonl").exists()
