"""Mutated samples of every format: whatever became of them, they are read, or refused with an error of ours.

`make fuzz` runs this for a time instead of for a number of examples: FUZZ_SECONDS says how long.
"""

from __future__ import annotations

import math
import os
import random
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from repeat_eval.errors import UserError
from repeat_eval.readers import FORMATS, Format, ReadError, ReadOptions, collect, format_of
from repeat_eval.records.trial import OUTCOMES

SAMPLES = Path(__file__).parent / "samples"
SECONDS = float(os.environ.get("FUZZ_SECONDS", "0"))
LARGEST = 200_000
ROWS = {
    "rows.csv": b"case,passed,score,repetition,duration\na,true,0.5,1,1.5\na,false,,2,\n",
    "rows.jsonl": b'{"case": "a", "passed": true, "score": 1}\n{"case": "b", "outcome": "error", "error": "x"}\n',
    "ours.csv": b"case,repetition,outcome,error_kind,score,duration,cost,tokens_input,tokens_output,message,output,"
    b"started\n"
    b"'=a,1,error,crash,-0.5,1.5,0.1,1,2,'-m,\"a\nb\",2026-05-01T10:00:00Z\n",
    "ours.json": b'{"reportFormat": "CTRF", "results": {"tool": {"name": "repeat-eval"}, "summary": {"tests": 1}, '
    b'"tests": ['
    b'{"name": "a", "status": "failed", "extra": {"asked": 3}, "retryAttempts": [{"attempt": 1, "status": "other", '
    b'"duration": 5, "extra": {"errorKind": "judge", "score": 1, "turns": 2, "cached": true, "tokensInput": 3}}]}]}}',
    "tau.json": b'[{"task_id": 0, "reward": 1.0, "info": {"error": null}, "traj": [], "trial": 0}]',
}
SPLICES = (
    b"", b"\0", b"\xff", b"\xed\xa0\x80", b"\\ud800", b"<", b">", b"&x;", b"]]>", b"<!DOCTYPE a []>", b"{", b"}", b"[",
    b"[" * 2_000, b"NaN", b"-Infinity", b"1e999", b"-1", b"9" * 400, b"null", b"true", b'""', b'"', b"\n", b",", b"0",
    b"PK\x03\x04", b"\xfe\xff", b"{}", b"[]", b'[{"a": 1}]', b"1.5", b'"x"',
)  # fmt: skip


def contents() -> dict[str, bytes]:
    files = [path for path in sorted(SAMPLES.rglob("*")) if path.is_file() and path.suffix not in (".md", ".py")]
    found = {str(path.relative_to(SAMPLES)): path.read_bytes() for path in files}
    return ROWS | {name: data for name, data in found.items() if len(data) <= LARGEST and "expected" not in name}


CONTENTS = contents()
NAMES = {candidate.name for candidate in FORMATS if candidate.name != "run"}


@st.composite
def mutated(draw: st.DrawFn) -> tuple[str, bytes]:
    """A sample after a few changes: cuts, repeats, splices, and values of JSON in place of others."""
    name = draw(st.sampled_from(sorted(CONTENTS)))
    data = CONTENTS[name]
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, max(0, len(data) - 1)))
        length = draw(st.integers(0, 40))
        kind = draw(st.sampled_from(["splice", "cut", "repeat", "end", "value", "value"]))
        if kind == "splice":
            data = data[:place] + draw(st.sampled_from(SPLICES) | st.binary(max_size=4)) + data[place + length :]
        elif kind == "cut":
            data = data[:place] + data[place + length :]
        elif kind == "repeat":
            data = data[: place + length] + data[place:]
        elif kind == "end":
            data = data[:place]
        else:
            data = with_another_value(data, place, draw(st.sampled_from(SPLICES)))
    return name, data


def with_another_value(data: bytes, place: int, value: bytes) -> bytes:
    """The JSON value after the next key is another one: the file stays JSON and has an unexpected shape."""
    start = data.find(b'":', place)
    if start < 0:
        return data
    ends = [found for mark in (b",", b"}", b"\n") if (found := data.find(mark, start)) >= 0]
    return data[: start + 2] + value + data[min(ends, default=len(data)) :]


def property_of(check: Callable[[str, bytes, str | None, str], None], examples: int) -> Callable[[], None]:
    """`check` for many mutated files, as they are or with a format that is forced."""
    forced = st.none() | st.sampled_from(sorted(NAMES))
    duplicates = st.sampled_from(["ask", "repeats", "retries", "error"])

    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate, Phase.shrink),
    )
    @given(mutated(), forced, duplicates)
    def checked(file: tuple[str, bytes], form: str | None, equal: str) -> None:
        check(*file, form, equal)

    return checked


def format_or_none(path: Path, options: ReadOptions) -> Format | None:
    try:
        return format_of(path, options)
    except ReadError:
        return None


def read_or_refused(name: str, data: bytes, form: str | None, equal: str) -> None:
    """The reader itself, without the net below it, raises nothing but our own error, and what it reads is sound."""
    with TemporaryDirectory(prefix="repeat-eval-fuzz-") as folder:
        path = Path(folder) / Path(name).name
        path.write_bytes(data)
        options = ReadOptions(duplicates=equal, format=form)  # type: ignore[arg-type]
        found = format_or_none(path, options)
        if found is None or found.name == "run":
            return
        try:
            results = found.read(path, options)
        except ReadError as error:
            assert error.problems
            assert all(len(problem.message) < 2_000 for problem in error.problems)
            str(error).encode()
            return
        keys = [(trial.case, trial.repetition) for trial in results.trials if trial.repetition is not None]
        assert len(set(keys)) == len(keys)
        for trial in results.trials:
            assert trial.outcome in OUTCOMES
            assert (trial.error_kind is not None) == (trial.outcome == "error")
            assert trial.score is None or math.isfinite(trial.score)
            assert all(figure is None or 0 <= figure < math.inf for figure in (trial.duration, trial.cost))
            f"{trial.case}{trial.message}".encode()
        "".join(results.warnings).encode()
        try:
            collected = collect([path], options=options)
        except UserError:
            return
        assert len({trial.key for trial in collected.trials}) == len(collected.trials)


def test_the_samples_cover_every_format() -> None:
    found = set()
    with TemporaryDirectory() as folder:
        for name, data in CONTENTS.items():
            path = Path(folder) / Path(name).name
            path.write_bytes(data)
            form = format_or_none(path, ReadOptions())
            found |= {form.name} if form is not None else set()
    assert found >= NAMES


def test_a_mutated_file_is_read_or_refused() -> None:
    property_of(read_or_refused, 150)()


@pytest.mark.skipif(not SECONDS, reason="make fuzz does this")
def test_mutated_files_are_read_or_refused_for_as_long_as_is_wanted() -> None:
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        # A seed of its own each time; what fails is shown as an example, whatever the seed was.
        seed(random.SystemRandom().randrange(2**32))(property_of(read_or_refused, 300))()
