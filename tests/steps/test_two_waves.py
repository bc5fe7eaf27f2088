"""A suite beside base in two waves: a first look at every case, and fresh trials of what it suspects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import looking_twice
import msgspec
import pytest
from looking_twice import CASES, Asked, Told, broken, looked, once, suite

from repeat_eval import Case, Suite
from repeat_eval.cassettes.store import Store
from repeat_eval.errors import UserError
from repeat_eval.execution.stopping import Stop
from repeat_eval.records.journal import read_run
from repeat_eval.records.run import CasePlan, Run, RunHeader
from repeat_eval.records.trial import Trial
from repeat_eval.records.two_looks import TwoLooks
from repeat_eval.statistics.second_look import SecondLookSettings
from repeat_eval.steps.finished import Finished
from repeat_eval.steps.read_results import compared
from repeat_eval.steps.recording import Recording
from repeat_eval.steps.request import Request
from repeat_eval.steps.run_suite import run_suite
from repeat_eval.steps.second_look import after_first_look, why_fixed
from repeat_eval.suite.settings import resolve, settings_of
from repeat_eval.targets.function_target import FunctionTarget


def run(head: Asked, base: Asked | None = None, **more: Any) -> Finished:
    """Run head beside base; a base that nobody names passes everything."""
    return looking_twice.run(head, base or Asked(), **more)


def looks_of(found: Run) -> TwoLooks:
    assert found.header.second_look
    return found.header.second_look


def outcomes(found: Run) -> dict[tuple[str, int], str]:
    return {trial.key: trial.outcome for trial in found.trials}


def test_where_nothing_is_suspected_every_case_is_asked_three_times_a_side_and_never_again() -> None:
    head, base = Asked(), Asked()
    finished = run(head, base)
    assert set(head.by_case().values()) == set(base.by_case().values()) == {3}
    assert finished.report.verdict == "pass"
    assert looked(finished.report).calls.trials == len(head.calls) + len(base.calls) == 48
    assert not finished.recording.left


def test_a_suspect_is_run_again_on_both_sides_with_repetitions_and_seeds_of_their_own() -> None:
    head, base = Asked(once("case 3")), Asked()
    finished = run(head, base)
    wanted = {case: 23 if case == "case 3" else 3 for case in CASES}
    assert dict(head.by_case()) == dict(base.by_case()) == wanted
    assert sorted(number for case, number in head.calls if case == "case 3") == list(range(1, 24))
    seeds = [*head.seeds.values(), *base.seeds.values()]
    assert len(set(seeds)) == len(seeds)
    look = looked(finished.report)
    assert [(case.id, case.outcome) for case in look.suspects] == [("case 3", "not confirmed")]
    assert look.calls.calls == len(head.calls) + len(base.calls) == 48 + 40


def test_a_case_is_told_how_often_it_is_asked_by_then() -> None:
    head = Asked(once("case 3"))
    run(head)
    assert head.repeats["case 3", 1] == 3
    assert head.repeats["case 3", 4] == head.repeats["case 3", 23] == 23
    assert head.repeats["case 4", 3] == 3


def test_the_first_look_ends_before_any_fresh_trial_begins() -> None:
    head, base = Asked(broken("case 2")), Asked()
    run(head, base)
    for side in (head, base):
        numbers = [number > 3 for _, number in side.calls]
        assert numbers == sorted(numbers)


def test_a_broken_case_is_named_by_its_fresh_trials() -> None:
    finished = run(Asked(broken("case 2")))
    look = looked(finished.report)
    assert [case.id for case in look.confirmed] == ["case 2"]
    assert (look.confirmed[0].fresh_head.passed, look.confirmed[0].fresh_base.passed) == (0, 20)
    assert finished.report.verdict == "fail"


def test_after_an_alarm_every_other_case_is_run_again_seven_times_a_side() -> None:
    head, base = Asked(broken(*CASES[:4])), Asked()
    finished = run(head, base)
    assert sorted(head.by_case().values()) == [10] * 5 + [23] * 3
    assert looked(finished.report).down.alarm
    assert looked(finished.report).calls.trials == len(head.calls) + len(base.calls)


def test_no_more_suspects_are_run_again_than_the_cap_says() -> None:
    head = Asked(broken(*CASES[:4]))
    finished = run(head, of=suite(second_look={"cap": 1, "alarm": 0}))
    assert sorted(head.by_case().values()) == [3] * 7 + [23]
    assert looked(finished.report).not_rerun == CASES[1:4]


def test_no_case_costs_more_than_the_line_before_the_start_says() -> None:
    told, head, base = Told(), Asked(broken(*CASES)), Asked()
    run(head, base, told=told)
    assert told.lines[0] == (
        "second look: 48 trials first, 3 a side of a case, then 20 fresh ones a side of each suspect; at most 168 "
        "trials, 238 if the whole suite raises an alarm"
    )
    assert len(head.calls) + len(base.calls) == 238


def test_progress_shows_both_waves() -> None:
    told = Told()
    run(Asked(once("case 3")), told=told)
    assert told.lines[1:] == [
        "start 48 trials, 0 done",
        "second look: 1 suspect ('case 3'), 40 fresh trials",
        "start 40 fresh trials, 0 done",
    ]


def test_the_same_seed_runs_the_same_trials_again_whatever_the_workers() -> None:
    found = [run(Asked(broken("case 5", since=2)), workers=workers, seed=11).recording.trials for workers in (1, 4)]
    one, other = [{trial.key: trial.outcome for trial in trials} for trials in found]
    assert one == other


def test_the_order_of_cases_changes_nothing_without_ties() -> None:
    turned = suite(tuple(reversed(CASES)))
    one, other = (looked(run(Asked(broken("case 5")), of=of).report) for of in (suite(), turned))
    assert [case.p2 for case in one.suspects] == [case.p2 for case in other.suspects]
    assert (one.verdict, one.down, one.calls) == (other.verdict, other.down, other.calls)


def test_errors_in_the_fresh_trials_of_a_suspect_make_the_comparison_incomplete() -> None:
    def answer(case: str, repetition: int) -> Any:
        if case == "case 3" and repetition > 3:
            raise RuntimeError("gone")
        return "no" if case == "case 3" and repetition == 1 else "yes"

    finished = run(Asked(answer), retries=0)
    assert looked(finished.report).incomplete
    assert finished.report.verdict == "incomplete"


def test_a_base_that_gives_no_verdict_is_incomplete_and_nothing_is_run_again() -> None:
    def gone(case: str, repetition: int) -> Any:
        raise RuntimeError("gone")

    head = Asked(broken("case 1"))
    finished = run(head, Asked(gone), retries=0)
    assert set(head.by_case().values()) == {3}
    assert finished.report.verdict == "incomplete"


def test_fresh_trials_from_a_cache_are_said() -> None:
    def answer(case: str, repetition: int) -> Any:
        return {"output": "no" if (case, repetition) == ("case 3", 1) else "yes", "cached": repetition > 3}

    report = run(Asked(answer)).report
    assert [text for text in report.warnings if "cache" in text] == [
        "second look: 20 of 20 fresh trials of head were answered by a cache or a recording; what was seen before "
        "confirms nothing"
    ]


@pytest.mark.parametrize(
    ("settings", "options", "asked"),
    [
        ({}, {"repeats": 4}, 4),
        ({"repeats": 4}, {}, 4),
        ({}, {"second_look": "off"}, 10),
        ({"second_look": "off"}, {}, 10),
        ({"second_look": "3+20"}, {"repeats": 4}, 4),
        ({"second_look": "3+20", "repeats": 4}, {}, 3),
        ({"repeats": 4}, {"second_look": "5+20"}, 5),
    ],
    ids=str,
)
def test_fixed_repeats_are_respected(settings: dict[str, Any], options: dict[str, Any], asked: int) -> None:
    head = Asked()
    finished = run(head, of=suite(**settings), **options)
    assert set(head.by_case().values()) == {asked}
    twice = finished.report.comparison is not None and finished.report.comparison.second_look is not None
    assert twice == (asked in (3, 5))


def test_repeats_of_a_single_case_keep_the_suite_at_fixed_repeats() -> None:
    head = Asked(broken("case 3"))
    run(head, of=suite(own={"case 1": 4}))
    assert dict(head.by_case()) == {case: 4 if case == "case 1" else 10 for case in CASES}


def test_where_two_looks_are_asked_for_a_cases_own_repeats_are_its_first_look() -> None:
    head = Asked(broken("case 1"))
    finished = run(head, of=suite(own={"case 1": 6}, second_look={"alarm": 0}))
    assert dict(head.by_case()) == {case: 26 if case == "case 1" else 3 for case in CASES}
    assert looked(finished.report).confirmed[0].first_head.verdicts == 6


def test_a_case_that_any_miss_fails_keeps_its_fixed_repeats_as_a_first_look() -> None:
    made = [
        Case(id=case, input=case, expect=[{"contains": "yes"}], threshold="1.0" if case == CASES[0] else None)
        for case in CASES
    ]
    head, told = Asked(), Told()
    finished = run(head, of=Suite("looks", made), told=told)
    assert head.by_case()[CASES[0]] == 10
    assert {head.by_case()[case] for case in CASES[1:]} == {3}
    assert looked(finished.report).calls.trials == 2 * len(head.calls)
    assert "3 to 10 a side of a case" in told.lines[0]


def test_where_any_miss_fails_every_case_repeats_are_fixed_unless_looks_are_asked_for() -> None:
    head = Asked()
    run(head, of=suite(threshold="1.0"))
    assert set(head.by_case().values()) == {10}
    finished = run(Asked(), of=suite(threshold="1.0"), second_look="3+20")
    assert looked(finished.report).calls.first == 160


def test_five_cases_keep_fixed_repeats_and_whoever_asked_for_two_looks_is_told() -> None:
    told, head = Told(), Asked()
    run(head, of=suite(CASES[:5], second_look="3+20"), told=told)
    assert set(head.by_case().values()) == {10}
    assert told.lines[0] == (
        "no second look: too few cases are run on both sides (6 are needed), so the number of repeats is fixed"
    )


@pytest.mark.parametrize(
    ("options", "suites", "command", "why"),
    [
        ({"second_look": "3+20"}, {}, True, "single cases of a command cannot be run again"),
        ({"second_look": "3+20"}, {}, False, "no base runs beside head"),
        ({}, {"second_look": "3+20"}, False, None),
        ({"second_look": "off"}, {}, True, None),
        ({}, {}, True, None),
    ],
)
def test_whoever_asks_for_looks_that_a_run_cannot_take_is_told_why(
    options: dict[str, Any], suites: dict[str, Any], command: bool, why: str | None
) -> None:
    settings = resolve(("option", settings_of(options)), ("suite", settings_of(suites)))
    told = None if why is None else f"no second look: {why}, so the number of repeats is fixed"
    assert why_fixed(settings, None, command=command) == told


def test_looks_that_could_never_find_anything_are_refused() -> None:
    with pytest.raises(UserError, match=r"second-look: with `fresh: 2` no case can be found regressed"):
        run(Asked(), second_look={"fresh": 2})


def test_a_shard_cannot_look_twice() -> None:
    request = Request(options=settings_of({"second_look": "3+20"}), shard=(1, 2))
    function = FunctionTarget(Asked(), workers=1)
    with pytest.raises(UserError, match=r"--shard and a second look do not go together"):
        run_suite(request, spec=suite()._spec(), function=function, base_function=function)


def test_without_a_base_the_number_of_repeats_is_fixed_unless_looks_are_asked_for() -> None:
    head = Asked()
    report = suite().run(head)
    assert set(head.by_case().values()) == {10}
    assert report.comparison is None


def test_the_python_api_looks_twice_at_two_functions() -> None:
    head, base = Asked(broken("case 2")), Asked()
    report = suite(second_look={"alarm": 0}).run(head, base=base)
    assert [case.id for case in looked(report).confirmed] == ["case 2"]
    assert len(head.calls) == len(base.calls) == 44


# Budgets


def paid(answer: Callable[[str, int], Any], cost: float = 0.01) -> Callable[[str, int], Any]:
    return lambda case, repetition: {"output": answer(case, repetition), "cost": cost}


def test_an_alarm_that_max_cost_does_not_allow_is_switched_off_and_said() -> None:
    told, head = Told(), Asked(paid(broken(*CASES[:4])))
    finished = run(head, Asked(paid(lambda case, repetition: "yes")), max_cost=2.0, told=told)
    assert sorted(head.by_case().values()) == [3] * 5 + [23] * 3
    said = "which would have run 190 fresh trials, and about $1.90 more than the $0.48 spent is over max-cost $2.00"
    assert said in told.lines[-2]
    assert any(said in text for text in finished.report.warnings)


def test_an_alarm_that_max_cost_allows_is_run() -> None:
    head = Asked(paid(broken(*CASES[:4])))
    run(head, Asked(paid(lambda case, repetition: "yes")), max_cost=3.0)
    assert sorted(head.by_case().values()) == [10] * 5 + [23] * 3


def test_a_second_look_that_is_cut_by_max_cost_is_incomplete_and_goes_on_later(tmp_path: Path) -> None:
    answer = paid(once("case 3"))
    cut = run(Asked(answer), Asked(paid(lambda case, repetition: "yes")), max_cost=0.6, out=tmp_path)
    assert cut.report.verdict == "incomplete"
    assert cut.recording.left
    assert {read_run(tmp_path / name).complete for name in ("run.jsonl", "base.jsonl")} == {False}
    head, base = Asked(answer), Asked(paid(lambda case, repetition: "yes"))
    whole = run(head, base, out=tmp_path, resume=True, max_cost=5.0)
    assert whole.report.verdict == "pass"
    assert {case for case, _ in (*head.calls, *base.calls)} == {"case 3"}
    assert min(number for _, number in (*head.calls, *base.calls)) > 3
    assert looked(whole.report).calls.trials == 88


def test_money_that_ends_with_the_first_look_leaves_no_green_verdict(tmp_path: Path) -> None:
    finished = run(
        Asked(paid(once("case 3"))), Asked(paid(lambda case, repetition: "yes")), max_cost=0.48, out=tmp_path, workers=1
    )
    assert len(finished.recording.trials) == 24
    assert finished.report.verdict == "incomplete"


@pytest.mark.parametrize(("budget", "alarm_off"), [(40.0, True), (80.0, False)])
def test_an_alarm_that_the_time_budget_does_not_allow_is_switched_off(budget: float, alarm_off: bool) -> None:
    settings = resolve(("option", settings_of({"time_budget": budget})))
    plans = tuple([CasePlan(id=case, asked=3) for case in CASES])
    looks = TwoLooks.of(SecondLookSettings())
    header = RunHeader(suite="looks", repeats=10, cases=plans, second_look=looks)
    records = []
    for failing in ((), CASES[:4]):
        record = Recording(header, (), None, Request())
        for case in CASES:
            for number in (1, 2, 3):
                record.add(Trial(case=case, repetition=number, outcome="failed" if case in failing else "passed"))
        records.append(record)
    after = after_first_look(records, settings, Stop(), trials=48, seconds=12.0, free=False)
    assert bool(after.looks.alarm_off) == alarm_off
    assert ("about 48 s more is over the time budget of 40 s" in after.text) == alarm_off
    assert after.looks.trials == dict.fromkeys(CASES[:3], 20) | ({} if alarm_off else dict.fromkeys(CASES[3:], 7))


# Targets in workers, and recordings.


def test_both_waves_are_run_by_targets_that_are_started_once(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(AGENT, encoding="utf-8")
    cases = "\n".join(f"  - {{id: {case}, input: x, expect: [{{contains: fine}}]}}" for case in CASES)
    (tmp_path / "looks.yaml").write_text(f"target: {{python: 'agent:head'}}\ncases:\n{cases}\n", encoding="utf-8")
    request = Request(
        suite=tmp_path / "looks.yaml", base_target="python:agent:base", options=settings_of({"workers": 1})
    )
    report = run_suite(request).report
    calls = [line.split(",") for line in (tmp_path / "calls").read_text(encoding="utf-8").splitlines()]
    look = looked(report)
    assert [(one.id, one.outcome) for one in look.suspects] == [("case 3", "not confirmed")]
    assert Counter(side for side, _, _ in calls) == {"head": 44, "base": 44}
    assert look.calls.calls == len(calls) == 88
    assert {process for _, process, _ in calls} == {process for _, process, number in calls if int(number) <= 3}


AGENT = """
import os, pathlib

def note(side, trial):
    with open(pathlib.Path(__file__).with_name("calls"), "a", encoding="utf-8") as file:
        file.write(f"{side},{os.getpid()},{trial.repetition}\\n")

def head(value, trial):
    note("head", trial)
    return "odd" if (trial.case, trial.repetition) == ("case 3", 1) else "fine"

def base(value, trial):
    note("base", trial)
    return "fine"
"""


def test_fresh_trials_are_recorded_under_numbers_of_their_own(tmp_path: Path) -> None:
    answer = once("case 3")
    run(Asked(answer), cassettes=str(tmp_path), cassette_mode="auto")
    for folder in (tmp_path, tmp_path / "base"):
        store = Store(folder)
        store.load(CASES)
        recorded = {number for number in range(1, 30) if store.response("case 3", number) is not None}
        assert recorded == set(range(1, 24))
        assert store.response("case 4", 4) is None


# Resuming: a run file is cut off where the process may have died, and the run goes on.


def cut_off(path: Path, lines: int) -> None:
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:lines]))


@pytest.mark.parametrize(
    ("head_lines", "base_lines"),
    [(10, 12), (25, 25), (25, 26), (26, 25), (26, 26), (30, 41), (46, 40), (25, 1)],
    ids=[
        "in the first wave",
        "between the waves",
        "when only base's file tells of the second",
        "when only head's file tells of the second",
        "before the first fresh trial",
        "in the second wave",
        "when head is whole",
        "when base has hardly begun",
    ],
)
def test_a_run_that_died_goes_on_where_it_was(tmp_path: Path, head_lines: int, base_lines: int) -> None:
    answer = broken("case 3", since=2)
    whole = run(Asked(answer), out=tmp_path)
    before = {name: read_run(tmp_path / name) for name in ("run.jsonl", "base.jsonl")}
    cut_off(tmp_path / "run.jsonl", head_lines)
    cut_off(tmp_path / "base.jsonl", base_lines)
    kept = [set(outcomes(read_run(tmp_path / name))) for name in ("run.jsonl", "base.jsonl")]
    head, base = Asked(answer), Asked()
    resumed = run(head, base, out=tmp_path, resume=True)
    for name, asked, held in zip(("run.jsonl", "base.jsonl"), (head, base), kept, strict=True):
        after = read_run(tmp_path / name)
        assert after.complete
        assert outcomes(after) == outcomes(before[name])
        assert looks_of(after) == looks_of(before[name])
        assert len(asked.calls) == len(after.trials) - len(held)
        assert not held & set(asked.calls)
    assert looked(resumed.report).suspects == looked(whole.report).suspects
    assert resumed.report.exit_code == whole.report.exit_code


def test_errors_of_a_first_look_that_has_ended_are_not_tried_again(tmp_path: Path) -> None:
    def answer(case: str, repetition: int) -> Any:
        if (case, repetition) in {("case 7", 2), ("case 3", 9)}:
            raise RuntimeError("gone")
        return "no" if case == "case 3" and repetition == 1 else "yes"

    run(Asked(answer), out=tmp_path, retries=0)
    for name in ("run.jsonl", "base.jsonl"):
        lines = (tmp_path / name).read_bytes().splitlines(keepends=True)
        (tmp_path / name).write_bytes(b"".join(lines[:-1]))
    head, base = Asked(), Asked()
    run(head, base, out=tmp_path, resume=True, retries=0)
    assert head.calls == [("case 3", 9)]
    assert base.calls == []


def test_errors_of_a_first_look_that_has_not_ended_are_tried_again(tmp_path: Path) -> None:
    def answer(case: str, repetition: int) -> Any:
        if (case, repetition) == ("case 7", 2):
            raise RuntimeError("gone")
        return "yes"

    run(Asked(answer), out=tmp_path, retries=0)
    for name in ("run.jsonl", "base.jsonl"):
        cut_off(tmp_path / name, 25)
    head = Asked()
    run(head, out=tmp_path, resume=True, retries=0)
    assert head.calls == [("case 7", 2)]


def test_a_run_of_other_looks_is_not_gone_on_with(tmp_path: Path) -> None:
    run(Asked(), out=tmp_path)
    for name in ("run.jsonl", "base.jsonl"):
        cut_off(tmp_path / name, 20)
    with pytest.raises(UserError, match=r"second look was '3\+20, cut 0\.3.*' and is now '3\+10"):
        run(Asked(), out=tmp_path, resume=True, second_look="3+10")


# Files


@pytest.mark.parametrize(
    "answer",
    [broken("case 3", since=2), broken(*CASES[:4]), once("case 3"), broken()],
    ids=["one", "alarm", "cleared", "none"],
)
def test_the_run_files_say_the_same_as_the_run(tmp_path: Path, answer: Callable[[str, int], Any]) -> None:
    finished = run(Asked(answer), out=tmp_path)
    again = compared([str(tmp_path / "run.jsonl")], Request(), [str(tmp_path / "base.jsonl")]).report
    one, other = looked(finished.report), looked(again)
    assert one == other
    assert (again.verdict, again.exit_code) == (finished.report.verdict, finished.report.exit_code)
    assert [reason.text for reason in again.reasons] == [reason.text for reason in finished.report.reasons]


def test_a_line_about_the_second_look_that_does_not_belong_to_the_run_is_no_line(tmp_path: Path) -> None:
    run(Asked(once("case 3")), out=tmp_path)
    path = tmp_path / "run.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    place = next(number for number, line in enumerate(lines) if line.startswith(b'{"second_look"'))
    other = msgspec.json.decode(lines[place])
    other["second_look"]["fresh"] = 5
    path.write_bytes(b"".join([*lines[:place], msgspec.json.encode(other) + b"\n", *lines[place + 1 :]]))
    with pytest.raises(UserError, match="is not a valid trial"):
        read_run(path)
