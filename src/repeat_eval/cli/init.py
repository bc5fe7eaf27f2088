"""`repeat-eval init`: write a first suite that passes offline."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

import click

from repeat_eval.errors import Problem, UserError

_STARTERS = {
    "python": {"suite.yaml": "python_suite.yaml", "agent.py": "python_agent.py"},
    "command": {"suite.yaml": "command_suite.yaml", "agent.sh": "command_agent.sh"},
    "agent": {"suite.yaml": "agent_suite.yaml"},
    "pytest": {"test_evals.py": "pytest_test_evals.py", "README.md": "pytest_readme.md"},
}
_NEXT = {
    "python": "repeat-eval run {folder}/suite.yaml",
    "command": "repeat-eval run {folder}/suite.yaml",
    "agent": "repeat-eval run {folder}/suite.yaml\n\nThen put your model in the script's place; the suite shows where.",
    "pytest": "repeat-eval run --command 'pytest {folder} --junitxml {{results}}'",
}


@click.command("init")
@click.argument("folder", default="evals", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--template",
    type=click.Choice(list(_STARTERS)),
    default="python",
    show_default=True,
    help="python: a function; command: any program; agent: a model with tools, scripted at first; "
    "pytest: tests that are repeated as they are.",
)
@click.option("--force", is_flag=True, help="Overwrite files that are there.")
def command(folder: Path, template: str, force: bool) -> int:
    """Write a first suite into FOLDER (default: evals). It needs no key and no network, and passes."""
    starters = _STARTERS[template]
    there = [name for name in starters if (folder / name).exists()]
    if there and not force:
        raise UserError([Problem("is there already; --force overwrites it", str(folder / name)) for name in there])
    source = files("repeat_eval.cli") / "starters"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, starter in starters.items():
            path = folder / name
            path.write_text((source / starter).read_text(encoding="utf-8"), encoding="utf-8")
            if name.endswith(".sh"):
                path.chmod(0o755)
            click.echo(f"wrote {path}")
    except OSError as error:
        raise UserError(Problem(f"cannot be written: {error.strerror}", str(folder))) from None
    click.echo("\nNow run it:\n  " + _NEXT[template].format(folder=folder))
    return 0
