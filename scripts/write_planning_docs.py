"""Write the outputs of the commands that docs/planning.md shows, from the program itself."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from page_parts import ROOT

PAGE = ROOT / "docs" / "planning.md"
_BLOCK = re.compile(r"^```console\n(.*?)^```", re.DOTALL | re.MULTILINE)
_OURS = ("REPEAT_EVAL_", "COLUMNS", "NO_COLOR", "FORCE_COLOR")


def page_with_outputs(text: str) -> str:
    """The page with the output of each command below it, all run in one fresh folder beside the examples."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "examples").symlink_to(ROOT / "examples")
        return _BLOCK.sub(lambda block: f"```console\n{_outputs(block[1], folder)}```", text)


def _outputs(block: str, folder: Path) -> str:
    lines = []
    for command in (line for line in block.splitlines() if line.startswith("$ ")):
        lines.append(command)
        lines += [line.rstrip() for line in _run(shlex.split(command[2:])[1:], folder).splitlines()]
    return "".join(f"{line}\n" for line in lines)


def _run(arguments: list[str], folder: Path) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(_OURS)}
    done = subprocess.run(
        [sys.executable, "-m", "repeat_eval", *arguments],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    return done.stdout


def main() -> None:
    """Rewrite the page."""
    PAGE.write_text(page_with_outputs(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
