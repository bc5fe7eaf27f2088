"""Looking after a suite's cassettes: what is there, whether it is whole and clean, what nobody asks for any more."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from repeat_eval.cassettes import files
from repeat_eval.cassettes.files import CaseCassette
from repeat_eval.cassettes.responses import request_key
from repeat_eval.cassettes.scrub import Cleaner
from repeat_eval.errors import Problem, UserError
from repeat_eval.execution.plan import plan_cases
from repeat_eval.steps.cassette_session import BASE_FOLDER, cassette_folder
from repeat_eval.steps.request import Request
from repeat_eval.suite.load import load_suite
from repeat_eval.suite.selection import select
from repeat_eval.suite.settings import resolve
from repeat_eval.suite.spec import CaseSpec, SuiteSpec


class CaseRecordings(msgspec.Struct, frozen=True, kw_only=True):
    """What is recorded of one case.

    Attributes:
        case: its id. asked: repetitions that the suite asks for; None when the suite does not know the case.
        repetitions: repetitions that something is recorded of. calls, responses: number of entries.
        size: bytes. age: seconds since the file was written, or checked out. file: its name.
    """

    case: str
    asked: int | None
    repetitions: int
    calls: int
    responses: int
    size: int
    age: float
    file: str


class Pruned(msgspec.Struct, frozen=True, kw_only=True):
    """What was removed, or would be, from one file; `whole` when nothing is left of it."""

    case: str
    file: str
    entries: int
    why: str
    whole: bool


class Verified(msgspec.Struct, frozen=True, kw_only=True):
    """What is wrong with cassettes.

    Attributes:
        broken: files that cannot be read. secrets: entries that hold what looks like a secret.
        missing: cases without N recordings, a sentence each.
    """

    cases: int
    broken: tuple[str, ...]
    secrets: tuple[str, ...]
    missing: tuple[str, ...]


class Shelf(msgspec.Struct, frozen=True):
    """A suite and the folder of its cassettes."""

    spec: SuiteSpec
    folder: Path
    cases: dict[str, CaseSpec]
    asked: dict[str, int]


def shelf_of(request: Request) -> Shelf:
    """The suite of a request with its cassettes; UserError when no folder is named or there is none."""
    assert request.suite is not None  # noqa: S101 - the caller has one
    spec = load_suite(request.suite)
    settings = resolve(("option", request.options), ("variable", request.variables), ("suite", spec.settings))
    if settings["cassettes"] is None:
        raise UserError("the suite names no folder of cassettes: give one with --cassettes")
    folder = cassette_folder(settings, spec.folder, on=True)
    if folder is None or not folder.is_dir():
        raise UserError(Problem("there is no such folder", str(folder)))
    cases = select(spec.cases, request.cases, request.tags)
    plans = plan_cases(spec, cases, settings)
    return Shelf(spec, folder, {case.id: case for case in cases}, {plan.id: plan.asked for plan in plans})


def list_cassettes(shelf: Shelf, *, now: float | None = None) -> tuple[CaseRecordings, ...]:
    """What is recorded: the suite's cases in its order, then cases that it does not know. UserError: a broken file."""
    moment = time.time() if now is None else now
    found: dict[str, CaseRecordings] = {}
    for path, cassette in _read_all(shelf.folder):
        status = path.stat()
        found[cassette.case] = CaseRecordings(
            case=cassette.case,
            asked=shelf.asked.get(cassette.case),
            repetitions=len(cassette.repetitions),
            calls=len(cassette.calls),
            responses=len(cassette.responses),
            size=status.st_size,
            age=max(0.0, moment - status.st_mtime),
            file=path.name,
        )
    for case, asked in shelf.asked.items():
        if case not in found:
            name = files.file_name(case)
            found[case] = CaseRecordings(
                case=case, asked=asked, repetitions=0, calls=0, responses=0, size=0, age=0.0, file=name
            )
    order = {case: place for place, case in enumerate(shelf.asked)}
    return tuple(sorted(found.values(), key=lambda one: (order.get(one.case, len(order)), one.case)))


def prune_cassettes(shelf: Shelf, request: Request, *, dry_run: bool) -> tuple[Pruned, ...]:
    """Remove what the suite does not ask for: cases and checks that are gone, repetitions above N, other inputs.

    A call whose request has changed cannot be told from here; the next run that records replaces it.

    Raises:
        UserError: a file is broken, or cannot be written.
    """
    clean = Cleaner(request.environ)
    pruned = []
    for folder in (shelf.folder, shelf.folder / BASE_FOLDER):
        if not folder.is_dir():
            continue
        for path, cassette in _read_all(folder):
            kept, why = _kept(cassette, shelf, clean)
            entries = len(cassette.calls) + len(cassette.responses) - len(kept.calls) - len(kept.responses)
            if not entries:
                continue
            whole = not kept.calls and not kept.responses
            name = str(path.relative_to(shelf.folder))
            pruned.append(Pruned(case=cassette.case, file=name, entries=entries, why=why, whole=whole))
            if not dry_run:
                try:
                    files.write(path, kept)
                except OSError as error:
                    raise UserError(Problem(f"cannot be written: {error.strerror}", str(path))) from None
    return tuple(pruned)


def verify_cassettes(shelf: Shelf, request: Request) -> Verified:
    """Check that every file can be read, holds nothing that looks like a secret, and N recordings of its case."""
    clean = Cleaner(request.environ)
    broken: list[str] = []
    secrets: list[str] = []
    repetitions: dict[str, set[int]] = {}
    for folder in (shelf.folder, shelf.folder / BASE_FOLDER):
        for path in files.cassette_files(folder) if folder.is_dir() else ():
            try:
                cassette = files.read(path)
            except UserError as error:
                broken += [str(problem) for problem in error.problems]
                continue
            if path.name != files.file_name(cassette.case):
                broken.append(f"{path}: is not the file of case {cassette.case!r}, which is never looked for here")
            elif folder == shelf.folder:
                repetitions[cassette.case] = cassette.repetitions
            secrets += [f"{path}:{number}: looks like a secret" for number in _secret_lines(path, clean)]
    missing = []
    for case, asked in shelf.asked.items():
        lacking = [number for number in range(1, asked + 1) if number not in repetitions.get(case, set())]
        if lacking:
            missing.append(f"case {case!r}: {asked - len(lacking)} of {asked} repetitions are recorded")
    return Verified(cases=len(shelf.asked), broken=tuple(broken), secrets=tuple(secrets), missing=tuple(missing))


def _read_all(folder: Path) -> list[tuple[Path, CaseCassette]]:
    found: list[tuple[Path, CaseCassette]] = []
    problems: list[Problem] = []
    for path in files.cassette_files(folder):
        try:
            found.append((path, files.read(path)))
        except UserError as error:
            problems += error.problems
    if problems:
        raise UserError(problems)
    return found


def _kept(cassette: CaseCassette, shelf: Shelf, clean: Cleaner) -> tuple[CaseCassette, str]:
    """What stays of a cassette, and why the rest goes."""
    case = shelf.cases.get(cassette.case)
    if case is None:
        return CaseCassette(cassette.case, {}, {}), "the suite has no such case"
    asked = shelf.asked[case.id]
    target = case.target or shelf.spec.target
    reasons = []
    calls = {slot: call for slot, call in cassette.calls.items() if slot.repetition <= asked}
    responses = {number: one for number, one in cassette.responses.items() if number <= asked}
    if len(calls) < len(cassette.calls) or len(responses) < len(cassette.responses):
        reasons.append(f"repetitions above {asked}")
    names = [check.name for check in case.checks]
    parts = _parts(names, of_model=target is None or target.kind == "model")
    known = {slot: call for slot, call in calls.items() if slot.part.startswith(parts)}
    if len(known) < len(calls):
        reasons.append("nobody in the case asks so any more")
    if target is not None:
        key = request_key(target.kind, target.value, case.input, case.variables, clean)
        of_now = {number: one for number, one in responses.items() if one.request_key == key}
        if len(of_now) < len(responses):
            reasons.append("another input or another target")
        responses = of_now
    return CaseCassette(cassette.case, known, responses), "; ".join(reasons)


def _parts(checks: Sequence[str], *, of_model: bool) -> tuple[str, ...]:
    return (*checks, "target") if of_model else tuple(checks)


def _secret_lines(path: Path, clean: Cleaner) -> list[int]:
    """Numbers of the first lines of a file that cleaning would change."""
    text = path.read_text(encoding="utf-8", errors="replace")
    if not clean.finds_in(msgspec.json.decode(text)):
        return []
    lines = [number for number, line in enumerate(text.splitlines(), 1) if clean.finds(line)]
    return lines[:20] or [1]
