"""The output folder while a run is written: its lock, its run file, its log, and what is kept out of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from repeat_eval.errors import UserError
from repeat_eval.records.journal import read_run
from repeat_eval.records.run import CasePlan, RunHeader
from repeat_eval.records.scrubbing import scrub_trial
from repeat_eval.records.trial import CheckResult, ToolCall, Trial
from repeat_eval.steps.recording import recording, target_log
from repeat_eval.steps.request import Request

KEY = "-".join(("sk", "0123456789", "abcdef"))
HEADER = RunHeader(suite="desk", repeats=2, cases=(CasePlan(id="a", asked=2),))


def request(folder: Path, **more: Any) -> Request:
    return Request(out=folder / "out", environ={"DESK_API_KEY": KEY}, **more)


def trial(repetition: int, outcome: Any = "passed", **fields: Any) -> Trial:
    kind = "provider" if outcome == "error" else None
    return Trial(case="a", repetition=repetition, outcome=outcome, error_kind=kind, **fields)


def test_trials_are_in_the_file_as_soon_as_they_are_added(tmp_path: Path) -> None:
    with recording(HEADER, request(tmp_path)) as record:
        record.add(trial(1))
        run = read_run(tmp_path / "out/run.jsonl")
        assert [one.key for one in run.trials] == [("a", 1)]
        assert not run.complete
        record.add(trial(2))
        assert not record.left
        record.finish()
    assert read_run(tmp_path / "out/run.jsonl").complete


def test_a_run_that_breaks_off_leaves_a_file_without_an_end_and_no_lock(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), recording(HEADER, request(tmp_path)) as record:
        record.add(trial(1))
        raise RuntimeError
    assert read_run(tmp_path / "out/run.jsonl").footer is None
    with recording(HEADER, request(tmp_path, resume=True)) as record:
        assert [one.key for one in record.kept] == [("a", 1)]


def test_an_old_error_holds_until_it_is_tried_again_and_is_not_kept(tmp_path: Path) -> None:
    with recording(HEADER, request(tmp_path)) as record:
        record.add(trial(1, "error"))
        record.add(trial(2))
    with recording(HEADER, request(tmp_path, resume=True)) as record:
        assert [one.key for one in record.kept] == [("a", 2)]
        assert sorted(one.outcome for one in record.trials) == ["error", "passed"]
        assert record.left
        record.add(trial(1))
        assert not record.left
        record.finish()
    run = read_run(tmp_path / "out/run.jsonl")
    assert [one.outcome for one in run.trials] == ["passed", "passed"]
    assert run.footer is not None and run.footer.trials == 2


def test_an_earlier_finished_run_stays_until_the_new_one_begins(tmp_path: Path) -> None:
    with recording(HEADER, request(tmp_path)) as record:
        record.add(trial(1))
        record.finish()
    before = (tmp_path / "out/run.jsonl").read_bytes()
    with pytest.raises(UserError), recording(HEADER, request(tmp_path)):
        raise UserError("the target cannot start")
    assert (tmp_path / "out/run.jsonl").read_bytes() == before


def test_a_folder_that_cannot_be_made_is_the_users_to_mend(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("a file")
    with pytest.raises(UserError, match="out"), recording(HEADER, request(tmp_path)):
        pass


def test_secrets_are_taken_out_of_header_trials_and_footer(tmp_path: Path) -> None:
    header = RunHeader(suite="desk", repeats=1, source="command", command=f"KEY={KEY} tool", warnings=(f"w {KEY}",))
    with recording(header, request(tmp_path)) as record:
        record.add(trial(1, "failed", message=f"m {KEY}", output=f"o {KEY}"))
        run = record.finish(missing=(f"lost {KEY}",), warnings=(f"seen {KEY}",))
    text = (tmp_path / "out/run.jsonl").read_text()
    assert KEY not in text
    assert text.count("***") == 5
    assert run.warnings == ("seen ***",)


def test_scrubbing_reaches_checks_and_arguments_of_tools_and_leaves_the_rest_as_it_is() -> None:
    def scrub(text: str) -> str:
        return text.replace(KEY, "***") if KEY in text else text

    plain = trial(1, output="fine")
    assert scrub_trial(plain, scrub) is plain
    call = ToolCall(f"t{KEY}", {"a": [KEY, {KEY: 1}], "n": 2.5, "none": None})
    dirty = trial(1, checks=(CheckResult("c", False, 0.0, f"why {KEY}"),), tool_calls=(call,))
    clean = scrub_trial(dirty, scrub)
    assert clean.checks[0].message == "why ***"
    assert clean.tool_calls == (ToolCall("t***", {"a": ["***", {"***": 1}], "n": 2.5, "none": None}),)


def test_the_log_is_scrubbed_and_an_empty_one_is_not_left_behind(tmp_path: Path) -> None:
    asked = request(tmp_path)
    (tmp_path / "out").mkdir()
    with target_log(asked):
        pass
    assert list((tmp_path / "out").iterdir()) == []
    with target_log(asked) as log:
        log(f"the key is {KEY}\n")
    assert (tmp_path / "out/target.log").read_text() == "the key is ***\n"


def test_without_a_folder_nothing_is_written_and_trials_are_kept_in_memory() -> None:
    asked = Request(environ={})
    with recording(HEADER, asked) as record, target_log(asked) as log:
        log("chatter")
        record.add(trial(1))
        assert record.finish().trials == (trial(1),)
