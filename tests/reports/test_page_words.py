"""Numbers and texts read alike in the HTML page and in every other report: run once in Node, and compared."""

from __future__ import annotations

import itertools
import random

from page_scripts import in_node, needs_node

from repeat_eval.reports import format as fmt
from repeat_eval.reports.escape import visible

pytestmark = needs_node


def rates() -> list[float]:
    draw = random.Random(5)
    edges = [0.0, 1.0, 0.5, 0.005, 0.995, 0.9951, 0.0049, 0.0004, 0.9996, 2 / 3, 1 / 3, 0.125, 1e-9]
    return edges + [draw.random() for _ in range(300)] + [c / n for n in (3, 7, 10, 40) for c in range(n + 1)]


def test_rates_and_intervals_read_alike() -> None:
    given = rates()
    pairs = [sorted(pair) for pair in zip(given, reversed(given), strict=True)]
    calls = [["percent", rate] for rate in given] + [["percent1", rate] for rate in given]
    calls += [["interval", pair] for pair in pairs] + [["percent", None], ["interval", None]]
    wanted = [fmt.percent(rate) for rate in given] + [fmt.percent1(rate) for rate in given]
    wanted += [fmt.interval((low, high)) for low, high in pairs] + ["-", "-"]
    assert in_node("words.js", calls) == wanted


def test_differences_read_alike() -> None:
    given = [sign * rate for rate in rates() for sign in (1, -1)]
    calls = [["points", value, decimals] for value in given for decimals in (0, 1)]
    calls += [["pointsInterval", [low, high], 0] for low, high in itertools.pairwise(given)]
    wanted = [fmt.points(value, decimals) for value in given for decimals in (0, 1)]
    wanted += [fmt.points_interval((low, high), 0) for low, high in itertools.pairwise(given)]
    assert in_node("words.js", calls) == wanted


def test_p_values_read_alike() -> None:
    given = [*rates(), 0.05, 0.0499, 0.04999, 0.01, 0.00999, 0.1, 0.0996, 0.001, 0.00099]
    assert in_node("words.js", [["pValue", p] for p in given]) == [fmt.p_value(p) for p in given]


def test_times_and_money_read_alike() -> None:
    draw = random.Random(6)
    given = [0.0, 0.0005, 0.0125, 0.9994, 0.9996, 59.94, 59.96, 3599.4, 3600.0, 7300.0, 1e6, 0.00994, 0.0099, 999.996]
    given += [10 ** draw.uniform(-5, 5) for _ in range(300)]
    assert in_node("words.js", [["duration", value] for value in given]) == [fmt.duration(value) for value in given]
    assert in_node("words.js", [["money", value] for value in given]) == [fmt.money(value) for value in given]


def test_what_hides_or_reorders_text_is_taken_out_of_a_line() -> None:
    given = ["a\u202eb", "\x1b[31mred\x1b[0m", "  two\n lines\t", "zero\u200bwidth\ufeff", "\U000e0041tag", "plain"]
    assert in_node("words.js", [["line", text] for text in given]) == [visible(text) for text in given]


def test_sequences_of_terminals_leave_no_tails() -> None:
    given = [
        "\x1b]8;;https://example.com\x07link\x1b]8;;\x07",
        "\x1b]0;title\x1b\\text",
        "\x1b]0;never ended",
        "\x1b]0;one\x1b[1mtwo",
        "\x1bPq data\x9cshown",
        "\x9b31mred\x9d0;title\x07",
        "\x1b(Bplain \x1b",
        "a\x1b]x\ny\x07b",
    ]
    assert in_node("words.js", [["line", text] for text in given]) == [visible(text) for text in given]
