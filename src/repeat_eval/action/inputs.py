"""The action's inputs: one model, checked as a whole before anything runs.

Names are kebab-case in workflows. A Docker action is handed `with: {fail-on: …}` as the variable `INPUT_FAIL-ON`; the
composite action hands over `INPUT_FAIL_ON`, which shells let through. Empty means "not said".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field, ValidationError

from repeat_eval.analysis.rules import Rules
from repeat_eval.errors import Problem, UserError
from repeat_eval.github.key import matrix_values
from repeat_eval.suite.fields import Switch, found
from repeat_eval.suite.messages import plain_message, unknown_key
from repeat_eval.suite.settings import Settings

PREFIX = "INPUT_"
_SPELLINGS = {"interpreter": "python", "judge": "set"}
"""Settings whose input has another name, the one of the command line's option."""
_OF_THE_RUNNER = frozenset({"entrypoint", "args"})
"""What `with:` may hold for any Docker action."""
_OF_ALL_MODES = frozenset({"mode", "token", "matrix", "setup"})
"""What every mode may be handed: the last two have values without being said."""
_OF_MERGING = frozenset(
    {
        "results",
        "working_directory",
        "report_dir",
        "only_when_changed",
        "base",
        "comment",
        "check",
        "check_name",
        "status",
        "store",
        "store_branch",
        "badge",
        "ctrf",
        "summary",
        "key",
        "fail_on_publish_error",
        *Rules.__struct_fields__,
    }
)
_OF_MODES = {
    "merge": _OF_MERGING,
    "publish": frozenset({"comment", "key", "fail_on_publish_error"}),
    "command": frozenset[str](),
}
"""What a mode that evaluates nothing makes use of."""


def _lines(value: Any) -> Any:
    if isinstance(value, str):
        return tuple(line.strip() for line in value.splitlines() if line.strip())
    return value


def _matrix(value: Any) -> Any:
    return matrix_values(value) if isinstance(value, str) else value


Lines = Annotated[tuple[str, ...], BeforeValidator(_lines)]


class Inputs(Settings):
    """Everything that `with:` may hold: the settings of a run, and what only the action knows."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    mode: Literal["run", "merge", "publish", "command"] = Field(
        "run",
        description="`run`; `merge`: join the shards in `results`, judge and publish; `publish`: on workflow_run, "
        "comment from the report that a pull request's run uploaded; "
        "`command`: on issue_comment, answer `/repeat-eval`.",
    )
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
    format: str | None = Field(
        None, description="Format of the results files (`junit`, `csv` and others), instead of by their content."
    )
    scorer: str | None = Field(
        None, description="The scorer of an Inspect log that decides, instead of its headline's."
    )
    case: Lines = Field((), description="Only cases whose id matches one of these patterns, one a line.")
    tag: Lines = Field((), description="Only cases with one of these tags, one a line.")
    shard: str | None = Field(
        None,
        description="Run only one of N parts, for instance `2/8`, and judge nothing: `mode: merge` in a later job "
        "joins them.",
    )
    durations: str | None = Field(
        None, description="With `shard`: an earlier run file or report by whose times the parts are made equally long."
    )
    working_directory: str = Field(".", description="Where paths start and commands run, relative to the workspace.")
    setup: str = Field(
        "auto",
        description="`auto`: each side's own environment from its own lock file (`uv.lock`, `requirements.txt`); "
        "`none`; or a shell command that is run once per side.",
    )
    setup_as_root: Switch = Field(
        False,
        description="In the container, run `setup` as root, for instance to install system packages. It runs the pull "
        "request's choice with the rights of the action itself, which holds the token.",
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
        "no base is an error; `stored`: the store's run of base; `none`; or a path to a run file, report or results "
        "of base. With a store, `auto` runs base only for what head's first look suspects beside the stored run, and "
        "looks there when base cannot run.",
    )
    settings_from: Literal["head", "base"] = Field("head", description="Whose suite file sets the gate.")
    comment: Literal["always", "on-change", "on-failure", "off"] = Field(
        "always",
        description="The one comment on the pull request: `always`; `on-change`: only when the comparison found a "
        "change or the gate did not pass; `on-failure`: only when the gate did not pass; `off`. A comment that is "
        "there already is always brought up to date.",
    )
    check: Switch = Field(False, description="Make a check run with annotations.")
    check_name: Annotated[str, Field(min_length=1, max_length=100)] = Field(
        "repeat-eval report", description="Name of the check run. It must differ from the job's."
    )
    status: Switch = Field(False, description="Set a commit status.")
    store: Literal["off", "read", "write"] = Field(
        "off",
        description="The branch with counts of the default branch's runs: `read` shows their history and finds base "
        "there; `write` also adds runs of the default branch.",
    )
    store_branch: Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]*(/[A-Za-z0-9_][A-Za-z0-9_.-]*)*$")] = (
        Field("repeat-eval-store", description="Name of that branch. It must hold nothing else.")
    )
    badge: Switch = Field(
        False, description="Write badges into the report folder, and with `store: write` into the store."
    )
    ctrf: Switch = Field(
        False, description="Also write `ctrf.json` into the report folder: CTRF, for tools that read test reports."
    )
    fail_on_publish_error: Switch = Field(
        False,
        description="A comment, check, status or store that could not be written makes a green step red (exit code 4).",
    )
    summary: Switch = Field(True, description="Write the job summary.")
    key: str | None = Field(None, description="Tells reports of one pull request apart (default: suite and matrix).")
    matrix: Annotated[dict[str, str], BeforeValidator(_matrix)] = Field(
        {}, description="The job's matrix values; filled in by itself."
    )
    token: str | None = Field(None, repr=False, description="Token to fetch base and to publish with.")
    report_dir: str = Field("repeat-eval-report", description="Folder for the report files, relative to the workspace.")

    def settings(self) -> Settings:
        """The inputs that are settings of a run."""
        names = Settings.model_fields
        return Settings.model_construct(**{name: getattr(self, name) for name in names})


def input_name(field: str) -> str:
    """The name of a field in a workflow: kebab-case."""
    return _SPELLINGS.get(field, field).replace("_", "-")


def field_name(name: str) -> str:
    """The field behind an input's name; the name itself, in snake_case, when there is none."""
    plain = name.lower().replace("-", "_").replace(" ", "_")
    return next((field for field, spelling in _SPELLINGS.items() if spelling == plain), plain)


def names() -> tuple[str, ...]:
    """The names of all inputs: first what only the action knows, then the settings, each in the model's order."""
    own = [field for field in Inputs.model_fields if field not in Settings.model_fields]
    return tuple(input_name(field) for field in (*own, *Settings.model_fields))


def read_inputs(environ: Mapping[str, str]) -> Inputs:
    """The inputs in the variables `INPUT_*`.

    Args:
        environ: the environment. The token is not among what is read: it is taken out of the environment before.

    Raises:
        UserError: a problem for each input that is wrong or unknown, all of them at once; `file` is the input's name.
    """
    values, problems = {}, []
    for variable, text in sorted(environ.items()):
        if not variable.startswith(PREFIX) or not text.strip():
            continue
        field = field_name(variable.removeprefix(PREFIX))
        if field in Inputs.model_fields:
            values[field] = text
        elif field not in _OF_THE_RUNNER:
            shown = field.replace("_", "-")
            problems.append(Problem(unknown_key(shown, names(), what="input"), shown))
    try:
        inputs = Inputs.model_validate(values)
    except ValidationError as error:
        for details in error.errors():
            name = input_name(str(details["loc"][0]))
            text = plain_message(details).replace(f"`{details['loc'][0]}`", f"`{name}`", 1)
            problems.append(Problem(text, name))
        raise UserError(problems) from None
    problems += _together(inputs)
    if problems:
        raise UserError(problems)
    return inputs


def _together(inputs: Inputs) -> list[Problem]:
    """What is wrong with inputs that are right each by itself."""
    if inputs.mode == "merge" and not inputs.results:
        return [Problem("`mode: merge` needs `results`: the run files of the shards", "results")]
    if inputs.mode != "run":
        return _without_effect(inputs) + _of_publishing(inputs)
    problems = _of_shards(inputs)
    given = [name for name in ("suite", "command", "results") if getattr(inputs, name)]
    if len(given) != 1:
        shown = " and ".join(f"`{name}`" for name in given) or "none of them"
        problems.append(
            Problem(f"exactly one of `suite`, `command` and `results` must be given; found {shown}", "suite")
        )
    way = given[0] if len(given) == 1 else None
    without_effect = {
        "suite": {"name": "the suite file has a name, or is one"},
        "command": dict.fromkeys(("target", "case", "tag"), "what runs the cases decides about them")
        | {"settings_from": "there is no suite file to take them from"},
        "results": dict.fromkeys(("target", "case", "tag", "setup", "setup_as_root"), "nothing is run")
        | {"settings_from": "there is no suite file to take them from"},
    }
    for field, reason in without_effect.get(way or "", {}).items():
        if getattr(inputs, field) != Inputs.model_fields[field].default:
            name = input_name(field)
            problems.append(Problem(f"`{name}` does nothing with `{way}`: {reason}", name))
    if way == "results" and inputs.base == "run":
        problems.append(Problem("`base: run` does nothing with `results`: nothing is run; give base's results", "base"))
    problems += _of_publishing(inputs)
    if inputs.setup_as_root and inputs.setup == "none":
        problems.append(Problem("`setup-as-root` does nothing with `setup: none`", "setup-as-root"))
    if (inputs.require is None) != (inputs.margin is None):
        problems.append(Problem("`require: non-inferior` and `margin` go together", "require"))
    problems += [
        Problem(f"`{input_name(field)}` must be a path inside of the workspace; found {found(path)}", input_name(field))
        for field, path in (("report_dir", inputs.report_dir), ("working_directory", inputs.working_directory))
        if path.startswith("/") or ".." in path.split("/")
    ]
    if inputs.report_dir.strip("./") == "":
        problems.append(Problem("`report-dir` must be a folder of its own, not the workspace itself", "report-dir"))
    return problems


def _of_publishing(inputs: Inputs) -> list[Problem]:
    if inputs.base == "stored" and inputs.store == "off":
        return [Problem("`base: stored` needs `store: read` or `store: write`", "base")]
    return []


def _of_shards(inputs: Inputs) -> list[Problem]:
    """What is wrong with `shard` and what a shard makes no use of: it judges and publishes nothing."""
    if inputs.shard is None:
        return [] if inputs.durations is None else [Problem("`durations` does nothing without `shard`", "durations")]
    from repeat_eval.execution.shards import parse_shard

    problems = []
    try:
        parse_shard(inputs.shard)
    except UserError as error:
        problems.append(Problem(error.problems[0].message, "shard"))
    if inputs.results:
        problems.append(Problem("`shard` does nothing with `results`: nothing is run", "shard"))
    if inputs.command and inputs.durations:
        problems.append(Problem("`durations` does nothing with `command`: each repetition is one unit", "durations"))
    if inputs.base not in ("auto", "run", "none"):
        text = f"`base` is {inputs.base!r}, and a shard judges nothing: give it to `mode: merge`"
        problems.append(Problem(text, "base"))
    if inputs.extra_looks:
        problems.append(
            Problem("`extra-looks` does nothing with `shard`: a further look runs all at once", "extra-looks")
        )
    problems += [
        Problem(f"`{input_name(field)}` does nothing with `shard`: give it to `mode: merge`", input_name(field))
        for field in ("check", "status", "store", "badge", "ctrf")
        if getattr(inputs, field) != Inputs.model_fields[field].default
    ]
    return problems


def _without_effect(inputs: Inputs) -> list[Problem]:
    """What is said to a mode that evaluates nothing, and does nothing there."""
    return [
        Problem(f"`{input_name(field)}` does nothing with `mode: {inputs.mode}`", input_name(field))
        for field, declared in Inputs.model_fields.items()
        if field not in _OF_ALL_MODES | _OF_MODES[inputs.mode] and getattr(inputs, field) != declared.default
    ]
