"""The templates of Markdown surfaces and the filters through which every text from outside passes."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from jinja2 import Template

from repeat_eval.reports import format as fmt
from repeat_eval.reports.escape import cut_middle, markdown, markdown_code, visible
from repeat_eval.reports.template_sandbox import TEMPLATES, Sandbox, environment

NAME_LIMIT = 80
MESSAGE_LIMIT = 200


def load_template(name: str, own: Path | None = None) -> Template:
    """A template by its file name, compiled; loading it early saves time later. `own` holds the user's overrides."""
    return _environment(own).get_template(name)


@cache
def _environment(own: Path | None) -> Sandbox:
    # HTML escaping does not make Markdown safe; the filters below do.
    made = environment(TEMPLATES, own, autoescape=False)
    made.filters |= {
        "prose": markdown,
        "code": code,
        "cell": lambda text: code(text, table=True),
        "name": case_name,
        "name_cell": lambda text: case_name(text, table=True),
        "tight": tight,
        "percent": fmt.percent,
        "percent1": fmt.percent1,
        "interval": fmt.interval,
        "width": fmt.width_points,
        "duration": fmt.duration,
        "money": fmt.money,
        "setting": fmt.setting,
    }
    return made


def code(text: str, limit: int = MESSAGE_LIMIT, *, table: bool = False) -> str:
    """Inline code that cannot hold the start of a hidden comment: one of those marks a comment as ours."""
    return markdown_code(text, limit, table=table).replace("<!--", "<!\u200b--")


def case_name(text: str, *, table: bool = False, limit: int = NAME_LIMIT) -> str:
    """The name of a case as inline code, cut in the middle."""
    return code(cut_middle(visible(text), limit), limit, table=table)


def tight(text: str) -> str:
    """Keep a figure on one line in a narrow table."""
    return text.replace(" ", "\u00a0").replace("–", "–\u2060").replace("-", "\u2011")
