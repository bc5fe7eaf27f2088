"""Write the terminal picture of README.md: what `make demo` prints, shortened."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile

from page_parts import ROOT, part, replace_part

README = ROOT / "README.md"
COMMAND = ("run", "examples/refund_desk/suite.yaml", "--seed", "7")
COLUMNS = "120"
SHOWN_CASES = (
    "refunds_within_window",
    "refuses_after_window",
    "reads_a_long_thread",
    "escalates_over_limit",
    "answers_yes_or_no",
    "refunds_only_what_was_asked",
    "asks_for_photo_of_damage",
)
"""Cases in the picture: of each sort one, and both that are below their threshold."""


def demo_output() -> str:
    """What the demo's command prints on standard output in a terminal of 120 columns, without colours."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("REPEAT_EVAL_")}
    environ |= {"COLUMNS": COLUMNS, "NO_COLOR": "1"}
    with tempfile.TemporaryDirectory() as out:
        program = [sys.executable, "-m", "repeat_eval", *COMMAND, "--out", out]
        done = subprocess.run(program, check=False, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=120)
    if done.returncode != 1:
        raise RuntimeError(f"the demo ended with {done.returncode}, not 1:\n{done.stdout}{done.stderr}")
    return done.stdout


def shortened(output: str) -> str:
    """The output with a few cases instead of all, `…` where something was left out, and without the commit."""
    lines: list[str] = []
    for line in output.rstrip().splitlines():
        text = re.sub(r" · commit \w+", "", line.rstrip())
        row = re.match(r"[✓~✗!] +(\S+)", text) or re.match(r" +• '([^']+)'  \(", text)
        if row is None or row[1] in SHOWN_CASES:
            lines.append(text)
        elif lines[-1] != "…":
            lines.append("…")
    return "\n".join(lines)


def steady(text: str) -> str:
    """The text without what differs from run to run: times, and the spaces that line them up."""
    return re.sub(r"[ ─]+", " ", re.sub(r"<?\d+(\.\d+)? m?s\b", "TIME", text))


def picture() -> str:
    """The block that stands in README.md."""
    return f"```text\n{shortened(demo_output())}\n```"


def main() -> None:
    """Rewrite the picture, if more than times has changed."""
    new = picture()
    if steady(part(README, "demo")) != steady(new):
        replace_part(README, "demo", new)


if __name__ == "__main__":
    main()
