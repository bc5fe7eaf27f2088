"""The loop of trials: so many at once, every one recorded, stopped by budgets and by people."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from execution_targets import Scripted, planned

from repeat_eval.execution.run_trials import run_trials, started
from repeat_eval.execution.stopping import Stop
from repeat_eval.records.trial import Trial
from repeat_eval.targets.base import Call, TargetError


def run(target: Scripted, asked: dict[str, int], *, workers: int = 4, stop: Stop | None = None, **more: Any) -> Any:
    trials: list[Trial] = []
    coroutine = run_trials(
        planned(target, asked), workers=workers, seed=7, stop=stop or Stop(), on_trial=trials.append, **more
    )
    asyncio.run(coroutine)
    return trials


def test_every_trial_is_run_once_and_recorded() -> None:
    target = Scripted()
    trials = run(target, {"a": 3, "b": 2})
    assert sorted(trial.key for trial in trials) == [("a", 1), ("a", 2), ("a", 3), ("b", 1), ("b", 2)]
    assert sorted(target.calls) == sorted(trial.key for trial in trials)
    assert all(trial.outcome == "passed" and trial.started and trial.duration is not None for trial in trials)


@pytest.mark.parametrize("workers", [1, 3, 50])
def test_so_many_trials_are_in_flight_and_no_more(workers: int) -> None:
    target = Scripted()
    run(target, {"a": 10, "b": 10}, workers=workers)
    assert target.most_open == min(workers, 20)


def test_trials_of_a_case_overlap_only_with_spare_workers_and_never_in_sequence() -> None:
    enough, few, ordered = Scripted(), Scripted(), Scripted()
    run(enough, dict.fromkeys("abcdefghijklmnopqrst", 4), workers=2)
    run(few, {"a": 8}, workers=4)
    run(ordered, {"a": 8, "b": 8}, workers=4, sequential=True)
    assert enough.most_open_of_one_case == 1
    assert few.most_open_of_one_case == 4
    assert ordered.most_open_of_one_case == 1


def test_done_trials_are_not_run_again_and_those_of_unknown_cases_are_ignored() -> None:
    target = Scripted()
    run(target, {"a": 3}, done={("a", 1), ("a", 2), ("gone", 1)})
    assert target.calls == [("a", 3)]


def test_every_trial_has_a_seed_of_its_own_which_is_the_same_in_the_next_run() -> None:
    seeds: list[list[int]] = [[], []]
    for kept in seeds:
        run(Scripted(behave=lambda call, kept=kept: kept.append(call.seed) or "fine"), {"a": 5, "b": 5}, workers=1)
    assert seeds[0] == seeds[1]
    assert len(set(seeds[0])) == 10


def test_no_trial_starts_once_the_money_is_spent() -> None:
    target, stop = Scripted(cost=0.25), Stop(max_cost=1.0)
    trials = run(target, {"a": 10, "b": 10}, workers=1, stop=stop)
    assert len(trials) == 4
    assert (stop.reason, stop.spent, stop.costs_known) == ("max-cost", 1.0, 4)


def test_those_in_flight_are_waited_for_when_the_money_is_spent() -> None:
    target, stop = Scripted(cost=1.0), Stop(max_cost=1.0)
    trials = run(target, {"a": 10}, workers=3, stop=stop)
    assert len(trials) == len(target.calls) == 3


def test_unknown_costs_spend_nothing() -> None:
    stop = Stop(max_cost=0.01)
    assert len(run(Scripted(cost=None), {"a": 5}, stop=stop)) == 5
    assert (stop.reason, stop.costs_known) == (None, 0)


def test_no_trial_starts_once_the_time_is_used_up() -> None:
    stop = Stop()
    triggered = asyncio.Event()
    stop.on_trigger(triggered.set)

    async def slow(call: Call) -> str:
        await triggered.wait()
        return "late, but there"

    trials = run(Scripted(behave=slow), {"a": 10}, workers=2, stop=stop, time_budget=0.01)
    assert stop.reason == "time-budget"
    assert [trial.output for trial in trials] == ["late, but there"] * 2


def test_an_interruption_waits_for_those_in_flight() -> None:
    stop = Stop()

    async def ends_soon(call: Call) -> str:
        if call.repetition == 2:
            stop.interrupt()
        for _ in range(20):
            await asyncio.sleep(0)
        return "in time"

    trials = run(Scripted(behave=ends_soon), {"a": 10}, workers=2, stop=stop)
    assert stop.reason == "interrupted"
    assert [trial.output for trial in trials] == ["in time"] * 2


def test_after_an_interruption_trials_that_do_not_end_are_given_up_and_stay_missing() -> None:
    stop = Stop()

    async def hangs(call: Call) -> str:
        if call.repetition == 1:
            return "quick"
        stop.interrupt()
        await asyncio.Event().wait()
        return "never"

    target = Scripted(behave=hangs)
    trials = run(target, {"a": 5}, workers=2, stop=stop, grace=0.01)
    assert [trial.key for trial in trials] == [("a", 1)]
    assert target.open.total() == 0


def test_an_interruption_holds_even_after_a_budget_was_used_up() -> None:
    stop = Stop()
    stop.trigger("max-cost")
    stop.trigger("time-budget")
    assert stop.reason == "max-cost"
    stop.interrupt()
    assert stop.reason == "interrupted"


def test_what_the_target_raises_is_an_error_of_that_trial_alone() -> None:
    def fails(call: Call) -> str:
        if call.repetition == 2:
            raise TargetError("provider", "429 Too Many Requests\nmore text")
        return "fine"

    trials = {trial.repetition: trial for trial in run(Scripted(behave=fails), {"a": 3})}
    assert [trials[n].outcome for n in (1, 2, 3)] == ["passed", "error", "passed"]
    assert (trials[2].error_kind, trials[2].message) == ("provider", "429 Too Many Requests")


def test_a_fault_of_our_own_ends_the_run_at_once() -> None:
    def full(trial: Trial) -> None:
        raise OSError("no space left")

    with pytest.raises(OSError, match="no space left"):
        asyncio.run(run_trials(planned(Scripted(), {"a": 50}), workers=4, seed=0, stop=Stop(), on_trial=full))


def test_long_answers_are_cut_but_their_hash_is_of_the_whole() -> None:
    one, other = (run(Scripted(behave=lambda call, end=end: "x" * 30_000 + end), {"a": 1})[0] for end in "ab")
    assert len(one.output) < 20_100 and one.output == other.output
    assert one.output_sha256 != other.output_sha256


def test_every_target_is_closed_whatever_happens() -> None:
    targets = [Scripted(), Scripted()]

    async def use() -> None:
        async with started(targets):
            raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError, match="in the middle"):
        asyncio.run(use())
    assert [(target.started, target.closed) for target in targets] == [(1, 1), (1, 1)]
