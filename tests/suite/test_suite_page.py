"""docs/suite.md: every suite on it is one that loads, and what it says of targets is so."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from repeat_eval.suite.load import load_suite
from repeat_eval.targets.base import Call
from repeat_eval.targets.command_target import request_of
from repeat_eval.targets.environment import trial_variables
from repeat_eval.targets.http_settings import KEYS, HttpSettings
from repeat_eval.targets.placeholders import ROOTS
from repeat_eval.targets.python_target import ANSWER_KEYS, answer_from_object
from repeat_eval.targets.worker import TrialContext

PAGE = (Path(__file__).parents[2] / "docs" / "suite.md").read_text(encoding="utf-8")
CASES = "cases:\n  - {id: a, input: x, expect: [{contains: x}]}\n"


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def section(heading: str) -> str:
    return PAGE.split(f"\n### {heading}\n")[1].split("\n## ")[0].split("\n### ")[0]


@pytest.mark.parametrize("text", blocks("yaml"))
def test_every_suite_on_the_page_loads(tmp_path: Path, text: str) -> None:
    for included in ("refunds/part-1.yaml", "more.yaml", "cases.yaml"):
        path = tmp_path / included
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"- {{id: {path.stem}, input: x}}\n", encoding="utf-8")
    path = tmp_path / "suite.yaml"
    path.write_text(text if "cases:" in text or "include:" in text else text + CASES, encoding="utf-8")
    assert load_suite(path).cases


def test_the_example_of_defaults_gives_the_checks_that_its_comments_say(tmp_path: Path) -> None:
    (text,) = [block for block in blocks("yaml") if "defaults:" in block]
    path = tmp_path / "suite.yaml"
    path.write_text(text, encoding="utf-8")
    short, long = load_suite(path).cases
    assert [check.name for check in short.checks] == ["max_turns"]
    assert [check.name for check in long.checks] == ["max_turns", "contains"]
    assert long.variables == {"language": "en", "detail": "high"}


def test_the_example_function_gives_an_answer() -> None:
    (program,) = blocks("python")
    module: dict[str, object] = {}
    exec(program, module)  # noqa: S102 - our own page
    function = module["answer"]
    assert callable(function)
    answer = answer_from_object(function("hi", TrialContext(case="a", repetition=1, repeats=2, seed=3)))
    assert answer.output == "You said: hi"
    assert answer.tool_calls is not None
    assert answer.cost == 0.0012


def test_the_context_and_the_answer_have_the_keys_that_the_page_names() -> None:
    text = section("python")
    for key in (*TrialContext.fields, *ANSWER_KEYS):
        assert f"`{key}`" in text


def test_a_command_reads_the_object_that_the_page_shows() -> None:
    (shown,) = blocks("json")
    example = json.loads(shown)
    call = Call(
        case=example["case"],
        input=example["input"],
        repetition=example["repetition"],
        repeats=example["repeats"],
        seed=example["seed"],
        variables=example["vars"],
    )
    assert json.loads(request_of(call)) == example
    assert set(re.findall(r"`(REPEAT_EVAL_TRIAL_\w+)`", section("command"))) == set(trial_variables(call))


def test_the_request_of_the_page_is_valid_and_its_keys_are_all_named() -> None:
    text = section("http")
    (block,) = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)
    written = yaml.safe_load(block)["target"]["http"]
    settings = HttpSettings.from_mapping(written, {"CHAT_API_KEY": "x"})
    assert settings.output == "/choices/0/message/content"
    assert set(KEYS) <= set(re.findall(r"`(\w+)`", text))
    assert set(ROOTS) == {root.split(".")[0] for root in re.findall(r"\{\{([\w.]+)\}\}", text)}
