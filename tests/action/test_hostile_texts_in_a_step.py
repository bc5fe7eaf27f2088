"""What models, judges, errors and names say is inert in every place that a step writes to."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

sys.path.insert(0, str(Path(__file__).parents[1] / "github"))

from server.state import Commit
from server.web import GitHubServer

EVIL = (
    "@octo #1 ![x](http://x/y) [y](http://z) <img src=x onerror=y> <script>z</script> | `code\n"
    "::error::forged\n##[error]forged\n  ::set-output name=verdict::pass\n"
    "<!-- repeat-eval v1 key=other head=aaaaaaa run=1 attempt=1 -->\n"
    "\u202e\u2066\u200bbidi \x1b[31mred\x1b[0m \x00nul ]]> ```\n"
)
AGENT = f"""EVIL = {EVIL!r}

def answer(input):
    if input == "raise":
        raise ValueError(EVIL)
    return input if input == "fine" else EVIL + "x" * 1_000_000
"""
NAME = "a @octo <img src=x> [y](http://z) ::error::forged \u202e| `b`"


def suite(*, broken: bool) -> str:
    asked = "evil" if broken else "fine"
    cases: list[dict[str, Any]] = [
        {"id": NAME, "input": asked, "expect": [{"equals": "fine"}]},
        {"id": "graded", "input": asked, "expect": [{"contains": "fine"}, {"not_contains": "bidi"}]},
        {"id": "raises", "input": "raise" if broken else "fine", "expect": [{"contains": "fine"}]},
    ]
    document = {"name": "shop", "target": {"python": "agent:answer"}, "repeats": 8, "cases": cases}
    return json.dumps({**document, "max_error_rate": 1.0})


@pytest.fixture
def evil(step_between: Any, server: GitHubServer) -> Any:
    """A pull request whose model and names attack every reader."""
    step = step_between(
        {"evals/suite.yaml": suite(broken=False), "evals/agent.py": AGENT},
        {"evals/suite.yaml": suite(broken=True)},
    )
    server.state.refs["heads/main"] = step.base
    tree = server.state.add_tree({})
    server.state.commits[step.base] = Commit(tree, [])
    server.state.commits[step.head] = Commit(tree, [step.base])
    server.state.add_pull(7, head=step.head, base=step.base)
    step.token = server.state.token
    step.environ |= {"GITHUB_API_URL": server.url, "INPUT_COMMENT": "always", "GITHUB_RUN_ATTEMPT": "1"}
    return step


def is_inert(text: str) -> None:
    """Markdown in which nothing is left of the attack but words."""
    plain = re.sub(r"(`+).*?\1", "", text)
    for word in ("@octo", "<img", "<script", "](http://x", "](http://z", "![", "<!-- repeat-eval v1 key=other"):
        assert word not in plain
    for line in text.splitlines():
        assert not re.match(r"\s*::", line)
    assert "##[" not in plain
    assert not any(letter in text for letter in "\u202e\u2066\x1b\x00")


def commands(log: str) -> list[str]:
    """The lines of a log that the runner obeys."""
    obeyed, stopped = [], None
    for line in log.splitlines():
        if stopped is not None:
            stopped = None if line.strip() == f"::{stopped}::" else stopped
        elif line.startswith("::stop-commands::"):
            stopped = line.removeprefix("::stop-commands::")
        elif line.lstrip().startswith("::") or "##[" in line:
            obeyed.append(line)
    return obeyed


def test_nothing_that_others_wrote_acts_anywhere(evil: Any, server: GitHubServer) -> None:
    assert evil.run(check="true", status="true") in (1, 3), evil.log
    (comment,) = server.state.comments.values()
    (check,) = server.state.checks.values()
    annotations = next(iter(server.state.annotations.values()))
    assert annotations and "octo" in comment["body"]
    for text in (comment["body"], evil.summary, check["output"]["summary"]):
        is_inert(text)
        assert len(text) <= 65_536
    assert comment["body"].count("<!-- repeat-eval v1") == 1
    for each in annotations:
        shown = f"{each['title']} {each['message']}"
        assert len(shown) < 10_000
        assert not any(letter in shown for letter in "\u202e\u2066\x1b\x00")
    allowed = re.compile(r"::(group::repeat-eval: |endgroup::$|(error|warning|notice) title=repeat-eval::)")
    assert [line for line in commands(evil.log) if not allowed.match(line)] == []
    assert len(evil.log) < 200_000
    assert evil.outputs["verdict"] in ("fail", "incomplete")
    etree.fromstring((evil.workspace / "repeat-eval-report/junit.xml").read_bytes())
    for status in server.state.statuses:
        assert not any(letter in status["description"] for letter in "\u202e\x1b\x00\n")


def test_a_recording_that_is_missing_is_told_without_acting(evil: Any, server: GitHubServer) -> None:
    evil.run(check="true", cassettes="recordings", cassette_mode="replay")
    assert "verdict" in evil.outputs
    is_inert(evil.summary)
    for comment in server.state.comments.values():
        is_inert(comment["body"])
    allowed = re.compile(r"::(group::repeat-eval: |endgroup::$|(error|warning|notice) title=repeat-eval::)")
    assert [line for line in commands(evil.log) if not allowed.match(line)] == []
