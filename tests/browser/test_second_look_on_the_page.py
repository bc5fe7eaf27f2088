"""A case that a second look ran again: its row and its dialog tell the fresh trials' difference, named as such."""

from __future__ import annotations

from pathlib import Path

from browser_pages import Opener
from page_reports import program

AGENT = """
def base(question):
    return "yes"

def head(question, context):
    return "no" if question == "3" and context.repetition % 2 else "yes"
"""
SUITE = "name: twice\ntarget: python:agent:head\ncases:\n" + "".join(
    f"  - {{id: case {number}, input: '{number}', expect: [{{contains: 'yes'}}]}}\n" for number in range(10)
)


def test_a_case_that_was_run_again_tells_its_fresh_trials(open_page: Opener, tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(AGENT)
    (tmp_path / "suite.yaml").write_text(SUITE)
    program("run", tmp_path / "suite.yaml", "--base-target", "python:agent:base", "--out", tmp_path / "out")
    page = open_page(tmp_path / "out" / "report.html")

    row = page.locator(".row", has_text="case 3")
    assert row.locator(".c-delta").inner_text().split("\n") == ["−50 points", "re-run, p <0.001"]
    row.locator(".open").click()
    assert "−50 points (−70 to −24), p <0.001, re-run 20/20 → 10/20" in page.locator("#detail .pairs").inner_text()
    card = page.locator(".card", has_text="Against base").first.inner_text()
    assert "first look, 95% CI" in card
    assert "not significant" not in card
