"""Joining shards: the run that they make, and what does not belong together."""

from __future__ import annotations

import random
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from repeat_eval.errors import UserError
from repeat_eval.execution.shards import shard_of_command, shard_of_suite
from repeat_eval.records.merging import Part, merge
from repeat_eval.records.run import CasePlan, Run, RunFooter, RunHeader
from repeat_eval.records.trial import Trial

SUITE = RunHeader(
    suite="refunds",
    commit="a" * 40,
    repeats=4,
    seed=7,
    cases=(CasePlan(id="b", asked=4, threshold="0.8"), CasePlan(id="a", asked=3)),
    target_fingerprint="t1",
    settings={"threshold": "0.8"},
    started="2026-01-01T00:00:00Z",
)
COMMAND = RunHeader(suite="command", source="command", repeats=6, command="make {results}")


def trial(case: str, repetition: int, outcome: Any = "passed", **more: Any) -> Trial:
    kind = "crash" if outcome == "error" else None
    return Trial(case=case, repetition=repetition, outcome=outcome, error_kind=kind, **more)


def shards(header: RunHeader, of: int, trials: list[Trial], **footer: Any) -> list[Part]:
    """Every trial in the shard that it belongs to."""
    parts = []
    for index in range(1, of + 1):
        if header.source == "command":
            shard = shard_of_command(header.repeats, index, of)
            mine = [one for one in trials if (one.repetition - 1) % header.repeats + 1 in shard.repetitions]
        else:
            shard = shard_of_suite(header.cases, index, of)
            mine = [one for one in trials if one.repetition in shard.trials.get(one.case, ())]
        end = RunFooter(complete=True, trials=len(mine), **footer)
        run = Run(header=msgspec.structs.replace(header, shard=shard), trials=tuple(mine), footer=end)
        parts.append(Part(f"shard-{index}.jsonl", run))
    return parts


def changed(part: Part, **changes: Any) -> Part:
    return Part(part.name, msgspec.structs.replace(part.run, **changes))


def with_header(part: Part, **changes: Any) -> Part:
    return changed(part, header=msgspec.structs.replace(part.run.header, **changes))


def all_trials(header: RunHeader = SUITE) -> list[Trial]:
    place = {plan.id: position for position, plan in enumerate(header.cases)}
    trials = [trial(plan.id, number) for plan in header.cases for number in range(1, plan.asked + 1)]
    return sorted(trials, key=lambda one: (one.repetition, place[one.case]))


plans = st.dictionaries(st.text(min_size=1, max_size=4), st.integers(1, 9), min_size=1, max_size=8)


@given(plans, st.integers(1, 9), st.randoms(use_true_random=False))
def test_shards_make_the_whole_run_in_whatever_order_they_come(
    asked: dict[str, int], of: int, chance: random.Random
) -> None:
    cases = tuple(CasePlan(id=case, asked=count) for case, count in asked.items())
    header = msgspec.structs.replace(SUITE, cases=cases)
    outcomes = ("passed", "failed", "error", "skipped")
    done = [
        trial(one.case, one.repetition, chance.choice(outcomes), duration=chance.random()) for one in all_trials(header)
    ]
    parts = shards(header, of, done)
    chance.shuffle(parts)
    run = merge(parts)
    assert msgspec.json.encode(run.header) == msgspec.json.encode(header)
    assert [msgspec.json.encode(one) for one in run.trials] == [msgspec.json.encode(one) for one in done]
    assert run.footer == RunFooter(complete=True, trials=len(done))


def test_a_missing_shard_is_named_and_the_run_is_incomplete() -> None:
    parts = shards(SUITE, 3, all_trials())
    run = merge([parts[2], parts[0]])
    assert run.footer is not None
    assert run.footer.missing == ("shard 2 of 3 is missing: 2 of 7 trials",)
    assert merge([parts[1]]).footer.missing == ("shards 1, 3 of 3 are missing: 5 of 7 trials",)  # type: ignore[union-attr]


def test_a_shard_that_was_stopped_is_named_with_the_reason() -> None:
    parts = shards(SUITE, 2, all_trials())
    parts[1] = changed(parts[1], footer=RunFooter(complete=False, trials=1, stopped="max-cost"))
    footer = merge(parts).footer
    assert footer is not None
    assert (footer.complete, footer.stopped) == (False, "max-cost")
    assert footer.missing == ("shard 2 of 2 was not finished: max-cost was reached",)
    killed = merge([parts[0], changed(parts[1], footer=None)]).footer
    assert killed is not None
    assert killed.stopped == "crashed"


def test_the_same_shard_may_be_there_twice() -> None:
    parts = shards(SUITE, 3, all_trials())
    assert merge([*parts, parts[1]]) == merge(parts)


def test_a_resumed_shard_takes_the_place_of_what_it_was_before() -> None:
    parts = shards(SUITE, 2, all_trials())
    first = parts[0].run.trials[0]
    error = trial(first.case, first.repetition, "error")
    before = changed(parts[0], trials=(error,), footer=RunFooter(complete=False, trials=1, stopped="time-budget"))
    assert merge([before, *parts]) == merge(parts) == merge([*parts, before])


def test_overlapping_trials_that_differ_are_refused() -> None:
    parts = shards(SUITE, 2, all_trials())
    other = changed(parts[0], trials=tuple(msgspec.structs.replace(one, duration=9.0) for one in parts[0].run.trials))
    with pytest.raises(UserError, match=r"trial 1 of case 'b' is another one than in shard-1\.jsonl") as raised:
        merge([*parts, Part("again.jsonl", other.run)])
    assert {problem.file for problem in raised.value.problems} == {"again.jsonl"}
    assert len(raised.value.problems) == len(parts[0].run.trials)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"suite": "other"}, r"suite is 'other' here and 'refunds' in shard-1\.jsonl"),
        ({"commit": None}, "commit is unknown here and 'aaaa"),
        ({"target_fingerprint": "t2"}, "target fingerprint is 't2'"),
        ({"seed": 8}, "seed is 8 here and 7"),
        ({"settings": {"threshold": "0.7"}}, "settings is {'threshold': '0.7'}"),
        ({"tool_version": "9"}, "tool version is '9'"),
        ({"cases": SUITE.cases[:1]}, r"the list of cases is 'in its order' here and \['a'\]"),
        (
            {"cases": (msgspec.structs.replace(SUITE.cases[0], threshold="0.7"), SUITE.cases[1])},
            "threshold of case 'b' is '0.7' here and '0.8'",
        ),
        (
            {"cases": (msgspec.structs.replace(SUITE.cases[0], case_fingerprint="x"), SUITE.cases[1])},
            "case fingerprint of case 'b' is 'x' here and unknown",
        ),
        ({"shard": shard_of_suite(SUITE.cases, 2, 3)}, r"is shard 2 of 3, and shard-1\.jsonl is shard 1 of 2"),
        ({"shard": shard_of_suite(SUITE.cases, 2, 2, {"a": 9.0, "b": 1.0})}, "were --durations the same"),
    ],
)
def test_files_that_do_not_belong_together_are_refused(changes: dict[str, Any], reason: str) -> None:
    parts = shards(SUITE, 2, all_trials())
    parts[1] = with_header(parts[1], **changes)
    with pytest.raises(UserError, match=reason) as raised:
        merge(parts)
    assert raised.value.problems[0].file == "shard-2.jsonl"


def test_a_whole_run_is_no_shard() -> None:
    parts = shards(SUITE, 1, all_trials())
    with pytest.raises(UserError, match="is a whole run"):
        merge([with_header(parts[0], shard=UNSET)])


def test_a_trial_that_the_shard_was_not_asked_for_is_refused() -> None:
    parts = shards(SUITE, 2, all_trials())
    foreign = parts[1].run.trials[0]
    parts[0] = changed(parts[0], trials=(*parts[0].run.trials, foreign))
    with pytest.raises(UserError, match="is not one of shard 1 of 2"):
        merge(parts)


def test_starting_times_and_warnings_of_all_shards_count() -> None:
    parts = shards(SUITE, 2, all_trials())
    parts[1] = with_header(parts[1], started="2025-12-31T00:00:00Z", warnings=("w",), replayed=True)
    header = merge(parts).header
    assert (header.started, header.warnings, header.replayed) == ("2025-12-31T00:00:00Z", ("w",), True)


def test_changed_recordings_that_any_shard_met_are_told_once() -> None:
    parts = shards(SUITE, 3, all_trials())
    assert merge(parts).header.recordings_changed is UNSET
    parts[1:] = [with_header(part, recordings_changed=("2 recordings answer otherwise",)) for part in parts[1:]]
    assert merge(parts).header.recordings_changed == ("2 recordings answer otherwise",)


def test_a_run_of_the_command_without_results_is_an_error_of_the_cases_that_other_shards_know() -> None:
    done = [trial("t", number) for number in range(1, 7) if number != 2]
    parts = shards(COMMAND, 3, done)
    footer = RunFooter(complete=True, trials=1, without={2: "the command left no results (exit code 1)"})
    parts[1] = changed(parts[1], footer=footer)
    run = merge(parts)
    assert [(one.repetition, one.outcome, one.error_kind) for one in run.trials if one.outcome != "passed"] == [
        (2, "error", "harness")
    ]
    assert run.footer == RunFooter(complete=True, trials=6)


def test_runs_that_all_left_no_results_are_missing() -> None:
    parts = [
        changed(part, footer=RunFooter(complete=True, trials=0, without=dict.fromkeys(part.shard.repetitions, "gone")))
        for part in shards(COMMAND, 2, [])
    ]
    footer = merge(parts).footer
    assert footer is not None
    assert footer.missing == tuple(f"repetition {number}: gone" for number in range(1, 7))


def test_trials_of_one_run_that_holds_a_case_several_times_stay_together() -> None:
    done = [trial("t", number) for number in (1, 7, 2, 8, 3, 9, 4, 10, 5, 11, 6, 12)]
    parts = shards(COMMAND, 4, done)
    assert [one.repetition for one in merge(parts[::-1]).trials] == [one.repetition for one in done]


def test_missing_runs_of_a_command_are_counted() -> None:
    parts = shards(COMMAND, 3, [trial("t", number) for number in range(1, 7)])
    footer = merge(parts[:2]).footer
    assert footer is not None
    assert footer.missing == ("shard 3 of 3 is missing: 2 of 6 runs of the command",)
