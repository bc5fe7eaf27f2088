"""A judge's calls are told apart by what it is shown, whatever words that was put into, and whatever was scrubbed."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from repeat_eval.cassettes.model_calls import RecordedCalls
from repeat_eval.cassettes.session import Mode, Session
from repeat_eval.models.call import CallSlot, ModelReply, ModelRequest
from repeat_eval.models.judging import judge
from repeat_eval.records.trial import ToolCall
from repeat_eval.suite.checks.base import Answer, NoVerdict, Observation, Score
from repeat_eval.suite.checks.judge import Grader, Panel

PLANTED = 'planted "value" 0123456789'
ENVIRON = {"SHOP_API_KEY": PLANTED}


class Judge:
    """Grades 0.75, and keeps what it was shown."""

    def __init__(self) -> None:
        self.shown: list[str] = []

    async def __call__(self, request: ModelRequest, slot: CallSlot) -> ModelReply:
        self.shown.append(json.dumps(request.messages))
        return ModelReply(text=json.dumps({"reason": "fine", "score": 0.75}))


def judged(
    folder: Path,
    mode: Mode,
    output: Any,
    *,
    calls: tuple[ToolCall, ...] | None = None,
    rubric: str = "Is kind.",
    environ: dict[str, str] | None = None,
) -> tuple[Score, Judge]:
    session, live = Session(folder, environ or {}, calls=mode), Judge()
    session.store.load(["greets"])
    observation = Observation("greets", 1, "hello", Answer(output=output, tool_calls=calls), 0.1)
    panel = Panel(rubric, (Grader("openai:judge"),), 1, 0.5)
    try:
        return asyncio.run(judge([RecordedCalls(live, session)], panel, "polite", observation)), live
    finally:
        session.close()


def miss(folder: Path, output: str, **more: Any) -> str:
    with pytest.raises(NoVerdict) as caught:
        judged(folder, "replay", output, **more)
    assert caught.value.kind == "recording"
    return str(caught.value)


def test_an_output_that_held_a_secret_is_judged_again_from_its_scrubbed_recording(tmp_path: Path) -> None:
    _, live = judged(tmp_path, "record", f"the key is {PLANTED}", environ=ENVIRON)
    assert "planted" in live.shown[0], "recording does not change what is judged"
    score, again = judged(tmp_path, "replay", "the key is ***")
    assert (score.score, again.shown) == (0.75, [])
    assert "planted" not in "".join(path.read_text() for path in tmp_path.iterdir())


@pytest.mark.parametrize(
    ("made", "recorded"),
    [
        ({"password": "hunter2hunter2"}, {"password": "***"}),
        ({"note": f"use {PLANTED}"}, {"note": "use ***"}),
    ],
)
def test_tool_calls_that_held_a_secret_are_judged_again_too(
    tmp_path: Path, made: dict[str, str], recorded: dict[str, str]
) -> None:
    judged(tmp_path, "record", "done", calls=(ToolCall("log_in", made),), environ=ENVIRON)
    score, _ = judged(tmp_path, "replay", "done", calls=(ToolCall("log_in", recorded),))
    assert score.score == 0.75


def test_a_long_output_is_the_same_before_and_after_scrubbing(tmp_path: Path) -> None:
    judged(tmp_path, "record", PLANTED + "x" * 60_000, environ=ENVIRON)
    score, _ = judged(tmp_path, "replay", "***" + "x" * 60_000)
    assert score.score == 0.75


def test_an_end_that_the_judge_was_not_shown_counts_as_a_change(tmp_path: Path) -> None:
    judged(tmp_path, "record", "x" * 60_000 + "a")
    assert "output" in miss(tmp_path, "x" * 60_000 + "b")


def test_a_miss_says_whether_the_rubric_or_what_is_judged_changed(tmp_path: Path) -> None:
    judged(tmp_path, "record", "good morning")
    other_output = miss(tmp_path, "good evening")
    assert "the output (or what else is judged) changed since it was recorded" in other_output
    assert "rubric" not in other_output
    other_rubric = miss(tmp_path, "good morning", rubric="Is short.")
    assert "the rubric changed since it was recorded" in other_rubric


def test_a_reviewer_reads_in_the_recording_what_was_judged(tmp_path: Path) -> None:
    judged(tmp_path, "record", "good morning")
    (path,) = tmp_path.iterdir()
    assert '"last": "good morning"' in path.read_text()


@pytest.mark.parametrize("output", [{"total": 40, "note": "é"}, [1, None], "\ud800", None, 3])
def test_whatever_a_target_gives_can_be_recorded_and_replayed(tmp_path: Path, output: Any) -> None:
    judged(tmp_path, "record", output)
    score, _ = judged(tmp_path, "replay", output)
    assert score.score == 0.75
