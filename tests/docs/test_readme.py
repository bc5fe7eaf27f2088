"""README.md: its commands work, its options and settings exist, its tables tell the truth."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from doc_pages import PAGES, ROOT, blocks, commands, text_of

from repeat_eval.cli.main import run
from repeat_eval.errors import ExitCode
from repeat_eval.suite.load import load_suite
from repeat_eval.suite.settings import Settings

README = text_of(ROOT / "README.md")
OPTIONS = set(re.findall(r"`(--[a-z-]+)", text_of(ROOT / "docs" / "command-line.md")))
SUBCOMMANDS = ("run", "report", "validate", "schema", "init")


def runnable() -> list[str]:
    marked = re.findall(r"<!-- runnable -->\n```console\n(.*?)```", README, re.DOTALL)
    return [command for block in marked for command in commands(block)]


@pytest.mark.e2e
def test_the_commands_marked_as_runnable_pass_one_after_another(tmp_path: Path) -> None:
    found = runnable()
    assert len(found) >= 6
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("REPEAT_EVAL_", "PYTEST_"))}
    # The programs of this environment, as after an activation.
    environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{environ['PATH']}"
    for command in found:
        done = subprocess.run(
            shlex.split(command), check=False, cwd=tmp_path, env=environ, capture_output=True, text=True
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"


def shown_commands() -> list[tuple[str, str]]:
    return [
        (str(page.relative_to(ROOT)), command)
        for page in PAGES
        for language in ("console", "sh", "yaml", "text")
        for block in blocks(text_of(page), language)
        for command in re.findall(r"repeat-eval (?:run|report|validate|schema|init)\b.*", block)
    ]


@pytest.mark.parametrize(("page", "command"), shown_commands())
def test_every_option_that_a_page_shows_exists(page: str, command: str) -> None:
    # Within quotes are other programs' options.
    ours = re.sub(r"'[^']*'", "", re.sub(r"\s{2,}.*|\s+# .*", "", command))
    assert set(re.findall(r"(?<!\S)(--[a-z-]+)", ours)) <= OPTIONS
    assert ours.split()[1] in SUBCOMMANDS


def test_make_targets_that_pages_name_exist() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = {name for page in PAGES for name in re.findall(r"(?:^\$ |`)make ([a-z]+)\b", text_of(page), re.MULTILINE)}
    assert {"demo", "test"} <= named <= targets


def test_the_suite_that_is_shown_is_valid(tmp_path: Path) -> None:
    shown = next(block for block in blocks(README, "yaml") if "cases:" in block)
    (tmp_path / "suite.yaml").write_text(shown, encoding="utf-8")
    (case,) = load_suite(tmp_path / "suite.yaml").cases
    assert case.id == "escalates_over_limit"


def test_the_python_that_is_shown_passes(capsys: pytest.CaptureFixture[str]) -> None:
    (program,) = blocks(README, "python")
    exec(program, {"__name__": "readme"})  # noqa: S102 - our own page
    assert capsys.readouterr().out == "pass 1.0 0 1.0\n"


def test_the_gates_table_names_settings() -> None:
    table = README.split("## Gates", 1)[1].split("## ", 1)[0]
    named = {
        name for row in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE) for name in re.findall(r"`([a-z_]+)", row)
    }
    assert named <= set(Settings.model_fields)
    assert {"suite_threshold", "min_stability", "max_failing_cases", "max_error_rate", "min_reliability"} <= named


@pytest.mark.parametrize("page", ["README.md", "docs/exit-codes.md"])
def test_the_exit_codes_are_those_of_the_program(page: str) -> None:
    listed = re.findall(r"^\| (\d) \|", text_of(ROOT / page), re.MULTILINE)
    assert [int(code) for code in listed] == [int(code) for code in ExitCode]


def test_a_fault_of_ours_is_no_verdict(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def break_down(*_: object) -> None:
        raise ZeroDivisionError("oh no")

    monkeypatch.setattr("repeat_eval.steps.schemas.schema_of", break_down)
    monkeypatch.setattr("repeat_eval.cli.schema.schema_of", break_down, raising=False)
    assert run(["schema", "suite"]) == ExitCode.INCOMPLETE
    error = capsys.readouterr().err
    assert "ZeroDivisionError: oh no (cli/schema.py:" in error
    assert "Traceback" not in error


def test_the_ci_snippet_is_yaml() -> None:
    steps = yaml.safe_load(next(block for block in blocks(README, "yaml") if "run: repeat-eval" in block))
    assert [set(step) for step in steps] == [{"run"}, {"run", "if"}]
