"""`repeat-eval run` in a step of somebody's own, outside of our action: its progress is folded in GitHub's log."""

from __future__ import annotations

from pathlib import Path

import pytest

from repeat_eval.cli.main import run

AGENT = "def answer(input):\n    return input\n"
SUITE = """target: {python: "agent:answer"}
repeats: 5
cases: [{id: a, input: hello, expect: [{contains: hello}]}]
"""


def ended(folder: Path, monkeypatch: pytest.MonkeyPatch, *words: str, github: str | None) -> int:
    (folder / "agent.py").write_text(AGENT)
    (folder / "suite.yaml").write_text(SUITE)
    if github is None:
        monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    else:
        monkeypatch.setenv("GITHUB_ACTIONS", github)
    return run(["run", str(folder / "suite.yaml"), "-o", str(folder / "out"), *words])


def test_progress_is_a_group_and_the_report_stands_outside_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ended(tmp_path, monkeypatch, github="true") == 0
    shown = capsys.readouterr()
    lines = shown.err.splitlines()
    begin, end = lines.index("::group::repeat-eval: run 5 trials"), lines.index("::endgroup::")
    assert lines[begin + 1] == "repeat-eval: running 5 trials"
    assert lines[end - 1].startswith("repeat-eval: 5/5 trials in ")
    assert "Reports: " in "".join(lines[end:])
    assert "::" not in shown.out


@pytest.mark.parametrize(("github", "words"), [(None, ()), ("false", ()), ("true", ("--quiet",))])
def test_elsewhere_and_when_quiet_nothing_is_folded(
    github: str | None,
    words: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert ended(tmp_path, monkeypatch, *words, github=github) == 0
    assert "::group::" not in capsys.readouterr().err


def test_what_others_wrote_is_no_command_to_the_runner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from repeat_eval.cli.show import Screen

    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    Screen(quiet=False, no_color=True).say("repetition 1: ##[error]green\n::warning::x")
    assert "##[" not in capsys.readouterr().err
