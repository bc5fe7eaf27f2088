"""Recordings in a run: which folder and mode each side has, what its children are told, and what is said at the end."""

from __future__ import annotations

import contextlib
import filecmp
import json
import os
import shlex
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from repeat_eval.errors import UserError
from repeat_eval.records.trial import one_line
from repeat_eval.steps.request import Request
from repeat_eval.steps.sides import Checkout, root_of
from repeat_eval.suite.settings import ResolvedSettings
from repeat_eval.suite.spec import CaseSpec, SuiteSpec, TargetSpec

if TYPE_CHECKING:
    from repeat_eval.cassettes.compare import AnsweredOtherwise
    from repeat_eval.cassettes.session import Session

FOLDER_VARIABLE = "REPEAT_EVAL_RECORDING_FOLDER"
MODE_VARIABLE = "REPEAT_EVAL_RECORDING_MODE"
MISSES_VARIABLE = "REPEAT_EVAL_RECORDING_MISSES"
BASE_FOLDER = "base"
"""Base's recordings are its own: two sides that shared them would be one sample."""

_MAX_MISSES_BYTES = 200_000
_MAX_MISSES = 20


def cassette_folder(
    settings: ResolvedSettings, suite_folder: Path, side: str = "head", *, on: bool = False
) -> Path | None:
    """The absolute folder of a side's cassettes; None when nothing is recorded or replayed.

    A folder named in the suite file is beside it, any other is seen from the current folder. With `on` the mode `off`
    does not count.

    Raises:
        UserError: a mode is set, and no folder.
    """
    folder, mode = settings["cassettes"], settings["cassette_mode"]
    if mode == "off" and not on:
        return None
    if folder is None:
        if mode is not None:
            raise UserError(
                f"--cassette-mode {mode} needs a folder: name one with --cassettes, or `cassettes:` in the suite"
            )
        return None
    path: Path = (suite_folder if settings.source("cassettes") == "suite" else Path.cwd()) / folder
    return path / BASE_FOLDER if side == "base" else path


def folder_in_base(
    settings: ResolvedSettings, suite_folder: Path, checkout: Checkout, base_suite: SuiteSpec | None
) -> Path | None:
    """Where base's own checkout holds recordings: what stands there was not written by whoever changed head's.

    The folder is the one that base's own suite names, where suites name it, so that head's cannot move away from it.

    Args:
        settings: of the run. suite_folder: head's. checkout: base's files. base_suite: the suite as base has it.

    Returns:
        None when base's checkout has no such folder.
    """
    folder = settings["cassettes"]
    if folder is None:
        return None
    of_suite = settings.source("cassettes") == "suite"
    if of_suite and base_suite is not None:
        folder = base_suite.settings.cassettes or folder
    root = root_of(suite_folder.resolve())
    here = (suite_folder if of_suite else Path.cwd()).resolve()
    # Links are not followed at first: head may have put them there.
    places = (Path(os.path.normpath(here / folder)), (here / folder).resolve())
    within = next((place.relative_to(root) for place in places if place.is_relative_to(root)), None)
    own = None if within is None else checkout.root / within
    return own if own is not None and own.is_dir() else None


def recordings_changed(
    session: Session | None, cases: Sequence[CaseSpec], own: Path, request: Request, *, side: str = "head"
) -> tuple[str, ...]:
    """Where what a side may replay answers otherwise than base's own recordings in the same place, as sentences.

    Args:
        session: the side's, before anything is recorded. cases: those that will run.
        own: base's own folder of head's recordings, see `folder_in_base`. request: is told what cannot be read.
        side: `head` or `base`.
    """
    if session is None:
        return ()
    calls, responses = (mode in ("auto", "replay") for mode in (session.calls, session.responses))
    if not (calls or responses):
        return ()
    from repeat_eval.cassettes import files
    from repeat_eval.cassettes.compare import answered_otherwise, sentence

    found: list[AnsweredOtherwise] = []
    for case in cases:
        mine, path = session.store.cassette(case.id), own / files.file_name(case.id)
        if mine is None or not path.is_file() or _same_bytes(path, session.store.path(case.id)):
            continue
        try:
            theirs = files.read(path)
        except UserError as error:
            problem = error.problems[0].message
            request.say(f"base's own recordings of case {one_line(case.id, 80)} are not looked at: {problem}")
            continue
        if theirs.case == case.id:
            found += answered_otherwise(mine, theirs, calls=calls, responses=responses)
    return (sentence(found, of_base=side == "base"),) if found else ()


def _same_bytes(one: Path, other: Path) -> bool:
    """Whether two files are the same, as nearly all are: that is quickly seen."""
    try:
        return filecmp.cmp(one, other, shallow=False)
    except OSError:
        return False


def session_of(
    spec: SuiteSpec,
    cases: Sequence[CaseSpec],
    settings: ResolvedSettings,
    request: Request,
    *,
    function: bool = False,
    side: str = "head",
    folder_of_suite: Path | None = None,
) -> Session | None:
    """The recordings of one side, read and ready; None when there are none to be.

    Calls of models are recorded and replayed as soon as a folder is named. Responses of other targets only when a mode
    is asked for outside the suite file, since replaying them means that the code under test does not run.

    Args:
        spec: the suite. cases: those that will run. settings: of the run. request: what was asked for.
        function: whether the target is a function of this process.
        side: `head` or `base`.
        folder_of_suite: head's, which base's recordings stand beside too: base's own may be a checkout that is gone
            when the run is over. None for the suite's.

    Raises:
        UserError: the settings do not go together, or cassettes are broken.
    """
    folder = cassette_folder(settings, folder_of_suite or spec.folder, side)
    if folder is None:
        return None
    from repeat_eval.cassettes.session import Session

    mode = settings["cassette_mode"]
    asked_for = settings.source("cassette_mode") in ("option", "variable")
    session = Session(
        folder,
        request.environ,
        calls=mode or "auto",
        responses=mode if asked_for else None,
        command=f"repeat-eval run {shlex.quote(str(request.suite or spec.path or spec.name))}",
        shown=str(settings["cassettes"]),
    )
    session.store.load(case.id for case in cases)
    if mode is not None and not asked_for and side == "head" and _of_code(spec, cases, function):
        request.say(
            "cassette_mode in a suite file holds for calls of models; to replay the responses of a target whose code "
            "then does not run, give --cassette-mode"
        )
    return session


def replays_responses(
    session: Session | None, spec: SuiteSpec, cases: Sequence[CaseSpec], asked: Sequence[int], *, function: bool
) -> bool:
    """Whether trials of a run may be answered by recordings while the code under test does not run."""
    if session is None or session.responses not in ("auto", "replay"):
        return False
    return any(
        session.responses == "replay"
        or any(session.store.response(case.id, number) is not None for number in range(1, repeats + 1))
        for case, repeats in zip(cases, asked, strict=True)
        if _is_code(case.target or spec.target, function and case.target is None)
    )


def child_variables(
    folder: Path | None, mode: str | None, environ: Mapping[str, str], misses: Path | None
) -> dict[str, str]:
    """What children are told for recordings of their own, see `repeat_eval.recording`; a mode of the user's stands."""
    if folder is None:
        return {}
    told = {FOLDER_VARIABLE: str(folder.absolute()), MODE_VARIABLE: environ.get(MODE_VARIABLE) or mode or "auto"}
    return told if misses is None else told | {MISSES_VARIABLE: str(misses)}


@contextlib.contextmanager
def misses_file(folder: Path | None, request: Request) -> Iterator[Path | None]:
    """A file that children note misses in; None when nothing is recorded."""
    if folder is None:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="repeat-eval-misses-") as name:
        path = Path(name) / "misses"
        path.touch()
        if request.run_as is not None:
            request.run_as.give(Path(name))
            request.run_as.give(path)
        yield path


def noted_misses(path: Path | None) -> tuple[str, ...]:
    """The misses that children noted, as sentences; what they wrote is data, and bounded."""
    if path is None or not path.is_file():
        return ()
    with path.open("rb") as file:
        lines = file.read(_MAX_MISSES_BYTES).decode("utf-8", "replace").splitlines()
    texts = []
    for line in lines:
        try:
            texts.append("cassette miss: " + one_line(str(json.loads(line)), 300))
        except (ValueError, RecursionError):
            continue
    texts = sorted(set(texts))
    more = len(texts) - _MAX_MISSES
    return (*texts[:_MAX_MISSES], *([f"cassette miss: {more} more"] if more > 0 else []))


def _of_code(spec: SuiteSpec, cases: Sequence[CaseSpec], function: bool) -> bool:
    return any(_is_code(case.target or spec.target, function and case.target is None) for case in cases)


def _is_code(target: TargetSpec | None, function: bool) -> bool:
    return function or (target is not None and target.kind != "model")
