"""Where settings come from, what the terminal shows, what stays secret, and how one begins."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from whole_program import EXAMPLE, Ended, environment, lines_of, program, report_in, suite, trials_in, write

FINE = "def answer(input): return 'fine'"


def settled(ended: Ended) -> dict[str, tuple[str, str]]:
    """What --explain-settings said: value and source by name."""
    rows = [line.split() for line in ended.err.splitlines() if not line.startswith("repeat-eval:")]
    return {row[0]: (row[1], row[-1]) for row in rows if len(row) >= 3}


def test_an_option_comes_before_a_variable_before_the_suite_before_the_default(tmp_path: Path) -> None:
    suite(tmp_path, {"a": None}, agent=FINE, repeats=3, threshold="0.5", workers=2)
    env = {"REPEAT_EVAL_REPEATS": "4", "REPEAT_EVAL_THRESHOLD": "0.6", "REPEAT_EVAL_GATE": "strict"}
    ended = program(
        *("run", "suite.yaml", "--repeats", "6", "--out", "out", "--explain-settings"), cwd=tmp_path, env=env
    )
    assert ended.code == 0, ended.text
    found = settled(ended)
    assert found["repeats"] == ("6", "option")
    assert found["threshold"] == ("0.6", "variable")
    assert found["gate"] == ("strict", "variable")
    assert found["workers"] == ("2", "suite")
    assert found["retries"] == ("2", "default")
    report = report_in(tmp_path / "out")
    assert report["settings"]["threshold"] == {"value": "0.6", "source": "variable"}
    assert report["totals"]["trials"] == 6


def test_a_cases_own_threshold_holds_against_options_but_repeats_override_all(tmp_path: Path) -> None:
    suite(tmp_path, {"a": {"threshold": "0.9", "repeats": 8}}, agent=FINE)
    program("run", "suite.yaml", "--threshold", "0.1", "--repeats", "2", "--out", "out", cwd=tmp_path)
    case = report_in(tmp_path / "out")["cases"][0]
    assert (case["threshold"], case["asked"]) == ("0.9", 2)


@pytest.mark.parametrize("name", ["OUT", "CASE", "QUIET"])
def test_every_option_has_a_variable(tmp_path: Path, name: str) -> None:
    suite(tmp_path, {"a": None, "b": None}, agent=FINE, repeats=2)
    env = {"REPEAT_EVAL_OUT": "elsewhere", "REPEAT_EVAL_CASE": "b", "REPEAT_EVAL_QUIET": "1"}
    ended = program("run", "suite.yaml", cwd=tmp_path, env={f"REPEAT_EVAL_{name}": env[f"REPEAT_EVAL_{name}"]})
    report = report_in(tmp_path / ("elsewhere" if name == "OUT" else "repeat-eval-report"))
    assert [case["id"] for case in report["cases"]] == (["b"] if name == "CASE" else ["a", "b"])
    assert (ended.err == "") is (name == "QUIET")


@pytest.mark.parametrize(
    ("arguments", "env", "says"),
    [
        (("--threshold", "80"), {}, "0.8"),
        (("--threshold", "80%"), {}, "0.8"),
        (("--repeats", "0"), {}, "--repeats"),
        (("--gate", "strictly"), {}, "--gate"),
        ((), {"REPEAT_EVAL_THRESHOLD": "1.2"}, "REPEAT_EVAL_THRESHOLD"),
        (("--gate", "wilson", "--strict-threshold"), {}, "--strict-threshold"),
        (("--no-such-option",), {}, "--no-such-option"),
    ],
)
def test_wrong_settings_are_refused_in_a_sentence(
    tmp_path: Path, arguments: tuple[str, ...], env: dict[str, str], says: str
) -> None:
    suite(tmp_path, {"a": None}, agent=FINE)
    ended = program("run", "suite.yaml", *arguments, cwd=tmp_path, env=env)
    assert ended.code == 2, ended.text
    assert says in ended.err and "Traceback" not in ended.err
    assert not (tmp_path / "repeat-eval-report").exists()


def test_quiet_leaves_the_verdict_alone(tmp_path: Path) -> None:
    suite(tmp_path, {"a": None}, agent=FINE, repeats=5)
    ended = program("run", "suite.yaml", "--quiet", cwd=tmp_path)
    assert ended.err == ""
    assert len(ended.out.splitlines()) == 1 and ended.out.startswith("PASSED")


@pytest.mark.parametrize(("arguments", "env"), [(("--no-color",), {}), ((), {"NO_COLOR": "1"})])
def test_colours_can_be_refused(tmp_path: Path, arguments: tuple[str, ...], env: dict[str, str]) -> None:
    suite(tmp_path, {"a": None}, agent=FINE, repeats=5)
    coloured = program("run", "suite.yaml", "--out", "a", cwd=tmp_path, env={"FORCE_COLOR": "1"})
    plain = program("run", "suite.yaml", "--out", "b", *arguments, cwd=tmp_path, env={"FORCE_COLOR": "1", **env})
    assert "\x1b[" in coloured.out
    assert "\x1b[3" not in plain.out


@pytest.mark.parametrize("quiet", ["", "--quiet"])
@pytest.mark.parametrize(("wanted", "code"), [("fine", "0"), ("good", "1")])
def test_an_output_that_closes_early_changes_no_verdict(tmp_path: Path, wanted: str, code: str, quiet: str) -> None:
    suite(tmp_path, {"a": {"expect": [{"equals": wanted}]}}, agent=FINE, repeats=5)
    line = f"({sys.executable} -m repeat_eval run suite.yaml {quiet} 2>&1; echo $? > code) | true"
    done = subprocess.run(
        ["sh", "-c", line], cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stderr == ""
    assert (tmp_path / "code").read_text() == f"{code}\n"


SECRET = "-".join(("sk", "planted", "0123456789abcdef"))
LEAKING = """
    import os

    print("at import:", os.environ["OPENAI_API_KEY"])

    def answer(input, context):
        key = os.environ["OPENAI_API_KEY"]
        print("by print:", key)
        os.write(2, f"by write: {key}\\n".encode())
        if input == "raises":
            raise RuntimeError(f"bad key {key}")
        if input == "calls":
            return {"output": "x", "tool_calls": [{"name": "t", "arguments": {"key": [key], key: 1}}]}
        return f"the key is {key}"

    def judge(output, context):
        return False, f"found {os.environ['OPENAI_API_KEY']} in it"
"""


def test_the_value_of_a_secret_appears_in_no_file_and_no_output(tmp_path: Path) -> None:
    expect = {"expect": [{"equals": "nothing"}, {"python": "agent:judge"}]}
    suite(
        tmp_path,
        {name: {"input": name, **expect} for name in ("returns", "raises", "calls")},
        agent=LEAKING,
        repeats=3,
    )
    ended = program("run", "suite.yaml", "--out", "out", cwd=tmp_path, env={"OPENAI_API_KEY": SECRET})
    assert ended.code in (1, 3)
    files = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert {path.name for path in files} >= {"run.jsonl", "report.json", "junit.xml", "summary.md", "target.log"}
    leaks = [path.name for path in files if SECRET in path.read_text("utf-8", "replace")]
    assert leaks == []
    assert SECRET not in ended.text
    assert "***" in (tmp_path / "out/report.json").read_text("utf-8")


def test_the_value_of_a_secret_is_scrubbed_from_a_repeated_command_too(tmp_path: Path) -> None:
    script = write(
        tmp_path / "tool.py",
        """
        import os, sys
        key = os.environ["OPENAI_API_KEY"]
        print(key)
        if os.environ["REPEAT_EVAL_TRIAL_REPETITION"] == "2":
            sys.exit(key)
        open(sys.argv[1], "w").write('{"case": "a", "passed": false, "message": "bad %s"}' % key)
    """,
    )
    command = f"{sys.executable} {script} {{results}}.jsonl"
    ended = program(
        "run", "--command", command, "--repeats", "3", "--out", "out", cwd=tmp_path, env={"OPENAI_API_KEY": SECRET}
    )
    ours = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert "results.jsonl" in {path.name for path in ours}
    assert [path.name for path in ours if SECRET in path.read_text("utf-8", "replace")] == []
    assert SECRET not in ended.text


def test_the_value_of_a_secret_is_scrubbed_from_what_a_module_dies_of(tmp_path: Path) -> None:
    suite(tmp_path, {"a": None}, agent="import os\nraise RuntimeError(os.environ['OPENAI_API_KEY'])")
    ended = program("run", "suite.yaml", "--out", "out", cwd=tmp_path, env={"OPENAI_API_KEY": SECRET})
    assert ended.code == 2
    assert "RuntimeError: ***" in ended.err
    assert SECRET not in ended.text


def test_the_target_does_not_see_githubs_token_or_the_steps_inputs(tmp_path: Path) -> None:
    hidden = {
        "GITHUB_TOKEN": "ghs_0123456789abcdef",
        "GH_TOKEN": "ghs_fedcba9876543210",
        "INPUT_SUITE": "suite.yaml",
        "ACTIONS_RUNTIME_TOKEN": "eyJ0123456789",
        "GITHUB_ENV": "/runner/env",
        "COPY_OF_IT": "token=ghs_0123456789abcdef",
    }
    seen = {"OPENAI_API_KEY": "sk-0123456789abcdef", "GITHUB_SHA": "0" * 40}
    script = "import os, json; print(json.dumps({'output': sorted(os.environ)}))"
    agent = "import os\ndef answer(input): return sorted(os.environ)"
    suite(
        tmp_path,
        {"python": None, "command": {"target": {"command": [sys.executable, "-c", script]}}},
        agent=agent,
        repeats=1,
    )
    ended = program("run", "suite.yaml", "--out", "out", cwd=tmp_path, env={**hidden, **seen})
    assert ended.code == 0, ended.text
    for trial in trials_in(tmp_path / "out/run.jsonl"):
        names = set(json.loads(trial["output"]))
        assert names & hidden.keys() == set()
        assert names >= seen.keys()


@pytest.mark.parametrize("template", ["python", "command", "agent"])
def test_a_first_suite_passes(tmp_path: Path, template: str) -> None:
    begun = program("init", "evals", "--template", template, cwd=tmp_path)
    assert begun.code == 0, begun.text
    assert "repeat-eval run evals/suite.yaml" in begun.out
    ended = program("run", "evals/suite.yaml", cwd=tmp_path)
    assert ended.code == 0, ended.text
    again = program("init", "evals", "--template", template, cwd=tmp_path)
    assert again.code == 2 and "--force" in again.err


def test_first_tests_for_pytest_pass(tmp_path: Path) -> None:
    assert program("init", "evals", "--template", "pytest", cwd=tmp_path).code == 0
    command = f"{sys.executable} -m pytest evals -p no:cacheprovider --junitxml {{results}}"
    ended = program("run", "--command", command, "--repeats", "2", cwd=tmp_path)
    assert ended.code == 0, ended.text
    assert report_in(tmp_path / "repeat-eval-report")["totals"]["cases"] == 2


def schema(what: str, folder: Path) -> Any:
    ended = program("schema", what, cwd=folder)
    assert ended.code == 0
    loaded = json.loads(ended.out)
    jsonschema.Draft202012Validator.check_schema(loaded)
    return jsonschema.Draft202012Validator(loaded)


def test_files_keep_to_their_schemas(tmp_path: Path) -> None:
    expect = {"expect": [{"equals": "fine"}, {"contains": ["f"], "weight": 2}]}
    suite(tmp_path, {"a": expect, "b": {**expect, "threshold": 0.5}}, agent=FINE, repeats=3)
    assert program("run", "suite.yaml", "--out", "out", cwd=tmp_path).code == 0
    schema("report", tmp_path).validate(report_in(tmp_path / "out"))
    run_schema = schema("run", tmp_path)
    for line in lines_of(tmp_path / "out/run.jsonl"):
        run_schema.validate(line)
    suite_schema = schema("suite", tmp_path)
    suite_schema.validate(yaml.safe_load(EXAMPLE.read_text("utf-8")))
    suite_schema.validate(json.loads((tmp_path / "suite.yaml").read_text()))
    assert not suite_schema.is_valid({"cases": [{"id": "a", "expcet": []}]})


def test_the_program_tells_its_version_and_its_help(tmp_path: Path) -> None:
    version = program("--version", cwd=tmp_path)
    assert version.code == 0 and version.out.startswith("repeat-eval ")
    assert program("--help", cwd=tmp_path).code == 0
    for command in ("run", "report", "validate", "schema", "init"):
        ended = program(command, "--help", cwd=tmp_path)
        assert ended.code == 0 and "Usage:" in ended.out


def test_validate_says_everything_that_is_wrong_with_its_place(tmp_path: Path) -> None:
    assert program("validate", EXAMPLE, cwd=tmp_path).code == 0
    bad = write(
        tmp_path / "bad.yaml",
        """
        nmae: desk
        threshold: 1.2
        cases:
          - id: a
            expect: [{contians: x}]
    """,
    )
    ended = program("validate", EXAMPLE, bad, cwd=tmp_path)
    assert ended.code == 2
    assert {line.split(": ")[1].removeprefix(str(tmp_path) + "/") for line in ended.err.splitlines()[:3]} >= {
        "bad.yaml:1:1",
        "bad.yaml:2:12",
    }
    assert "contains" in ended.err and "name" in ended.err
