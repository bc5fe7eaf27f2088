"""A run on several machines: each runs a shard, and the shards together are the run."""

from __future__ import annotations

import json
import random
import re
import shlex
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from whole_program import Ended, lines_of, program, report_in, running, suite, trials_in, write

AGENT = """
    import hashlib

    def answer(input, context):
        if context.case == "breaks" and context.repetition == 2:
            raise RuntimeError("broke")
        word = hashlib.sha256(f"{context.case} {context.repetition} {input}".encode()).hexdigest()
        return f"{word} fine" if int(word[:2], 16) < 200 else word
"""
COMMAND = f"{shlex.quote(sys.executable)} {{folder}}/tool.py {{results}}"
TOOL = """
    import os, sys
    from pathlib import Path

    repetition = int(os.environ["REPEAT_EVAL_TRIAL_REPETITION"])
    if repetition != 3:
        cases = f'<testcase name="solid"/><testcase name="flaky">{"<failure/>" if repetition == 2 else ""}</testcase>'
        Path(sys.argv[1]).write_text(f'<testsuite name="t">{cases}</testsuite>')
"""


def make_suite(folder: Path, **settings: Any) -> None:
    cases = {f"case {number}": {"input": number, "expect": [{"contains": "fine"}]} for number in range(9)}
    cases["breaks"] = {"input": "x", "repeats": 4, "expect": [{"contains": "fine"}]}
    suite(folder, cases, agent=AGENT, repeats=7, seed=3, **settings)


def run_shards(folder: Path, of: int, *more: str, what: tuple[str, ...] = ("suite.yaml",)) -> None:
    for index in range(1, of + 1):
        ended = program("run", *what, "--shard", f"{index}/{of}", "--out", f"shard-{index}", *more, cwd=folder)
        assert ended.code == 0, ended.text
        assert ended.out.startswith(f"shard {index} of {of}: "), ended.text


def without_times(text: str) -> str:
    return re.sub(r'"(started|ended|duration)":("[^"]*"|[0-9.e-]+)', r'"\1":0', text)


def same_run(folder: Path, one: str, other: str, name: str = "run.jsonl") -> None:
    texts = [without_times((folder / which / name).read_text()) for which in (one, other)]
    assert texts[0] == texts[1]


def figures(folder: Path) -> Any:
    report = report_in(folder)
    cases = [
        {name: case[name] for name in ("id", "verdict", "passed", "failed", "errors", "outcomes", "interval")}
        for case in report["cases"]
    ]
    return report["verdict"], report["exit_code"], report["totals"]["pass_rate"], report["totals"]["interval"], cases


def merged(folder: Path, *runs: str, out: str = "merged") -> Ended:
    return program("merge", *runs, "--out", out, cwd=folder)


def test_eight_shards_make_the_same_run_in_any_order(tmp_path: Path) -> None:
    make_suite(tmp_path)
    whole = program("run", "suite.yaml", "--workers", "1", "--out", "whole", cwd=tmp_path)
    run_shards(tmp_path, 8)
    names = [f"shard-{index}" for index in range(1, 9)]
    random.Random(5).shuffle(names)
    ended = merged(tmp_path, *names)
    assert ended.code == whole.code, ended.text
    same_run(tmp_path, "whole", "merged")
    assert figures(tmp_path / "merged") == figures(tmp_path / "whole")
    assert {"report.json", "junit.xml", "summary.md", "comment.md"} <= {
        path.name for path in (tmp_path / "merged").iterdir()
    }
    again = merged(tmp_path, "shard-*/run.jsonl", "shard-3", out="again")
    assert again.code == whole.code
    same_run(tmp_path, "again", "merged")


def test_base_is_joined_beside_head(tmp_path: Path) -> None:
    make_suite(tmp_path)
    write(tmp_path / "other.py", AGENT.replace("< 200", "< 100"))
    base = ("--base-target", "python:other:answer")
    whole = program("run", "suite.yaml", *base, "--out", "whole", cwd=tmp_path)
    run_shards(tmp_path, 3, *base)
    ended = merged(tmp_path, "shard-*")
    assert ended.code == whole.code, ended.text
    assert figures(tmp_path / "merged") == figures(tmp_path / "whole")
    ours, theirs = (report_in(tmp_path / name)["comparison"] for name in ("merged", "whole"))
    for each in (ours, theirs):
        assert each["base"].pop("source") == "side-by-side"
    assert {key: ours[key] for key in ("verdict", "delta", "p", "common")} == {
        key: theirs[key] for key in ("verdict", "delta", "p", "common")
    }
    assert sorted(trial["outcome"] for trial in trials_in(tmp_path / "merged/base.jsonl")) == sorted(
        trial["outcome"] for trial in trials_in(tmp_path / "whole/base.jsonl")
    )

    (tmp_path / "shard-2/base.jsonl").unlink()
    lacking = merged(tmp_path, "shard-*", out="lacking")
    assert lacking.code == 3
    assert "base: shard 2 of 3 is missing" in lacking.out


def test_a_missing_shard_is_incomplete_and_named(tmp_path: Path) -> None:
    make_suite(tmp_path)
    run_shards(tmp_path, 4)
    ended = merged(tmp_path, "shard-1", "shard-4", "shard-2")
    assert ended.code == 3
    assert "shard 3 of 4 is missing: 17 of 67 trials" in ended.text
    assert report_in(tmp_path / "merged")["verdict"] == "incomplete"


def test_shards_of_other_runs_are_refused_and_nothing_is_written(tmp_path: Path) -> None:
    make_suite(tmp_path)
    run_shards(tmp_path, 2)
    other = program("run", "suite.yaml", "--seed", "4", "--shard", "2/2", "--out", "other", cwd=tmp_path)
    assert other.code == 0
    ended = merged(tmp_path, "shard-1", "other")
    assert ended.code == 2
    assert "other/run.jsonl: seed is 4 here and 3 in shard-1/run.jsonl" in ended.err
    assert not (tmp_path / "merged").exists()
    again = program("run", "suite.yaml", "--shard", "2/2", "--out", "again", cwd=tmp_path)
    assert again.code == 0
    ended = merged(tmp_path, "shard-*", "again")
    assert ended.code == 2
    assert "is another one than in" in ended.err


def test_a_shard_alone_is_no_evidence_and_no_base(tmp_path: Path) -> None:
    make_suite(tmp_path)
    run_shards(tmp_path, 2)
    assert not (tmp_path / "shard-1/report.json").exists()
    alone = program("report", "shard-1/run.jsonl", cwd=tmp_path)
    assert alone.code == 3
    assert "this is shard 1 of 2 of a run" in alone.out
    base = program("run", "suite.yaml", "--base", "shard-1/run.jsonl", "--out", "out", cwd=tmp_path)
    assert base.code == 2
    assert "is shard 1 of 2 of a run, not all of it" in base.err


def test_a_killed_shard_is_resumed_as_the_same_shard_only(tmp_path: Path) -> None:
    hangs = """
        import os, threading

        def answer(input, context):
            while context.repetition > 3 and not os.path.exists("release"):
                threading.Event().wait(0.005)
            return "fine"
    """
    cases = {f"case {number}": {"input": number, "expect": [{"equals": "fine"}]} for number in range(4)}
    suite(tmp_path, cases, agent=hangs, repeats=8, workers=2)
    run_file = tmp_path / "shard-2/run.jsonl"
    with running("run", "suite.yaml", "--shard", "2/2", "--out", "shard-2", cwd=tmp_path) as ours:
        ours.until(lambda: run_file.exists() and len(trials_in(run_file)) >= 4)
        ours.signal(signal.SIGKILL)
        ours.end()
    kept = len(trials_in(run_file))
    (tmp_path / "release").touch()
    assert program("run", "suite.yaml", "--shard", "1/2", "--out", "shard-1", cwd=tmp_path).code == 0

    unfinished = merged(tmp_path, "shard-1", "shard-2", out="unfinished")
    assert unfinished.code == 3
    assert "shard 2 of 2 was not finished: its file has no end" in unfinished.out
    other = program("run", "suite.yaml", "--shard", "1/2", "--out", "shard-2", "--resume", cwd=tmp_path)
    assert other.code == 2
    assert "cannot be resumed: shard was '2/2" in other.err
    whole = program("run", "suite.yaml", "--out", "shard-2", "--resume", cwd=tmp_path)
    assert whole.code == 2

    ended = program("run", "suite.yaml", "--shard", "2/2", "--out", "shard-2", "--resume", cwd=tmp_path)
    assert ended.code == 0, ended.text
    assert ended.out.startswith("shard 2 of 2: 16 of 16 trials.")
    assert kept < len(trials_in(run_file)) == 16
    assert merged(tmp_path, "shard-1", "shard-2").code == 0
    assert len(trials_in(tmp_path / "merged/run.jsonl")) == 32


def test_a_shard_that_was_stopped_says_so_and_is_incomplete(tmp_path: Path) -> None:
    agent = """
        def answer(input, context):
            return {"output": "fine", "cost": 1.0}
    """
    suite(tmp_path, {"a": {"input": 1, "expect": [{"equals": "fine"}]}}, agent=agent, repeats=10, workers=1)
    ended = program("run", "suite.yaml", "--shard", "1/2", "--max-cost", "2", "--out", "shard-1", cwd=tmp_path)
    assert ended.code == 3
    assert "stopped (max-cost)" in ended.out


def test_trials_are_divided_by_the_times_of_an_earlier_run(tmp_path: Path) -> None:
    make_suite(tmp_path)
    program("run", "suite.yaml", "--out", "before", cwd=tmp_path)
    lines = lines_of(tmp_path / "before/run.jsonl")
    for line in lines:
        if "outcome" in line:
            line["duration"] = 60.0 if line["case"] == "case 0" else 1.0
    (tmp_path / "before.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    run_shards(tmp_path, 8, "--durations", "before.jsonl")
    per_shard = [trials_in(tmp_path / f"shard-{index}/run.jsonl") for index in range(1, 9)]
    slow = [sum(trial["case"] == "case 0" for trial in trials) for trials in per_shard]
    assert sorted(slow) == [0, 1, 1, 1, 1, 1, 1, 1]
    assert max(len(trials) for trials, count in zip(per_shard, slow, strict=True) if count == 0) > 50
    assert merged(tmp_path, "shard-*").code == program("report", "before.jsonl", cwd=tmp_path).code
    shutil.rmtree(tmp_path / "shard-1")
    ended = program("run", "suite.yaml", "--shard", "1/8", "--out", "shard-1", cwd=tmp_path)
    assert ended.code == 0
    ended = merged(tmp_path, "shard-*", out="mixed")
    assert ended.code == 2
    assert "were --durations the same?" in ended.err


def test_a_repeated_command_is_divided_by_its_runs(tmp_path: Path) -> None:
    write(tmp_path / "tool.py", TOOL)
    what = ("--command", COMMAND.replace("{folder}", "."), "--repeats", "6")
    whole = program("run", *what, "--out", "whole", cwd=tmp_path)
    run_shards(tmp_path, 4, what=what)
    ended = merged(tmp_path, "shard-4", "shard-2", "shard-3", "shard-1")
    assert ended.code == whole.code, ended.text
    same_run(tmp_path, "whole", "merged")
    assert figures(tmp_path / "merged") == figures(tmp_path / "whole")
    assert "1 of 1 runs without results" in program("run", *what, "--shard", "3/6", "--out", "lost", cwd=tmp_path).out


def test_more_shards_than_trials_are_no_trouble(tmp_path: Path) -> None:
    suite(tmp_path, {"a": {"input": 1, "expect": [{"equals": "x"}]}}, agent="def answer(input): return 'x'", repeats=2)
    run_shards(tmp_path, 3)
    assert merged(tmp_path, "shard-*").code == 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("run", "suite.yaml", "--shard", "9/8"), "for instance 2/8; found '9/8'"),
        (("run", "suite.yaml", "--durations", "x"), "--durations does nothing without --shard"),
        (("run", "suite.yaml", "--shard", "1/2", "--durations", "x"), "x: no file matches"),
        (("run", "suite.yaml", "--shard", "1/2", "--base", "x"), "give --base to `repeat-eval merge`"),
        (("run", "--results", "*.xml", "--shard", "1/2"), "--shard does nothing with --results"),
        (("run", "--command", "x {results}", "--shard", "1/2", "--durations", "x"), "--durations does nothing with"),
        (("merge", "nothing-*"), "nothing-*: no file matches"),
        (("merge", "whole"), "is a whole run, not a shard"),
        (("merge", "shard-1", "--out", "shard-1"), "would be overwritten"),
        (("merge", "shard-1", "--threshold", "80%"), "0.8"),
    ],
)
def test_what_cannot_be_is_refused(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    suite(tmp_path, {"a": {"input": 1, "expect": [{"equals": "x"}]}}, agent="def answer(input): return 'x'", repeats=2)
    if arguments[0] == "merge":
        program("run", "suite.yaml", "--out", "whole", cwd=tmp_path)
        program("run", "suite.yaml", "--shard", "1/1", "--out", "shard-1", cwd=tmp_path)
    ended = program(*arguments, cwd=tmp_path)
    assert ended.code == 2
    assert said in ended.err
