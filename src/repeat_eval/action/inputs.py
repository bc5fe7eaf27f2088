"""The action's inputs: one model, checked as a whole before anything runs.

Names are kebab-case in workflows. A Docker action is handed `with: {fail-on: …}` as the variable `INPUT_FAIL-ON`; the
composite action hands over `INPUT_FAIL_ON`, which shells let through. Empty means "not said".
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, ConfigDict, Field, ValidationError

from repeat_eval.errors import Problem, UserError
from repeat_eval.suite.fields import found
from repeat_eval.suite.messages import plain_message, unknown_key
from repeat_eval.suite.settings import Settings

PREFIX = "INPUT_"
_SPELLINGS = {"interpreter": "python"}
"""Settings whose input has another name, the one of the command line's option."""
_OF_THE_RUNNER = frozenset({"entrypoint", "args"})
"""What `with:` may hold for any Docker action."""
_ANNOTATION_LINE = 500


def _switch(value: Any) -> Any:
    words = {"true": True, "false": False}
    if isinstance(value, str) and value.strip().lower() in words:
        return words[value.strip().lower()]
    if isinstance(value, bool):
        return value
    raise ValueError(f"must be true or false; found {found(value)}")


def _lines(value: Any) -> Any:
    if isinstance(value, str):
        return tuple(line.strip() for line in value.splitlines() if line.strip())
    return value


def _matrix(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        read = json.loads(value)
    except (ValueError, RecursionError):
        raise ValueError(f"must be the job's matrix as JSON; found {found(value)}") from None
    if read is None:
        return {}
    if not isinstance(read, dict):
        raise ValueError(f"must be the job's matrix as a JSON object; found {found(value)}")
    return {str(name): part if isinstance(part, str) else json.dumps(part) for name, part in read.items()}


Switch = Annotated[bool, BeforeValidator(_switch)]
Lines = Annotated[tuple[str, ...], BeforeValidator(_lines)]


class Inputs(Settings):
    """Everything that `with:` may hold. The settings of a run come first in the table, from the same model as ever."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True, populate_by_name=True)

    suite: str | None = Field(None, description="Suite file to run.")
    command: str | None = Field(
        None, description="Command line to repeat instead; `{results}` stands for its results file."
    )
    results: Lines = Field((), description="Globs of results files to judge instead, one a line; nothing is run.")
    target: str | None = Field(None, description="Target that stands for the suite's own.")
    name: str | None = Field(None, description="Name of the suite with `command` and `results`.")
    duplicates: Literal["ask", "repeats", "retries", "error"] = Field(
        "ask", description="What equal names within one results file are."
    )
    case: Lines = Field((), description="Only cases whose id matches one of these patterns, one a line.")
    tag: Lines = Field((), description="Only cases with one of these tags, one a line.")
    working_directory: str = Field(".", description="Where paths start and commands run, relative to the workspace.")
    setup: str = Field(
        "auto",
        description="`auto`: each side's own environment from its own lock file (`uv.lock`, `requirements.txt`); "
        "`none`; or a shell command that is run once per side.",
    )
    setup_timeout: Annotated[float, Field(gt=0)] | None = Field(
        None, exclude=True, description="Seconds that the setup of a side may take."
    )
    only_when_changed: Lines = Field(
        (), description="Patterns of paths, one a line; when no changed file matches, nothing is evaluated."
    )
    on_missing_secret: Literal["fail", "skip", "run"] = Field(
        "fail",
        description="What it means that a variable that looks like a secret is there and empty, as on pull requests "
        "from forks: `fail` (exit code 3), `skip` (green, not evaluated) or `run`.",
    )
    base: str = Field(
        "auto",
        description="`auto`: on pull requests, pushes and in merge queues base runs beside head; `run`: the same, but "
        "no base is an error; `none`; or a path to a run file, report or results of base.",
    )
    settings_from: Literal["head", "base"] = Field("head", description="Whose suite file sets the gate.")
    summary: Switch = Field(True, description="Write the job summary.")
    annotations: Switch = Field(True, description="Show failing cases as annotations of their lines in the suite file.")
    key: str | None = Field(None, description="Tells reports of one pull request apart (default: suite and matrix).")
    matrix: Annotated[dict[str, str], BeforeValidator(_matrix)] = Field(
        {}, description="The job's matrix values; filled in by itself."
    )
    token: str | None = Field(None, repr=False, description="Token to fetch base and to publish with.")
    report_dir: str = Field(
        "repeat-eval-report", description="Folder for the report files, relative to the workspace."
    )

    def settings(self) -> Settings:
        """The inputs that are settings of a run."""
        names = Settings.model_fields
        return Settings.model_construct(**{name: getattr(self, name) for name in names})


def input_name(field: str) -> str:
    """The name of a field in a workflow: kebab-case."""
    return _SPELLINGS.get(field, field).replace("_", "-")
