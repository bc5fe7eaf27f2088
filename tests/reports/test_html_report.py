"""report.html: what is in the file, and that nothing in it can do more than be read."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any

import comparison_examples as compared
import msgspec
import pytest
import report_examples as examples
from hypothesis import given, settings
from hypothesis import strategies as st
from two_looks import healthy, letters, two_sides

from repeat_eval.analysis.analyse import analyse
from repeat_eval.analysis.report import HistoryPoint, Report, Setting
from repeat_eval.analysis.rules import Rules
from repeat_eval.records.trial import CheckResult, Judge, Tokens, ToolCall, Trial
from repeat_eval.reports import html_data
from repeat_eval.reports.html import render_html
from repeat_eval.reports.html_data import page_data, page_trials
from repeat_eval.statistics.second_look import SecondLookSettings

HOSTILE = (
    "</script><script>alert(1)</script>",
    "<!--<script>",
    "</style></title><h1>",
    "<img src=x onerror=alert(1)>",
    "\u2028\u2029\x1b[31m\u202e",
    "{{ 7 * 7 }}{% raw %}",
    "]]>&lt;'\"",
)


class Page(HTMLParser):
    """Elements and the texts of scripts and styles, as a browser would find them."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.raw: list[tuple[str, dict[str, str | None], str]] = []
        self._open: tuple[str, dict[str, str | None]] | None = None
        self.words = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._open = (tag, dict(attrs)) if tag in ("script", "style") else None

    def handle_data(self, data: str) -> None:
        if self._open is not None:
            self.raw.append((*self._open, data))
        else:
            self.words += data

    def handle_endtag(self, tag: str) -> None:
        self._open = None
        self.words += " " if tag in ("td", "th", "dt", "dd") else ""

    def data(self, name: str) -> Any:
        (text,) = [text for _, attributes, text in self.raw if attributes.get("id") == name]
        return json.loads(text)


def trial(case: str, repetition: int, outcome: str = "passed", **more: Any) -> Trial:
    return Trial(case=case, repetition=repetition, outcome=outcome, **more)  # type: ignore[arg-type]


def page(report: Report, trials: list[Trial] | None = None, base: list[Trial] | None = None) -> Page:
    return Page(render_html(report, trials, base or ()))


def hostile_report() -> tuple[Report, list[Trial]]:
    cases = [examples.case(text, "PF", message=text, tags=(text,), file=text, line=1) for text in HOSTILE]
    report = examples.report(cases, suite=HOSTILE[0], warnings=HOSTILE)
    trials = [
        trial(
            text,
            number,
            outcome,
            message=text,
            output=text,
            checks=(CheckResult(text, False, 0.5, text, Judge(text)),),
            tool_calls=(ToolCall(text, {text: text}),),
        )
        for text in HOSTILE
        for number, outcome in ((1, "passed"), (2, "failed"))
    ]
    return report, trials


def test_the_page_fetches_nothing_and_allows_its_own_scripts_alone() -> None:
    found = page(examples.small())
    (policy,) = [
        attributes["content"]
        for tag, attributes in found.tags
        if attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    assert policy is not None
    assert policy.startswith("default-src 'none'; ")
    for tag, attributes, text in found.raw:
        if attributes.get("type") != "application/json":
            digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
            assert f"'sha256-{digest}'" in policy, tag
    for _, attributes in found.tags:
        assert not [name for name in attributes if name.startswith("on") or name in ("src", "action", "style")]
        assert (attributes.get("href") or "#").startswith(("#", "data:"))


def test_texts_from_outside_are_text_wherever_they_stand() -> None:
    report, trials = hostile_report()
    found, plain = page(report, trials, trials), page(examples.small(), [], [])
    assert {tag for tag, _ in found.tags} <= {tag for tag, _ in plain.tags}
    assert len([tag for tag, _ in found.tags if tag == "script"]) == len([t for t, _ in plain.tags if t == "script"])
    assert [case["id"] for case in found.data("data")["cases"]] == list(HOSTILE)
    assert set(HOSTILE) <= set(found.data("trials")["texts"])
    assert "</script><script>alert(1)</script>" in found.words
    assert "{{ 7 * 7 }}" in found.words


@settings(max_examples=40, deadline=None)
@given(st.text(alphabet=st.sampled_from("<>/!-sScCrRiIpPtT& \u2028\"'{}%"), min_size=1, max_size=60))
def test_no_text_can_end_the_data_it_stands_in(text: str) -> None:
    report = examples.report([examples.case(text, "PF", message=text)])
    found = page(report, [trial(text, 1, output=text), trial(text, 2, "failed", message=text)])
    assert found.data("data")["cases"][0]["id"] == text
    assert text in found.data("trials")["texts"]


def test_the_top_says_verdict_rates_and_what_could_have_been_detected() -> None:
    words = " ".join(page(compared.regression()).words.split())
    assert "Worse than base" in words
    assert "What this could have detected" in words
    assert "What could have stayed hidden: a fall of less than about" in words


def test_without_a_base_the_page_says_so() -> None:
    assert "This run is compared with nothing" in page(examples.small()).words


@pytest.mark.parametrize(
    "make",
    [
        examples.small,
        examples.solid,
        examples.single,
        examples.seeds_003,
        compared.no_change,
        compared.improvement,
        compared.mixed,
        compared.incomplete,
        compared.maybe_worse,
        compared.no_base,
        compared.hostile,
    ],
)
def test_reports_of_every_shape_are_rendered(make: Callable[[], Report]) -> None:
    report = make()
    assert len(page(report).data("data")["cases"]) == len(report.cases)


def test_a_report_without_cases_is_a_page_as_well() -> None:
    assert page(examples.empty()).data("data")["cases"] == []


def test_a_case_s_reasons_stand_in_one_line() -> None:
    report = examples.small()
    twice = msgspec.structs.replace(report, reasons=(*report.reasons, *report.reasons))
    case = next(reason.case for reason in report.reasons if reason.case)
    assert page(twice).words.count(f"{case}:") == 1


def test_stored_runs_are_handed_to_the_trend() -> None:
    point = HistoryPoint(
        commit="a" * 40, started="2026-01-01T00:00:00Z", pass_rate=0.9, interval=(0.8, 0.95), verdict="pass"
    )
    found = page(msgspec.structs.replace(examples.small(), history=(point,)))
    assert found.data("data")["history"][0]["pass_rate"] == 0.9
    assert ("div", {"id": "trend"}) in found.tags


def test_the_page_is_below_a_megabyte_without_data() -> None:
    assert len(render_html(examples.report([examples.case("a", "P")])).encode()) < 200_000


def test_cases_that_were_run_again_stand_there_with_both_looks() -> None:
    base, head = two_sides({"escalates": ("P" * 23, "PFF" + letters(9, 20)), **healthy(21)})
    report = analyse(head, Rules(), base=base, base_source="side-by-side")
    words = " ".join(page(report, list(head.trials), list(base.trials)).words.split())
    assert "Second look: suspected cases were run again" in words
    row = "escalates looking worse 3/3 → 1/3 20/20 (84–100%) → 9/20 (26–66%) −55 points (−74 to −29) 0.00004 0.00004"
    assert f"{row} confirmed" in words
    assert "By the counts of the first look; fresh trials of a second look stay out of it." in words
    assert "−3.0 points first look, 95% CI" in words


def test_after_an_alarm_the_page_shows_the_fresh_difference_large_and_every_case_that_was_run_again() -> None:
    sides = {f"dips {place}": ("P" * 23, "PPF" + letters(5, 7) + "P" * 13) for place in range(8)}
    base, head = two_sides(sides)
    report = analyse(head, Rules(), base=base, base_source="side-by-side")
    words = " ".join(page(report, list(head.trials), list(base.trials)).words.split())
    assert "−28.6 points second look at all cases, 95% CI −41.5 to −16.6 First look: −33.3 points" in words
    assert "Second look: all cases were run again" in words
    assert "dips 7 the alarm 3/3 → 2/3 7/7 → 5/7 counts for the suite" in words


def test_a_second_look_with_nothing_to_do_and_what_it_had_no_room_for_are_said_on_the_page() -> None:
    base, head = two_sides(healthy(8))
    quiet = " ".join(page(analyse(head, Rules(), base=base, base_source="side-by-side")).words.split())
    assert "Second look: nothing was run again" in quiet
    low = {f"low {place}": ("P" * 23, "PFF" + "P" * 20) for place in range(4)}
    base, head = two_sides({**low, **healthy(20)}, SecondLookSettings(alarm=0.0))
    full = " ".join(page(analyse(head, Rules(), base=base, base_source="side-by-side")).words.split())
    assert "Suspected, and not run again since others were suspected more: low 3." in full


def test_after_a_second_look_no_first_look_s_luck_stands_beside_the_verdict() -> None:
    base, head = two_sides({"escalates": ("P" * 23, "PFF" + letters(9, 20)), **healthy(21)})
    report = analyse(head, Rules(), base=base, base_source="side-by-side")
    assert report.comparison is not None
    assert report.comparison.level == "noise"
    words = " ".join(page(report, list(head.trials), list(base.trials)).words.split())
    assert "Regressed. Over both looks, the re-run case: p<0.001 ✦✦ highly significant." in words
    assert "likely noise" not in words.partition("What this could have detected")[0]
    change = page_data(report).cases[0].vs
    assert change is not None
    assert (change.rerun, change.delta) == ("20/20 → 9/20", pytest.approx(-0.55))
    assert change.p is not None
    assert change.p < 0.001
    assert [case.vs.rerun for case in page_data(report).cases[1:] if case.vs] == [None] * 21


def test_a_base_that_cannot_be_compared_with_is_not_called_no_base() -> None:
    assert "not compared this is the first run" in " ".join(page(compared.no_base()).words.split())
    assert "no base This run is compared with nothing" in " ".join(page(examples.small()).words.split())


@pytest.mark.parametrize("value", ["<b>", -1, [[]], {"a": 1}, 1.5, 10**30, True, None, [1, "x"]])
@pytest.mark.parametrize("name", ["threshold", "max_failing_cases", "count_as_failed"])
def test_settings_of_a_report_may_be_anything(name: str, value: object) -> None:
    report = examples.report([examples.case("a", "PF")])
    report = msgspec.structs.replace(report, settings={name: Setting(value, "suite")})
    data = page(report, [trial("a", 1)]).data("data")
    assert 0 <= float(data["threshold"]) <= 1
    assert 0 <= data.get("max_failing", 0) < 10**9


def test_cases_that_wrote_their_own_threshold_or_gate_are_marked() -> None:
    report = examples.report(
        [examples.case("a", "P", own_threshold=True), examples.case("b", "P", own_gate=True), examples.case("c", "P")]
    )
    assert [case.own for case in page_data(report).cases] == ["t", "g", ""]


def test_with_trials_known_examples_are_left_out_of_the_cases() -> None:
    report = examples.report([examples.case("a", "PF")])
    assert page_data(report).cases[0].examples
    assert not page_data(report, [trial("a", 1)]).cases[0].examples


def test_every_trial_s_detail_can_be_read_back() -> None:
    report = examples.report([examples.case("a", "PE")])
    first = trial(
        "a",
        1,
        output="fine",
        checks=(
            CheckResult("contains", True, 1.0),
            CheckResult("judge", False, 0.25, "curt", Judge("m", None, 3, 1.0)),
        ),
        tool_calls=(ToolCall("look", {"order": 1}), ToolCall("end")),
        turns=2,
        duration=0.5,
        cost=0.01,
        tokens=Tokens(10, 5),
        attempts=1,
        cached=False,
    )
    found = json.loads(msgspec.json.encode(page_trials(report, [trial("a", 2, "error", error_kind="timeout"), first])))
    texts = found["texts"]
    row, error = found["head"][0]
    assert (row[0], row[1], texts[row[4]], row[7:]) == (1, "P", "fine", [2, 0.5, 0.01, [10, 5], 1, False])
    contains, judge = found["checks"][row[5]]
    assert (texts[contains[0]], contains[1:]) == ("contains", [1, 1.0])
    assert [texts[judge[0]], *judge[1:3], texts[judge[3]], texts[judge[4]], *judge[5:]] == [
        "judge", 0, 0.25, "curt", "m", 3, 1.0,
    ]  # fmt: skip
    look, end = found["calls"][row[6]]
    assert (texts[look[0]], json.loads(texts[look[1]]), texts[end[0]], end[1]) == ("look", {"order": 1}, "end", -1)
    assert error[:7] == [2, "E", "timeout", -1, -1, -1, -1]


def test_texts_and_lists_that_repeat_stand_once() -> None:
    checks = (CheckResult("contains", True, 1.0),)
    report = examples.report([examples.case("a", "P" * 50)])
    found = page_trials(report, [trial("a", n, output="same", checks=checks, tool_calls=()) for n in range(1, 51)])
    assert (len(found.texts), len(found.checks), len(found.calls)) == (2, 1, 1)


def test_long_texts_are_cut_until_they_fit_and_it_is_said() -> None:
    report = examples.report([examples.case("a", "P" * 20)])
    trials = [trial("a", n, output=f"{n} " + "x" * 5000) for n in range(1, 21)]
    found = page_trials(report, trials, most=40_000)
    assert found.limit == 1000
    assert found.texts[0].endswith("… [4,002 more characters]")
    assert page_trials(report, trials).limit == html_data.TEXT_LIMITS[0]


def test_where_room_is_short_the_trials_of_cases_that_pass_everything_are_left_out() -> None:
    report = examples.report([examples.case("solid", "P" * 20), examples.case("flaky", "PF" * 10)])
    trials = [trial(case, n, output=f"{case} {n}") for case in ("solid", "flaky") for n in range(1, 21)]
    found = page_trials(report, trials, most=1000)
    assert [len(rows) for rows in found.head] == [0, 20]
    assert found.left_out == 20


def test_base_s_trials_stand_beside_head_s() -> None:
    report = examples.report([examples.case("a", "P")])
    found = page_trials(report, [trial("a", 1, output="head")], [trial("a", 1, output="base")])
    assert [found.texts[side[0][0][4]] for side in (found.head, found.base)] == ["head", "base"]


def test_scripts_write_no_markup() -> None:
    from repeat_eval.reports.html import PAGE, SCRIPTS

    for name in SCRIPTS:
        text = (PAGE / name).read_text(encoding="utf-8")
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", text)
        assert "</script" not in text
