"""report.json: read back as it was written, or refused with a sentence that names file and place."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
import report_examples as examples
from hypothesis import given
from hypothesis import strategies as st

from repeat_eval.errors import UserError
from repeat_eval.reports import json_report


def refused(folder: Path, data: bytes) -> str:
    path = folder / "report.json"
    path.write_bytes(data)
    with pytest.raises(UserError) as caught:
        json_report.read(path)
    text = str(caught.value)
    assert text.startswith(str(path))
    return text.removeprefix(str(path))


@pytest.mark.parametrize("name", ["small", "seeds_003", "single", "empty"])
def test_a_report_comes_back_as_it_was_written(name: str, tmp_path: Path) -> None:
    report = getattr(examples, name)()
    json_report.write(report, tmp_path / "report.json")
    assert json_report.read(tmp_path / "report.json") == report


def test_keys_of_later_versions_are_ignored(tmp_path: Path) -> None:
    content = msgspec.to_builtins(examples.small()) | {"of_a_later_version": {"verdict": "regressed"}}
    (tmp_path / "report.json").write_bytes(msgspec.json.encode(content))
    assert json_report.read(tmp_path / "report.json") == examples.small()


def test_a_newer_major_schema_is_refused_with_both_versions(tmp_path: Path) -> None:
    text = refused(tmp_path, b'{"schema": "repeat-eval/report/2"}')
    assert "'repeat-eval/report/2'" in text and "'repeat-eval/report/1'" in text


@pytest.mark.parametrize(
    "schema", ["repeat-eval/run/1", "repeat-eval/report/", "repeat-eval/report/one", "", "²", "x" * 900]
)
def test_another_schema_is_no_report(schema: str, tmp_path: Path) -> None:
    text = refused(tmp_path, msgspec.json.encode({"schema": schema}))
    assert "is not a report file" in text
    assert len(text) < 400


@pytest.mark.parametrize("data", [b"{}", b"[]", b"3", b'{"schema": 1}', b'{"schema": null}'])
def test_other_json_is_no_report(data: bytes, tmp_path: Path) -> None:
    assert "is not a report file" in refused(tmp_path, data)


def test_broken_json_is_refused_with_line_and_column(tmp_path: Path) -> None:
    assert refused(tmp_path, b'{\n  "schema": "repeat-eval/report/1",\n  "suite": oops\n}').startswith(
        ":3:12: is not JSON"
    )
    assert refused(tmp_path, b'{\n "schema": ').startswith(":2:12: is not JSON")
    assert refused(tmp_path, b"").startswith(":1:1: is not JSON")


def test_a_report_with_a_wrong_value_names_its_place(tmp_path: Path) -> None:
    content = msgspec.to_builtins(examples.small())
    content["cases"][1]["passed"] = "four"
    assert "$.cases[1].passed" in refused(tmp_path, msgspec.json.encode(content))


def test_figures_that_cannot_be_are_refused_all_at_once(tmp_path: Path) -> None:
    content = msgspec.to_builtins(examples.small())
    content["cases"][0]["threshold"] = "<b>"
    content["cases"][1]["failed"] = -3
    content["cases"][1]["outcomes"] = "PPX"
    content["totals"]["interval"] = [1e308, -1e308]
    text = refused(tmp_path, msgspec.json.encode(content))
    first, second = content["cases"][0]["id"], content["cases"][1]["id"]
    for words in (
        f"the threshold of case {first!r}: '<b>' is not a rate",
        f"case {second!r} has a count below 0",
        f"case {second!r} has outcomes other than E, F, P, S",
        "the interval of the suite is none of a rate",
    ):
        assert words in text


def test_deep_nesting_and_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    assert "is not JSON" in refused(tmp_path, b'{"schema": "repeat-eval/report/1", "history": ' + b"[" * 200_000)
    assert "is not JSON" in refused(tmp_path, b'{"schema": "repeat-eval/report/1", "suite": "\xff"}')


def test_a_file_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="No such file"):
        json_report.read(tmp_path / "none.json")
    with pytest.raises(UserError, match="directory"):
        json_report.read(tmp_path)


@given(st.binary(max_size=100))
def test_any_bytes_are_a_report_or_a_user_error(data: bytes) -> None:
    with pytest.raises(UserError):
        json_report.decode(data, "report.json")
