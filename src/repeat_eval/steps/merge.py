"""Join the shards of a run, and of its base, into the run that they make; judge and report it."""

from __future__ import annotations

import glob
from collections.abc import Sequence
from pathlib import Path

import msgspec

from repeat_eval.errors import Problem, UserError
from repeat_eval.records.journal import read_run
from repeat_eval.records.merging import Part, merge
from repeat_eval.records.run import Run
from repeat_eval.steps.bases import Base, base_from_files
from repeat_eval.steps.files import find_files
from repeat_eval.steps.finished import Finished
from repeat_eval.steps.judging import report_of, rules_of, settings_of_run
from repeat_eval.steps.recording import BASE_FILE, RUN_FILE, recordings
from repeat_eval.steps.request import Request
from repeat_eval.suite.settings import resolve


def find_shards(patterns: Sequence[str]) -> list[Path]:
    """The run files of shards that paths and globs name; of a folder, and of a folder's base.jsonl, its run.jsonl.

    Raises:
        UserError: a pattern names none.
    """
    paths = [path for pattern in patterns for path in _found(pattern)]
    beside = {path: path.with_name(RUN_FILE) for path in paths if path.name == BASE_FILE}
    return list(dict.fromkeys(beside[path] if path in beside and beside[path].is_file() else path for path in paths))


def _found(pattern: str) -> list[Path]:
    names = [pattern] if Path(pattern).exists() else sorted(glob.glob(pattern, recursive=True))
    folders = [path for path in map(Path, names) if path.is_dir() and (path / RUN_FILE).is_file()]
    files = [path for path in map(Path, names) if path.is_file()]
    return [*(path / RUN_FILE for path in folders), *files] or find_files([pattern])


def suite_of_shards(patterns: Sequence[str]) -> str:
    """The name of the suite whose shards these are; UserError when they cannot be read."""
    return read_run(find_shards(patterns)[0], lean=True).header.suite


def merge_shards(request: Request) -> Finished:
    """Join the run files in `request.results` and those of base beside them, write both, and judge.

    Missing shards make the run incomplete. The rules are those of the run, where no option or variable says otherwise.

    Raises:
        UserError: the files cannot be read or do not belong together, or the output folder cannot be used.
    """
    paths = find_shards(request.results)
    _refuse_to_overwrite(request.out, paths)
    heads = [Part(str(path), read_run(path)) for path in paths]
    run = merge(heads)
    beside = [(head, path.with_name(BASE_FILE)) for head, path in zip(heads, paths, strict=True)]
    bases = [
        (head, Part(str(path), read_run(path)))
        for head, path in beside
        if Path(head.name).name == RUN_FILE and path.is_file()
    ]
    base_run = _merged_base(bases)
    notes = [part.shard.base_missing for part in heads if part.shard.base_missing is not None]
    if base_run is not None:
        if request.base:
            raise UserError(Problem("base ran beside these shards; there is one base", request.base[0]))
        run = _with_missing_of_base(run, base_run, notes)
    settings = resolve(("option", request.options), ("variable", request.variables), ("run file", settings_of_run(run)))
    header = msgspec.structs.replace(run.header, settings={**run.header.settings, **rules_of(settings).as_settings()})
    run = msgspec.structs.replace(run, header=header)
    base = base_from_files(request, header.suite)
    runs = {RUN_FILE: run} if base_run is None else {BASE_FILE: base_run, RUN_FILE: run}
    with recordings({name: each.header for name, each in runs.items()}, _anew(request)) as records:
        for record, each in zip(records, runs.values(), strict=True):
            for trial in each.trials:
                record.add(trial)
            footer = each.footer
            assert footer is not None  # noqa: S101 - merging makes one
            done = record.finish(stopped=footer.stopped, missing=footer.missing, warnings=each.warnings)
            if each is base_run:
                base = Base(done, "side-by-side")
    report = report_of(
        done,
        settings,
        files=[str(path) for path in paths],
        base=base,
        base_written=bases[0][1].shard.base_written if bases else None,
        base_missing=request.base_missing or (notes[0] if notes and base is None else None),
    )
    return Finished(report, records[-1])


def _merged_base(bases: Sequence[tuple[Part, Part]]) -> Run | None:
    """Base of the shards that have one; each must be the same shard as the run beside it."""
    problems = [
        Problem(f"does not belong to {head.name}, which is {head.shard}", base.name)
        for head, base in bases
        if base.run.header.shard
        and (head.shard.index, head.shard.of, head.shard.split) != (base.shard.index, base.shard.of, base.shard.split)
    ]
    if problems:
        raise UserError(problems)
    return merge([base for _, base in bases]) if bases else None


def _with_missing_of_base(run: Run, base: Run, notes: Sequence[str]) -> Run:
    """What base lacks makes the comparison, and with it the run, incomplete."""
    assert run.footer is not None and base.footer is not None  # noqa: S101 - merging makes them
    lacking = [f"base: {text}" for text in base.footer.missing if text not in run.footer.missing]
    lacking += [f"base: {note}" for note in dict.fromkeys(notes) if lacking]
    footer = msgspec.structs.replace(run.footer, missing=(*run.footer.missing, *lacking))
    return msgspec.structs.replace(run, footer=footer)


def _refuse_to_overwrite(out: Path | None, paths: Sequence[Path]) -> None:
    own = None if out is None else out / RUN_FILE
    if own is not None and any(path.resolve() == own.resolve() for path in paths):
        raise UserError(
            Problem("is one of the shards, and would be overwritten: name another folder with --out", str(own))
        )


def _anew(request: Request) -> Request:
    return msgspec.structs.replace(request, fresh=True, resume=False)
