"""The Python API: a suite, a function, a report."""

from __future__ import annotations

import asyncio
import json
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from repeat_eval import Case, Check, GateFailed, Observation, Score, Suite, UserError, load_suite


def capitals(question: str, context: Any) -> str:
    """Right about the first always, about the second three times of five, about the third once."""
    right = {"France": 5, "Peru": 3, "Chad": 1}[question]
    return {"France": "Paris", "Peru": "Lima", "Chad": "N'Djamena"}[question] if context.repetition <= right else "?"


CAPITALS = Suite(
    "capitals",
    [
        Case(id="france", input="France", expect=[{"equals": "Paris"}]),
        Case(id="peru", input="Peru", expect=[{"equals": "Lima"}]),
        Case(id="chad", input="Chad", expect=[{"equals": "N'Djamena"}]),
    ],
)


def one(*expect: Any, **fields: Any) -> Suite:
    return Suite("one", [Case(id="case", input="hello", expect=list(expect), **fields)])


def test_a_report_tells_flakiness_stability_scores_and_time() -> None:
    report = CAPITALS.run(capitals, repeats=5, workers=8, gate="none")
    assert report.flaky_count == 2
    assert report.stability == pytest.approx(1 / 3)
    assert report.pass_rate == pytest.approx((1 + 0.6 + 0.2) / 3)
    peru = report.cases["peru"]
    assert peru.pass_rate == pytest.approx(0.6)
    assert peru.score is not None and peru.duration is not None
    assert (peru.score.mean, peru.score.std) == (pytest.approx(0.6), pytest.approx(0.4899, abs=1e-4))
    assert peru.flaky and not report.cases["france"].flaky
    assert 0 <= peru.duration.mean <= peru.duration.max
    assert [case.id for case in report.cases] == ["france", "peru", "chad"]
    assert report.cases[0].id == "france" and len(report.cases[1:]) == 2
    with pytest.raises(KeyError):
        report.cases["spain"]


def test_the_gate_that_was_asked_for_raises_with_the_report() -> None:
    with pytest.raises(GateFailed, match=r"below the suite threshold 0\.85") as raised:
        CAPITALS.run(capitals, repeats=5, workers=8, suite_threshold=0.85, max_failing_cases=3)
    assert raised.value.report.verdict == "fail"
    assert raised.value.report.exit_code == 1


def test_no_gate_no_exception_and_the_exception_can_be_refused() -> None:
    assert CAPITALS.run(capitals, repeats=5).verdict == "fail"
    assert CAPITALS.run(capitals, repeats=5, suite_threshold=0.99, gate_raises=False).verdict == "fail"


def test_a_gate_of_the_suites_own_settings_raises_too() -> None:
    suite = Suite("capitals", CAPITALS.cases, settings={"min_stability": 0.9, "repeats": 5, "max_failing_cases": 3})
    with pytest.raises(GateFailed, match="flaky"):
        suite.run(capitals)


def test_each_check_has_its_mean_and_its_majority() -> None:
    def short(output: str) -> float:
        return 0.9 if len(output) < 6 else 0.2

    suite = one({"contains": "a", "weight": 3}, short, repeats=5)
    report = suite.run(lambda question, context: "banana" if context.repetition > 3 else "apple")
    contains, graded = report.cases["case"].checks
    assert (contains.name, contains.passed, contains.score, contains.majority.verdict) == ("contains", 5, 1.0, "pass")
    assert graded.name == "short"
    assert graded.score == pytest.approx((3 * 0.9 + 2 * 0.2) / 5)


@pytest.mark.parametrize(
    ("value", "outcome"),
    [
        (True, "P"),
        (False, "F"),
        ((True, "fine"), "P"),
        ((False, "too rude"), "F"),
        (None, "E"),
        ("yes", "E"),
        (1.5, "E"),
        (float("nan"), "E"),
    ],
)
def test_a_check_function_gives_a_bool_a_score_or_either_with_a_message(value: Any, outcome: str) -> None:
    report = one(lambda output: value, repeats=1).run(str, max_error_rate=1.0, gate_raises=False)
    assert report.cases["case"].outcomes == outcome


def test_a_check_function_may_see_the_whole_observation() -> None:
    seen: list[Observation] = []

    def check(output: str, observation: Observation) -> bool:
        seen.append(observation)
        return output == observation.expected

    suite = Suite("one", [Case(id="case", input="hello", expected="HELLO", expect=[check])])
    assert suite.run(str.upper, repeats=2).verdict == "pass"
    assert {(one.case, one.input, one.expected) for one in seen} == {("case", "hello", "HELLO")}


def test_a_check_object_of_the_users_own() -> None:
    class Loud(Check):
        kind = "loud"

        def evaluate(self, observation: Observation) -> Score:
            return Score(observation.text.isupper(), 0.5)

    assert one(Loud(None)).run(str.upper, repeats=2).cases["case"].pass_rate == 1
    assert one(Loud(None)).run(str.lower, repeats=2).cases["case"].pass_rate == 0


def test_async_functions_overlap_up_to_the_number_of_workers() -> None:
    most = open_now = 0

    async def answer(question: str) -> str:
        nonlocal most, open_now
        open_now += 1
        most = max(most, open_now)
        await asyncio.sleep(0)
        open_now -= 1
        return question

    assert one({"equals": "hello"}).run(answer, repeats=20, workers=7).cases["case"].passed == 20
    assert most == 7


def test_sync_functions_overlap_in_threads() -> None:
    together = threading.Barrier(4)

    def answer(question: str) -> str:
        together.wait(timeout=30)
        return question

    report = one({"equals": "hello"}).run(answer, repeats=8, workers=4)
    assert report.cases["case"].passed == 8


def test_a_sync_function_that_never_comes_back_is_a_timeout_and_the_others_go_on() -> None:
    release = threading.Event()

    def answer(question: str, context: Any) -> str:
        if context.repetition == 2:
            release.wait(60)
        return question

    try:
        report = one({"equals": "hello"}, timeout=0.2).run(answer, repeats=10, workers=2)
    finally:
        release.set()
    case = report.cases["case"]
    assert (case.passed, case.errors, case.error_kinds, case.outcomes) == (9, 1, {"timeout": 1}, "PEPPPPPPPP")


def test_a_blocking_functions_trials_of_a_case_never_overlap_when_sequential() -> None:
    open_now: Counter[str] = Counter()
    overlapped = threading.Event()

    def answer(question: str) -> str:
        open_now[question] += 1
        if open_now[question] > 1:
            overlapped.set()
        open_now[question] -= 1
        return question

    cases = [Case(id=name, input=name) for name in "ab"]
    report = Suite("two", cases).run(answer, repeats=50, workers=8, repeat_order="sequential")
    assert report.totals.passed == 100
    assert not overlapped.is_set()


def test_money_stops_a_run_of_a_blocking_function() -> None:
    report = one().run(lambda question: {"output": "x", "cost": 0.5}, repeats=50, workers=1, max_cost=2)
    assert (report.verdict, report.totals.trials, report.totals.cost) == ("incomplete", 4, 2.0)


def test_a_function_that_raises_gives_errors_and_no_verdict() -> None:
    def answer(question: str) -> str:
        raise ValueError("no such order")

    report = one({"equals": "x"}).run(answer, repeats=3)
    case = report.cases["case"]
    assert (case.verdict, case.errors, case.pass_rate) == ("incomplete", 3, None)
    ((message, count),) = case.failures
    assert message.startswith("ValueError: no such order (") and count == 3
    with pytest.raises(GateFailed) as raised:
        one({"equals": "x"}).run(answer, repeats=3, threshold=0.5)
    assert raised.value.report.exit_code == 3


def test_it_works_inside_a_running_event_loop() -> None:
    async def notebook() -> Any:
        return CAPITALS.run(capitals, repeats=5)

    assert asyncio.run(notebook()).flaky_count == 2


def test_an_async_function_works_inside_a_running_event_loop() -> None:
    async def answer(question: str) -> str:
        await asyncio.sleep(0)
        return question

    async def notebook() -> Any:
        return one({"equals": "hello"}).run(answer, repeats=5)

    assert asyncio.run(notebook()).verdict == "pass"


def test_the_same_seed_gives_the_same_randomness() -> None:
    def answer(question: str, context: Any) -> str:
        return str(context.random.random())

    def drawn(seed: int) -> list[Any]:
        report = one({"regex": r"0\.\d*[02468]$"}).run(answer, repeats=40, workers=3, seed=seed)
        return [report.cases["case"].outcomes]

    assert drawn(7) == drawn(7)
    assert drawn(7) != drawn(8)


def test_the_folder_gets_the_run_file_and_the_reports(tmp_path: Path) -> None:
    report = CAPITALS.run(capitals, repeats=5, out=tmp_path / "out")
    written = json.loads((tmp_path / "out/report.json").read_text())
    assert written["totals"]["trials"] == report.totals.trials == 15
    assert {"run.jsonl", "junit.xml", "summary.md"} <= {path.name for path in (tmp_path / "out").iterdir()}
    assert len((tmp_path / "out/run.jsonl").read_text().splitlines()) == 17


def test_nothing_is_written_without_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    CAPITALS.run(capitals, repeats=2)
    assert list(tmp_path.iterdir()) == []


def test_cases_and_tags_choose() -> None:
    suite = Suite("tags", [Case(id="a", tags=["smoke"]), Case(id="b"), Case(id="c", tags=["slow"])])
    assert [case.id for case in suite.run(str, repeats=2, tags=["smoke", "slow"]).cases] == ["a", "c"]
    assert [case.id for case in suite.run(str, repeats=2, cases=["[ab]"]).cases] == ["a", "b"]
    assert suite.run(str, repeats=2, cases=["z"]).verdict == "incomplete"


def test_a_suite_file_runs_on_a_function_of_this_process(tmp_path: Path) -> None:
    path = tmp_path / "desk.yaml"
    path.write_text("repeats: 4\ncases:\n  - {id: a, input: hi, expect: [{equals: HI}]}\n")
    suite = load_suite(path)
    assert suite.name == "desk"
    report = suite.run(str.upper)
    assert (report.totals.trials, report.verdict) == (4, "pass")
    with pytest.raises(UserError, match="no target"):
        suite.run()


def test_everything_that_is_wrong_is_said_at_once() -> None:
    suite = Suite(
        "bad",
        [
            Case(id="a", expect=[{"contians": "x"}]),
            Case(id="a", expect=["contains"]),
            Case(id="b"),
        ],
    )
    with pytest.raises(UserError) as raised:
        suite.run(str)
    text = str(raised.value)
    assert "contains" in text and "two cases have the id 'a'" in text
    assert len(raised.value.problems) == 3


@pytest.mark.parametrize(
    "settings", [{"threshold": 1.2}, {"repeats": 0}, {"gate": "lenient"}, {"no_such_setting": 1}, {"workers": "many"}]
)
def test_wrong_settings_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(UserError):
        one().run(str, **settings)


def test_a_function_of_no_or_three_arguments_is_refused() -> None:
    with pytest.raises(UserError):
        one().run(lambda: "x")
    with pytest.raises(UserError):
        one().run(lambda a, b, c: "x")


def test_one_repeat_is_exactly_what_happened_once() -> None:
    report = CAPITALS.run(capitals, repeats=1)
    assert (report.flaky_count, report.stability, report.verdict) == (0, None, "pass")
    assert all(case.pass_hat_k["2"] is None and case.reliability is None for case in report.cases)


@pytest.mark.parametrize("workers", [1, 4])
def test_a_function_that_changes_its_input_changes_no_other_trial(workers: int) -> None:
    lengths: list[int] = []

    def agent(conversation: dict[str, list[str]]) -> str:
        conversation["messages"].append("and then?")
        lengths.append(len(conversation["messages"]))
        return "fine"

    Suite("s", [Case(id="a", input={"messages": ["hello"]}, expect=[])]).run(agent, repeats=5, workers=workers)
    assert lengths == [2] * 5


def test_a_check_function_of_no_arguments_is_refused_with_its_name() -> None:
    def says_nothing() -> bool:
        return True

    with pytest.raises(UserError, match="'case': the check function 'says_nothing' takes no argument"):
        one(says_nothing).run(lambda text: text)


def test_a_blocking_function_that_takes_time_is_called_by_as_many_threads_as_there_are_workers() -> None:
    together = threading.Barrier(4, timeout=30)

    def meet(question: str) -> str:
        together.wait()
        return question

    cases = [Case(id=f"case {number}", input="x", expect=[{"equals": "x"}]) for number in range(4)]
    report = Suite("meeting", cases).run(meet, repeats=2, workers=4)
    assert (report.totals.passed, report.totals.errors) == (8, 0)
