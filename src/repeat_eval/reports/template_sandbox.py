"""The environments of all templates: a sandbox, and the user's own files that override named blocks of ours.

A file of the user's extends ours of the same name, as in `{% extends "repeat-eval/comment.md.j2" %}`, and overrides
blocks of it. It sees the report and the words made of it, and can reach nothing else.
"""

from __future__ import annotations

import traceback
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from jinja2 import (
    BaseLoader,
    ChoiceLoader,
    Environment,
    FileSystemLoader,
    PrefixLoader,
    StrictUndefined,
    Template,
    TemplateNotFound,
    TemplateSyntaxError,
    nodes,
)
from jinja2.sandbox import ImmutableSandboxedEnvironment

from repeat_eval.errors import Problem, UserError
from repeat_eval.reports.template_cache import TemplateCache

TEMPLATES = Path(__file__).parent.parent / "templates"
PAGE = TEMPLATES / "report_html"
OURS = "repeat-eval"
FOLDERS = {"comment.md.j2": TEMPLATES, "summary.md.j2": TEMPLATES, "page.html.j2": PAGE}
"""The templates of which blocks may be overridden, and where ours lie."""
_WORDS = ("repeat_eval.reports.", "repeat_eval.analysis.")
"""Where the functions are defined that say something of a report."""


class Sandbox(ImmutableSandboxedEnvironment):
    """Jinja's sandbox, in which modules of ours give their own functions and nothing that they import."""

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Whether a template may read `value`, which `obj` has as `attr`."""
        if not super().is_safe_attribute(obj, attr, value) or isinstance(value, ModuleType | type):
            return False
        if isinstance(obj, ModuleType):
            return isinstance(value, FunctionType) and value.__module__.startswith(_WORDS)
        return True


def environment(folder: Path, own: Path | None, *, autoescape: bool) -> Sandbox:
    """The environment of the templates in `folder`.

    Args:
        folder: where ours lie. own: where the user's lie; None for ours alone.
        autoescape: whether what is printed is escaped as HTML.
    """
    return Sandbox(
        loader=_loader(folder, own),
        bytecode_cache=TemplateCache(folder) if own is None else None,
        autoescape=autoescape,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


class _Overrides(FileSystemLoader):
    """The user's files that override blocks; the parts that ours include stay ours."""

    def get_source(self, environment: Environment, template: str) -> Any:
        """The source of a template that may be overridden."""
        if template not in FOLDERS:
            raise TemplateNotFound(template)
        return super().get_source(environment, template)


def _loader(folder: Path, own: Path | None) -> BaseLoader:
    ours = FileSystemLoader(folder)
    if own is None:
        return ours
    return ChoiceLoader([PrefixLoader({OURS: ours}), _Overrides(own), ours, FileSystemLoader(own)])


def rendered(template: Template, content: Mapping[str, Any], own: Path | None) -> str:
    """The text of a template.

    Raises:
        UserError: with the user's own templates, whatever goes wrong in them.
    """
    try:
        return template.render(**content)
    except Exception as error:
        if own is None:
            raise
        places = [frame for frame in traceback.extract_tb(error.__traceback__) if own in Path(frame.filename).parents]
        file, line = (places[-1].filename, places[-1].lineno) if places else (str(own), None)
        raise UserError(Problem(f"the template cannot be rendered: {error}", file=file, line=line)) from error


def check_templates(own: Path) -> None:
    """See that the user's templates can be read, extend ours, and override blocks that there are.

    Raises:
        UserError: with every problem found; nothing was rendered yet.
    """
    found = [name for name in FOLDERS if (own / name).is_file()]
    if not found:
        raise UserError(f"{own} has none of the templates that can be overridden: {', '.join(FOLDERS)}")
    problems = [problem for name in found for problem in _problems(own / name, FOLDERS[name])]
    if problems:
        raise UserError(problems)


def _problems(path: Path, folder: Path) -> Iterator[Problem]:
    parser = environment(folder, None, autoescape=False)
    try:
        tree = parser.parse(path.read_text(encoding="utf-8"), filename=str(path))
    except TemplateSyntaxError as error:
        yield Problem(f"not a Jinja template: {error.message}", str(path), error.lineno)
        return
    except (OSError, UnicodeDecodeError) as error:
        yield Problem(f"the template cannot be read: {error}", str(path))
        return
    extended = [node.template.value for node in tree.find_all(nodes.Extends) if isinstance(node.template, nodes.Const)]
    wanted = f"{OURS}/{path.name}"
    if extended != [wanted]:
        yield Problem(f'the template must begin with {{% extends "{wanted}" %}}', str(path), 1)
    ours = parser.parse((folder / path.name).read_text(encoding="utf-8"))
    blocks = [block.name for block in ours.find_all(nodes.Block)]
    for block in tree.find_all(nodes.Block):
        if block.name not in blocks:
            text = f"unknown block {block.name!r}; there are {', '.join(blocks)}"
            yield Problem(text, str(path), block.lineno)
