"""Numbers, examples and lists of single pages, held against the program."""

from __future__ import annotations

import json
import re
import tomllib
from fractions import Fraction
from pathlib import Path

import msgspec
import pytest
import yaml
from doc_pages import ROOT, blocks, text_of

from repeat_eval.analysis.report import CaseReport, Report, Totals
from repeat_eval.cli.main import run
from repeat_eval.records.journal import read_run
from repeat_eval.records.trial import ERROR_KINDS
from repeat_eval.reports.registry import REPORT_FILES
from repeat_eval.statistics import gates, intervals, reliability, repeats, suite_rates

STATISTICS = text_of(ROOT / "docs" / "statistics.md")
PYTHON_API = text_of(ROOT / "docs" / "python-api.md")
FILES = text_of(ROOT / "docs" / "files.md")
COMING_FROM = text_of(ROOT / "docs" / "coming-from.md")


@pytest.mark.parametrize("row", re.findall(r"^\| (\d+)/(\d+) \| (\d\.\d\d)–(\d\.\d\d) \|", STATISTICS, re.MULTILINE))
def test_intervals_of_the_statistics_page(row: tuple[str, str, str, str]) -> None:
    low, high = intervals.wilson_interval(int(row[0]), int(row[1]))
    assert (f"{low:.2f}", f"{high:.2f}") == row[2:]


@pytest.mark.parametrize("gate", ["strict", "wilson", "none"])
def test_passes_that_a_gate_needs(gate: gates.Gate) -> None:
    (row,) = re.findall(rf"^\| `{gate}` \|.*\| ([\d /]+) \|$", STATISTICS, re.MULTILINE)
    needs = [gates.gate_min_passes(n, Fraction(4, 5), gate) for n in (3, 5, 10, 20)]
    assert row == " / ".join(map(str, needs))


def test_the_two_forms_of_pass_hat_k_and_pass_at_k() -> None:
    figures = {
        "pass_hat_k": repeats.pass_hat_k,
        "pass_at_k": repeats.pass_at_k,
        "pass_to_k": repeats.pass_to_k,
        "pass_at_k_plugin": repeats.pass_at_k_plugin,
    }
    for name, figure in figures.items():
        (shown,) = re.findall(rf"\(`{name}`\) \|.*?\| ([\d.]+) \|", STATISTICS)
        assert shown == f"{figure(8, 10, 3):.3f}"
    assert repeats.pass_to_k(8, 10, 3) == 0.512
    assert "**0.512**" in COMING_FROM


def test_bounds_of_errors() -> None:
    rows = re.findall(r"^\| (\d) passed, (\d) failed, (\d) errors? \|.*\| `(\w+)`", STATISTICS, re.MULTILINE)
    assert len(rows) == 3
    for passed, failed, errors, verdict in rows:
        n = int(passed) + int(failed) + int(errors)
        fails = {
            gates.gate_verdict(c, n, Fraction(4, 5), "wilson") == "fail"
            for c in (int(passed), int(passed) + int(errors))
        }
        assert verdict == ("incomplete" if len(fails) == 2 else "fail" if fails == {True} else "pass")


def test_single_numbers_of_the_statistics_page() -> None:
    cases = [(10, 10)] * 8 + [(5, 10)] * 2
    rerun, new = suite_rates.rerun_interval(cases), suite_rates.new_cases_interval(cases)
    shown = f"a re-run is about {rerun.low:.0%}–{rerun.high:.0%}, new cases about {new.low:.0%}–{new.high:.0%}"
    assert shown.replace("%–", "–").replace("%", " %") in STATISTICS
    low, high = reliability.reliability(10, 10).interval
    assert f"with an interval of {low:.2f}–{high:.2f}" in STATISTICS
    assert f"up to {intervals.wilson_interval(3, 5)[1]:.2f}" in STATISTICS
    assert gates.never_fails(3, Fraction("0.56"), "wilson")
    assert not gates.never_fails(3, Fraction("0.57"), "wilson")


def test_the_programs_of_the_python_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    programs = blocks(PYTHON_API, "python")
    assert len(programs) == 4
    for program in programs:
        exec(program, {"__name__": "page"})  # noqa: S102 - our own page


def test_the_python_page_lists_the_public_names() -> None:
    import repeat_eval

    table = PYTHON_API.split("## Names", 1)[1]
    named = {name for row in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)}
    assert named == set(repeat_eval.__all__)


def test_the_run_file_that_is_shown_can_be_read(tmp_path: Path) -> None:
    (shown,) = blocks(FILES, "json")
    path = tmp_path / "run.jsonl"
    path.write_text(shown, encoding="utf-8")
    found = read_run(path)
    assert found.complete
    assert [trial.outcome for trial in found.trials] == ["passed", "error"]


def test_the_keys_of_report_json_that_are_shown_exist() -> None:
    section = FILES.split("## report.json", 1)[1].split("## junit.xml", 1)[0]
    names = {field.encode_name for kind in (Report, Totals, CaseReport) for field in msgspec.structs.fields(kind)}
    keys = {
        key
        for cell in re.findall(r"^\| (`.*?) \|", section, re.MULTILINE)
        for key in re.findall(r"`(?:totals|cases\[\])?\.?(\w+)`", cell)
    }
    assert len(keys) > 30
    assert keys <= names


def test_the_files_page_lists_every_report() -> None:
    assert all(f"`{name}`" in FILES.split("## ", 1)[0] for name in REPORT_FILES)


def test_the_words_page_lists_every_error_kind() -> None:
    row = next(line for line in text_of(ROOT / "docs" / "README.md").splitlines() if line.startswith("| error kind"))
    assert set(re.findall(r"`(\w+)`", row)) == set(ERROR_KINDS)


def test_a_suite_with_repeat_and_require_pass_rate_runs_as_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (shown,) = blocks(COMING_FROM, "yaml")
    (case,) = yaml.safe_load(shown)["cases"]
    assert {"repeat", "require_pass_rate"} <= set(case)
    Path("suite.yaml").write_text(shown, encoding="utf-8")
    Path("agent.py").write_text(
        "def answer(question):\n"
        "    return {'output': 'I have to ask.', 'tool_calls': [{'name': 'escalate_to_human', 'arguments': {}}]}\n",
        encoding="utf-8",
    )
    assert run(["run", "suite.yaml", "--target", "python:agent:answer", "--out", "out", "--quiet"]) == 0
    report = json.loads(Path("out/report.json").read_text(encoding="utf-8"))
    assert (report["cases"][0]["asked"], report["cases"][0]["threshold"]) == (5, "0.8")


def test_the_dependencies_page_has_a_row_and_a_reason_for_each_dependency() -> None:
    page = text_of(ROOT / "docs" / "dependencies.md")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = {re.split(r"[<>=]", entry)[0] for entry in project["dependencies"]}
    extras = {re.split(r"[<>=[]", entry)[0] for group in project["optional-dependencies"].values() for entry in group}
    assert {name.lower() for name in re.findall(r"^\| ([\w.-]+) \|", page, re.MULTILINE)} - {
        "package",
        "extra",
    } == names
    assert extras <= set(re.findall(r"^\| `\w+` \| ([\w.-]+) \|", page, re.MULTILINE))
    assert {name.lower() for name in re.findall(r"^\*\*([\w.-]+)\.\*\*", page, re.MULTILINE)} == names | extras


def test_the_architecture_page_has_a_row_for_every_room() -> None:
    page = text_of(ROOT / "docs" / "architecture.md")
    rooms = {
        path.name
        for path in (ROOT / "src" / "repeat_eval").iterdir()
        if path.is_dir() and not path.name.startswith("_")
    }
    assert rooms <= set(re.findall(r"`(\w+)/`", page))
