"""Write inputs and outputs of action.yml, run/action.yml and docs/action.md from the action's own model."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import yaml
from page_parts import ROOT, replace_part

from repeat_eval.action.inputs import Inputs, field_name, names
from repeat_eval.action.outputs import OUTPUTS
from repeat_eval.suite.settings import Settings

ACTION = ROOT / "action.yml"
COMPOSITE = ROOT / "run" / "action.yml"
PAGE = ROOT / "docs" / "action.md"

EXPRESSIONS = {"token": "${{ github.token }}", "matrix": "${{ toJSON(matrix) }}"}
"""Defaults that only GitHub can fill in."""
OF_THE_COMPOSITE = {"setup": "none"}
"""Where the composite action differs: it runs in the job's own environment."""


def default_of(name: str, *, composite: bool = False) -> str:
    """An input's default as it stands in action.yml; empty for what the suite file decides."""
    if composite and name in OF_THE_COMPOSITE:
        return OF_THE_COMPOSITE[name]
    if name in EXPRESSIONS:
        return EXPRESSIONS[name]
    value = Inputs.model_fields[field_name(name)].default
    if value is None or value in ((), {}):
        return ""
    return str(value).lower() if isinstance(value, bool) else str(value)


def meaning_of(name: str) -> str:
    """An input's description, with the default where the code has one that action.yml leaves open."""
    text = Inputs.model_fields[field_name(name)].description or ""
    return re.sub(r"`?\bmargin\b`?", "`margin`", text) if name == "require" else text


def action_part(*, composite: bool = False) -> str:
    """The inputs and outputs of an action file as YAML."""
    inputs = {
        name: {"description": meaning_of(name), "required": False, "default": default_of(name, composite=composite)}
        for name in names()
    }
    outputs: dict[str, dict[str, str]] = {name: {"description": meaning} for name, meaning in OUTPUTS.items()}
    if composite:
        for name, output in outputs.items():
            output["value"] = f"${{{{ steps.run.outputs.{name} }}}}"
    return _yaml({"inputs": inputs, "outputs": outputs})


def handed_over() -> str:
    """The composite action's `env:`: every input under a name that shells let through, none of them in shell text."""
    lines = {f"INPUT_{name.upper().replace('-', '_')}": f"${{{{ inputs.{name} }}}}" for name in names()}
    return "".join(f"        {variable}: {value}\n" for variable, value in lines.items()).rstrip("\n")


def inputs_table() -> str:
    """All inputs as a Markdown table: what only the action knows, then the settings of a run."""
    lines = ["| input | allowed | default | meaning |", "|---|---|---|---|"]
    for name in names():
        default = default_of(name)
        shown = "the workflow's token" if name == "token" else "the job's matrix" if name == "matrix" else default
        shown = f"`{shown}`" if shown and name not in EXPRESSIONS else shown
        lines.append(f"| `{name}` | {_allowed(name)} | {shown} | {_cell(meaning_of(name))} |")
    return "\n".join(lines)


def outputs_table() -> str:
    """All outputs as a Markdown table."""
    return "\n".join(
        ["| output | meaning |", "|---|---|", *(f"| `{name}` | {_cell(text)} |" for name, text in OUTPUTS.items())]
    )


def replace_yaml_part(path: Path, name: str, content: str) -> bool:
    """Put content between two marker comments of a YAML file; whether that changed the file."""
    text = path.read_text(encoding="utf-8")
    changed = _yaml_pattern(name).sub(lambda match: f"{match[1]}{content}\n{match[3]}", text)
    if changed != text:
        path.write_text(changed, encoding="utf-8")
    return changed != text


def yaml_part(path: Path, name: str) -> str:
    """The generated part of a YAML file as it stands there."""
    match = _yaml_pattern(name).search(path.read_text(encoding="utf-8"))
    if match is None:
        raise ValueError(f"{path} has no markers for {name!r}")
    return match[2].rstrip("\n")


def main() -> None:
    """Rewrite all three files."""
    replace_yaml_part(ACTION, "inputs", action_part())
    replace_yaml_part(COMPOSITE, "inputs", action_part(composite=True))
    replace_yaml_part(COMPOSITE, "env", handed_over())
    replace_part(PAGE, "inputs", inputs_table())
    replace_part(PAGE, "outputs", outputs_table())


def _yaml_pattern(name: str) -> re.Pattern[str]:
    return re.compile(rf"( *# generated: {name}\b[^\n]*\n)(.*?)( *# end of generated: {name}\n)", re.DOTALL)


def _yaml(value: Any) -> str:
    return yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=110).rstrip("\n")


def _allowed(name: str) -> str:
    field = Inputs.model_fields[field_name(name)]
    for choice in (field.annotation, *get_args(field.annotation)):
        if get_origin(choice) is Literal:
            return _either(get_args(choice))
        if choice is bool or get_args(choice)[:1] == (bool,):
            return "`true`, `false`"
    return ""


def _either(words: Iterable[str]) -> str:
    return ", ".join(f"`{word}`" for word in words)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    assert set(Settings.model_fields) < set(Inputs.model_fields)  # noqa: S101 - the inputs are a superset by design
    main()
