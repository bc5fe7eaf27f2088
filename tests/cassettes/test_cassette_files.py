"""The file format: one file a case, readable, and strict about what it does not know."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from recording_desk import request_of, slot_of

from repeat_eval.cassettes import files
from repeat_eval.cassettes.entries import RecordedCall, RecordedResponse, asked_of
from repeat_eval.cassettes.files import CaseCassette
from repeat_eval.errors import UserError
from repeat_eval.models.call import CallSlot, ModelReply, RequestedTool
from repeat_eval.records.trial import clean
from repeat_eval.suite.checks.base import Answer

TEXTS = st.text(max_size=60).map(clean)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


def recorded(slot: CallSlot, reply: ModelReply) -> RecordedCall:
    request = request_of()
    return RecordedCall(slot=slot, fingerprint=request.fingerprint(), asked=asked_of(request), reply=reply)


def written(tmp_path: Path, text: str = "hello") -> Path:
    path = tmp_path / files.file_name("greets")
    call = recorded(slot_of(), ModelReply(text=text))
    files.write(path, CaseCassette("greets", {call.slot: call}))
    return path


@given(
    st.lists(st.tuples(st.integers(1, 30), TEXTS, st.integers(1, 9), TEXTS | st.none(), JSON_VALUES), max_size=6),
    st.lists(st.tuples(st.integers(1, 30), JSON_VALUES), max_size=6),
)
def test_what_is_written_is_read_again(
    tmp_path_factory: pytest.TempPathFactory,
    calls: list[tuple[int, str, int, str | None, object]],
    answers: list[tuple[int, object]],
) -> None:
    case = "a/b\n~ greets"
    made = [
        recorded(
            CallSlot(case, repetition, part, index),
            ModelReply(text=text, tool_calls=(RequestedTool("1", "look_up", {"value": value}),)),
        )
        for repetition, part, index, text, value in calls
    ]
    responses = {
        number: RecordedResponse(
            repetition=number,
            request_key="k",
            answer=Answer(output=output, duration=0.25, cached=True),
            seconds=0.25,
        )
        for number, output in answers
    }
    cassette = CaseCassette(case, {call.slot: call for call in made}, responses)
    path = tmp_path_factory.mktemp("files") / files.file_name(case)
    files.write(path, cassette)
    if made or responses:
        assert files.read(path) == cassette
        assert files.encode(files.read(path)) == path.read_bytes()
    else:
        assert not path.exists()


@given(st.text(max_size=300), st.text(max_size=300))
def test_file_names_are_safe_whatever_the_case_is_called_and_differ(one: str, other: str) -> None:
    name = files.file_name(one)
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
    assert not name.startswith(".")
    assert ".." not in name.split("/")
    assert len(name) < 100
    assert (files.file_name(other) == name) == (one == other)


def test_texts_of_several_lines_can_be_read_in_a_review(tmp_path: Path) -> None:
    text = written(tmp_path, "Dear customer,\n\n  yours\n").read_text()
    assert '"Dear customer,\\n",\n' in text
    assert '"  yours\\n"\n' in text


def test_entries_stand_in_a_stable_order(tmp_path: Path) -> None:
    slots = [slot_of(2), slot_of(1, part="zeal"), slot_of(10), slot_of(1, index=2), slot_of(1)]
    calls = {slot: recorded(slot, ModelReply(text="x")) for slot in slots}
    forth = files.encode(CaseCassette("greets", calls))
    back = files.encode(CaseCassette("greets", dict(reversed(list(calls.items())))))
    assert forth == back
    keys = [call["key"] for call in json.loads(forth)["calls"]]
    assert keys == ["target/1", "target/2", "zeal/1", "target/1#2", "target/1#10"]


def problem_of(path: Path) -> str:
    with pytest.raises(UserError) as caught:
        files.read(path)
    return str(caught.value)


def test_a_newer_version_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path)
    path.write_text(path.read_text().replace("cassette/1", "cassette/2"))
    assert "newer version" in problem_of(path)


def test_something_else_is_no_cassette(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text('{"schema": "repeat-eval/report/1"}')
    assert "is no cassette" in problem_of(path)


def test_a_broken_file_is_named_with_its_line(tmp_path: Path) -> None:
    path = written(tmp_path)
    lines = path.read_text().splitlines()
    lines[4] = "<<<<<<< ours"
    path.write_text("\n".join(lines))
    assert problem_of(path).startswith(f"{path}:5: is a broken cassette")


@pytest.mark.parametrize(
    ("found", "instead", "said"),
    [
        ('"target/1"', '"target"', "is not of the form"),
        ('"target/1"', '"target/1#1"', "is not of the form"),
        ('"text": "hello"', '"text": 5', "Expected"),
    ],
)
def test_a_broken_entry_is_named_with_its_line(tmp_path: Path, found: str, instead: str, said: str) -> None:
    path = written(tmp_path)
    path.write_text(path.read_text().replace(found, instead))
    text = problem_of(path)
    assert text.startswith(f"{path}:5: ")
    assert said in text


def test_the_same_key_twice_is_an_error(tmp_path: Path) -> None:
    path = written(tmp_path)
    data = json.loads(path.read_text())
    data["calls"] *= 2
    path.write_bytes(msgspec.json.format(json.dumps(data).encode()))
    assert "is there twice" in problem_of(path)


def test_a_link_is_no_cassette_whatever_it_leads_to(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    real = written(tmp_path / "elsewhere")
    link = tmp_path / real.name
    link.symlink_to(real)
    assert "is a link" in problem_of(link)


@pytest.mark.parametrize("wrong", ['"cost": -1', '"seconds": -0.5', '"tokens": {"input": -4}'])
def test_numbers_that_no_run_can_give_are_refused(tmp_path: Path, wrong: str) -> None:
    path = written(tmp_path)
    path.write_text(path.read_text().replace('"text"', f'{wrong}, "text"'))
    assert "is no recording" in problem_of(path)


def test_a_file_nested_without_end_is_an_error(tmp_path: Path) -> None:
    path = written(tmp_path)
    deep = '{"a": ' * 200_000 + "1" + "}" * 200_000
    path.write_text(
        path.read_text().replace('"text"', f'"tool_calls": [{{"id": "1", "name": "x", "arguments": {deep}}}], "text"')
    )
    assert str(path) in problem_of(path)


def test_lines_are_right_where_responses_come_before_calls(tmp_path: Path) -> None:
    path = written(tmp_path)
    call = json.loads(path.read_text())["calls"][0]
    good = json.dumps({"key": "response", "request_key": "k", "text": "a"})
    bad = json.dumps({"key": "response#1", "request_key": "k", "text": "a"})
    path.write_text(
        f'{{"schema": "repeat-eval/cassette/1", "case": "greets",\n"responses": [\n{good},\n{bad}\n],'
        f'\n"calls": [\n{json.dumps(call)},\n{json.dumps(call)}\n]}}'
    )
    said = problem_of(path)
    assert f"{path}:4" in said
    assert f"{path}:8" in said
