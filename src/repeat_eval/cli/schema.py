"""`repeat-eval schema`: JSON Schemas of the files that people write and read."""

from __future__ import annotations

import json

import click


@click.command("schema")
@click.argument("what", type=click.Choice(["suite", "run", "report", "store", "judge-reliability"]))
def command(what: str) -> int:
    """Print the JSON Schema of suite, run or report files, of the files in the store, or of judge-reliability.json."""
    from repeat_eval.steps.schemas import schema_of

    click.echo(json.dumps(schema_of(what), indent=2))
    return 0
