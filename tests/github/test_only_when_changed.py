"""Whether a change touches what the evaluation depends on."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from repeat_eval.errors import UserError
from repeat_eval.github.changes import decide, is_meant, parse_patterns


@pytest.mark.parametrize(
    ("patterns", "meant", "not_meant"),
    [
        ("prompts/**", ["prompts/a.txt", "prompts/de/a.txt"], ["prompts", "prompt/a.txt", "src/prompts/a.txt"]),
        ("prompts/", ["prompts/a.txt", "src/prompts/a.txt"], ["prompts"]),
        ("/prompts/", ["prompts/a.txt"], ["src/prompts/a.txt"]),
        ("prompts", ["prompts", "prompts/a.txt", "src/prompts/x/a"], ["prompts2/a", "myprompts"]),
        ("*.md", ["README.md", "docs/a.md"], ["a.mdx", "md"]),
        ("/*.md", ["README.md"], ["docs/a.md"]),
        ("docs/*.md", ["docs/a.md"], ["docs/de/a.md", "x/docs/a.md"]),
        ("**/test_*.py", ["test_a.py", "a/b/test_b.py"], ["a/b/tests.py"]),
        ("src/**/prompt.txt", ["src/prompt.txt", "src/a/b/prompt.txt"], ["prompt.txt", "src/a/prompt.txt2"]),
        ("a/**/**/b", ["a/b", "a/x/y/b", "a/b/c"], ["a/x"]),
        ("**", ["a", "a/b"], []),
        ("file-?.txt", ["file-1.txt"], ["file-10.txt", "file-.txt"]),
        ("[a-c]x", ["ax", "d/bx"], ["dx", "-x"]),
        ("[!a]x", ["bx"], ["ax"]),
        ("[^a]x", ["bx"], ["ax"]),
        ("[]]x", ["]x"], ["ax"]),
        (r"a\*", ["a*"], ["ab"]),
        (r"\[a]", ["[a]"], ["a"]),
        (r"\#a", ["#a"], ["a"]),
        ("./agent/*", ["agent/a.py"], ["x/agent/a.py"]),
        ("# a note\n\n  prompts/**  \n", ["prompts/a"], ["# a note"]),
        ("prompts/**\n!**/*.md", ["prompts/a.txt"], ["prompts/README.md"]),
        ("prompts/**\n!*.md\nprompts/system.md", ["prompts/system.md"], ["prompts/a.md"]),
        ("!docs/**", ["src/a.py", "docs"], ["docs/a.md"]),
        ("Prompts/**", ["Prompts/a"], ["prompts/a"]),
    ],
)
def test_patterns_mean_what_they_mean_in_gitignore(patterns: str, meant: list[str], not_meant: list[str]) -> None:
    read = parse_patterns(patterns)
    assert [path for path in meant if not is_meant(path, read)] == []
    assert [path for path in not_meant if is_meant(path, read)] == []


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("repository")
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True, capture_output=True, timeout=60)
    return folder


_NAMES = st.sampled_from(["a", "b", "ab", "a.md", "*", "?", "*.md", "a*", "[ab]", "[!a]", "**"])


@settings(max_examples=40, deadline=None)
@given(
    names=st.lists(_NAMES, min_size=1, max_size=4),
    start=st.sampled_from(["", "/"]),
    end=st.sampled_from(["", "/"]),
    path=st.lists(st.sampled_from(["a", "b", "ab", "c", "a.md"]), min_size=1, max_size=4).map("/".join),
)
def test_one_pattern_agrees_with_git(repository: Path, names: list[str], start: str, end: str, path: str) -> None:
    written = start + "/".join(names) + end
    (repository / ".git/info/exclude").write_text(written + "\n")
    done = subprocess.run(
        ["git", "-C", str(repository), "check-ignore", "--quiet", "--no-index", path],
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode in (0, 1)
    assert is_meant(path, parse_patterns(written)) is (done.returncode == 0)


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("!", "names nothing"),
        ("/", "names nothing"),
        ("a[b", "without its ]"),
        ("a\\", "backslash"),
        ("../secrets", "without . and .."),
    ],
)
def test_a_pattern_that_cannot_match_is_refused_with_its_line(pattern: str, why: str) -> None:
    with pytest.raises(UserError, match=r"line 2:.*" + why.replace(".", r"\.")):
        parse_patterns(f"prompts/\n{pattern}\n")


def test_all_faults_are_told_at_once() -> None:
    with pytest.raises(UserError) as caught:
        parse_patterns(["!", "a", "["])
    assert len(caught.value.problems) == 2


def test_the_decision_says_why() -> None:
    patterns = parse_patterns("prompts/\nagent/**")
    assert decide(patterns, ["agent/a.py", "x"]).reason == "agent/a.py changed"
    no = decide(patterns, ["README.md"])
    assert (no.evaluate, no.reason) == (False, "nothing under prompts/ or agent/ changed")
    assert decide(parse_patterns("*.py"), []).reason == "nothing that only-when-changed names changed"


def test_what_is_not_known_is_evaluated() -> None:
    patterns = parse_patterns("prompts/")
    assert decide((), []).evaluate
    assert decide(patterns, None).evaluate
    assert decide(patterns, ["README.md"], complete=False).evaluate
    assert not decide(patterns, []).evaluate


def test_the_name_of_a_file_cannot_forge_anything() -> None:
    reason = decide(parse_patterns("*"), ["a\n::error::\x1b[31m" + "x" * 1000]).reason
    assert "\n" not in reason
    assert "\x1b" not in reason
    assert len(reason) < 150


def test_no_pattern_takes_long() -> None:
    patterns = parse_patterns("/".join(["**", "*a*a*a*a*a*a*a*b"] * 20))
    start = time.process_time()
    assert not is_meant("/".join(["a" * 100] * 100), patterns)
    assert time.process_time() - start < 5


@given(st.text(max_size=30), st.text(max_size=30))
def test_any_text_is_read_or_refused(pattern: str, path: str) -> None:
    try:
        patterns = parse_patterns(pattern)
    except UserError:
        return
    assert is_meant(path, patterns) in (True, False)
