"""A suite without a base in two waves: a first look at every case, and fresh trials of those below their threshold."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from looking_twice import CASES, Answer, Asked, Told, broken, once, run, suite

from repeat_eval import Case, Suite
from repeat_eval.analysis.report import LooksAlone, Report
from repeat_eval.errors import UserError
from repeat_eval.records.journal import read_run
from repeat_eval.steps.aa import Draws, aa_of_suite
from repeat_eval.steps.finished import Finished
from repeat_eval.steps.read_results import compared
from repeat_eval.steps.request import Request
from repeat_eval.steps.run_suite import run_suite
from repeat_eval.suite.settings import settings_of
from repeat_eval.targets.function_target import FunctionTarget


def looked(report: Report) -> LooksAlone:
    assert report.looked_alone is not None
    return report.looked_alone


def twice(head: Asked, **more: Any) -> Finished:
    return run(head, None, **{"second_look": "3+20"} | more)


def paid(answer: Answer, cost: float = 0.01) -> Answer:
    return lambda case, repetition: {"output": answer(case, repetition), "cost": cost}


def test_unless_somebody_asks_for_it_every_case_runs_as_often() -> None:
    head = Asked(broken("case 2"))
    report = run(head, None).report
    assert set(head.by_case().values()) == {10}
    assert report.looked_alone is None


def test_a_case_below_its_threshold_gets_fresh_trials_and_the_others_none() -> None:
    told, head = Told(), Asked(once("case 3"))
    finished = twice(head, told=told)
    assert dict(head.by_case()) == {case: 23 if case == "case 3" else 3 for case in CASES}
    assert sorted(number for case, number in head.calls if case == "case 3") == list(range(1, 24))
    assert len(set(head.seeds.values())) == len(head.seeds)
    assert finished.report.verdict == "pass"
    looks = looked(finished.report)
    assert [(case.id, case.outcome) for case in looks.cases] == [("case 3", "not confirmed")]
    assert looks.first_trials + looks.fresh_trials == len(head.calls) == 44
    assert told.lines == [
        "second look: 24 trials first, 3 of a case, then 20 fresh ones of each case below its threshold; at most 184 "
        "trials",
        "start 24 trials, 0 done",
        "second look: 1 case below the threshold ('case 3'), 20 fresh trials",
        "start 20 fresh trials, 0 done",
    ]


def test_where_no_case_is_low_nothing_is_run_again() -> None:
    told, head = Told(), Asked()
    finished = twice(head, told=told)
    assert set(head.by_case().values()) == {3}
    assert finished.report.verdict == "pass"
    assert told.lines[-1] == "second look: no case is below its threshold, nothing is run again"
    assert not finished.recording.left


def test_a_case_that_is_broken_fails_by_its_fresh_trials() -> None:
    finished = twice(Asked(broken("case 2", "case 5")))
    assert finished.report.verdict == "fail"
    assert [reason.text for reason in finished.report.reasons] == [
        "first 0/3, re-run 0/20 is below 0.8, needs 13 of 20"
    ] * 2


def test_a_case_that_breaks_only_after_its_first_look_is_not_seen_and_one_that_recovers_is_cleared() -> None:
    assert twice(Asked(broken("case 2", since=4))).report.verdict == "pass"
    assert (
        twice(Asked(lambda case, number: "no" if case == "case 2" and number < 4 else "yes")).report.verdict == "pass"
    )


def mixed() -> Suite:
    own = {"case 1": "1.0", "case 2": "0.95"}
    gates = {"case 3": "strict", "case 4": "none"}
    made = [
        Case(id=case, input=case, expect=[{"contains": "yes"}], threshold=own.get(case), gate=gates.get(case))
        for case in CASES
    ]
    return Suite("looks", made, {})


def test_cases_that_any_miss_fails_and_those_without_a_gate_keep_ten_repeats_from_the_start() -> None:
    head = Asked(broken("case 1", "case 3"))
    finished = twice(head, of=mixed())
    ten = {"case 1", "case 3", "case 4"}
    by_case = head.by_case()
    assert {case for case, number in by_case.items() if number == 10} >= ten
    assert {number for case, number in by_case.items() if case not in {*ten, "case 2"}} == {3}
    assert looked(finished.report).cases == ()
    assert {reason.case for reason in finished.report.reasons if reason.verdict == "fail"} == {"case 1", "case 3"}


def test_repeats_that_are_set_in_a_weaker_place_are_those_of_the_cases_with_fixed_repeats() -> None:
    made = mixed()
    head = Asked()
    twice(head, of=Suite("looks", made.cases, {"repeats": 12}))
    assert head.by_case()["case 1"] == 12
    assert head.by_case()["case 5"] == 3


def test_repeats_that_are_set_as_strongly_hold() -> None:
    told, head = Told(), Asked()
    twice(head, repeats=4, told=told)
    assert set(head.by_case().values()) == {4}
    assert (
        "no second look: repeats are set as well, and there is no base, so the number of repeats is fixed" in told.lines
    )
    quiet, again = Told(), Asked()
    run(again, None, of=suite(second_look="3+20", repeats=5), told=quiet)
    assert set(again.by_case().values()) == {5}
    assert not any("second look" in line for line in quiet.lines)


def test_the_repeats_of_a_case_are_its_first_look() -> None:
    head = Asked(once("case 3"))
    twice(head, of=suite(own={"case 3": 4, "case 4": 12}))
    assert (head.by_case()["case 3"], head.by_case()["case 4"]) == (24, 12)


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"of": suite(CASES[:5])}, "there are fewer than 6 cases"),
        ({"gate": "strict"}, "no case has a gate that forgives a miss among ten trials"),
        ({"min_reliability": "0.8"}, "min-reliability is judged by all trials of a case"),
        ({"min_stability": "0.5"}, "min-stability is judged by all trials of a case"),
    ],
)
def test_a_run_that_cannot_look_twice_keeps_ten_repeats_and_says_why(more: dict[str, Any], why: str) -> None:
    told, head = Told(), Asked()
    assert twice(head, told=told, **more).report.looked_alone is None
    assert set(head.by_case().values()) == {10}
    assert f"no second look: {why}, so the number of repeats is fixed" in told.lines


def test_off_is_off() -> None:
    head = Asked()
    twice(head, second_look="off")
    assert set(head.by_case().values()) == {10}


def erring(case: str, *numbers: int) -> Answer:
    def answer(asked: str, number: int) -> Any:
        if asked == case and number in numbers:
            raise RuntimeError("no connection")
        return "yes"

    return answer


def test_a_case_whose_errors_could_hide_a_low_rate_is_run_again() -> None:
    head = Asked(erring("case 3", 2))
    finished = twice(head, retries=0, max_error_rate="0.5")
    assert head.by_case()["case 3"] == 23
    assert finished.report.verdict == "pass"
    assert finished.report.cases["case 3"].text == "first 2/2 (1 error), re-run 20/20 reaches 0.8"


def test_fresh_trials_that_end_in_errors_are_never_green() -> None:
    head = Asked(erring("case 3", 2, *range(4, 24)))
    finished = twice(head, retries=0, max_error_rate="0.5")
    assert finished.report.verdict == "incomplete"
    assert any("20 of 20 fresh trials ended in an error" in reason.text for reason in finished.report.reasons)


def test_a_fresh_wave_that_money_cuts_is_incomplete_and_goes_on_later(tmp_path: Path) -> None:
    cut = twice(Asked(paid(once("case 3"))), max_cost=0.3, out=tmp_path)
    assert cut.report.verdict == "incomplete"
    assert "the second look was cut short" in cut.report.reasons[0].text
    assert not read_run(tmp_path / "run.jsonl").complete
    head = Asked(paid(once("case 3")))
    whole = twice(head, max_cost=5.0, out=tmp_path, resume=True)
    assert whole.report.verdict == "pass"
    assert {case for case, _ in head.calls} == {"case 3"}
    assert min(number for _, number in head.calls) > 3
    assert len(whole.recording.trials) == 44


def test_money_that_ends_with_the_first_look_leaves_no_green_verdict(tmp_path: Path) -> None:
    finished = twice(Asked(paid(once("case 3"))), max_cost=0.24, out=tmp_path, workers=1)
    assert len(finished.recording.trials) == 24
    assert finished.report.verdict == "incomplete"


def test_a_first_look_that_was_cut_goes_on_with_what_it_lacks(tmp_path: Path) -> None:
    cut = twice(Asked(paid(once("case 3"))), max_cost=0.1, out=tmp_path, workers=1)
    assert cut.report.verdict == "incomplete"
    assert not looked(cut.report).ended
    head = Asked(paid(once("case 3")))
    whole = twice(head, out=tmp_path, resume=True)
    assert whole.report.verdict == "pass"
    assert len(whole.recording.trials) == 44


def test_what_is_run_again_stays_settled_after_the_first_look(tmp_path: Path) -> None:
    twice(Asked(paid(once("case 3"))), max_cost=0.3, out=tmp_path)
    with pytest.raises(UserError, match=r"3\+20 without base"):
        twice(Asked(), second_look="3+10", out=tmp_path, resume=True)


def test_the_run_file_judged_again_says_the_same(tmp_path: Path) -> None:
    finished = twice(Asked(broken("case 2")), out=tmp_path)
    again = compared([str(tmp_path / "run.jsonl")], Request(), ()).report
    assert again.looked_alone == finished.report.looked_alone
    assert [reason.text for reason in again.reasons] == [reason.text for reason in finished.report.reasons]


def test_a_run_that_others_are_made_of_may_ask_for_many_trials_of_every_case() -> None:
    head = Asked(broken("case 2"))
    request = Request(options=settings_of({"second_look": "3+20"}), looks_alone=False)
    run_suite(request, spec=suite()._spec(), function=FunctionTarget(head, workers=4))
    assert set(head.by_case().values()) == {10}


def test_the_python_api_looks_twice_at_one_function() -> None:
    head = Asked(broken("case 2"))
    report = suite(second_look="3+20").run(head)
    assert dict(head.by_case()) == {case: 23 if case == "case 2" else 3 for case in CASES}
    assert report.cases["case 2"].verdict == "fail"


def test_a_check_of_the_gates_runs_every_case_as_often_as_for_two_sides(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text("def answer(question):\n    return 'no' if question == 'c3' else 'yes'\n")
    cases = "".join(f"  - {{id: c{n}, input: c{n}, expect: [{{contains: yes}}]}}\n" for n in range(6))
    path = tmp_path / "suite.yaml"
    path.write_text(f'name: desk\ntarget: {{python: "agent:answer"}}\nsecond_look: 3+20\ncases:\n{cases}')
    aa_of_suite(Request(suite=path, out=tmp_path / "out"), Draws(simulations=10, splits=10))
    trials = Counter(trial.case for trial in read_run(tmp_path / "out" / "run.jsonl").trials)
    assert set(trials.values()) == {20}


def test_recordings_of_a_first_look_never_stand_for_fresh_trials(tmp_path: Path) -> None:
    asked = Asked(once("case 3"))
    twice(asked, cassettes=str(tmp_path / "tapes"), cassette_mode="record")
    again = Asked()
    replayed = twice(again, cassettes=str(tmp_path / "tapes"), cassette_mode="replay")
    assert again.calls == []
    assert [case.id for case in looked(replayed.report).cases] == ["case 3"]
    assert any("fresh trials of head were answered by a cache" in text for text in replayed.report.warnings)
