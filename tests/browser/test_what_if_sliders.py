"""“What if”: the page's verdicts under other rules are those that the program gives when it is asked with them."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path

import pytest
from browser_pages import TALL, Opener, set_slider, tallies, unroll, verdicts
from click.testing import CliRunner
from page_reports import every_kind, program

from repeat_eval.cli.main import cli
from repeat_eval.reports import format as fmt
from repeat_eval.statistics.planner import minimal_detectable_difference, within_case_variance

WORDS = {"within-noise": "within noise"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with the run file of cases of every kind, and its report."""
    folder = tmp_path_factory.mktemp("kinds")
    program("report", every_kind(folder), "--out", folder)
    return folder


def verdicts_of_program(folder: Path, threshold: str, gate: str) -> dict[str, str]:
    """The verdicts that `report` gives with this threshold and gate."""
    out = folder / f"{threshold}-{gate}"
    given = ["--threshold", threshold, "--gate", gate, "--no-html", "--quiet", "--out", str(out)]
    done = CliRunner().invoke(cli, ["report", str(folder / "run.jsonl"), *given])
    assert (out / "report.json").exists(), done.output
    report = json.loads((out / "report.json").read_text(encoding="utf-8"))
    return {case["id"]: case["verdict"] for case in report["cases"]}


def settings() -> list[tuple[int, str]]:
    """Twenty random settings, and the ends of the slider."""
    draw = random.Random(20)
    found = [(draw.randint(1, 99), ("wilson", "strict", "none")[number % 3]) for number in range(20)]
    return [*found, (0, "strict"), (100, "wilson"), (100, "strict")]


def test_verdicts_under_other_rules_are_the_program_s(open_page: Opener, folder: Path) -> None:
    page = open_page(folder / "report.html", viewport=TALL)
    unroll(page)
    seen: Counter[str] = Counter()

    for percent, gate in settings():
        set_slider(page, "threshold", percent)
        page.locator(f"input[name=gate][value={gate}]").check(force=True)
        expected = verdicts_of_program(folder, f"{percent / 100:.2f}", gate)
        assert tallies(page) == dict(Counter(expected.values())), (percent, gate)
        assert verdicts(page) == {case: WORDS.get(verdict, verdict) for case, verdict in expected.items()}, (
            percent,
            gate,
        )
        seen.update(expected.values())
    assert set(seen) == {"pass", "within-noise", "fail", "incomplete", "skipped"}


def test_as_run_brings_back_the_verdicts_of_the_run(open_page: Opener, folder: Path) -> None:
    page = open_page(folder / "report.html")
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    as_run = dict(Counter(case["verdict"] for case in report["cases"]))
    assert tallies(page) == as_run
    assert page.locator("#as-run").is_disabled()

    set_slider(page, "threshold", 97)
    page.locator("input[name=gate][value=strict]").check(force=True)
    assert tallies(page) != as_run
    assert "would get another verdict" in page.locator("#what-if-result").inner_text()
    page.locator("#as-run").click()

    assert tallies(page) == as_run
    assert page.locator("#threshold-value").inner_text() == "0.8, as run"


def test_what_changed_can_be_filtered_and_the_cases_own_rules_are_told(open_page: Opener, folder: Path) -> None:
    page = open_page(folder / "report.html")
    before = verdicts_of_program(folder, "0.8", "wilson")
    after = verdicts_of_program(folder, "0.99", "strict")
    changed = {case for case in before if before[case] != after[case]}

    set_slider(page, "threshold", 99)
    page.locator("input[name=gate][value=strict]").check(force=True)
    page.locator("#filters .toggle", has_text="Verdict changed").click()

    assert page.locator("#shown").inner_text().split()[0] == str(len(changed))
    assert "4 cases wrote a threshold or gate of their own and keep it" in page.locator("#what-if-result").inner_text()


def test_sliders_and_gate_answer_to_keys(open_page: Opener, folder: Path) -> None:
    page = open_page(folder / "report.html")

    page.locator("#threshold").focus()
    page.keyboard.press("ArrowRight")
    assert page.locator("#threshold-value").inner_text() == "0.81"
    assert page.locator("#threshold").get_attribute("aria-valuetext") == "0.81"
    page.keyboard.press("End")
    assert page.locator("#threshold-value").inner_text() == "1.00"
    page.locator("input[name=gate]:checked").focus()
    page.keyboard.press("ArrowRight")
    assert page.locator("input[name=gate]:checked").input_value() == "strict"


def test_other_repeats_tell_the_planner_s_smallest_fall_and_change_no_verdict(open_page: Opener, folder: Path) -> None:
    page = open_page(folder / "report.html")
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    counts = [(case["passed"], case["passed"] + case["failed"]) for case in report["cases"]]
    rated = [(passed, verdicts) for passed, verdicts in counts if verdicts]
    variance = within_case_variance(rated)
    assert variance is not None
    before = tallies(page)

    for repeats in (1, 3, 10, 25, 100):
        set_slider(page, "repeats", repeats)
        fall = minimal_detectable_difference(len(rated), repeats, repeats, variance)
        told = page.locator("#what-if-result").inner_text()
        assert f"a fall of {fmt.points(fall).removeprefix('+')} or more (80% power)" in told
        assert f"At {fmt.count(repeats, 'repeat')} the suite's interval would be about" in told
        assert tallies(page) == before
