"""The whole chain on one machine: a change that breaks two cases, its fix, the merge; by act, through the image.

As a program it leaves behind what people saw, one Markdown file each: `python tests/container/chain.py FOLDER`.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from boxes import EXAMPLE, build_image
from hub import PULL, Ended, Hub, hub
from workflows import add_this_action, build_job_image, engine_socket

WORKFLOW = """name: evals
on:
  pull_request:
  push: {branches: [main]}
permissions: {contents: write, pull-requests: write, checks: write}
jobs:
  evals:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v7
        with: {persist-credentials: false}
      - uses: ./
        id: evals
        with: {suite: refund_desk/suite.yaml, seed: 7, check: true, store: write, badge: true}
      - if: always()
        run: echo "the verdict is '${{ steps.evals.outputs.verdict }}'"
"""
GOOD = {"forgets_the_photo": 0.0, "omits_the_reason": 0.0}
"""The example as it is has two cases that are broken on purpose. On main they are whole."""
BETTER = {**GOOD, "refunds_the_whole_order": 0.0, "explains_yes_and_no": 0.0}
STORED = "refund-desk/badge.json"


@dataclass(frozen=True)
class Seen:
    """What people could see after one event.

    Attributes:
        ended: the workflow. comments: id and body of each comment. check: the check run of this event.
        annotations: of that check. badge: its text; None where there is none yet.
    """

    ended: Ended
    comments: dict[int, str]
    check: dict[str, Any]
    annotations: list[dict[str, Any]]
    badge: str | None

    @property
    def verdict(self) -> str:
        """What the step after the action was told."""
        return re.findall(r"\| the verdict is '(.*)'", self.ended.log)[-1]


def begin(desk: Hub) -> Seen:
    """main: the action, the example with good habits, the workflow; and the first push."""
    add_this_action(desk.work)
    shutil.copytree(EXAMPLE, desk.work / "refund_desk", ignore=shutil.ignore_patterns("__pycache__"))
    set_habits(desk, GOOD)
    place = desk.work / ".github" / "workflows"
    place.mkdir(parents=True)
    (place / "evals.yml").write_text(WORKFLOW)
    return merged(desk, desk.commit("the refund desk", branch="main"))


def broken(desk: Hub) -> Seen:
    """A pull request whose head forgets photos and reasons."""
    set_habits(desk, {"forgets_the_photo": 0.8, "omits_the_reason": 0.7})
    desk.commit("a shorter prompt", branch="change")
    return seen(desk, desk.run(desk.open_pull("change"), "evals.yml"))


def fixed(desk: Hub) -> Seen:
    """The same pull request, whose head now remembers both, and slips less in other ways."""
    set_habits(desk, BETTER)
    desk.commit("a prompt that names both", branch="change")
    return seen(desk, desk.run(desk.open_pull("change"), "evals.yml"))


def merged(desk: Hub, commit: str) -> Seen:
    """The push of a commit to main."""
    return seen(desk, desk.run(desk.push_main(commit), "evals.yml"))


def set_habits(desk: Hub, habits: dict[str, float]) -> None:
    """Write how often the example's agent slips in which way."""
    file = desk.work / "refund_desk" / "agent.py"
    text = file.read_text("utf-8")
    for name, value in habits.items():
        text, count = re.subn(rf"(?m)^    {name}=[0-9.]+,$", f"    {name}={value},", text)
        assert count == 1, name
    file.write_text(text)


def seen(desk: Hub, ended: Ended) -> Seen:
    """What there is to see now."""
    state = desk.state
    number, check = list(state.checks.items())[-1]
    stored = desk.stored() if "refs/heads/repeat-eval-store" in state.refs else {}
    return Seen(
        ended,
        {each["id"]: each["body"] for each in state.comments.values() if each["issue"] == PULL},
        check,
        state.annotations.get(number, []),
        json.loads(stored[STORED])["message"] if STORED in stored else None,
    )


def main() -> None:
    """Go through the chain and write down what was seen."""
    out = Path(sys.argv[1])
    out.mkdir(parents=True, exist_ok=True)
    build_image()
    build_job_image()
    with tempfile.TemporaryDirectory() as place, engine_socket(Path(place)) as socket, hub(Path(place), socket) as desk:
        for name, step in (("1-main", begin), ("2-broken", broken), ("3-fixed", fixed)):
            _write(out, name, step(desk))
        _write(out, "4-merged", merged(desk, desk.merge("change")))
        for path, content in desk.stored().items():
            (out / path.replace("/", "-")).write_bytes(content)


def _write(out: Path, name: str, seen: Seen) -> None:
    for body in seen.comments.values():
        (out / f"{name}-comment.md").write_text(body, "utf-8")
    (out / f"{name}-check.json").write_text(json.dumps([seen.check, seen.annotations], indent=1, default=str))
    (out / f"{name}.log").write_text(seen.ended.log, "utf-8")
    print(f"{name}: {seen.verdict}, badge {seen.badge}, {len(seen.ended.requests)} requests")


if __name__ == "__main__":
    main()
