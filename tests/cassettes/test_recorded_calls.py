"""Calls of models: recorded once per case and repetition, replayed as they were, never a live call in replay."""

from __future__ import annotations

import asyncio
import subprocess
from pathlib import Path

import pytest
from recording_desk import Desk, Model, request_of, slot_of

from repeat_eval.cassettes import store
from repeat_eval.cassettes.model_calls import RecordedCalls
from repeat_eval.cassettes.session import CassetteMiss, Session
from repeat_eval.models.call import CallSlot, ModelReply
from repeat_eval.targets.base import TargetError


def replies(found: list[ModelReply | TargetError]) -> list[ModelReply]:
    assert all(isinstance(one, ModelReply) for one in found), found
    return [one for one in found if isinstance(one, ModelReply)]


def only_error(found: list[ModelReply | TargetError]) -> TargetError:
    (error,) = found
    assert isinstance(error, TargetError)
    return error


def test_what_was_recorded_is_replayed_word_for_word_without_a_call(desk: Desk) -> None:
    asked = [(request_of(), slot_of(number)) for number in (1, 2, 3)]
    recorded, *_ = desk.ask("auto", *asked)
    replayed, session, model = desk.ask("replay", *asked)
    assert [one.text for one in replies(replayed)] == [one.text for one in replies(recorded)]
    assert [one.cost for one in replies(replayed)] == [0.001] * 3
    assert all(one.replayed for one in replies(replayed))
    assert not any(one.replayed for one in replies(recorded))
    assert model.slots == []
    assert (session.replayed, session.recorded) == (3, 0)


def test_a_reply_that_was_never_recorded_is_a_miss_that_names_case_repetition_and_command(desk: Desk) -> None:
    desk.ask("auto", (request_of(), slot_of(1)))
    found, session, model = desk.ask("replay", (request_of(), slot_of(2)))
    error = only_error(found)
    assert isinstance(error, CassetteMiss)
    assert (error.kind, error.retryable) == ("recording", False)
    assert "case greets, repetition 2, target, call 1: there is no recording" in error.message
    assert "--cassette-mode auto --case greets" in error.message
    assert model.slots == []
    assert len(session.missing()) == 1


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"messages": ({"role": "system", "content": "Be strict."}, {"role": "user", "content": "hello"})}, "system"),
        ({"messages": ({"role": "system", "content": "Be kind."}, {"role": "user", "content": "bye"})}, "messages"),
        ({"settings": {"temperature": 0.8}}, "settings"),
        ({"tools": ({"name": "look_up", "parameters": {"type": "object", "required": ["id"]}},)}, "tools"),
        ({"model": "openai:gpt-5"}, "model"),
        ({"url": "http://localhost:1/v1"}, "url"),
        ({"output_schema": {"type": "object"}}, "output schema"),
    ],
)
def test_whatever_decides_the_answer_misses_when_it_changes_and_is_named(
    desk: Desk, changes: dict[str, object], named: str
) -> None:
    desk.ask("auto", (request_of(), slot_of()))
    found, _, model = desk.ask("replay", (request_of(**changes), slot_of()))
    assert f"the {named}" in only_error(found).message
    assert "changed since it was recorded" in only_error(found).message
    assert model.slots == []


def test_a_changed_prompt_of_a_judge_is_called_its_rubric(desk: Desk) -> None:
    desk.ask("auto", (request_of(), slot_of(part="polite")))
    changed = request_of(messages=({"role": "system", "content": "New."}, {"role": "user", "content": "hello"}))
    found, *_ = desk.ask("replay", (changed, slot_of(part="polite")))
    assert "the rubric changed" in only_error(found).message


def test_auto_asks_only_for_what_is_missing(desk: Desk) -> None:
    desk.ask("auto", *[(request_of(), slot_of(number)) for number in range(1, 6)])
    before = {path.name: path.read_bytes() for path in desk.folder.iterdir()}
    _, session, model = desk.ask("auto", *[(request_of(), slot_of(number)) for number in range(1, 9)])
    assert [slot.repetition for slot in model.slots] == [6, 7, 8]
    assert session.summary().startswith(f"cassettes in {desk.folder}: 5 recorded earlier and replayed, 3 recorded now")
    (name,) = before
    entries = before[name].rpartition(b"\n    }\n  ]")[0]
    assert (desk.folder / name).read_bytes().startswith(entries), "raising N keeps what was recorded"


def test_the_first_repetition_keeps_the_bare_key(desk: Desk) -> None:
    desk.ask("auto", (request_of(), slot_of(1)), (request_of(), slot_of(2)), (request_of(), slot_of(1, index=2)))
    (path,) = desk.folder.iterdir()
    keys = [line.strip() for line in path.read_text().splitlines() if '"key"' in line]
    assert keys == ['"key": "target/1",', '"key": "target/2",', '"key": "target/1#2",']


def test_errors_are_never_recorded(desk: Desk) -> None:
    model = Model(fails=frozenset({slot_of(2)}))
    found, session, _ = desk.ask("record", *[(request_of(), slot_of(number)) for number in (1, 2, 3)], model=model)
    assert isinstance(found[1], TargetError)
    assert session.recorded == 2
    found, *_ = desk.ask("replay", (request_of(), slot_of(2)))
    assert isinstance(only_error(found), CassetteMiss)


def test_no_recording_is_served_twice(desk: Desk) -> None:
    desk.ask("auto", (request_of(), slot_of()))
    found, *_ = desk.ask("replay", (request_of(), slot_of()), (request_of(), slot_of()))
    assert isinstance(found[0], ModelReply)
    assert isinstance(found[1], TargetError)
    assert "used already" in found[1].message


def test_record_asks_again_and_drops_what_belonged_to_the_old_conversation(desk: Desk) -> None:
    desk.ask("auto", *[(request_of(), slot_of(index=index)) for index in (1, 2, 3)])
    _, _, model = desk.ask("record", (request_of("new"), slot_of(index=1)))
    assert len(model.slots) == 1
    kept = desk.session("replay").store
    assert kept.call(slot_of(index=1)) is not None
    assert kept.call(slot_of(index=2)) is None
    assert kept.call(slot_of(index=3)) is None


def test_a_conversation_that_is_recorded_the_same_again_changes_no_byte(desk: Desk) -> None:
    asked = [(request_of(), slot_of(index=index)) for index in (1, 2, 3)]
    desk.ask("record", *asked)
    (path,) = desk.folder.iterdir()
    before = path.read_bytes()
    assert b'"seconds"' in before
    _, session, _ = desk.ask("record", *asked)
    assert session.recorded == 3
    assert path.read_bytes() == before


def test_a_replayed_reply_tells_how_long_it_took_once(desk: Desk) -> None:
    recorded, *_ = desk.ask("record", (request_of(), slot_of()))
    replayed, *_ = desk.ask("replay", (request_of(), slot_of()))
    assert replies(recorded)[0].seconds is None
    assert (replies(replayed)[0].seconds or 0) > 0


def test_200_cases_by_10_with_50_workers_lose_and_double_nothing_and_record_the_same_again(
    desk: Desk, tmp_path: Path
) -> None:
    slots = [CallSlot(f"case {case}", number, "target", 1) for number in range(1, 11) for case in range(200)]

    def record() -> Session:
        session = desk.session("record")
        calls = RecordedCalls(Model(), session)

        async def run() -> None:
            left = list(reversed(slots))

            async def work() -> None:
                while left:
                    slot = left.pop()
                    await calls(request_of(slot.case), slot)

            await asyncio.gather(*[work() for _ in range(50)])

        asyncio.run(run())
        session.close()
        return session

    assert record().recorded == 2000
    kept = desk.session("replay").store
    assert len(list(desk.folder.iterdir())) == 200
    for slot in slots:
        found = kept.call(slot)
        assert found is not None
        assert found.reply.text == f"answer to {slot.case}\nrepetition {slot.repetition}, target 1"

    def git(*words: str) -> str:
        who = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
        done = subprocess.run(["git", *who, *words], cwd=tmp_path, check=True, capture_output=True, text=True)
        return done.stdout

    git("init", "--quiet")
    git("add", "-A")
    git("commit", "--quiet", "-m", "recorded")
    record()
    assert git("status", "--porcelain") == ""


def test_what_was_recorded_before_an_interruption_is_kept(desk: Desk) -> None:
    session = desk.session("auto")
    calls = RecordedCalls(Model(), session)

    async def run() -> None:
        await calls(request_of(), slot_of(1))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        try:
            asyncio.run(run())
        finally:
            session.close()
    assert desk.session("replay").store.call(slot_of(1)) is not None


def test_a_reply_beyond_the_bound_is_refused_and_that_is_said(desk: Desk) -> None:
    class Talkative(Model):
        async def __call__(self, request: object, slot: CallSlot) -> ModelReply:
            return ModelReply(text="x" * 1_100_000)

    session = desk.session("auto")
    reply = asyncio.run(RecordedCalls(Talkative(), session)(request_of(), slot_of()))
    assert reply.text is not None
    assert "call target/1 of case 'greets'" in session.close()[0]
    assert not desk.folder.exists()


def test_two_sides_that_share_a_judge_record_apart(tmp_path: Path) -> None:
    head, base = (Session(tmp_path / name, {}, calls="auto") for name in ("head", "base"))
    calls = RecordedCalls(Model(), head)

    async def trial(session: Session) -> None:
        session.enter()
        await calls(request_of(), slot_of(part="polite"))

    async def both() -> None:
        await asyncio.gather(trial(head), trial(base))

    asyncio.run(both())
    assert head.store.call(slot_of(part="polite")) is not None
    assert base.store.call(slot_of(part="polite")) is not None


def test_a_recording_is_on_disk_soon_although_the_next_one_comes_late(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(store, "FLUSH_SECONDS", 0.05)

    async def run() -> bool:
        session = desk.session("auto")
        await RecordedCalls(Model(), session)(request_of(), slot_of(1))
        async with asyncio.timeout(20):
            while not desk.folder.exists() or not list(desk.folder.glob("*.json")):  # noqa: ASYNC110 - no event for a file
                await asyncio.sleep(0.01)
        return session.store.path("greets").is_file()

    assert asyncio.run(run()), "nothing was closed, and nothing else recorded"


@pytest.mark.parametrize("case", ["x" * 81, "two\nlines"])
def test_the_command_of_a_miss_selects_no_case_whose_name_it_cannot_show(desk: Desk, case: str) -> None:
    found, *_ = desk.ask("replay", (request_of(), slot_of(case=case)))
    assert "--case " not in only_error(found).message
    assert "--cassette-mode auto" in only_error(found).message
