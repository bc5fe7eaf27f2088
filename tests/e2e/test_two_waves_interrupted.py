"""A run that looks twice, interrupted or killed in its second wave: what was done stays, and the rest goes on."""

from __future__ import annotations

import signal
from collections import Counter
from pathlib import Path

import pytest
from whole_program import lines_of, program, report_in, running, suite, trials_in

FIRST, FRESH = 48, 40
AGENT = """
    import fcntl, os, threading

    def head(input, context):
        return answer("head", context)

    def base(input, context):
        return answer("base", context)

    def answer(side, context):
        with open("calls.txt", "a+") as calls:
            fcntl.flock(calls, fcntl.LOCK_EX)
            calls.write(f"{side} {context.case} {context.repetition}\\n")
            calls.flush()
            calls.seek(0)
            late = sum(1 for _ in calls) > int(os.environ["HANGS_AFTER"])
        while late and not os.path.exists("release"):
            threading.Event().wait(0.005)
        return "odd" if (side, context.case, context.repetition) == ("head", "case 2", 1) else "fine"
"""
RUN = ("run", "suite.yaml", "--base-target", "python:agent:base", "--out", "out")


def calls(folder: Path) -> Counter[str]:
    return (
        Counter((folder / "calls.txt").read_text("utf-8").splitlines())
        if (folder / "calls.txt").exists()
        else Counter()
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
@pytest.mark.parametrize("hangs_after", [20, FIRST + 10], ids=["in the first wave", "in the second wave"])
def test_it_goes_on_where_it_was(tmp_path: Path, number: signal.Signals, hangs_after: int) -> None:
    cases = {f"case {n}": {"input": "x", "expect": [{"equals": "fine"}]} for n in range(8)}
    suite(tmp_path, cases, agent=AGENT, target={"python": "agent:head"}, workers=4)
    env = {"HANGS_AFTER": str(hangs_after)}
    with running(*RUN, cwd=tmp_path, env=env) as ours:
        ours.until(lambda: calls(tmp_path).total() >= hangs_after + 4)
        ours.signal(number)
        if number == signal.SIGINT:
            ours.until(lambda: "no further trial starts" in ours.said())
            (tmp_path / "release").touch()
        ended = ours.end()
    assert ended.code == (3 if number == signal.SIGINT else -signal.SIGKILL), ended.text

    (tmp_path / "release").touch()
    report = program("compare", "out/base.jsonl", "out/run.jsonl", cwd=tmp_path)
    assert report.code == 3, report.text

    resumed = program(*RUN, "--resume", cwd=tmp_path, env=env)
    assert resumed.code == 0, resumed.text
    for name in ("run.jsonl", "base.jsonl"):
        assert lines_of(tmp_path / "out" / name)[-1]["footer"] | {"ended": None} == {
            "complete": True,
            "trials": (FIRST + FRESH) // 2,
            "stopped": None,
            "ended": None,
            "missing": [],
        }
        assert sum("second_look" in line for line in lines_of(tmp_path / "out" / name)[1:]) == 1
    asked = calls(tmp_path)
    assert len(asked) == FIRST + FRESH
    # Only what was in flight when the process died is asked a second time.
    assert asked.total() - len(asked) <= (0 if number == signal.SIGINT else 4)
    looks = report_in(tmp_path / "out")["comparison"]["second_look"]
    assert looks["calls"]["trials"] == sum(
        len(trials_in(tmp_path / "out" / one)) for one in ("run.jsonl", "base.jsonl")
    )
    assert [case["outcome"] for case in looks["suspects"]] == ["not confirmed"]
