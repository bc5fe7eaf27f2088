"""A stored base in front of two looks: head runs first, and base only where something is suspected."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import looking_twice
import msgspec
import pytest
from looking_twice import CASES, Asked, Told, broken, looked, once, suite

from repeat_eval import Suite
from repeat_eval.errors import UserError
from repeat_eval.records.journal import read_run
from repeat_eval.records.run import Run, RunFooter
from repeat_eval.records.trial import Trial
from repeat_eval.steps.finished import Finished
from repeat_eval.steps.read_results import compared, report_from
from repeat_eval.steps.recording import BASE_FILE, RUN_FILE
from repeat_eval.steps.request import Request
from repeat_eval.steps.run_suite import run_suite
from repeat_eval.steps.screening import STORED_FILE
from repeat_eval.suite.settings import settings_of
from repeat_eval.targets.function_target import FunctionTarget

COMMIT = "a" * 40


def stored(passed: int = 20, of: int = 20, own: Suite | None = None, **other: int) -> Run:
    """What a store says of the default branch: `other` has passes of single cases, by their number."""
    spec = (own or suite())._spec()
    done = run_suite(
        Request(options=settings_of({"repeats": of})), spec=spec, function=FunctionTarget(Asked(), workers=4)
    )
    passes = {f"case {name[1:]}": number for name, number in other.items()}
    trials = [
        Trial(case=case.id, repetition=number, outcome="passed" if number <= passes.get(case.id, passed) else "failed")
        for case in spec.cases
        for number in range(1, of + 1)
    ]
    header = msgspec.structs.replace(done.recording.header, commit=COMMIT)
    return Run(header=header, trials=tuple(trials), footer=RunFooter(complete=True, trials=len(trials)))


def run(head: Asked, base: Asked | None, kept: Run | None, **more: Any) -> Finished:
    return looking_twice.run(head, base, kept=kept, **more)


def test_base_is_neither_made_ready_nor_asked_where_nothing_is_suspected() -> None:
    head, base, told, made = Asked(), Asked(), Told(), []
    finished = run(head, base, stored(), told=told, ready=lambda: made.append("base"))
    assert (made, base.calls) == ([], [])
    assert set(head.by_case().values()) == {3}
    assert finished.report.verdict == "pass"
    look = looked(finished.report)
    assert (look.mode, look.calls.trials, look.improved) == ("screen", 24, None)
    assert "second look: nothing suspected, base is not run" in told.lines
    assert not finished.recording.left


def test_a_suspect_has_base_made_ready_once_and_runs_fresh_on_both_sides() -> None:
    head, base, made = Asked(once("case 3")), Asked(), []
    finished = run(head, base, stored(c1=16, c2=16), ready=lambda: made.append(len(head.calls)))
    assert made == [24]
    assert base.by_case() == {"case 3": 20}
    assert sorted(number for _, number in base.calls) == list(range(4, 24))
    assert head.by_case() == {case: 23 if case == "case 3" else 3 for case in CASES}
    look = looked(finished.report)
    assert [(case.id, case.outcome) for case in look.suspects] == [("case 3", "not confirmed")]
    assert look.calls.trials == len(head.calls) + len(base.calls)
    assert finished.report.verdict == "pass"


def test_fresh_trials_of_both_sides_block_without_any_leave_for_stored_bases() -> None:
    finished = run(Asked(broken("case 3")), Asked(), stored())
    assert finished.report.verdict == "fail"
    assert [case.id for case in looked(finished.report).confirmed] == ["case 3"]


def test_a_stored_base_that_has_drifted_wastes_trials_and_blocks_nothing() -> None:
    """Whatever the store says, both sides fail alike today."""
    head, base = Asked(broken("case 3")), Asked(broken("case 3"))
    finished = run(head, base, stored(c1=10, c2=10), gate="none")
    assert base.by_case() == {"case 3": 20}
    assert finished.report.verdict == "pass"
    assert not looked(finished.report).regressed


def test_an_alarm_has_every_case_run_on_base() -> None:
    head, base = Asked(lambda case, repetition: "no" if repetition < 3 else "yes"), Asked()
    finished = run(head, base, stored())
    look = looked(finished.report)
    assert look.down.alarm
    assert set(base.by_case()) == set(CASES)
    assert set(base.by_case().values()) == {7, 20}
    assert finished.report.verdict == "pass"


def test_base_runs_from_the_start_where_the_store_does_not_know_a_case_as_it_is() -> None:
    told, made = Told(), []
    old = suite(checks={"case 5": "other"})
    base = Asked()
    finished = run(Asked(), base, stored(own=old), told=told, ready=lambda: made.append("base"))
    assert set(base.by_case().values()) == {3}
    assert looked(finished.report).mode == "side-by-side"
    assert made == ["base"]
    assert any("does not know 1 of 8 cases as they are now ('case 5')" in line for line in told.lines)


def test_fixed_repeats_run_base_beside_head_as_before() -> None:
    base = Asked()
    finished = run(Asked(), base, stored(), repeats=4)
    assert set(base.by_case().values()) == {4}
    assert finished.report.comparison is not None
    assert finished.report.comparison.second_look is None
    assert finished.report.comparison.base is not None
    assert finished.report.comparison.base.source == "side-by-side"


def test_a_base_that_cannot_be_made_ready_is_an_error_that_says_so(tmp_path: Path) -> None:
    def fails() -> None:
        raise UserError("no environment for base")

    base = Asked()
    with pytest.raises(UserError, match="no environment for base"):
        run(Asked(broken("case 3")), base, stored(), ready=fails, out=tmp_path)
    assert not base.calls
    assert not (tmp_path / BASE_FILE).exists()


def test_without_a_base_to_run_the_store_is_split_where_it_may_block() -> None:
    head = Asked(broken("case 3"))
    finished = run(head, None, stored(), gate="none", gate_stored=True)
    look = looked(finished.report)
    assert look.mode == "split"
    assert head.by_case()["case 3"] == 23
    (suspect,) = look.suspects
    assert (suspect.first_base.verdicts, suspect.fresh_base.verdicts) == (6, 14)
    assert finished.report.verdict == "fail"


def test_a_stored_base_that_may_not_block_is_compared_with_fixed_repeats() -> None:
    head = Asked(broken("case 3"))
    finished = run(head, None, stored(), gate="none")
    assert set(head.by_case().values()) == {10}
    assert finished.report.comparison is not None
    assert finished.report.comparison.second_look is None
    assert finished.report.verdict == "pass"


def test_too_few_stored_trials_are_not_split() -> None:
    told, head = Told(), Asked(broken("case 3"))
    finished = run(head, None, stored(passed=10, of=10), gate="none", gate_stored=True, told=told)
    assert set(head.by_case().values()) == {10}
    assert any("fewer than 6 cases have 14 stored verdicts" in line for line in told.lines)
    assert finished.report.verdict == "fail"


def test_a_case_that_the_store_does_not_know_keeps_its_fixed_repeats_beside_a_split() -> None:
    old = stored(own=suite(CASES[:7]))
    head = Asked()
    run(head, None, old, gate_stored=True)
    assert head.by_case() == {case: 10 if case == "case 8" else 3 for case in CASES}


@pytest.mark.parametrize("suspected", [False, True])
def test_its_files_give_the_same_report_again(tmp_path: Path, suspected: bool) -> None:
    finished = run(Asked(once("case 3") if suspected else broken("none")), Asked(), stored(), out=tmp_path)
    assert (tmp_path / BASE_FILE).exists() == suspected
    assert read_run(tmp_path / STORED_FILE).header.commit == COMMIT
    head = str(tmp_path / RUN_FILE)
    base = (str(tmp_path / BASE_FILE),) if suspected else ()
    again = compared([head], Request(), base).report
    assert again.comparison == finished.report.comparison
    assert (again.verdict, again.reasons) == (finished.report.verdict, finished.report.reasons)


def test_without_the_stored_base_its_run_file_is_not_judged_again(tmp_path: Path) -> None:
    run(Asked(), Asked(), stored(), out=tmp_path)
    (tmp_path / STORED_FILE).unlink()
    with pytest.raises(UserError, match=r"stored\.jsonl is not beside it"):
        report_from([str(tmp_path / RUN_FILE)], Request())


def test_a_base_file_of_an_earlier_run_does_not_stay_beside_a_run_without_one(tmp_path: Path) -> None:
    run(Asked(once("case 3")), Asked(), stored(), out=tmp_path)
    run(Asked(), Asked(), stored(), out=tmp_path)
    assert not (tmp_path / BASE_FILE).exists()


class Killed(BaseException):
    """The process ends here."""


@pytest.mark.parametrize("side", ["head", "base"])
def test_a_run_that_was_killed_in_its_second_wave_goes_on(tmp_path: Path, side: str) -> None:
    whole = run(Asked(once("case 3")), Asked(), stored()).report

    def dies(case: str, repetition: int) -> str:
        if (case, repetition) == ("case 3", 12):
            raise Killed
        return once("case 3")(case, repetition) if side == "head" else "yes"

    head = Asked(dies if side == "head" else once("case 3"))
    base = Asked(dies if side == "base" else lambda case, repetition: "yes")
    with pytest.raises(Killed):
        run(head, base, stored(), out=tmp_path)
    made: list[str] = []
    head, base = Asked(once("case 3")), Asked()
    found = run(head, base, stored(), out=tmp_path, resume=True, ready=lambda: made.append("base")).report
    assert 0 < len(head.calls) + len(base.calls) < 40
    assert looked(found).suspects == looked(whole).suspects
    assert found.verdict == whole.verdict == "pass"
    assert read_run(tmp_path / BASE_FILE).complete


def test_another_stored_base_is_not_taken_for_the_rest_of_a_run(tmp_path: Path) -> None:
    def dies(case: str, repetition: int) -> str:
        if (case, repetition) == ("case 3", 2):
            raise Killed
        return "yes"

    with pytest.raises(Killed):
        run(Asked(dies), Asked(), stored(), out=tmp_path)
    other = stored()
    other = msgspec.structs.replace(other, header=msgspec.structs.replace(other.header, commit="b" * 40))
    with pytest.raises(UserError, match="second look was"):
        run(Asked(), Asked(), other, out=tmp_path, resume=True)
