"""`repeat-eval cassettes`: list, verify or prune the recorded responses of a suite."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from repeat_eval.cli.options import SELECTION_OPTIONS, option, settings_from, with_options
from repeat_eval.errors import ExitCode, UserError
from repeat_eval.steps.request import Request

if TYPE_CHECKING:
    from repeat_eval.steps.cassettes import Shelf


@click.command("cassettes")
@click.argument("action", type=click.Choice(["list", "verify", "prune"]))
@click.argument("suite", type=click.Path(path_type=Path))
@option("--cassettes", metavar="DIR", help="Folder of recorded responses (default: the suite's `cassettes`).")
@option("--repeats", "-n", metavar="N", help="Trials per case that recordings are wanted of; overrides every case.")
@with_options(SELECTION_OPTIONS)
@click.option("--dry-run", is_flag=True, help="With prune: only say what would be removed.")
@click.pass_context
def command(ctx: click.Context, /, action: str, suite: Path, **values: Any) -> int:
    """Look after the recorded responses of SUITE.

    \b
      repeat-eval cassettes list evals/refunds.yaml     cases, recordings, size and age
      repeat-eval cassettes verify evals/refunds.yaml   readable, no secrets, N recordings of every case
      repeat-eval cassettes prune evals/refunds.yaml    remove what the suite does not ask for any more

    `verify` exits with 2 where a file is broken or holds a secret, and with 3 where recordings are missing.
    """
    from repeat_eval.steps.cassettes import shelf_of

    if values["dry_run"] and action != "prune":
        raise UserError(f"--dry-run does nothing with {action}: it removes nothing anyway")
    if action == "prune" and (values["cases"] or values["tags"]):
        raise UserError("prune looks at the whole suite: with --case or --tag it would remove what the others need")
    options, variables = settings_from(ctx, values)
    request = Request(suite=suite, options=options, variables=variables, cases=values["cases"], tags=values["tags"])
    shelf = shelf_of(request)
    if action == "list":
        return _list(shelf)
    return _verify(shelf, request) if action == "verify" else _prune(shelf, request, dry_run=values["dry_run"])


def _list(shelf: Shelf) -> int:
    from repeat_eval.reports.escape import terminal
    from repeat_eval.steps.cassettes import list_cassettes

    rows = [("case", "repetitions", "calls", "responses", "size", "age")]
    total = 0
    for one in list_cassettes(shelf):
        asked = "not in the suite" if one.asked is None else f"of {one.asked}"
        age = "—" if not one.size else _age(one.age)
        rows.append(
            (terminal(one.case), f"{one.repetitions} {asked}", str(one.calls), str(one.responses), _size(one.size), age)
        )
        total += one.size
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    _say(f"{len(rows) - 1} cases, {_size(total)} in {shelf.folder}")
    return ExitCode.PASSED


def _verify(shelf: Shelf, request: Request) -> int:
    from repeat_eval.steps.cassettes import verify_cassettes

    found = verify_cassettes(shelf, request)
    for text in (*found.broken, *found.secrets, *found.missing):
        _say(text)
    if found.broken or found.secrets:
        return ExitCode.USER_ERROR
    if found.missing:
        return ExitCode.INCOMPLETE
    _say(f"{found.cases} cases: all recordings are there, and nothing in them looks like a secret")
    return ExitCode.PASSED


def _prune(shelf: Shelf, request: Request, *, dry_run: bool) -> int:
    from repeat_eval.steps.cassettes import prune_cassettes

    pruned = prune_cassettes(shelf, request, dry_run=dry_run)
    done = "would be removed" if dry_run else "removed"
    for one in pruned:
        what = "the whole file" if one.whole else f"{one.entries} entries"
        _say(f"{one.file}: {what} {done}: {one.why}")
    _say(f"{sum(one.entries for one in pruned)} entries {done}")
    return ExitCode.PASSED


def _size(size: int) -> str:
    if size < 1000:
        return f"{size} B"
    return f"{size / 1000:.1f} kB" if size < 1_000_000 else f"{size / 1_000_000:.1f} MB"


def _age(seconds: float) -> str:
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.0f} s"


def _say(text: str) -> None:
    from repeat_eval.reports.escape import terminal

    click.echo(terminal(text))
