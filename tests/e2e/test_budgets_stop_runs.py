"""Money and time that may be spent: no further trial starts, and the run is never green."""

from __future__ import annotations

from pathlib import Path

from whole_program import lines_of, program, report_in, suite

AGENT = """
    def answer(input):
        return {"output": "fine", "cost": 0.25}
"""


def test_max_cost_stops_the_run_which_is_incomplete_and_can_go_on(tmp_path: Path) -> None:
    suite(tmp_path, {"a": None, "b": None}, agent=AGENT, repeats=10, workers=1)
    ended = program("run", "suite.yaml", "--out", "out", "--max-cost", "1", cwd=tmp_path)
    assert ended.code == 3, ended.text
    assert "max-cost was reached after 4 of 20 trials" in ended.out
    report = report_in(tmp_path / "out")
    assert (report["verdict"], report["totals"]["cost"], report["totals"]["trials"]) == ("incomplete", 1.0, 4)
    assert lines_of(tmp_path / "out/run.jsonl")[-1]["footer"]["stopped"] == "max-cost"
    refused = program("run", "suite.yaml", "--out", "out", cwd=tmp_path)
    assert refused.code == 2
    resumed = program("run", "suite.yaml", "--out", "out", "--resume", cwd=tmp_path)
    assert resumed.code == 0, resumed.text
    assert report_in(tmp_path / "out")["totals"]["cost"] == 5.0


def test_what_an_interrupted_run_cost_counts_when_it_goes_on(tmp_path: Path) -> None:
    suite(tmp_path, {"a": None, "b": None}, agent=AGENT, repeats=10, workers=1)
    arguments = ("run", "suite.yaml", "--out", "out")
    program(*arguments, "--max-cost", "1", cwd=tmp_path)
    nothing = program(*arguments, "--resume", "--max-cost", "1", cwd=tmp_path)
    assert nothing.code == 3
    assert "$1.00 of max-cost $1.00 were spent before; no further trial starts" in nothing.err
    assert report_in(tmp_path / "out")["totals"]["trials"] == 4
    some = program(*arguments, "--resume", "--max-cost", "1.5", "--time-budget", "1h", cwd=tmp_path)
    assert some.code == 3
    assert "$1.00 of max-cost $1.50 were spent before\n" in some.err
    assert "the time budget of 3600 s starts anew" in some.err
    assert report_in(tmp_path / "out")["totals"]["cost"] == 1.5


def test_a_run_whose_last_trial_spends_the_last_money_is_complete(tmp_path: Path) -> None:
    suite(tmp_path, {"a": None}, agent=AGENT, repeats=4, workers=1)
    ended = program("run", "suite.yaml", "--out", "out", "--max-cost", "1", cwd=tmp_path)
    assert ended.code == 0, ended.text
    assert lines_of(tmp_path / "out/run.jsonl")[-1]["footer"]["complete"] is True


def test_money_that_is_not_known_cannot_be_watched_and_that_is_said(tmp_path: Path) -> None:
    suite(tmp_path, {"a": None}, agent="def answer(input): return 'fine'", repeats=5)
    ended = program("run", "suite.yaml", "--out", "out", "--max-cost", "0.1", cwd=tmp_path)
    assert ended.code == 0
    assert "max-cost is set, but the target reports no cost" in ended.out


def test_the_time_budget_stops_the_run(tmp_path: Path) -> None:
    agent = """
        import asyncio, os

        async def answer(input, context):
            if context.repetition > 2:
                await asyncio.sleep(0.2)
            return "fine"
    """
    suite(tmp_path, {"a": None}, agent=agent, repeats=1000, workers=1)
    ended = program("run", "suite.yaml", "--out", "out", "--time-budget", "0.3s", cwd=tmp_path)
    assert ended.code == 3, ended.text
    assert "the run stopped because the time budget was used up" in ended.out
    report = report_in(tmp_path / "out")
    assert 2 <= report["totals"]["trials"] < 20
    assert report["totals"]["passed"] == report["totals"]["trials"]
