"""What a step says to the runner; nothing from outside can say anything to it.

`obeyed` reads a log as the runner does: a line that begins with `::name` after blanks, or holds `##[name]` anywhere,
is an order, unless commands are stopped.
"""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repeat_eval.github import commands

HOSTILE = [
    "::error::forged",
    "  \t::set-output name=verdict::pass",
    "text ##[error]forged",
    "\u00a0::add-mask::a",
    "\x1b[0m::warning::forged",
    "\u200b::error::forged",
    "#\u200b#[error]forged",
    "fine\r::error::forged",
    "fine\n::stop-commands::word\n::word::",
    "::endgroup::",
]
ANY = st.one_of(st.sampled_from(HOSTILE), st.text(st.characters()), st.text("%:,#[]\r\n\t ader", max_size=40))


def unescaped(text: str) -> str:
    for code, character in (("%3A", ":"), ("%2C", ","), ("%0D", "\r"), ("%0A", "\n"), ("%25", "%")):
        text = text.replace(code, character)
    return text


def obeyed(log: str) -> list[tuple[str, dict[str, str], str]]:
    """Name, properties and text of every order in the log."""
    orders, stop = [], None
    for line in re.split(r"\r\n|\r|\n", log):
        match = re.match(r"\s*::([^ :]+)(?: (.*?))?::(.*)", line) or re.search(r"##\[([^ \]]+)(?: (.*?))?\](.*)", line)
        if match is None:
            continue
        name, properties, text = match[1], match[2] or "", unescaped(match[3])
        if stop is not None:
            stop = None if name == stop else stop
        elif name == "stop-commands":
            stop = text
        else:
            pairs = (pair.partition("=") for pair in properties.split(",") if pair)
            orders.append((name, {key: unescaped(value) for key, _, value in pairs}, text))
    assert stop is None, "commands were never allowed again"
    return orders


def test_an_annotation_names_its_place() -> None:
    line = commands.annotation("error", "2 of 24 broke", file="evals/a,b:c.yaml", line=41, title="refunds: worse")
    assert line == "::error title=refunds%3A worse,file=evals/a%2Cb%3Ac.yaml,line=41::2 of 24 broke"


def test_an_annotation_without_a_file_has_no_line() -> None:
    assert commands.annotation("warning", "100% sure\nreally", line=3) == "::warning::100%25 sure%0Areally"
    assert commands.annotation("debug", "x", file="a", title="b") == "::debug::x"


@given(message=ANY, file=ANY, title=ANY)
def test_no_text_of_an_annotation_gives_another_order(message: str, file: str, title: str) -> None:
    line = commands.annotation("notice", message, file=file, line=1, title=title)
    [(name, properties, _)] = obeyed(line + "\n")
    assert name == "notice"
    assert properties.keys() <= {"title", "file", "line"}


@given(ANY)
def test_the_text_of_a_mask_arrives_as_it_is(value: str) -> None:
    if value.strip():
        [(name, _, text)] = obeyed(commands.mask(value))
        assert (name, text.strip()) == ("add-mask", value.strip())


@pytest.mark.parametrize("value", ["", "  ", "\n"])
def test_a_blank_value_is_not_masked(value: str) -> None:
    with pytest.raises(ValueError, match="blank"):
        commands.mask(value)


def test_an_annotation_is_bounded() -> None:
    line = commands.annotation("error", "x" * 1_000_000, file="f" * 10_000, title="t" * 10_000)
    assert len(line) < 6000


@given(st.lists(ANY, max_size=5))
def test_nothing_printed_from_outside_is_obeyed(texts: list[str]) -> None:
    stream = io.StringIO()
    for text in texts:
        with commands.commands_stopped(stream):
            stream.write(text)
    assert obeyed(stream.getvalue()) == []


@given(ANY)
def test_a_line_from_outside_is_no_order_even_while_commands_are_obeyed(text: str) -> None:
    assert obeyed(commands.inert_line(text) + "\n") == []


@pytest.mark.parametrize("text", HOSTILE)
def test_what_a_program_writes_while_commands_are_stopped_is_not_obeyed(text: str) -> None:
    stream = io.StringIO()
    with commands.commands_stopped(stream):
        stream.write(text)  # without the end of a line
    assert obeyed(stream.getvalue()) == []


def test_commands_are_allowed_again_after_a_fault() -> None:
    stream = io.StringIO()
    with pytest.raises(RuntimeError), commands.group(stream, "a\n::b::"), commands.commands_stopped(stream):
        raise RuntimeError
    names = [name for name, _, _ in obeyed(stream.getvalue())]
    assert names == ["group", "endgroup"]


def test_the_word_that_ends_a_stop_is_another_each_time() -> None:
    stream = io.StringIO()
    for _ in range(20):
        with commands.commands_stopped(stream):
            stream.write("x")
    assert len(set(re.findall(r"stop-commands::(\S+)", stream.getvalue()))) == 20


def read_outputs(text: str) -> dict[str, str]:
    """As the runner reads them: `name<<word`, lines, `word`."""
    outputs, lines = {}, iter(re.split(r"\n", text))
    for line in lines:
        if line:
            name, found, word = line.partition("<<")
            assert found, line
            value = []
            for inner in lines:
                if inner == word:
                    break
                value.append(inner)
            outputs[name] = "\n".join(value)
    return outputs


@given(values=st.dictionaries(st.from_regex(r"[a-z][a-z-]{0,8}", fullmatch=True), ANY, max_size=4))
def test_outputs_arrive_as_they_are_and_set_nothing_else(
    tmp_path_factory: pytest.TempPathFactory, values: dict[str, str]
) -> None:
    path = tmp_path_factory.mktemp("outputs") / "out"
    commands.write_outputs(path, values)
    commands.write_outputs(path, {"last": "1"})
    written = path.read_bytes().decode()
    assert read_outputs(written) == {
        **{name: re.sub("[\0\ud800-\udfff]", "\ufffd", value) for name, value in values.items()},
        "last": "1",
    }


def test_a_line_that_somebody_left_unfinished_swallows_no_output(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("theirs=1")
    commands.write_outputs(path, {"verdict": "pass"})
    assert path.read_text().startswith("theirs=1\nverdict<<")


def test_a_huge_output_is_cut_and_nothing_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "out"
    commands.write_outputs(path, {})
    assert not path.exists()
    commands.write_outputs(path, {"a": "x" * 1_000_000})
    assert path.stat().st_size < commands.MAX_OUTPUT + 200
    assert "…" in path.read_text("utf-8")


@pytest.mark.parametrize("name", ["", "a=b", "a\nb", "a<<b", "1a", "ä"])
def test_the_name_of_an_output_is_a_word(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="name of an output"):
        commands.write_outputs(tmp_path / "out", {name: "1"})
    assert not (tmp_path / "out").exists()
