"""Evaluator reliability in a terminal and as Markdown: the same facts, and hostile names that stay text."""

from __future__ import annotations

import io

import msgspec
import pytest
from rich.console import Console

from repeat_eval.analysis.evaluator_model import EvaluatorReliability, TraceReliability
from repeat_eval.analysis.evaluator_reliability import Requirement, judge_by, of_scores, summarise
from repeat_eval.analysis.judge_agreement import Rated, against_labels, groups_of_raters
from repeat_eval.analysis.judge_drift import baseline_of, drift_of
from repeat_eval.reports.reliability_text import MAX_TRACES, markdown_of, render_reliability, verdict_of


def trace(name: str, check: str, passed: int, failed: int, errors: int = 0) -> TraceReliability:
    scores = [(True, 0.9)] * passed + [(False, 0.1)] * failed
    found = of_scores(scores, errors=errors)
    return msgspec.structs.replace(found, trace=name, check=check, case="c", fingerprint="0" * 16, truth=True)


def report(traces: list[TraceReliability], **changes: object) -> EvaluatorReliability:
    checks = list(dict.fromkeys(one.check for one in traces))
    rated = [Rated(one, "q") for one in traces]
    before = baseline_of("desk", [msgspec.structs.replace(one, passed=10, failed=0) for one in traces])
    found = EvaluatorReliability(
        suite="desk",
        source="traces.jsonl",
        runs=10,
        seed=7,
        available=50,
        sampled=len(traces),
        verdict="fail",
        exit_code=1,
        summary=summarise(traces),
        checks=tuple(summarise([one for one in traces if one.check == name], name) for name in checks),
        traces=tuple(traces),
        gates=tuple(judge_by(Requirement("pass-to", 3, "0.9"), name, traces) for name in checks),
        agreement=groups_of_raters(rated),
        labels=against_labels(rated),
        drift=drift_of(before, traces),
    )
    return msgspec.structs.replace(found, **changes)


def shown(found: EvaluatorReliability, width: int = 200) -> str:
    stream = io.StringIO()
    render_reliability(found, Console(file=stream, width=width))
    return stream.getvalue()


TWO = [
    trace("t1", "strict", 3, 7),
    trace("t1", "mild", 8, 2, 1),
    trace("t2", "strict", 10, 0),
    trace("t2", "mild", 10, 0),
]


def test_the_terminal_shows_evaluators_traces_gates_agreement_labels_and_drift() -> None:
    text = shown(report(TWO, warnings=("one thing",)))
    assert "desk: reliability of evaluators, 4 traces of 50 (seed 7), 10 runs of each check" in text
    for heading in ("Evaluators", "Traces whose runs disagree", "Gates", "Agreement between judges", "Drift"):
        assert f"\n{heading}" in text
    (row,) = [line for line in text.splitlines() if line.split()[:2] == ["t1", "mild"]]
    assert " ".join(row.split()) == "t1 mild 8/10 +1 errors 0.74 ± 0.32 0.99 0.51 0.12 to 0.84 low pass 0.80"
    assert "2 traces: every run says the same." in text
    assert "! one thing" in text
    assert text.rstrip().endswith("FAIL")


def test_markdown_says_the_same() -> None:
    text = markdown_of(report(TWO))
    assert "**FAIL**" in text
    assert "| t1 | mild | 8/10 +1 errors | 0.74 ± 0.32 | 0.99 | 0.51 | 0.12 to 0.84 | low | pass 0.80 |" in text
    assert "### Judges against labels" in text


@pytest.mark.parametrize(
    "hostile", ["<img src=x onerror=alert(1)>", "| a | b |", "\x1b[31mred", "@everyone #1", "[x](https://x.test)"]
)
def test_hostile_names_stay_text(hostile: str) -> None:
    traces = [trace(hostile, hostile, 5, 5), trace("t", hostile, 0, 0, 3)]
    found = report(traces, suite=hostile, warnings=(hostile,))
    assert "\x1b[31mred" not in shown(found)
    text = markdown_of(found)
    assert hostile not in text
    tables = [line for line in text.splitlines() if line.startswith("| ")]
    assert {line.replace("\\|", "").count("|") for line in tables if "both pass" not in line} <= {8, 10, 12}


def test_many_traces_are_bounded_and_the_rest_is_counted() -> None:
    text = shown(report([trace(f"t{number}", "judge", 5, 5) for number in range(MAX_TRACES + 7)]))
    assert "and 7 more, in the JSON report." in text


def test_what_is_nearly_certain_is_not_shown_as_certain() -> None:
    text = shown(report([trace("t", "judge", 999, 1)]))
    assert ">0.99" in text


def test_without_a_gate_the_verdict_says_so() -> None:
    found = report(TWO, gates=(), drift=None, verdict="pass", exit_code=0)
    assert verdict_of(found) == "PASS: no gate was asked for"
