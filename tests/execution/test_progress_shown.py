"""What people see while trials run."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from repeat_eval.execution.progress import Bar, Counter, Lines, Silent


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_lines_come_now_and_then_and_tell_time_left_and_money() -> None:
    clock, stream = Clock(), io.StringIO()
    lines = Lines(stream, clock)
    lines.start(100, 0)
    for _ in range(40):
        clock.now += 1
        lines.step(failed=True, cost=0.05)
    lines.step(error=True)
    lines.stop()
    assert stream.getvalue().splitlines() == [
        "repeat-eval: running 100 trials",
        "repeat-eval: 10/100 trials, 10 failed, $0.50, about 2 min left",
        "repeat-eval: 20/100 trials, 20 failed, $1.00, about 80 s left",
        "repeat-eval: 30/100 trials, 30 failed, $1.50, about 70 s left",
        "repeat-eval: 40/100 trials, 40 failed, $2.00, about 60 s left",
        "repeat-eval: 41/100 trials, 40 failed, 1 error, $2.00 in 40 s",
    ]


def test_lines_say_what_a_resumed_run_has_already() -> None:
    stream = io.StringIO()
    Lines(stream).start(10, 4, "runs")
    assert stream.getvalue() == "repeat-eval: running 6 runs, 4 are there already\n"


def test_time_left_counts_only_what_was_done_now() -> None:
    clock = Clock()
    counter = Counter(clock)
    counter.start(100, 90, "trials")
    assert counter.left() is None
    clock.now += 2
    counter.step(failed=False, error=False, cost=None)
    assert counter.left() == 18
    assert counter.text() == "91/100 trials, about 18 s left"


def test_unknown_costs_are_not_shown() -> None:
    counter = Counter()
    counter.start(2, 0, "trials")
    counter.step(failed=False, error=False, cost=None)
    counter.step(failed=False, error=False, cost=None)
    assert counter.text() == "2/2 trials"


def test_the_bar_lives_in_a_terminal_and_leaves_nothing_behind() -> None:
    stream = io.StringIO()
    bar = Bar(Console(file=stream, force_terminal=True, width=80))
    bar.start(3, 1)
    bar.step(failed=True, cost=0.1)
    bar.step(error=True)
    bar.stop()
    assert "trials" in stream.getvalue()


def test_a_bar_that_was_never_started_can_be_stopped() -> None:
    bar = Bar(Console(file=io.StringIO(), force_terminal=True))
    bar.step()
    bar.stop()


def test_silence_is_silent(capsys: pytest.CaptureFixture[str]) -> None:
    silent = Silent()
    silent.start(1, 0)
    silent.step(failed=True, error=True, cost=1.0)
    silent.stop()
    assert capsys.readouterr() == ("", "")
