"""action.yml, its twin, the page and the model say the same; what people copy is short."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import yaml

from repeat_eval.action.inputs import names
from repeat_eval.action.outputs import OUTPUTS

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import write_action_docs as docs  # noqa: E402
from page_parts import part  # noqa: E402

ACTION = yaml.safe_load(docs.ACTION.read_text())
COMPOSITE = yaml.safe_load(docs.COMPOSITE.read_text())


def test_what_is_generated_is_up_to_date() -> None:
    assert docs.yaml_part(docs.ACTION, "inputs") == docs.action_part()
    assert docs.yaml_part(docs.COMPOSITE, "inputs") == docs.action_part(composite=True)
    assert docs.yaml_part(docs.COMPOSITE, "env") == docs.handed_over()
    assert part(docs.PAGE, "inputs") == docs.inputs_table()
    assert part(docs.PAGE, "outputs") == docs.outputs_table()


@pytest.mark.parametrize("action", [ACTION, COMPOSITE], ids=["container", "runner"])
def test_every_input_and_output_of_the_model_is_declared_and_described(action: dict) -> None:
    assert list(action["inputs"]) == list(names())
    assert list(action["outputs"]) == list(OUTPUTS)
    assert all(declared["description"] for declared in (*action["inputs"].values(), *action["outputs"].values()))


def test_what_the_suite_file_decides_has_no_default() -> None:
    for name in ("repeats", "threshold", "gate", "fail-on", "workers", "max-error-rate", "time-budget", "max-cost"):
        assert ACTION["inputs"][name]["default"] == ""


def test_the_twins_differ_in_setup_only() -> None:
    differing = [name for name in names() if ACTION["inputs"][name] != COMPOSITE["inputs"][name]]
    assert differing == ["setup"]


def test_no_input_becomes_shell_text() -> None:
    for step in COMPOSITE["runs"]["steps"]:
        assert "${{" not in step["run"]


def test_the_composite_hands_every_input_over_and_every_output_back() -> None:
    (step,) = COMPOSITE["runs"]["steps"]
    assert len(step["env"]) == len(names())
    assert all(value["value"] == f"${{{{ steps.run.outputs.{name} }}}}" for name, value in COMPOSITE["outputs"].items())


def test_a_new_user_needs_twelve_lines_and_the_page_shows_them() -> None:
    text = (ROOT / "docs/workflows/pull-request.yml").read_text()
    assert len(text.splitlines()) == 12
    assert text in docs.PAGE.read_text()
