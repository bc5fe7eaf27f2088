"""The page on templates of one's own: its example works, and its table of blocks is that of the templates."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from doc_pages import ROOT, blocks, text_of

from repeat_eval.reports.template_sandbox import FOLDERS, check_templates

PAGE = text_of(ROOT / "docs" / "templates.md")


def test_the_table_names_every_template_and_every_block() -> None:
    rows = dict(re.findall(r"^\| `([\w.]+\.j2)` \| (.*) \|$", PAGE, re.MULTILINE))

    assert list(rows) == list(FOLDERS)
    for name, told in rows.items():
        ours = (FOLDERS[name] / name).read_text(encoding="utf-8")
        assert re.findall(r"`(\w+)`", told) == re.findall(r"{% block (\w+) %}", ours), name


def test_the_example_does_what_is_said(tmp_path: Path) -> None:
    (example,) = blocks(PAGE, "jinja")
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates" / "comment.md.j2").write_text(example, encoding="utf-8")
    check_templates(tmp_path / "templates")
    texts = []
    for more in ([], ["--templates", str(tmp_path / "templates")]):
        command = [
            sys.executable,
            "-m",
            "repeat_eval",
            "run",
            "examples/refund_desk/suite.yaml",
            "--case",
            "stays_polite",
        ]
        command += ["--repeats", "2", "--no-html", "--fresh", "--quiet", "--out", str(tmp_path / "out"), *more]
        subprocess.run(command, cwd=ROOT, capture_output=True, timeout=120, check=False)
        texts.append((tmp_path / "out" / "comment.md").read_text(encoding="utf-8"))

    before, after = (text.split("\n\n") for text in texts)

    assert after[2] == "Questions about refund-desk: ask the evaluation team."
    assert after[0] == before[0]
    assert len(after) == len(before) + 1
