"""Suites in the shapes that people know from elsewhere."""

from __future__ import annotations

from pathlib import Path

from whole_program import case_of, program, report_in, suite, write

SNIPPET = """\
cases:
  - name: escalates_when_over_limit
    input: refund me $9000
    repeat: 5                  # run it five times
    require_pass_rate: 0.8     # pass the build if ≥ 4/5 pass (default 1.0 — all N)
    expect:
      - calls_tool: escalate_to_human
"""
ESCALATES = """
    def answer(input, context):
        name = "issue_refund" if context.repetition in {misses} else "escalate_to_human"
        return {{"output": "done", "tool_calls": [{{"name": name, "arguments": {{}}}}]}}
"""


def escalating(folder: Path, misses: set[int]) -> None:
    write(folder / "agent.py", ESCALATES.format(misses=misses or "()"))
    (folder / "flaky.yaml").write_text(SNIPPET, encoding="utf-8")


def test_a_file_with_repeat_and_require_pass_rate_and_no_target_runs_as_it_stands(tmp_path: Path) -> None:
    escalating(tmp_path, {3})
    ended = program("run", "flaky.yaml", "--target", "python:agent:answer", "--out", "out", cwd=tmp_path)
    assert ended.code == 0, ended.text
    case = report_in(tmp_path / "out")["cases"][0]
    assert (case["id"], case["asked"], case["passed"]) == ("escalates_when_over_limit", 5, 4)
    assert (case["threshold"], case["outcomes"]) == ("0.8", "PPFPP")
    assert "80% (4/5)" in ended.out and "38–96%" in ended.out


def test_three_of_five_pass_the_wilson_gate_as_within_noise_and_fail_the_strict_one(tmp_path: Path) -> None:
    escalating(tmp_path, {3, 4})
    wilson = program("run", "flaky.yaml", "--target", "python:agent:answer", "--out", "a", cwd=tmp_path)
    strict = program(
        "run", "flaky.yaml", "--target", "python:agent:answer", "--gate", "strict", "--out", "b", cwd=tmp_path
    )
    assert (wilson.code, case_of(report_in(tmp_path / "a"), "escalates_when_over_limit")["verdict"]) == (
        0,
        "within-noise",
    )
    assert (strict.code, case_of(report_in(tmp_path / "b"), "escalates_when_over_limit")["verdict"]) == (1, "fail")


def test_without_a_pass_rate_every_one_of_the_repeats_must_pass(tmp_path: Path) -> None:
    escalating(tmp_path, {3})
    path = tmp_path / "flaky.yaml"
    path.write_text("".join(line for line in SNIPPET.splitlines(keepends=True) if "require" not in line), "utf-8")
    ended = program("run", "flaky.yaml", "--target", "python:agent:answer", "--out", "out", cwd=tmp_path)
    assert ended.code == 1
    assert report_in(tmp_path / "out")["cases"][0]["threshold"] == "1.0"


def test_the_snippet_without_a_target_says_how_to_give_one(tmp_path: Path) -> None:
    escalating(tmp_path, set())
    ended = program("run", "flaky.yaml", cwd=tmp_path)
    assert ended.code == 2
    assert "--target" in ended.err and "Traceback" not in ended.err
    assert not (tmp_path / "repeat-eval-report" / "report.json").exists()


def test_three_cases_give_scores_pass_rates_stability_and_the_inconsistent_ones(tmp_path: Path) -> None:
    passing = {"What is 2+2?": 5, "Summarize this": 3, "Who wrote it?": 1}
    suite(
        tmp_path,
        {name: {"input": count, "expect": [{"equals": "yes"}]} for name, count in passing.items()},
        agent="""
            def answer(input, context):
                return "yes" if context.repetition <= input else "no"
        """,
        repeats=5,
        gate="none",
    )
    ended = program("run", "suite.yaml", "--out", "out", cwd=tmp_path)
    assert ended.code == 0, ended.text
    assert "1.00±0.00" in ended.out and "0.60±0.49" in ended.out and "0.20±0.40" in ended.out
    assert "2 flaky case(s) — passed inconsistently across 5 runs:" in ended.out
    assert "'Summarize this'  (3/5 runs passed)" in ended.out
    assert "'Who wrote it?'  (1/5 runs passed)" in ended.out
    assert "Stability: 33%   Flaky: 2" in ended.out


def test_a_selection_that_matches_nothing_is_incomplete(tmp_path: Path) -> None:
    escalating(tmp_path, set())
    ended = program("run", "flaky.yaml", "--target", "python:agent:answer", "--case", "escalates_wen*", cwd=tmp_path)
    assert ended.code == 3
    assert "no case matches --case escalates_wen*" in ended.text
    assert report_in(tmp_path / "repeat-eval-report")["verdict"] == "incomplete"


def test_few_repeats_are_warned_about_and_one_says_what_happened_once(tmp_path: Path) -> None:
    escalating(tmp_path, set())
    three = program(
        "run", "flaky.yaml", "--target", "python:agent:answer", "--repeats", "3", "--out", "a", cwd=tmp_path
    )
    one = program("run", "flaky.yaml", "--target", "python:agent:answer", "--repeats", "1", "--out", "b", cwd=tmp_path)
    assert "wide interval" in three.out
    assert "pass^2" not in one.out and "Stability" not in one.out
    assert report_in(tmp_path / "b")["totals"]["stability"] is None
