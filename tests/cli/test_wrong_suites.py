"""Wrong suites through the real command line: exit code 2, a sentence at its place for every fault, nothing written."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from repeat_eval.cli.main import run

TARGET = "target: {python: 'agent:answer'}\n"
CASES = "cases:\n  - {id: a, input: hi, expect: [{contains: hi}]}\n"
ONE = TARGET + "cases:\n  - id: a\n    "
CHECK = ONE + "expect:\n      - "
HTTP = "target:\n  http:\n    url: http://127.0.0.1:9/\n    "

FILES = {
    "agent.py": "number = 3\ndef answer(text):\n    return text\n",
    "broken.py": "def answer(text:\n    return text\n",
    "needs.py": "import a_module_that_is_not_there\ndef answer(text):\n    return text\n",
    "raises.py": "raise RuntimeError('no key')\n",
    "more/part.yaml": "- id: a\n",
    "worse/part.yaml": "cases:\n  - id: z\n    gate: maybe\n",
}


@dataclass(frozen=True, slots=True)
class Said:
    """What the program said and left."""

    exit_code: int
    errors: list[str]
    out: Path


Try = Callable[[str], Said]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, content in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith(("REPEAT_EVAL_", "NO_SUCH_"))]:
        monkeypatch.delenv(name)
    return tmp_path


@pytest.fixture
def attempt(folder: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Said]:
    def tried(content: str | bytes | None = None, *words: str) -> Said:
        if content is not None:
            data = content if isinstance(content, bytes) else content.encode()
            (folder / "s.yaml").write_bytes(data)
        exit_code = run(["run", "s.yaml", "--out", "out", *words])
        captured = capsys.readouterr()
        assert captured.out == ""
        return Said(exit_code, captured.err.splitlines(), folder / "out")

    return tried


def bomb() -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 12)]
    return "\n".join(lines) + "\n" + TARGET + CASES


WRONG: dict[str, tuple[str | bytes, str, str]] = {
    # kind: (content, place, what is said)
    "misspelled key": ("repeets: 3\n" + TARGET + CASES, "1:1", "unknown key 'repeets'; did you mean 'repeats'?"),
    "unknown key": ("zzz: 3\n" + TARGET + CASES, "1:1", "unknown key 'zzz'; known keys: repeats, "),
    "misspelled key of a case": (ONE + "inptu: x\n", "4:5", "did you mean 'input'?"),
    "list for a number": ("repeats: [3]\n" + TARGET + CASES, "1:10", "`repeats` must be a whole number"),
    "number for a name": ("name: 3\n" + TARGET + CASES, "1:7", "`name` must be text; found 3"),
    "two cases of one id": (ONE + "input: x\n  - id: a\n", "5:9", "two cases have the id 'a' (the first is in line 3)"),
    "case without id": (TARGET + "cases:\n  - input: x\n", "3:5", "`id` is missing"),
    "empty id": (TARGET + "cases:\n  - id: ''\n", "3:9", "`id` must be a text of 1 to 1,000 characters on one line"),
    "case that is text": (TARGET + "cases:\n  - hello\n", "3:5", "a case is a mapping with `id` and `input`"),
    "cases that are a mapping": (TARGET + "cases:\n  a: {input: x}\n", "3:3", "`cases` must be a list"),
    "threshold above 1": ("threshold: 1.2\n" + TARGET + CASES, "1:12", "`threshold` 1.2 is above 1"),
    "threshold in per cent": ("threshold: 80\n" + TARGET + CASES, "1:12", "did you mean 0.8?"),
    "threshold with a sign": ("threshold: 80%\n" + TARGET + CASES, "1:12", "write the rate as a decimal, 0.8"),
    "threshold of a case": (ONE + "threshold: 80%\n", "4:16", "write the rate as a decimal, 0.8"),
    "threshold not a number": ("threshold: .nan\n" + TARGET + CASES, "1:12", ".nan is not a number"),
    "other spelling": (ONE + "require-pass-rate: -1\n", "4:24", "is not a rate"),
    "suite threshold": ("suite_threshold: 1.5\n" + TARGET + CASES, "1:18", "`suite_threshold` 1.5 is above 1"),
    "two spellings": ("repeats: 3\nrepeat: 3\n" + TARGET + CASES, "2:1", "another spelling of `repeats`"),
    "no repeats": ("repeats: 0\n" + TARGET + CASES, "1:10", "from 1 to 10,000, for instance 10; found 0"),
    "half a repeat": ("repeats: 1.5\n" + TARGET + CASES, "1:10", "found 1.5"),
    "repeats in words": ("repeats: ten\n" + TARGET + CASES, "1:10", "found 'ten'"),
    "repeats yes": ("repeats: true\n" + TARGET + CASES, "1:10", "found true"),
    "negative timeout": ("timeout: -5\n" + TARGET + CASES, "1:10", "must be a duration above 0"),
    "no workers": ("workers: 0\n" + TARGET + CASES, "1:10", "`workers` must be a whole number from 1"),
    "seed in words": ("seed: abc\n" + TARGET + CASES, "1:7", "`seed` must be a whole number from 0"),
    "misspelled gate": ("gate: wilsen\n" + TARGET + CASES, "1:7", "found 'wilsen'; did you mean wilson?"),
    "rate without a unit": ("rate: 60\n" + TARGET + CASES, "1:7", "must be a rate such as 60/min"),
    "cost in words": ("max_cost: free\n" + TARGET + CASES, "1:11", "must be an amount of US dollars"),
    "unknown error kind": ("retry_on: [provder]\n" + TARGET + CASES, "1:12", "must be among crash, timeout"),
    "unknown isolation": ("isolation: docker\n" + TARGET + CASES, "1:12", "must be none or process"),
    "tags that are a number": ("tags: 3\n" + TARGET + CASES, "1:7", "`tags` must be a list"),
    "defaults that are a list": ("defaults: [a]\n" + TARGET + CASES, "1:11", "`defaults` must be a mapping"),
    "fault in the defaults": ("defaults:\n  repeats: no\n" + TARGET + CASES, "2:12", "found 'no'"),
    "check in the defaults": ("defaults: {expect: [{contians: x}]}\n" + TARGET + CASES, "1:22", "unknown check"),
    "unknown check": (CHECK + "contians: x\n", "5:9", "unknown check 'contians'; did you mean 'contains'?"),
    "two checks in one entry": (CHECK + "contains: x\n        regex: y\n", "6:9", "one check an entry"),
    "check without a value": (CHECK + "contains\n", "5:9", "a check is a mapping such as `contains: text`"),
    "checks that are a mapping": (ONE + "expect: {contains: x}\n", "4:13", "`expect` must be a list"),
    "bad regular expression": (CHECK + "regex: '('\n", "5:16", "is not a regular expression"),
    "bad JSON Schema": (CHECK + "json_schema: {type: objekt}\n", "5:22", "is not a JSON Schema"),
    "negative weight": (CHECK + "contains: x\n        weight: -1\n", "6:17", "`weight` must be a number above 0"),
    "pass score of 2": (CHECK + "contains: x\n        pass_score: 2\n", "6:21", "must be a number from 0 to 1"),
    "check function": (CHECK + "python: polite\n", "5:17", "must name a function as `module:function`"),
    "missing check module": (CHECK + "python: checks:polite\n", "3", "there is no module 'checks'"),
    "no target": (CASES, "1:1", "names no target: write `target:` into it, or give one with --target"),
    "two targets": ("target: {python: 'a:b', command: cat}\n" + CASES, "1:9", "found both python and command"),
    "empty target": ("target: {}\n" + CASES, "1:9", "needs exactly one of python, command, http and model"),
    "target in one word": ("target: agent.answer\n" + CASES, "1:9", "must be python:module:function, command:LINE"),
    "missing module": ("target: {python: 'nomod:answer'}\n" + CASES, "1:18", "there is no module 'nomod'"),
    "missing function": ("target: {python: 'agent:answr'}\n" + CASES, "1:18", "did you mean 'answer'?"),
    "no function": ("target: {python: 'agent:number'}\n" + CASES, "1:18", "is an int, not a function"),
    "syntax error": ("target: {python: 'broken:answer'}\n" + CASES, "1:18", "syntax error: '(' was never closed"),
    "missing import": ("target: {python: 'needs:answer'}\n" + CASES, "1:18", "needs 'a_module_that_is_not_there'"),
    "module that raises": ("target: {python: 'raises:answer'}\n" + CASES, "1:18", "RuntimeError: no key"),
    "missing interpreter": ("interpreter: ./none\n" + TARGET + CASES, "1:14", "there is no interpreter './none'"),
    "missing command": ("target: {command: [no-such-program-x]}\n" + CASES, "1:19", "command not found"),
    "empty command": ("target: {command: ''}\n" + CASES, "1:19", "must be a command line, or a list of words"),
    "literal API key": (HTTP + "headers: {Authorization: Bearer sk-1}\n" + CASES, "4:30", "write ${AUTHORIZATION}"),
    "missing variable": (HTTP + "headers: {X: '${NO_SUCH_X}'}\n" + CASES, "4:18", "NO_SUCH_X is not set or empty"),
    "key of a request": (HTTP + "metod: GET\n" + CASES, "4:12", "`http.metod` unknown key; did you mean method?"),
    "placeholder": (HTTP + "json: {q: '{{inptu}}'}\n" + CASES, "4:11", "unknown placeholder {{inptu}}"),
    "address": ("target: {http: {url: 'ftp://x'}}\n" + CASES, "1:22", "must begin with http:// or https://"),
    "alias bomb": (bomb(), "6:5", "expands to more than 2,000,000 values"),
    "alias in itself": ("defaults: &d\n  vars: {x: *d}\n" + TARGET + CASES, "2:13", "inside its own anchor"),
    "alias of nothing": ("name: *x\n" + TARGET + CASES, "1:7", "uses the alias *x, which no anchor defines"),
    "merged number": ("<<: 3\n" + TARGET + CASES, "1:5", "`<<` takes a mapping"),
    "tag that runs code": ("name: !!python/object/apply:os.system [':']\n" + CASES, "1:7", "tags are not allowed"),
    "nested too deeply": ("name: " + "[" * 99 + "]" * 99 + "\n" + CASES, "1:66", "deeper than 60 levels"),
    "key twice": ("name: a\nname: b\n" + TARGET + CASES, "2:1", "the key 'name' is there twice (first in line 1)"),
    "two documents": (TARGET + CASES + "---\nname: x\n", "4:1", "holds several YAML documents"),
    "tabs": ("cases:\n\t- id: a\n" + TARGET, "2:1", "a tab; YAML is indented with blanks"),
    "no YAML": ("name: a\n  b: c\n" + CASES, "2:4", "is not valid YAML"),
    "binary": (b"\x7fELF\x02\x01\x01\0\xff\xfe", "1", "is not UTF-8 text; is it a binary file?"),
    "NUL": (b"name: a\0b\n", "1:8", "holds a character that YAML does not allow (code 0x00)"),
    "empty": ("", "", "is empty"),
    "only a comment": ("# to do\n", "", "is empty"),
    "a list": ("- a\n", "1:1", "a suite is a mapping with `cases:`; found a list"),
    "no cases": (TARGET + "cases: []\n", "1:1", "has no cases; write at least one below `cases:`"),
    "include of nothing": (TARGET + "include: [none/*.yaml]\n" + CASES, "2:11", "no file matches 'none/*.yaml'"),
    "include of itself": (TARGET + "include: [s.yaml]\n" + CASES, "2:11", "the suite includes itself"),
    "include as text": (TARGET + "include: more.yaml\n" + CASES, "2:10", "`include` must be a list"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_a_wrong_suite_is_refused_with_one_sentence_at_its_place(attempt: Try, kind: str) -> None:
    content, place, sentence = WRONG[kind]
    said = attempt(content)  # type: ignore[arg-type]
    assert said.exit_code == 2
    (error,) = said.errors
    prefix = "error: s.yaml:" + (f"{place}: " if place else " ")
    assert error.startswith(prefix)
    assert sentence in error
    assert "Traceback" not in error
    assert not said.out.exists() or {path.name for path in said.out.iterdir()} <= {".gitignore", "target.log"}


def test_faults_of_an_included_file_stand_in_that_file(attempt: Try) -> None:
    said = attempt(TARGET + "include: ['*/part.yaml']\n" + CASES)
    assert said.exit_code == 2
    assert said.errors == [
        "error: more/part.yaml:1:7: two cases have the id 'a' (the first is in s.yaml:4)",
        "error: worse/part.yaml:3:11: `gate` must be wilson, strict or none; found 'maybe'",
        "error: 2 problems in all",
    ]


def test_several_faults_in_one_file_are_all_reported_in_its_order(attempt: Try) -> None:
    said = attempt(
        "repeats: ten\ngate: wilsen\ntarget: {python: 'agent:answer', command: cat}\ncases:\n"
        "  - id: a\n    treshold: 0.5\n    expect:\n      - regex: '['\n      - contians: x\n"
        "  - id: a\n  - timeout: 0\n"
    )
    assert said.exit_code == 2
    places = [match[1] for error in said.errors if (match := re.match(r"error: s\.yaml:(\d+:\d+): ", error))]
    assert places == ["1:10", "2:7", "3:9", "6:5", "8:16", "9:9", "10:9", "11:5", "11:14"]
    assert said.errors[-1] == "error: 9 problems in all"
    assert not said.out.exists()


def test_several_functions_that_cannot_be_used_are_all_reported(attempt: Try) -> None:
    said = attempt(
        TARGET
        + "cases:\n  - id: a\n    target: {python: 'nomod:answer'}\n"
        + "  - id: b\n    target: {python: 'agent:answr'}\n  - id: c\n    expect: [{python: 'checks:polite'}]\n"
    )
    assert said.exit_code == 2
    assert [error.split(" ")[1] for error in said.errors[:-1]] == ["s.yaml:4:22:", "s.yaml:6:22:", "s.yaml:7:"]


def test_a_file_of_50_megabytes_is_refused_unread(attempt: Callable[..., Said], folder: Path) -> None:
    with (folder / "s.yaml").open("wb") as file:
        file.truncate(50_000_000)
    said = attempt()
    assert said.exit_code == 2
    assert said.errors == [
        "error: s.yaml: is too large for a suite: 50 MB, allowed are 16; split it and use `include:`"
    ]


def test_a_missing_file_and_a_folder_are_refused(attempt: Callable[..., Said], folder: Path) -> None:
    assert attempt().errors == ["error: s.yaml: cannot be read: No such file or directory"]
    (folder / "s.yaml").mkdir()
    assert attempt().errors == ["error: s.yaml: is a folder, not a file"]


def test_options_are_refused_with_the_same_sentences_as_keys(attempt: Callable[..., Said]) -> None:
    said = attempt(TARGET + CASES, "--threshold", "80%", "--repeats", "0")
    assert said.exit_code == 2
    assert said.errors == [
        "error: --repeats must be a whole number from 1 to 10,000, for instance 10; found '0'",
        "error: --threshold 80% is not allowed here: write the rate as a decimal, 0.8",
        "error: 2 problems in all",
    ]


def test_what_cannot_start_leaves_the_run_that_is_there_alone(attempt: Callable[..., Said], folder: Path) -> None:
    (folder / "s.yaml").write_text(TARGET + CASES, encoding="utf-8")
    assert run(["run", "s.yaml", "--out", "out", "--repeats", "2", "--quiet"]) == 0
    before = (folder / "out" / "run.jsonl").read_bytes()
    (folder / "agent.py").write_text("def answer(", encoding="utf-8")
    assert run(["run", "s.yaml", "--out", "out", "--repeats", "2", "--quiet"]) == 2
    assert (folder / "out" / "run.jsonl").read_bytes() == before
    (folder / "agent.py").write_text(FILES["agent.py"], encoding="utf-8")
    assert run(["run", "s.yaml", "--out", "out", "--repeats", "2", "--quiet"]) == 0


def test_text_from_a_suite_cannot_steer_the_terminal(attempt: Try) -> None:
    said = attempt('"re\\e[31mpeats\\x07": 3\n' + TARGET + CASES)
    assert said.exit_code == 2
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f]", "".join(said.errors))


def test_validate_says_what_is_wrong_with_every_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "a.yaml").write_text(TARGET + CASES, encoding="utf-8")
    (folder / "b.yaml").write_text("gate: x\n" + CASES, encoding="utf-8")
    assert run(["validate", "a.yaml", "b.yaml", "c.yaml"]) == 2
    captured = capsys.readouterr()
    assert captured.out.startswith("a.yaml: a: 1 case is fine")
    assert [line.split(" ")[1] for line in captured.err.splitlines()] == ["b.yaml:1:7:", "c.yaml:", "2"]


@pytest.mark.parametrize("kind", ["misspelled key", "missing module", "alias bomb", "binary"])
def test_a_real_process_ends_with_exit_code_2_and_no_traceback(folder: Path, kind: str) -> None:
    content, _, sentence = WRONG[kind]
    (folder / "s.yaml").write_bytes(content if isinstance(content, bytes) else content.encode())
    done = subprocess.run(
        [sys.executable, "-m", "repeat_eval", "run", "s.yaml", "--out", "out"],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
