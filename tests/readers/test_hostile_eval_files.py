"""Hostile and damaged files of evaluation tools cost a sentence that names the file, never a crash or the memory."""

from __future__ import annotations

import io
import json
import struct
import sys
import zipfile
import zlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from repeat_eval.readers import ReadError, ReadOptions, read_file
from repeat_eval.readers.archives import Archive

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

SAMPLES = Path(__file__).parent / "samples"
FILES = {
    "promptfoo": SAMPLES / "promptfoo" / "results.json",
    "promptfoo lines": SAMPLES / "promptfoo" / "results.jsonl",
    "inspect": SAMPLES / "inspect_ai" / "capitals.json",
    "inspect zstandard": SAMPLES / "inspect_ai" / "capitals.eval",
    "inspect deflate": SAMPLES / "inspect_ai" / "capitals-deflate.eval",
    "deepeval": SAMPLES / "deepeval" / "test_run.json",
    "pydantic-evals": SAMPLES / "pydantic_evals" / "report.json",
}
TEXTS = [name for name, path in FILES.items() if path.suffix != ".eval"]
EVERY = pytest.mark.parametrize("name", FILES)


def refused(path: Path, options: ReadOptions | None = None) -> str:
    with pytest.raises(ReadError) as caught:
        read_file(path, options)
    assert all(problem.file == str(path) for problem in caught.value.problems)
    assert "Traceback" not in str(caught.value)
    return str(caught.value)


@EVERY
def test_a_file_that_was_cut_off_is_refused(tmp_path: Path, name: str) -> None:
    source = FILES[name]
    path = tmp_path / source.name
    path.write_bytes(source.read_bytes()[: source.stat().st_size * 9 // 10])
    assert "no JSON" in refused(path) or "cut off" in refused(path)


@pytest.mark.parametrize("name", TEXTS)
def test_the_place_of_what_is_no_json_is_told(tmp_path: Path, name: str) -> None:
    source = FILES[name]
    lines = source.read_bytes().splitlines(keepends=True)
    path = tmp_path / source.name
    path.write_bytes(b"".join([*lines[:-1], b"{,", lines[-1]]))
    assert refused(path).startswith(f"{path}:{len(lines)}: ")


@pytest.mark.parametrize("name", TEXTS)
def test_deep_nesting_is_refused(tmp_path: Path, name: str) -> None:
    source = FILES[name]
    content = source.read_bytes()
    place = content.rindex(b"}") if source.suffix == ".json" else content.index(b"\n") - 1
    path = tmp_path / source.name
    path.write_bytes(content[:place] + b',"deep":' + b"[" * 200_000 + content[place:])
    assert "nested too deeply" in refused(path) or "no JSON" in refused(path)


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1"])
@pytest.mark.parametrize("name", TEXTS)
def test_other_encodings_are_refused(tmp_path: Path, name: str, encoding: str) -> None:
    source = FILES[name]
    path = tmp_path / source.name
    path.write_bytes(
        source.read_text().replace("capital of France", "capitalé").replace("Paris", "Pärís").encode(encoding)
    )
    refused(path)


@pytest.mark.parametrize("name", TEXTS)
def test_a_byte_order_mark_is_no_fault(tmp_path: Path, name: str) -> None:
    source = FILES[name]
    path = tmp_path / source.name
    path.write_bytes(b"\xef\xbb\xbf" + source.read_bytes())
    assert read_file(path).trials == read_file(source).trials


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity", "1e999", "123456789" * 500])
def test_what_is_no_finite_number_is_never_a_score(tmp_path: Path, constant: str) -> None:
    for name, key in (
        ("promptfoo", '"score": 1,'),
        ("deepeval", '"score": 1.0,'),
        ("pydantic-evals", '"value": 0.667,'),
    ):
        source = FILES[name]
        path = tmp_path / source.name
        path.write_text(source.read_text().replace(key, f"{key.split(':', maxsplit=1)[0]}: {constant},", 1))
        try:
            trials = read_file(path).trials
        except ReadError:
            continue
        assert all(trial.score is None or abs(trial.score) < 10 for trial in trials)


def test_lone_surrogates_are_replaced(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text(FILES["pydantic-evals"].read_text().replace("Paris", "\\ud800"))
    assert read_file(path).trials[0].output in ("\ufffd", "?")


def test_of_a_key_that_is_there_twice_the_last_counts(tmp_path: Path) -> None:
    path = tmp_path / "test_run.json"
    path.write_text(FILES["deepeval"].read_text().replace('"name": "stable-capital"', '"name": "a", "name": "b"'))
    assert read_file(path).trials[0].case == "b"


@EVERY
def test_the_number_of_trials_is_bounded(name: str) -> None:
    assert "has more than" in refused(FILES[name], ReadOptions(max_testcases=2))


@EVERY
def test_the_size_of_a_file_is_bounded(name: str) -> None:
    assert "bytes, more than" in refused(FILES[name], ReadOptions(max_bytes=1_000))


def eval_archive(path: Path, content: bytes, method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as file:
        file.writestr("_journal/start.json", "{}")
        file.writestr("header.json", content)
    return path


def test_an_entry_that_declares_to_unpack_to_too_much_is_refused(tmp_path: Path) -> None:
    path = eval_archive(tmp_path / "log.eval", b" " * 3_000_000)
    assert "header.json: unpacks to more than the 2,000,000 bytes" in refused(path, ReadOptions(max_bytes=2_000_000))


def test_an_entry_that_unpacks_to_more_than_it_declares_is_refused(tmp_path: Path) -> None:
    path = eval_archive(tmp_path / "log.eval", b" " * 3_000_000)
    content = path.read_bytes().replace(struct.pack("<I", 3_000_000), struct.pack("<I", 10))
    path.write_bytes(content)
    assert "unpacks to more than" in refused(path, ReadOptions(max_bytes=2_000_000))
    assert "damaged" in refused(path)


def test_an_entry_that_unpacks_to_thousands_of_times_its_size_is_refused(tmp_path: Path) -> None:
    packed = zstd.compress(b" " * 50_000_000)
    assert len(packed) * 2_000 < 50_000_000
    path = tmp_path / "log.eval"
    path.write_bytes(zip_of("header.json", packed, b" " * 50_000_000, method=93))
    assert "more than is read of an entry of its size" in refused(path)


def zip_of(name: str, packed: bytes, content: bytes, *, method: int, flags: int = 0) -> bytes:
    """A zip archive with one entry, also in ways that zipfile does not write."""
    fields = (flags, method, 0, 0, zlib.crc32(content), len(packed), len(content), len(name), 0)
    local = b"PK\x03\x04" + struct.pack("<HHHHHIIIHH", 20, *fields) + name.encode() + packed
    central = b"PK\x01\x02" + struct.pack("<HHHHHHIIIHHHHHII", 20, 20, *fields, 0, 0, 0, 0, 0) + name.encode()
    return local + central + b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, 1, 1, len(central), len(local), 0)


def test_zstandard_in_several_frames_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(zip_of("x", zstd.compress(b"one ") + zstd.compress(b"two"), b"one two", method=93))
    with Archive(path, ReadOptions()) as archive:
        assert archive.read("x") == b"one two"


@pytest.mark.parametrize(
    ("method", "flags", "packed", "says"),
    [
        (0, 1, b"abc", "is encrypted"),
        (12, 0, b"abc", "method 12, which is not known"),
        (0, 0, b"abd", "size or checksum"),
        (8, 0, b"\xff\xff", "is damaged"),
        (93, 0, b"\xff\xff", "is damaged"),
        (93, 0, zstd.compress(b"abc")[:-3], "is damaged"),
        (8, 0, b"", "is damaged"),
    ],
)
def test_a_damaged_entry_is_refused(tmp_path: Path, method: int, flags: int, packed: bytes, says: str) -> None:
    path = tmp_path / "log.eval"
    path.write_bytes(zip_of("header.json", packed, b"abc", method=method, flags=flags))
    assert says in refused(path)


@pytest.mark.parametrize("large", [False, True])
def test_a_directory_that_would_fill_the_memory_is_refused_unread(tmp_path: Path, large: bool) -> None:
    end = b"PK\x05\x06" + struct.pack("<HHHHIIH", 0, 0, 1, 1, 0xFFFFFFFF if large else 100_000_000, 0, 0)
    if large:
        record = b"PK\x06\x06" + struct.pack("<QHHIIQQQQ", 44, 45, 45, 0, 0, 1, 1, 1 << 40, 0)
        end = record + b"PK\x06\x07" + struct.pack("<IQI", 0, 0, 1) + end
    path = tmp_path / "log.eval"
    path.write_bytes(b"PK\x03\x04" + bytes(100) + end)
    assert "has a directory of" in refused(path)


def test_entries_that_share_their_bytes_are_bounded_by_what_they_unpack_to_together(tmp_path: Path) -> None:
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("_journal/start.json", json.dumps({"eval": {"task": "t"}}))
        for number in range(40):
            file.writestr(f"_journal/summaries/{number}.json", b"[" + b" " * 100_000 + b"]")
    assert "unpacks to more than" in refused(path, ReadOptions(max_bytes=2_000_000))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
@EVERY
def test_no_mutation_of_a_sample_raises_anything_but_a_read_error(
    tmp_path: Path, name: str, data: st.DataObject
) -> None:
    content = bytearray(FILES[name].read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(content) - 1))
        length = data.draw(st.integers(0, 40))
        content[place : place + length] = data.draw(st.binary(max_size=12))
    path = tmp_path / f"mutated{FILES[name].suffix}"
    path.write_bytes(content or b"x")
    try:
        read_file(path)
    except ReadError as error:
        assert "Error:" not in str(error).partition("cannot be read as")[2]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
@pytest.mark.parametrize("name", [name for name in FILES if not name.startswith("inspect ")])
def test_no_other_value_in_a_sample_raises_anything_but_a_read_error(
    tmp_path: Path, name: str, data: st.DataObject
) -> None:
    source = FILES[name]
    lines = source.suffix == ".jsonl"
    document = (
        [json.loads(line) for line in source.read_text().splitlines()] if lines else json.loads(source.read_text())
    )
    for _ in range(data.draw(st.integers(1, 3))):
        place = document
        while True:
            keys = sorted(place) if isinstance(place, dict) else range(len(place))
            key = data.draw(st.sampled_from(list(keys)))
            if not place[key] or not isinstance(place[key], dict | list) or data.draw(st.integers(0, 3)) == 0:
                break
            place = place[key]
        place[key] = data.draw(JSON)
        if not document:
            break
    text = io.StringIO()
    for item in document if lines else [document]:
        text.write(json.dumps(item) + "\n")
    path = tmp_path / source.name
    path.write_text(text.getvalue())
    try:
        results = read_file(path)
    except ReadError as error:
        assert "Error:" not in str(error).partition("cannot be read as")[2]
    else:
        assert all(trial.score is None or abs(trial.score) < float("inf") for trial in results.trials)
