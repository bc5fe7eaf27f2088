"""Write the generated tables of docs/suite.md from the models that read suite files."""

from __future__ import annotations

import re
from typing import Any, Literal, get_args, get_origin

from page_parts import ROOT, replace_part
from pydantic.fields import FieldInfo

from repeat_eval.suite import fields
from repeat_eval.suite.model import SPELLINGS, SUITE_SPELLINGS, CaseDefaults, CaseModel, SuiteModel
from repeat_eval.suite.settings import DEFAULTS, Settings

PAGE = ROOT / "docs" / "suite.md"

KINDS: list[tuple[Any, str]] = [
    (fields.Rate, "rate"),
    (fields.Repeats, "whole number"),
    (fields.Workers, "whole number"),
    (fields.Seed, "whole number"),
    (fields.Retries, "whole number"),
    (fields.FailingCases, "whole number"),
    (fields.Seconds, "duration"),
    (fields.Money, "dollars"),
    (fields.Alpha, "rate"),
    (fields.Points, "points"),
    (fields.RateLimit, "calls per time"),
    (fields.ErrorKinds, "list of error kinds"),
    (fields.Tags, "list of texts"),
]
"""The field types with the words for them, which the page explains below the tables."""
SHAPES = {
    "cases": "list of cases",
    "defaults": "mapping",
    "expect": "list of checks",
    "include": "list of globs",
    "input": "anything",
    "judge": "mapping",
    "expected": "anything",
    "target": "target",
    "vars": "mapping",
}
"""Keys whose type is more than a field type says."""
NO_DEFAULT = {"name": "the file's name", "interpreter": "`.venv` beside the suite, else our own"}


def suite_table() -> str:
    """The keys of a suite file: its own ones first, then the settings."""
    own = [name for name in SuiteModel.model_fields if name not in Settings.model_fields]
    names = [*own, *Settings.model_fields]
    return _table({name: SuiteModel.model_fields[name] for name in names}, SUITE_SPELLINGS, DEFAULTS)


def case_table() -> str:
    """The keys of a case."""
    names = ["id", *CaseDefaults.model_fields]
    return _table({name: CaseModel.model_fields[name] for name in names}, SPELLINGS, {})


def main() -> None:
    """Rewrite the page."""
    replace_part(PAGE, "suite keys", suite_table())
    replace_part(PAGE, "case keys", case_table())


def _table(models: dict[str, FieldInfo], spellings: dict[str, str], defaults: Any) -> str:
    lines = ["| key | type | default | meaning |", "|---|---|---|---|"]
    for name, field in models.items():
        others = [other for other, meant in spellings.items() if meant == name]
        key = " or ".join(f"`{one}`" for one in [name, *others])
        lines.append(f"| {key} | {_kind(name, field)} | {_default(name, field, defaults)} | {_meaning(name, field)} |")
    return "\n".join(lines)


def _kind(name: str, field: FieldInfo) -> str:
    if name in SHAPES:
        return SHAPES[name]
    choices = get_args(field.annotation)
    for choice in choices:
        for kind, words in KINDS:
            if choice == kind:
                return words
        if get_origin(choice) is Literal:
            return ", ".join(f"`{one}`" for one in get_args(choice))
    return "text"


def _default(name: str, field: FieldInfo, defaults: Any) -> str:
    if field.is_required():
        return "must be there"
    if not defaults:
        return ""
    value = defaults.get(name)
    if value is None:
        return NO_DEFAULT.get(name, "")
    if isinstance(value, list):
        return ", ".join(f"`{one}`" for one in value)
    return f"`{value:g}`" if isinstance(value, float) else f"`{value}`"


def _meaning(name: str, field: FieldInfo) -> str:
    text = field.description or Settings.model_fields[name].description or ""
    text = re.sub(r" \(default [^)]*\)| \(default: [^)]*\)|; `name` is another spelling", "", text)
    return text.replace("|", "\\|")


if __name__ == "__main__":
    main()
