"""The page of a real run, used as people use it: mouse, keys, phone, print, another colour, a screen reader."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from browser_pages import PHONE, TALL, Opener, faults, names, tallies, unroll, until
from page_reports import program

from repeat_eval.reports import format as fmt
from repeat_eval.reports import json_report
from repeat_eval.reports.html import render_html
from repeat_eval.reports.template_sandbox import PAGE
from repeat_eval.statistics.repeats import pass_hat_k

BROKE = "asks_for_photo_of_damage"


@cache
def _read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def cases_of(folder: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = _read(folder / "report.json")["cases"]
    return found


def changes_of(folder: Path) -> dict[str, str]:
    return {case["id"]: case["change"] for case in _read(folder / "report.json")["comparison"]["cases"]}


def rate(case: dict[str, Any]) -> float:
    passed: int = case["passed"]
    return passed / (passed + case["failed"])


def open_case(page: Any, name: str) -> Any:
    page.get_by_role("button", name=name, exact=True).click()
    dialog = page.locator("#detail")
    dialog.wait_for(state="visible")
    return dialog


def focused(page: Any, script: str = "node.textContent") -> Any:
    return page.evaluate(f"(() => {{ const node = document.activeElement; return {script}; }})()")


def chip(page: Any, name: str) -> Any:
    return page.locator(".row", has=page.get_by_role("button", name=name, exact=True)).locator(".chip")


def test_the_page_opens_from_disk_with_the_verdict_and_all_cases_worst_first(open_page: Opener, desk: Path) -> None:
    page = open_page(desk / "report.html")

    assert page.title() == "Failed: refund-desk"
    assert "2 of 13 cases broke, 1 fixed" in page.locator("h1").inner_text()
    assert names(page)[0] == BROKE
    assert sorted(names(page)) == sorted(case["id"] for case in cases_of(desk))
    assert page.locator("#shown").inner_text() == "13 cases"


def test_cases_are_sorted_by_what_is_chosen_and_the_other_way_round(open_page: Opener, desk: Path) -> None:
    page = open_page(desk / "report.html")
    cases = cases_of(desk)
    written = [case["id"] for case in cases]
    rates = {case["id"]: rate(case) for case in cases}

    page.locator("#sort").select_option("suite")
    assert names(page) == written
    page.locator("#sort").select_option("name")
    assert names(page) == sorted(written)
    page.locator("#sort").select_option("rate")
    assert names(page) == sorted(written, key=lambda case: rates[case])
    page.locator("#order").click()
    assert names(page) == sorted(written, key=lambda case: rates[case])[::-1]
    assert page.locator("#order").get_attribute("aria-pressed") == "true"


def test_every_order_shows_every_case(open_page: Opener, desk: Path) -> None:
    page = open_page(desk / "report.html")
    orders = page.locator("#sort option").evaluate_all("(all) => all.map((one) => one.value)")

    assert len(orders) >= 7
    for order in orders:
        page.locator("#sort").select_option(order)
        assert len(set(names(page))) == 13, order


def test_filters_show_the_cases_that_the_report_calls_so(open_page: Opener, desk: Path) -> None:
    page = open_page(desk / "report.html")
    cases, changes = cases_of(desk), changes_of(desk)
    expected = {
        "Failing": {case["id"] for case in cases if case["verdict"] in ("fail", "incomplete")},
        "Regressed": {case for case, change in changes.items() if change in ("regressed", "newly broken")},
        "Improved": {case for case, change in changes.items() if change in ("improved", "fixed")},
        "Flaky": {case["id"] for case in cases if case["passed"] and case["failed"]},
        "Within noise": {case["id"] for case in cases if case["verdict"] == "within-noise"},
    }

    for label, those in expected.items():
        assert those, label
        button = page.locator("#filters .toggle", has_text=label)
        button.click()
        assert set(names(page)) == those, label
        assert button.get_attribute("aria-pressed") == "true"
        assert button.locator(".count").inner_text() == str(len(those))
        assert page.locator("#shown").inner_text() == f"{len(those)} of 13 cases"
    page.locator("#filters .toggle", has_text="All").click()
    assert len(names(page)) == 13
    assert page.locator("#filters .toggle", has_text="Errors").is_disabled()


def test_a_search_finds_names_and_tags_and_says_when_nothing_is_found(open_page: Opener, desk: Path) -> None:
    page = open_page(desk / "report.html")

    page.locator("#search").fill("PHOTO")
    assert names(page) == [BROKE]
    page.locator("#search").fill("smoke")
    assert set(names(page)) == {case["id"] for case in cases_of(desk) if "smoke" in case.get("tags", [])}
    page.locator("#search").fill("no such case")
    assert names(page) == []
    assert page.get_by_text("No case is like that.").is_visible()


def test_a_chip_s_tooltip_tells_the_program_s_figures_to_mouse_and_keyboard(open_page: Opener, desk: Path) -> None:
    page = open_page(desk / "report.html", viewport=TALL)
    unroll(page)
    tip = page.locator("#tip")
    assert tip.is_hidden()

    for case in cases_of(desk):
        shown = chip(page, case["id"])
        passed, verdicts = case["passed"], case["passed"] + case["failed"]
        assert shown.inner_text() == fmt.percent(rate(case))
        shown.hover()
        assert tip.is_visible()
        told = tip.inner_text()
        for k in (2, 3):
            assert re.search(rf"pass\^{k}\s+{re.escape(fmt.percent(pass_hat_k(passed, verdicts, k)))}\s", told), told
        assert fmt.interval(case["interval"]) in told
        assert f"({passed}/{verdicts})" in told
        assert case["threshold"] in told
    page.mouse.move(0, 0)
    assert tip.is_hidden()
    chip(page, BROKE).focus()
    assert tip.is_visible()
    assert chip(page, BROKE).get_attribute("aria-describedby") == "tip"
    page.keyboard.press("Escape")
    assert tip.is_hidden()


def test_each_trial_of_both_sides_opens_with_what_it_said_and_did(open_page: Opener, desk: Path) -> None:
    page = open_page(desk / "report.html")
    dialog = open_case(page, BROKE)

    for side, file in (("head", "run.jsonl"), ("base", "base.jsonl")):
        lines = (json.loads(line) for line in (desk / file).read_text(encoding="utf-8").splitlines()[1:-1])
        trials = {line["repetition"]: line for line in lines if line.get("case") == BROKE}
        dots = dialog.locator(f".strip-buttons[aria-label='Trials of {side}'] .dot")
        assert dots.count() == len(trials) == 10
        for number, trial in sorted(trials.items()):
            dots.nth(number - 1).click()
            told = dialog.locator("#trial").inner_text()
            assert f"trial {number}: {trial['outcome']}" in told
            assert trial["output"] in told
            assert (trial.get("message") or "") in told
            for check in trial["checks"]:
                assert check["name"] in told
            for call in trial["tool_calls"]:
                assert call["name"] in told
                assert all(json.dumps(value) in told for value in call["arguments"].values()), told


def test_a_mark_in_the_list_opens_its_own_trial(open_page: Opener, desk: Path) -> None:
    page = open_page(desk / "report.html")

    page.locator(".row", has_text=BROKE).locator(".target").nth(5).click()

    assert "trial 6: passed" in page.locator("#trial h4").inner_text()


def test_failures_in_common_lead_to_their_trials(open_page: Opener, desk: Path) -> None:
    page = open_page(desk / "report.html")
    groups = page.locator("#groups details")
    assert groups.first.locator(".title").inner_text() == "not_calls_tool"

    groups.first.locator("summary").click()
    groups.first.get_by_role("button", name=f"Trial 4 of {BROKE}").click()

    assert page.locator("#detail-title").inner_text().endswith(BROKE)
    assert "trial 4: failed" in page.locator("#trial h4").inner_text()
    page.keyboard.press("Escape")
    page.locator("#ways .toggle", has_text="message").click()
    assert page.locator("#groups details").count() > 1


def test_everything_can_be_done_with_keys_alone(open_page: Opener, desk: Path) -> None:
    page = open_page(desk / "report.html")

    page.keyboard.press("Tab")
    assert focused(page) == "Skip to the cases"
    page.keyboard.press("/")
    assert focused(page, "node.id") == "search"
    page.keyboard.type("/")
    assert page.locator("#search").input_value() == "/", "in a field the key is a letter"
    page.locator("#search").fill("")
    page.locator(".row .open").first.focus()
    order = names(page)
    for key, place in (("ArrowDown", 1), ("ArrowDown", 2), ("ArrowUp", 1), ("End", 12), ("ArrowDown", 12), ("Home", 0)):
        page.keyboard.press(key)
        assert focused(page) == order[place], key
    page.keyboard.press("Enter")
    assert page.locator("#detail").is_visible()
    dots = page.locator("#detail .dot")
    dots.first.focus()
    page.keyboard.press("ArrowRight")
    assert dots.nth(1).get_attribute("aria-pressed") == "true"
    assert "trial 2:" in page.locator("#trial h4").inner_text()
    page.keyboard.press("Escape")
    assert page.locator("#detail").is_hidden()
    assert focused(page) == order[0], "the focus is back where it was"


def test_what_has_the_focus_is_seen_to_have_it(open_page: Opener, desk: Path) -> None:
    page = open_page(desk / "report.html")

    for _ in range(25):
        page.keyboard.press("Tab")
        ring = "getComputedStyle(node.matches('input[type=radio]') ? node.nextElementSibling : node)"
        style = focused(page, f"{ring}.outlineStyle + {ring}.boxShadow")
        assert style != "nonenone", focused(page, "node.outerHTML")


def test_a_case_has_an_address_of_its_own(open_page: Opener, desk: Path) -> None:
    page = open_page(desk / "report.html", case="decides_in_json")

    assert page.locator("#detail-title").inner_text().endswith("decides_in_json")
    page.get_by_role("button", name="Close").click()
    assert "#case" not in page.url
    open_case(page, BROKE)
    assert page.url.endswith(f"#case={BROKE}")
    page.get_by_role("button", name="Next case").click()
    assert not page.locator("#detail-title").inner_text().endswith(BROKE)


def _brightness(page: Any) -> float:
    colour = page.evaluate("getComputedStyle(document.documentElement).backgroundColor")
    return sum(float(number) for number in re.findall(r"[\d.]+", colour)[:3]) / 3


def test_colours_follow_the_system_until_the_reader_chooses(open_page: Opener, desk: Path) -> None:
    page = open_page(desk / "report.html", color_scheme="dark")
    button = page.locator("#theme")

    assert _brightness(page) < 60
    button.click()
    assert button.get_attribute("aria-label") == "Colours: light"
    assert _brightness(page) > 220
    page.reload()
    assert _brightness(page) > 220, "the choice is kept"
    button.click()
    assert button.get_attribute("aria-label") == "Colours: dark"
    page.emulate_media(color_scheme="light")
    assert _brightness(page) < 60
    button.click()
    assert _brightness(page) > 220


def _overflow(page: Any) -> list[str]:
    """Elements that stick out of the window, unless something around them scrolls or cuts them."""
    found: list[str] = page.evaluate(
        """() => [...document.querySelectorAll("body *")].filter((node) => {
             const box = node.getBoundingClientRect();
             if (!box.width || !box.height || box.right <= innerWidth + 1) return false;
             for (let over = node.parentElement; over; over = over.parentElement) {
               if (getComputedStyle(over).overflowX !== "visible") return false;
             }
             return true;
           }).map((node) => node.outerHTML.slice(0, 120))"""
    )
    return found


def _covered(page: Any) -> list[str]:
    """Rows in which trials, interval or difference lie on one another."""
    found: list[str] = page.evaluate(
        """() => [...document.querySelectorAll(".row")].filter((row) => {
             const boxes = [...row.querySelectorAll(".forest, .side-head, .side-base, .chip, .c-delta > *")]
               .map((node) => [node, node.getBoundingClientRect()]).filter(([, box]) => box.width && box.height);
             return boxes.some(([node, one]) => boxes.some(([other, two]) => node !== other
               && one.left < two.right - 1 && two.left < one.right - 1
               && one.top < two.bottom - 1 && two.top < one.bottom - 1));
           }).map((row) => row.textContent)"""
    )
    return found


@pytest.mark.parametrize("width", [320, 390, 600, 768, 1024, 1280, 1920])
def test_at_no_width_does_anything_lie_on_anything(width: int, open_page: Opener, desk: Path) -> None:
    page = open_page(desk / "report.html", viewport={"width": width, "height": 3000})

    assert len(names(page)) == 13
    assert _covered(page) == []
    assert _overflow(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_on_a_phone_nothing_sticks_out_and_all_of_it_works_by_touch(open_page: Opener, desk: Path) -> None:
    page = open_page(desk / "report.html", viewport=PHONE, has_touch=True, is_mobile=True)

    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    assert _overflow(page) == []
    page.locator(".row .chip").first.tap()
    assert page.locator("#tip").is_visible()
    box = page.locator("#tip").bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= PHONE["width"]
    page.locator(".row .open").first.tap()
    assert page.locator("#detail").is_visible()
    assert _overflow(page) == []
    page.locator("#detail .dot").nth(2).tap()
    assert "trial 3:" in page.locator("#trial h4").inner_text()


def test_in_print_all_cases_stand_there_and_no_controls(open_page: Opener, desk: Path) -> None:
    page = open_page(desk / "report.html", viewport={"width": 800, "height": 400}, color_scheme="dark")
    assert _brightness(page) < 60
    page.emulate_media(media="print")
    until(page, "document.querySelectorAll('.row').length === 13")

    assert _brightness(page) > 220, "paper is white"
    for control in ("#threshold", "#search", "#theme", "#filters"):
        assert page.locator(control).is_hidden(), control
    size = page.locator("#list").evaluate(
        "(list) => [list.scrollHeight - list.clientHeight, getComputedStyle(list).overflowY]"
    )
    assert size[0] <= 1 or size[1] == "visible"
    for width in (700, 1000):
        page.set_viewport_size({"width": width, "height": 400})
        assert _covered(page) == [], width
    assert page.pdf()[:5] == b"%PDF-"
    page.emulate_media(media="screen")
    until(page, "document.querySelectorAll('.row').length >= 1")
    assert page.locator("#search").is_visible()


def test_axe_finds_no_serious_fault_light_or_dark_open_or_closed_wide_or_narrow(open_page: Opener, desk: Path) -> None:
    page = open_page(desk / "report.html")
    page.locator("#groups details").first.locator("summary").click()
    assert faults(page) == []
    page.emulate_media(color_scheme="dark")
    assert faults(page) == []
    open_case(page, BROKE)
    assert faults(page) == []
    page.emulate_media(color_scheme="light")
    page.set_viewport_size(PHONE)
    assert faults(page) == []
    page.keyboard.press("Escape")
    assert faults(page) == []


def test_without_scripts_the_verdict_stands_there_and_it_is_said_what_is_missing(open_page: Opener, desk: Path) -> None:
    page = open_page(desk / "report.html", java_script_enabled=False)

    assert "2 of 13 cases broke" in page.locator("h1").inner_text()
    assert page.locator("noscript").is_visible()
    assert page.locator("#threshold").is_hidden()


def test_a_report_alone_gives_the_same_page_with_examples_instead_of_trials(
    open_page: Opener, desk: Path, tmp_path: Path
) -> None:
    report = tmp_path / "report.json"
    report.write_bytes((desk / "report.json").read_bytes())
    program("report", report, "--out", tmp_path / "page")

    page, whole = open_page(tmp_path / "page" / "report.html"), open_page(desk / "report.html")

    assert names(page) == names(whole)
    assert page.locator("#list").inner_text() == whole.locator("#list").inner_text()
    assert "Trials kept as examples" in open_case(page, BROKE).inner_text()


@pytest.mark.parametrize("left_out", [("verdict", "figures"), ("what_if",), ("cases",), ("failures", "trend"), None])
def test_blocks_that_a_template_leaves_out_are_missed_by_nothing(
    left_out: tuple[str, ...] | None, open_page: Opener, desk: Path, tmp_path: Path
) -> None:
    names_of_all = re.findall(r"{% block (\w+) %}", (PAGE / "page.html.j2").read_text(encoding="utf-8"))
    emptied = "".join(f"{{% block {name} %}}{{% endblock %}}" for name in left_out or names_of_all)
    (tmp_path / "page.html.j2").write_text(f'{{% extends "repeat-eval/page.html.j2" %}}{emptied}', encoding="utf-8")
    report = json_report.read(desk / "report.json")
    (tmp_path / "report.html").write_text(render_html(report, templates=tmp_path), encoding="utf-8")

    page = open_page(tmp_path / "report.html", case=BROKE)

    assert page.locator("#detail").is_visible()
    page.keyboard.press("Escape")
    if left_out and "cases" not in left_out:
        assert names(page)[0] == BROKE
    if left_out and "what_if" not in left_out:
        page.locator("input[name=gate][value=none]").check(force=True)
        assert tallies(page) == {"pass": 13}


def test_one_case_only_errors_and_one_trial_a_case_make_whole_pages(
    open_page: Opener, reports: dict[str, Path]
) -> None:
    for name, rows in (("one case", 1), ("only errors", 12), ("one trial a case", 8)):
        page = open_page(reports[name])
        assert len(names(page)) == rows, name
        assert "no base" in page.locator(".cards").inner_text(), name
        assert "NaN" not in page.locator("body").inner_text(), name
        assert "undefined" not in page.locator("body").inner_text(), name
        page.locator(".row .open").first.click()
        assert page.locator("#trial h4").is_visible(), name
        assert faults(page) == [], name


def test_of_five_thousand_cases_only_those_in_sight_exist(open_page: Opener, reports: dict[str, Path]) -> None:
    page = open_page(reports["many cases"])
    page.locator("#sort").select_option("name")

    assert page.locator("#shown").inner_text() == "5,000 cases"
    assert 5 < page.locator(".row").count() < 80
    assert names(page)[0] == "case 0000"
    page.locator(".row .open").first.focus()
    page.keyboard.press("End")
    until(page, "document.activeElement.textContent === 'case 4999'")
    assert names(page)[-1] == "case 4999"
    assert page.locator(".row").count() < 80
    page.locator("#search").fill("case 4321")
    assert names(page) == ["case 4321"]
