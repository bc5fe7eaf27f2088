"""What the store keeps: counts, bounded; whatever it holds, reading it does no harm."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repeat_eval.errors import UserError
from repeat_eval.records.stored import MAX_BYTES, MAX_RUNS, Store, StoredCase, StoredRun, decode, encode, run_of_stored


def stored(run: int = 1, *, attempt: int = 1, day: int | None = None, **more: Any) -> StoredRun:
    values: dict[str, Any] = {
        "suite": "shop",
        "commit": f"{run:040x}",
        "started": f"2026-{1 + (day or run) // 28 % 12:02d}-{1 + (day or run) % 28:02d}T10:00:00Z",
        "verdict": "pass",
        "pass_rate": 0.9,
        "interval": (0.8, 0.95),
        "cases": (StoredCase(id="greets", asked=10, passed=9, failed=1),),
    }
    return StoredRun(run=run, attempt=attempt, **{**values, **more})


counts = st.integers(0, 30)
cases = st.builds(
    StoredCase,
    id=st.text(min_size=1, max_size=20),
    asked=st.integers(1, 50),
    passed=counts,
    failed=counts,
    errors=counts,
    skipped=counts,
)


@given(st.lists(cases, max_size=5))
def test_what_is_written_is_read_again(some: list[StoredCase]) -> None:
    store = Store(runs=(stored(cases=tuple(some)),))
    assert decode(encode(store).encode()) == store


@given(st.lists(cases, max_size=5))
def test_a_stored_run_is_a_run_with_the_same_counts(some: list[StoredCase]) -> None:
    run = run_of_stored(stored(cases=tuple(some)))
    for outcome, field in (("passed", "passed"), ("failed", "failed"), ("error", "errors"), ("skipped", "skipped")):
        assert sum(trial.outcome == outcome for trial in run.trials) == sum(getattr(case, field) for case in some)
    assert run.complete


def test_as_many_trials_have_a_duration_and_a_cost_as_had_one() -> None:
    case = StoredCase(id="a", asked=5, passed=2, failed=2, errors=1, seconds=6.0, timed=3, cost=0.5, paid=1)
    trials = run_of_stored(stored(cases=(case,))).trials
    assert [trial.duration for trial in trials] == [2.0, 2.0, 2.0, None, None]
    assert [trial.cost for trial in trials] == [0.5, None, None, None, None]


def test_the_oldest_runs_make_room() -> None:
    wide = tuple(StoredCase(id=f"case {number} " + "x" * 100, asked=10, passed=10) for number in range(300))
    text = encode(Store(runs=tuple(stored(number, cases=wide) for number in range(1, 60))))
    assert len(text.encode()) <= MAX_BYTES
    kept = decode(text.encode()).runs
    assert 5 < len(kept) < 59
    assert kept[-1].run == 59
    assert len(decode(encode(Store(runs=tuple(stored(n) for n in range(1, 600)))).encode()).runs) == MAX_RUNS


def test_a_run_that_is_too_large_by_itself_is_refused() -> None:
    huge = tuple(StoredCase(id=f"{number}" + "x" * 500, asked=10) for number in range(2000))
    with pytest.raises(UserError, match="does not fit"):
        encode(Store(runs=(stored(cases=huge),)))


def test_another_attempt_takes_the_place_of_the_one_before() -> None:
    store = Store(runs=(stored(1), stored(2))).with_run(stored(1, attempt=2, verdict="fail"))
    assert [(run.run, run.attempt) for run in store.runs] == [(1, 2), (2, 1)]
    assert store.with_run(stored(1)) == store


def test_a_run_that_ends_late_stands_where_it_started() -> None:
    store = Store(runs=(stored(1, day=1), stored(3, day=3))).with_run(stored(2, day=2))
    assert [run.run for run in store.runs] == [1, 2, 3]


GOOD = json.loads(encode(Store(runs=(stored(),))))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"schema": "repeat-eval/store/2"}, "newer"),
        ({"runs": [{**GOOD["runs"][0], "commit": "main"}]}, "not one of"),
        ({"runs": [{**GOOD["runs"][0], "started": "](http://x)"}]}, "not one of"),
        ({"runs": [{**GOOD["runs"][0], "pass_rate": 7}]}, "not one of"),
        ({"runs": [{**GOOD["runs"][0], "cases": [{"id": "a", "asked": 1, "passed": -1}]}]}, "not one of"),
        ({"runs": [{**GOOD["runs"][0], "cases": [{"id": "a", "asked": 1, "passed": 99_999}] * 9}]}, "more trials"),
    ],
)
def test_what_cannot_be_is_refused(change: dict[str, Any], words: str) -> None:
    with pytest.raises(UserError, match=words):
        decode(json.dumps({**GOOD, **change}).encode())


@given(st.binary(max_size=200) | st.just(b"[" * 100_000) | st.just(b" " * (MAX_BYTES + 1)))
def test_no_bytes_bring_the_reader_down(data: bytes) -> None:
    with pytest.raises(UserError):
        decode(data)
