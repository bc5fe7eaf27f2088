"""Hostile and damaged files cost a sentence, never a crash, a wait or a look at another file."""

from __future__ import annotations

import os
import string
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from repeat_eval.readers import FoundTrial, ReadError, ReadOptions, collect, read_file

HEAD = '<?xml version="1.0"?>'
CASE = '<testcase classname="c" name="t"/>'
LAUGHS = (
    '<!DOCTYPE lolz [<!ENTITY a "lol">'
    + "".join(f'<!ENTITY {new} "{f"&{old};" * 10}">' for old, new in zip("abcdefghi", "bcdefghij", strict=True))
    + "]>"
)

DAMAGED = {
    "billion laughs": f'{HEAD}{LAUGHS}<testsuite name="&j;">{CASE}</testsuite>',
    "external entity": f'{HEAD}<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]><testsuite>&e;{CASE}</testsuite>',
    "external document type": f'{HEAD}<!DOCTYPE x SYSTEM "http://127.0.0.1:9/x.dtd"><testsuite>{CASE}</testsuite>',
    "harmless document type": f"{HEAD}<!DOCTYPE testsuite><testsuite>{CASE}</testsuite>",
    "undeclared entity": f"<testsuite>&nothing;{CASE}</testsuite>",
    "truncated": f"<testsuites><testsuite>{CASE}",
    "truncated in a tag": "<testsuite><testcase classname=",
    "two roots": f"<testsuite>{CASE}</testsuite><testsuite/>",
    "deep nesting": "<testsuite>" + "<a>" * 100_000,
    "deep suites": "<testsuite>" * 100_000,
    "testcase in a testcase": f'<testsuite><testcase name="t">{CASE}</testcase></testsuite>',
    "another root": "<html><testcase name='t'/></html>",
    "lone surrogate": '<testsuite><testcase name="&#xD800;"/></testsuite>',
    "control character": '<testsuite><testcase name="&#0;"/></testsuite>',
    "one attribute twice": '<testsuite><testcase name="a" name="b"/></testsuite>',
    "empty root": "<",
}


@pytest.mark.parametrize("content", DAMAGED.values(), ids=DAMAGED.keys())
def test_damaged_and_hostile_xml_is_a_read_error_that_names_the_file(tmp_path: Path, content: str) -> None:
    path = tmp_path / "results.xml"
    path.write_text(content)
    with pytest.raises(ReadError) as caught:
        read_file(path)
    assert all(problem.file == str(path) for problem in caught.value.problems)
    assert "root:" not in str(caught.value)


def test_a_document_type_is_seen_in_other_encodings(tmp_path: Path) -> None:
    path = tmp_path / "results.xml"
    path.write_bytes(f'<?xml version="1.0" encoding="UTF-16"?>{LAUGHS}<testsuite>&j;</testsuite>'.encode("utf-16"))
    with pytest.raises(ReadError, match="DOCTYPE"):
        read_file(path)


@pytest.mark.parametrize(
    "content",
    [
        b'<?xml version="1.0" encoding="no-such"?><testsuite/>',
        b'<?xml version="1.0" encoding="utf-8"?><testsuite><testcase name="\xff\xfe"/></testsuite>',
        b'<testsuite><testcase name="a\0b"/></testsuite>',
        b"\0" * 1_000,
        b"case,passed\na\0,1\n",
        b"case,passed\n\xff,1\n",
        b'{"case": "a", "passed": NaN}\n',
        b'{"case": "a", "passed": true, "score": ' + b"9" * 5_000 + b"}\n",
        b'{"case": ' + b"[" * 100_000 + b"\n{}\n",
    ],
)
def test_wrong_encodings_and_bytes_are_read_errors(tmp_path: Path, content: bytes) -> None:
    for name in ("results.xml", "results.csv", "results.jsonl", "results"):
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(ReadError):
            read_file(path)


def test_a_truncated_file_is_reported_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "results.xml"
    path.write_text(f"<testsuite>\n{CASE}\n{CASE}\n<testcase")
    with pytest.raises(ReadError) as caught:
        read_file(path)
    assert caught.value.problems[0].line == 4


def test_a_very_long_name_is_bounded_and_stays_unique(tmp_path: Path) -> None:
    path = tmp_path / "results.xml"
    long = "x" * 1_000_000
    path.write_text(
        f'<testsuite><testcase name="{long}1"/><testcase name="{long}2"><failure message="{long}"/></testcase>'
        "</testsuite>"
    )
    first, second = read_file(path).trials
    assert len(first.case) <= 1_000
    assert first.case != second.case
    assert len(second.message or "") < 600


def test_lone_surrogates_in_json_are_replaced(tmp_path: Path) -> None:
    path = tmp_path / "results.jsonl"
    path.write_text('{"case": "a\\ud800", "passed": false, "message": "\\udfff", "output": "\\ud83d\\ude00"}\n')
    collected = collect([path])
    (trial,) = collected.trials
    assert trial.case.encode()
    assert (trial.message or "").encode()
    assert trial.output == "😀"


def test_files_that_are_none_are_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.xml")
    (tmp_path / "empty.xml").touch()
    for name, reason in (("pipe.xml", "regular"), ("empty.xml", "empty"), ("none.xml", "no such"), ("", "regular")):
        with pytest.raises(ReadError, match=reason):
            read_file(tmp_path / name)


def test_limits_are_kept(tmp_path: Path) -> None:
    xml, rows = tmp_path / "results.xml", tmp_path / "results.csv"
    xml.write_text(f"<testsuite>{CASE * 11}</testsuite>")
    rows.write_text("case,passed\n" + "".join(f"{number},1\n" for number in range(11)))
    for path in (xml, rows):
        with pytest.raises(ReadError, match="more than 10 "):
            read_file(path, ReadOptions(max_testcases=10))
        with pytest.raises(ReadError, match="bytes"):
            read_file(path, ReadOptions(max_bytes=50))


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    start=st.sampled_from(
        [b"", b"<testsuite>", b"<?xml version='1.0'?>", b"case,passed\n", b'{"case":', b"\xff\xfe<", b'"case";"ok"\n']
    ),
    rest=st.binary(max_size=300),
    name=st.sampled_from(["r.xml", "r.csv", "r.jsonl", "r.tsv", "r"]),
)
def test_arbitrary_bytes_never_raise_anything_but_a_read_error(
    tmp_path: Path, start: bytes, rest: bytes, name: str
) -> None:
    path = tmp_path / name
    path.write_bytes(start + rest)
    try:
        results = read_file(path)
    except ReadError as error:
        assert str(path) in str(error)
    else:
        assert all(isinstance(trial, FoundTrial) for trial in results.trials)


FRAGMENTS = [
    "<testsuites>", "</testsuites>", "<testsuite>", "</testsuite>", '<testsuite tests="2" failures="1" errors="0">',
    '<testcase classname="c" name="a">', '<testcase classname="c" name="a[1-2]">', CASE, '<testcase name=""/>',
    '<testcase classname="c" name="a[2-2]"/>', "</testcase>", "<failure/>", "<error>", "</error>", "<flakyFailure/>",
    "<rerunError/>", "<skipped/>", "<properties>", '<property name="score" value="1"/>', "</properties>", "<!-- x -->",
    "<?x y?>", "text", "<![CDATA[x]]>",
]  # fmt: skip


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(parts=st.lists(st.sampled_from(FRAGMENTS), max_size=30))
def test_any_sequence_of_tags_is_read_or_refused_and_trials_stay_unique(tmp_path: Path, parts: list[str]) -> None:
    path = tmp_path / "results.xml"
    path.write_text("<testsuite>" + "".join(parts) + "</testsuite>")
    for duplicates in ("ask", "repeats", "retries", "error"):
        collected = collect([path], options=ReadOptions(duplicates=duplicates))
        assert len({trial.key for trial in collected.trials}) == len(collected.trials)
        assert collected.trials or collected.missing


@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(cut=st.integers(1, 5_000))
def test_a_file_cut_anywhere_is_never_a_smaller_file(tmp_path: Path, cut: int) -> None:
    whole = (Path(__file__).parent / "samples" / "pytest-repeat.junit.xml").read_bytes().rstrip()
    path = tmp_path / "results.xml"
    path.write_bytes(whole[: -min(cut, len(whole) - 1)])
    with pytest.raises(ReadError):
        read_file(path)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(text=st.text(alphabet=string.printable + "é\u2028😀", max_size=200))
def test_text_of_failures_becomes_one_bounded_line(tmp_path: Path, text: str) -> None:
    from xml.sax.saxutils import escape

    path = tmp_path / "results.xml"
    visible = "".join(character for character in text if character.isprintable() or character in "\n\t")
    path.write_text(
        f'<testsuite><testcase name="t"><failure>{escape(visible)}</failure></testcase></testsuite>', "utf-8"
    )
    (trial,) = read_file(path).trials
    assert trial.outcome == "failed"
    assert len((trial.message or "").splitlines()) <= 1
