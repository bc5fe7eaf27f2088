"""Write the generated parts of docs/settings.md and docs/command-line.md from the program itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import click
from page_parts import ROOT, replace_part

from repeat_eval.cli.main import cli
from repeat_eval.suite.model import CaseDefaults
from repeat_eval.suite.settings import DEFAULTS, Settings

SETTINGS_PAGE = ROOT / "docs" / "settings.md"
COMMAND_LINE_PAGE = ROOT / "docs" / "command-line.md"


def settings_table() -> str:
    """All settings as a Markdown table: key, option, variable, default, whether a case may have its own, meaning."""
    options = {option.name: option for option in _options(_command("run"))}
    lines = [
        "| key in YAML and Python | option | variable | default | in a case | meaning |",
        "|---|---|---|---|---|---|",
    ]
    for name, field in Settings.model_fields.items():
        option = options[name]
        meaning = re.sub(r" \(default [^)]*\)", "", field.description or "").strip()
        own = "yes" if name in CaseDefaults.model_fields else ""
        lines.append(
            f"| `{name}` | `{_long(option)}` | `{option.envvar}` | {_default(name)} | {own} | {_cell(meaning)} |"
        )
    return "\n".join(lines)


def command_sections() -> str:
    """Every command with its usage and a table of its options."""
    sections = []
    for name in cli.list_commands(click.Context(cli)):
        command = _command(name)
        usage = " ".join(command.collect_usage_pieces(click.Context(command)))
        summary = " ".join((command.help or "").split("\n\n", 1)[0].split())
        lines = [f"### {name}", "", f"`repeat-eval {name} {usage}`", "", _as_code(summary)]
        if options := list(_options(command)):
            lines += ["", "| option | variable | meaning |", "|---|---|---|"]
        for option in options:
            variable = f"`{option.envvar}`" if option.envvar else ""
            lines.append(f"| {_written(option)} | {variable} | {_cell(_meaning(option))} |")
        sections.append("\n".join(lines))
    return "\n\n".join(sections)


def main() -> None:
    """Rewrite both pages."""
    replace_part(SETTINGS_PAGE, "settings", settings_table())
    replace_part(COMMAND_LINE_PAGE, "commands", command_sections())


def _command(name: str) -> click.Command:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None  # noqa: S101 - the names come from the group itself
    return command


def _options(command: click.Command) -> Iterator[click.Option]:
    return (one for one in command.params if isinstance(one, click.Option) and not one.hidden)


def _long(option: click.Option) -> str:
    return next(name for name in option.opts if name.startswith("--"))


def _written(option: click.Option) -> str:
    value = ""
    if not option.is_flag:
        value = " " + (option.metavar or _kind(option.type))
    names = [_long(option), *(name for name in option.opts if not name.startswith("--"))]
    shown = [f"`{names[0]}{value}`", *(f"`{name}`" for name in names[1:])]
    return _cell(", ".join(shown))


def _kind(kind: click.ParamType) -> str:
    if isinstance(kind, click.Choice):
        return "|".join(str(choice) for choice in kind.choices)
    return "FOLDER" if isinstance(kind, click.Path) else kind.name.upper()


def _meaning(option: click.Option) -> str:
    text = (option.help or "").strip()
    if option.show_default and option.default is not None:
        text = f"{text.rstrip('.')} (default `{option.default}`)."
    return _as_code(text)


def _default(name: str) -> str:
    value: Any = DEFAULTS.get(name)
    if value is None:
        return "none" if name != "interpreter" else "`.venv` beside the suite, else our own"
    if isinstance(value, list):
        return ", ".join(f"`{item}`" for item in value) or "none"
    return f"`{value:g} s`" if name == "timeout" else f"`{value}`"


def _as_code(text: str) -> str:
    """Options and placeholders within a sentence as code."""
    return re.sub(r"(\{results\}|--gate strict|--[a-z][a-z-]*)", r"`\1`", text)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    main()
