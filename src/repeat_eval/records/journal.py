"""The run file: written line by line as trials end, readable at any moment, resumable after any death.

A header line, one line a trial, a footer line. A run that is resumed after a budget or an interruption carries an
earlier footer in its middle, which the last one supersedes. Between two looks there is a line with what the second one
is asked for; it takes the place of what the header says of them.
"""

from __future__ import annotations

import re
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

import msgspec
from msgspec import UnsetType

from repeat_eval.errors import Problem, UserError
from repeat_eval.records.run import RUN_SCHEMA, Run, RunFooter, RunHeader
from repeat_eval.records.trial import Trial
from repeat_eval.records.two_looks import TwoLooks

_MAX_PROBLEMS = 20
_SCHEMA_PATTERN = re.compile(r"repeat-eval/run/(\d+)\Z")


class _FooterLine(msgspec.Struct):
    footer: RunFooter


class _LooksLine(msgspec.Struct):
    second_look: TwoLooks


class _SchemaLine(msgspec.Struct):
    schema: str | None = None


_encode = msgspec.json.Encoder().encode
_decode_trial = msgspec.json.Decoder(Trial).decode
_decode_footer = msgspec.json.Decoder(_FooterLine).decode
_decode_looks = msgspec.json.Decoder(_LooksLine).decode
_decode_header = msgspec.json.Decoder(RunHeader).decode


class Journal:
    """A run file that is being written: each trial is one line, handed to the operating system as it ends.

    The file is opened unbuffered, so that even SIGKILL loses no trial that was appended.
    """

    def __init__(self, file: BinaryIO, trials: int = 0) -> None:
        self._file = file
        self.trials = trials
        """Trials in the file, superseded errors not counted twice."""

    @classmethod
    def create(cls, path: Path, header: RunHeader) -> Journal:
        """Start a new run file, replacing what was there; raises OSError, or UserError when it is full."""
        journal = cls(path.open("wb", buffering=0))
        journal._write(header)
        return journal

    @classmethod
    def resume(cls, path: Path, opened: OpenRun) -> Journal:
        """Go on writing the file that was read as `opened`; a torn last line is cut off. Raises OSError."""
        file = path.open("r+b", buffering=0)
        file.truncate(opened.good_bytes)
        file.seek(0, 2)
        if opened.missing_newline:
            file.write(b"\n")
        return cls(file, trials=len(opened.run.trials))

    def append(self, trial: Trial, *, supersedes: bool = False) -> None:
        """Write one trial; `supersedes` when it takes the place of an earlier error. Raises UserError."""
        self._write(trial)
        if not supersedes:
            self.trials += 1

    def second_look(self, looks: TwoLooks) -> None:
        """Write what the second look is asked for. Raises UserError."""
        self._write({"second_look": looks})

    def finish(self, footer: RunFooter) -> None:
        """Write the footer and close; raises UserError."""
        self._write({"footer": footer})
        self._file.close()

    def _write(self, value: Any) -> None:
        """Write one line whole: a disk that fills up takes only a part of it, and says so at the next attempt."""
        line = _encode(value) + b"\n"
        try:
            while line:
                line = line[self._file.write(line) :]
        except OSError as error:
            raise UserError(Problem(f"cannot be written: {error.strerror}", str(self._file.name))) from None

    def close(self) -> None:
        """Close without a footer: the file stays resumable."""
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


class OpenRun(msgspec.Struct, frozen=True):
    """A run file as read, with what is needed to go on writing it.

    `good_bytes` is the length up to the end of the last whole line; `missing_newline` when that line has no line end.
    `spent` is what all trials cost in US dollars, also errors that a later line supersedes; None where none is known.
    """

    run: Run
    good_bytes: int
    missing_newline: bool
    spent: float | None = None


def read_run(path: Path, *, lean: bool = False) -> Run:
    """Read a run file; see `open_run`.

    Args:
        path: the file.
        lean: keep of each trial only what a side of a comparison needs: outcome, duration, cost and whether it was
            cached. Every line is validated all the same.
    """
    return open_run(path, lean=lean).run


def looks_like_run_file(path: Path) -> bool:
    """Whether the first line is a header of ours, of any version; raises OSError."""
    with path.open("rb") as file:
        return _schema_of(file.readline(64 * 1024 * 1024)) is not None


def open_run(path: Path, *, lean: bool = False) -> OpenRun:
    """Read a run file, finished or not.

    A torn last line (no line end, not valid) is dropped with a warning. Every other bad line is a problem that names
    file and line; all of them (at most 20) are raised at once.

    Raises:
        UserError: the file is missing, unreadable, of a newer major schema, or has bad lines.
    """
    name = str(path)
    try:
        with path.open("rb") as file:
            return _read(file, name, lean=lean)
    except OSError as error:
        raise UserError(Problem(f"cannot be read: {error.strerror or error}", name)) from None


def _read(file: BinaryIO, name: str, *, lean: bool) -> OpenRun:
    first = file.readline()
    if not first.strip():
        raise UserError(Problem("is empty; a run file starts with a header line", name))
    header = _header(first, name)
    collector = _Collector(header, lean=lean)
    warnings: list[str] = []
    good = len(first)
    last = first
    footer: RunFooter | None = None
    for number, line in enumerate(file, start=2):
        torn = not line.endswith(b"\n")
        if line.isspace():
            good += len(line)
            continue
        footer, problem = collector.take(line, number)
        if problem is not None:
            if torn:
                warnings.append(f"{name}:{number}: the last line was torn and is left out")
                break
            collector.problems.append(Problem(problem, name, number))
            if len(collector.problems) >= _MAX_PROBLEMS:
                break
        good += len(line)
        last = line
    if collector.problems:
        raise UserError(collector.problems)
    if footer is not None and footer.trials != len(collector.trials):
        text = f"{name} holds {len(collector.trials)} trials, and its last line tells of {footer.trials}"
        footer = msgspec.structs.replace(footer, missing=(*footer.missing, text))
    run = Run(header=collector.header, trials=tuple(collector.trials.values()), footer=footer, warnings=tuple(warnings))
    return OpenRun(run, good, not last.endswith(b"\n"), collector.spent)


def _header(line: bytes, name: str) -> RunHeader:
    schema = _schema_of(line)
    if schema is None:
        raise UserError(Problem(f"is not a run file: the first line is no header with schema {RUN_SCHEMA!r}", name, 1))
    if schema != 1:
        raise UserError(
            Problem(
                f"was written by a newer version (schema repeat-eval/run/{schema}); this version reads {RUN_SCHEMA}",
                name,
                1,
            )
        )
    try:
        return _decode_header(line)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise UserError(Problem(f"the header is not valid: {error}", name, 1)) from None


def _schema_of(line: bytes) -> int | None:
    try:
        schema = msgspec.json.decode(line, type=_SchemaLine).schema
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    match = _SCHEMA_PATTERN.match(schema or "")
    return int(match[1]) if match else None


class _Collector:
    """Takes lines one by one: keeps the trial that holds for each case and repetition."""

    def __init__(self, header: RunHeader, *, lean: bool) -> None:
        self._lean = lean
        self._names: dict[str, str] = {}
        self.trials: dict[tuple[str, int], Trial] = {}
        self.problems: list[Problem] = []
        self.spent: float | None = None
        self.header = header
        self._asked = {plan.id: header.most_asked(plan) for plan in header.cases}

    def take(self, line: bytes, number: int) -> tuple[RunFooter | None, str | None]:
        """Take a line: the footer if it is one, and what is wrong with it."""
        try:
            trial = _decode_trial(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            footer = _footer(line)
            taken = footer is not None or self._take_looks(line)
            return footer, None if taken else f"is not a valid trial: {error}"
        if (trial.outcome == "error") != (trial.error_kind is not None):
            return None, f"outcome {trial.outcome!r} does not go with error_kind {trial.error_kind!r}"
        if self._lean:
            trial = _lean(trial, self._names.setdefault(trial.case, trial.case))
        key = trial.key
        earlier = self.trials.get(key)
        if earlier is not None and earlier.outcome != "error":
            return (
                None,
                f"trial {trial.repetition} of case {trial.case!r} is there twice; only an error may be superseded",
            )
        if self._asked:
            asked = self._asked.get(trial.case)
            if asked is None:
                return None, f"case {trial.case!r} is not among the cases in the header"
            if trial.repetition > asked:
                return None, f"repetition {trial.repetition} of case {trial.case!r}, which asks for {asked}"
        self.trials[key] = trial
        if (spent := trial.spent) is not None:
            self.spent = (self.spent or 0.0) + spent
        return None, None

    def _take_looks(self, line: bytes) -> bool:
        """Take a line that tells what the second look is asked for; False when it is none of this run."""
        try:
            looks = _decode_looks(line).second_look
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return False
        known = self.header.second_look
        if isinstance(known, UnsetType) or known.first_ended or known != looks.before:
            return False
        self.header = self.header.with_second_look(looks)
        self._asked = {plan.id: self.header.most_asked(plan) for plan in self.header.cases}
        return True


def _lean(trial: Trial, case: str) -> Trial:
    """A trial without what is only shown; all trials of a case share its name."""
    return Trial(
        case=case,
        repetition=trial.repetition,
        outcome=trial.outcome,
        error_kind=trial.error_kind,
        duration=trial.duration,
        cost=trial.cost,
        cached=trial.cached,
        judge_cost=trial.judge_cost,
    )


def _footer(line: bytes) -> RunFooter | None:
    try:
        return _decode_footer(line).footer
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
