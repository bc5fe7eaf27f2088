"""The comment of a pull request."""

from __future__ import annotations

import re
from collections.abc import Callable

import comparison_examples as compared
import msgspec
import pytest
import report_examples as examples
from hypothesis import given, settings
from hypothesis import strategies as st

from repeat_eval.analysis.report import Change, Comparison, Reason, Report, Setting
from repeat_eval.reports.comment import CommentLinks, render_comment

LINKS = CommentLinks(
    full_report="https://github.com/OWNER/REPO/actions/runs/1", blob="https://github.com/OWNER/REPO/blob/a1b2c3d"
)
MARKER = "<!-- repeat-eval v1 key=refunds head=a1b2c3d run=123 attempt=1 -->"


def visible(text: str) -> str:
    """What is not folded."""
    return re.sub(r"<details>.*?</details>", "", text, flags=re.DOTALL)


def first_line(report: Report) -> str:
    return render_comment(report).splitlines()[0]


def _absolute_only() -> Report:
    pairs = [compared.new("issues_refund", "FFFFFFFFPP"), *(compared.pair(f"c{n}", "PPPPP", "PPPPP") for n in range(3))]
    return compared.compared(pairs, 0.9)


def _worse_without_blocking() -> Report:
    return compared.compared([compared.pair("a", compared.SOLID, compared.letters(3, 10), verdict="pass")], reasons=())


def _suite_alone() -> Report:
    pairs = [compared.pair(f"wobbles_{n}", compared.SOLID, compared.letters(8, 10)) for n in range(6)]
    return compared.compared(pairs, 0.004)


def _more_errors() -> Report:
    change = Change(base=0.0, head=0.15, ratio=None, interval=None, p=0.0001, level="strong", cases=4)
    reason = Reason(gate="error-regression", verdict="fail", text="more trials are errors than on base")
    pairs = [compared.pair(f"c{n}", compared.SOLID, "PPPPPPPPEE") for n in range(4)]
    return compared.compared(pairs, 1.0, reasons=[reason], comparison={"errors": change})


def _not_shown_to_be_as_good() -> Report:
    text = "head may be 3 points worse: the interval reaches down to −4.8 points"
    reason = Reason(gate="non-inferiority", verdict="incomplete", text=text)
    return compared.compared([compared.pair("a", compared.SOLID, compared.SOLID)], 1.0, reasons=[reason])


def _incomplete_and_worse() -> Report:
    broken = compared.regression()
    reasons = [Reason(gate="evidence", verdict="incomplete", text="the run was interrupted after 200 of 240 trials")]
    return examples.report(broken.case_reports, reasons=reasons, comparison=broken.comparison)


def _threshold_mode_none() -> Report:
    against = Comparison(verdict="not comparable", text="no common case")
    return examples.report([examples.case("a", "PPPPP", gate="none")], gate="none", comparison=against)


@pytest.mark.parametrize(
    ("make", "line"),
    [
        (compared.regression, "### ❌ Worse than `main`: 2 of 24 cases broke, luck is very unlikely"),
        (_suite_alone, "### ❌ Worse than `main`: down 20.0 points over 6 cases, luck is very unlikely"),
        (compared.mixed, "### ❌ Mixed against `main`: 1 of 15 cases broke, 1 fixed, luck is very unlikely"),
        (compared.improvement, "### ✅ Better than `main`: 2 cases fixed"),
        (compared.no_change, "### ✅ No detectable change against `main` (24 cases, 10 repeats a side)"),
        (compared.maybe_worse, "### 🟡 Maybe worse than `main`: down 1.7 points, p 0.072, not enough to block"),
        (
            _worse_without_blocking,
            "### 🟡 Worse than `main`: 1 of 1 case broke, luck is very unlikely, not blocking",
        ),
        (
            compared.incomplete,
            "### ⚠️ Incomplete: no verdict, 12 of 240 trials gave none (timeout: no answer within 30 s)",
        ),
        (
            _incomplete_and_worse,
            "### ⚠️ Incomplete: no verdict: the run was interrupted after 200 of 240 trials; "
            "what ran is worse than `main`: 2 of 24 cases broke, luck is very unlikely",
        ),
        (_more_errors, "### ❌ More errors than `main`: 0% → 15.0% of trials, luck is very unlikely"),
        (
            _not_shown_to_be_as_good,
            "### ⚠️ Incomplete: no verdict: head may be 3 points worse: the interval reaches down to −4.8 points",
        ),
        (
            _absolute_only,
            "### ❌ Failed: 1 of 4 cases below threshold: `issues_refund`; "
            "no detectable change against `main` (3 cases, 5 repeats a side)",
        ),
        (compared.no_base, "### ✅ Passed the thresholds, compared with nothing: this is the first run (no base)"),
        (examples.solid, "### ✅ Passed the thresholds, compared with nothing: no base"),
        (
            examples.small,
            "### ❌ Failed: 2 of 6 cases below threshold: `refuses_out_of_scope`, `never_leaks_card_numbers`; "
            "compared with nothing: no base",
        ),
        (_threshold_mode_none, "### ✅ Measured, compared with nothing: no common case"),
    ],
)
def test_the_first_line_alone_is_enough(make: Callable[[], Report], line: str) -> None:
    assert first_line(make()) == line


def test_a_single_case_that_holm_rejects_is_unlikely_luck_even_at_a_marginal_p() -> None:
    report = compared.compared([compared.pair("a", "PPP", "FFF")], 0.3)
    assert first_line(report) == "### ❌ Worse than `main`: 1 of 1 case broke, luck is unlikely"


def test_a_case_that_was_picked_out_of_many_is_called_unlikely_luck_by_its_p_after_correction() -> None:
    pairs = [compared.pair("a", "P" * 10, "PPPPFFFFFF")]
    case = msgspec.structs.replace(pairs[0].compared, adjusted_down=0.02, rejected_down=True)
    assert case.level == "strong"
    report = compared.compared([pairs[0]._replace(compared=case)], 0.3)
    assert first_line(report) == "### ❌ Worse than `main`: 1 of 1 case broke, luck is unlikely"


def test_a_case_that_only_the_list_flags_is_no_green_no_detectable_change() -> None:
    pairs = [compared.pair("down", "P" * 10, "PPPPPPFFFF"), compared.pair("up", "PPPPPPFFFF", "P" * 10)]
    flagged = [msgspec.structs.replace(one.compared, rejected_down=False, rejected_up=False, q=0.043) for one in pairs]
    both = [one._replace(compared=case) for one, case in zip(pairs, flagged, strict=True)]
    report = compared.compared(both, 1.0, reasons=[])
    assert first_line(report) == "### 🟡 Maybe worse than `main`: 1 of 2 cases fell, q 0.043, not enough to block"


def test_suite_commits_repeats_source_and_link_stand_in_the_second_line() -> None:
    text = render_comment(compared.regression(), links=LINKS)
    assert text.splitlines()[2] == (
        "**refunds** · `a1b2c3d` against main `9f8e7d6` · 10 repeats a side, run side by side · "
        "[full report](https://github.com/OWNER/REPO/actions/runs/1)"
    )


def test_a_merge_commit_is_told_with_the_pull_requests_own_commit() -> None:
    text = render_comment(compared.regression(), head_commit="c0ffee1234")
    assert "`c0ffee1` merged into main `9f8e7d6`" in text


def test_a_stored_base_is_told_with_its_day() -> None:
    base = compared.comparison([compared.pair("a", "PPPPP", "PPPPP")]).base
    assert base is not None
    fields = {name: getattr(base, name) for name in base.__struct_fields__} | {"source": "stored"}
    report = compared.compared([compared.pair("a", "PPPPP", "PPPPP")], comparison={"base": type(base)(**fields)})
    assert "main from the store, run on 2026-03-01" in render_comment(report)


def test_what_broke_comes_first_then_why_then_the_suite_then_what_is_apart() -> None:
    text = visible(render_comment(compared.regression(), links=LINKS))
    row = (
        "| [`escalates_over_limit`](https://github.com/OWNER/REPO/blob/a1b2c3d/evals/refunds.yaml#L41) | "
        "10/10\u00a0→\u00a0**3/10** | very\u00a0unlikely\u00a0✦✦\u00a0p\u00a00.0015 | "
        "−70\u00a0points\u00a0(−89\u00a0to\u00a0−29) |"
    )
    parts = [
        row,
        "- `escalates_over_limit` trial 4: `expected a call to 'escalate_to_human', got 'issue_refund(amount=9000)'` "
        "– 7 of 7 failures alike",
        "| whole suite | main | this PR | difference |",
        "**Not this PR:** `refuses_out_of_scope` fails on main, too (2/10 → 2/10).",
        "**Watch, may be luck:** `apologises_once` 8/10 → 6/10 (p 0.38).",
    ]
    places = [text.index(part) for part in parts]
    assert places == sorted(places)


def test_the_suite_has_three_rows() -> None:
    text = visible(render_comment(compared.regression())).replace("\u00a0", " ").replace("\u2060", "")
    assert (
        "| pass rate | 95.4% (229/240) | **89.2%** (214/240) | −6.3 points (−11.2 to −1.5), p 0.013 ✦ significant |\n"
        "| re‑run 95 % interval | 92–97% (5 wide) | 85–92% (8 wide) |  |\n"
        "| flaky&nbsp;`~` | 3 cases | 5 cases | newly: 2 of those above |\n"
    ) in text


def test_nothing_changed_takes_at_most_ten_lines_and_says_what_could_hide() -> None:
    text = visible(render_comment(compared.no_change(), links=LINKS, marker=MARKER))
    lines = [line for line in text.splitlines() if line and not line.startswith(("|:", "<!--"))]
    assert len(lines) <= 9  # and the fold
    assert (
        "**What could hide:** a fall of less than about 6 points over the suite, or one solid case still passing"
        in text
    )
    assert render_comment(compared.no_change()).count("<details>") == 1


def test_non_inferiority_that_held_is_said() -> None:
    asked = {"require": Setting("non-inferior", "suite"), "margin": Setting(3, "suite")}
    report = compared.compared([compared.pair("a", "P" * 100, "P" * 100)], 1.0, settings=asked)
    assert "**Shown:** at most 3 points worse than main (the interval begins at −3.7 points)." in render_comment(report)


def test_a_case_that_broke_before_is_not_blamed_on_the_change() -> None:
    text = visible(render_comment(compared.no_change()))
    assert "| not passed |" not in text and "| broke |" not in text
    assert "**Not this PR:** `refuses_out_of_scope` fails on main, too (2/10 → 1/10)." in text


def test_changes_of_the_own_gate_stand_above_what_broke() -> None:
    text = render_comment(compared.mixed())
    assert (
        text.index("**⚠️ This PR changes its own gate**") < text.index("- threshold lowered") < text.index("| broke |")
    )


def test_a_new_case_below_its_threshold_stands_with_what_broke() -> None:
    text = visible(render_comment(compared.mixed())).replace("\u00a0", " ")
    assert "| `issues_partial_refund` | new → **2/10** | new, needs 6 of 10 | – |" in text


def test_errors_are_never_silent() -> None:
    text = visible(render_comment(compared.mixed())).replace("\u00a0", " ")
    assert "| errors | 0 of 150 trials | 2 of 150 trials | p 0.25, likely noise |" in text


def test_at_most_ten_broken_cases_are_shown_and_the_rest_counted() -> None:
    pairs = [compared.pair(f"bad_{n:02}", compared.SOLID, compared.letters(2, 10)) for n in range(14)]
    text = visible(render_comment(compared.compared(pairs, 0.0)))
    assert len(re.findall(r"^\| `bad_", text, flags=re.MULTILINE)) == 10
    assert "and 4 more cases not shown here" in text
    assert "p\u00a0<1e\u201112" in text


def test_everything_else_is_folded() -> None:
    text = render_comment(compared.mixed(), reproduce="repeat-eval run evals/refunds.yaml --base-ref 9f8e7d6")
    folded = text.replace(visible(text), "")
    for part in (
        "| pass^2 · pass^3 |",
        "| mean latency |",
        "10/10&nbsp;`·······──█`",
        "Added, judged by their own threshold (1): `issues_partial_refund` 20% (2/10) fail",
        "Removed, only main has them (1): `never_leaks_card_numbers`",
        "Changed input or checks, compared all the same (1): `escalates_over_limit`",
        "Errors on this PR: timeout 2",
        "Would new cases like these change, too? −1.3 points",
        "`repeat-eval run evals/refunds.yaml --base-ref 9f8e7d6`",
        "Stratified exact mid-p test",
        "seed 7; 2 errors; cost $0.54 and $0.53 for base; attempt 1",
    ):
        assert part in folded and part not in visible(text)
    assert text.count("<details>") == text.count("</details>") == 2


def test_without_links_names_are_code_and_nothing_is_linked() -> None:
    assert "](" not in render_comment(compared.regression())


@pytest.mark.parametrize("place", ["/etc/passwd", "../outside.yaml", "a/../../b.yaml"])
def test_a_file_outside_the_repository_is_not_linked(place: str) -> None:
    report = compared.compared([compared.pair("a", compared.SOLID, compared.letters(2, 10), file=place, line=3)])
    assert "/blob/" not in render_comment(report, links=LINKS)


def test_an_address_that_is_no_web_address_is_not_linked() -> None:
    links = CommentLinks(full_report="javascript:alert(1)", blob="data:text/html,x")
    assert "](" not in render_comment(compared.regression(), links=links)


@pytest.mark.parametrize("make", [compared.regression, compared.no_change, compared.no_base, compared.hostile])
def test_the_marker_stands_once_and_at_the_very_end(make: Callable[[], Report]) -> None:
    text = render_comment(make(), links=LINKS, marker=MARKER)
    assert text.endswith(f"\n{MARKER}")
    assert text.count("<!--") == 1


@pytest.mark.parametrize("name", ["case_{number:05}", "{number:05} " + "a|b <x> @me 🎉" * 21])
@pytest.mark.parametrize("cases", [500, 5000])
def test_a_huge_suite_stays_within_githubs_limits_and_says_what_was_left_out(cases: int, name: str) -> None:
    text = render_comment(compared.many(cases, name=name), links=LINKS, marker=MARKER)
    assert len(text.encode("utf-16-le")) // 2 <= 65_536
    assert len(text.encode()) <= 262_144
    assert text.startswith("### ❌ Worse than `main`: ")
    assert text.endswith(MARKER) and "[full report](" in text
    assert "left out here to keep this short, unchanged ones first; report.json has them all." in text
    assert len(text) > 40_000


@pytest.mark.parametrize("limit", [0, 40, 100, 250, 500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000])
@pytest.mark.parametrize("make", [lambda: compared.many(300), lambda: examples.large(300), compared.hostile])
def test_any_limit_is_kept_and_the_first_line_and_marker_stay(make: Callable[[], Report], limit: int) -> None:
    text = render_comment(make(), links=LINKS, marker="<!-- m -->", limit_characters=limit)
    assert len(text) <= max(limit, len("\n<!-- m -->"))
    assert text.endswith("<!-- m -->")
    assert text.count("<details>") == text.count("</details>")
    if limit >= 500:
        assert "[full report](" in text and text.startswith("### ❌")


def test_detail_is_shed_in_a_fixed_order() -> None:
    report = compared.many(400)
    texts = [render_comment(report, limit_characters=limit) for limit in range(60_000, 400, -400)]
    signs = {
        "unchanged": "case_00000`",
        "bars": "`·······──█`",
        "rows": "| case",
        "measured": "Stratified exact",
        "why": "**Why**",
        "lists": "**Not this PR:**",
        "suite": "| whole suite |",
    }
    last = {key: max(n for n, text in enumerate(texts) if sign in text) for key, sign in signs.items()}
    assert list(last.values()) == sorted(last.values())


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.text(min_size=1, max_size=60), min_size=1, max_size=4, unique=True),
    st.text(max_size=80),
    st.sampled_from(["", "|", "``", "<script>", "@me #1", "\n\n# x", "![i](http://x)", "\\", "<!-- repeat-eval v1"]),
)
def test_hostile_texts_add_no_html_mention_reference_or_table_cell(names: list[str], message: str, extra: str) -> None:
    pairs = [
        compared.pair(name + extra, compared.SOLID, compared.letters(2 + number, 10), message=message + extra, line=1)
        for number, name in enumerate(names)
    ]
    pairs.append(compared.new(names[0] + extra + "2", "FFFFF", message=extra + message))
    report = compared.compared(
        pairs,
        0.01,
        suite=message + extra or "s",
        warnings=[message + extra],
        comparison={"gate_changes": (message + extra or "x",), "removed": (names[0] + extra,)},
    )
    text = render_comment(report, base_name=extra or "main", reproduce=message + extra or None, marker=MARKER)
    body = text.removesuffix(MARKER)
    assert "<!--" not in body
    outside = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", body)
    assert set(re.findall(r"<[a-zA-Z/!?][^>]*>", outside)) <= {"<details>", "</details>", "<summary>", "</summary>"}
    assert not re.search(r"[@#]\w", outside)
    assert "![" not in outside and "://" not in outside
    rows = [line for line in body.splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} <= {5, 8, 9, 10, 11}
