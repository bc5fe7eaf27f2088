"""Several files of foreign results become the trials of one run, with repetition numbers and with what is missing."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import attrgetter
from pathlib import Path

from repeat_eval.errors import Problem, UserError
from repeat_eval.readers.base import FileResults, FoundTrial, ReadError, ReadOptions
from repeat_eval.readers.handed_twice import refuse_equal_bytes, refuse_same_file, refuse_same_run
from repeat_eval.readers.registry import RUN_FORMAT, format_of, read_file
from repeat_eval.readers.variants import apart_by_variant
from repeat_eval.records.natural_order import natural_key
from repeat_eval.records.trial import Outcome, Trial, bounded, one_line, sha256_of

_MAX_LISTED = 5
_MAX_DECLARED = 10_000
"""Trials of a case that a file may say were asked for, where it does not hold more."""
_OTHERS = tuple(
    name
    for name in FoundTrial.__struct_fields__
    if name not in ("case", "outcome", "repetition", "duration", "started", "origin")
)
_others = attrgetter(*_OTHERS)
_NO_OTHERS = (None,) * len(_OTHERS)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadableFile:
    """A file that is no evidence: it cannot be read, or it contradicts itself."""

    path: Path
    problems: tuple[Problem, ...]

    @property
    def reason(self) -> str:
        """The first problem, without the file's name."""
        first = self.problems[0]
        where = f"line {first.line}: " if first.line is not None else ""
        more = f" (and {len(self.problems) - 1} more)" if len(self.problems) > 1 else ""
        return f"{where}{first.message}{more}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """The trials of several files.

    Attributes:
        trials: file by file; case and repetition together are unique. What a broken file should have held is there as
            errors of kind `harness`; trials that are simply absent are not: they are `asked` minus what is there.
        cases: in order of first appearance.
        asked: trials asked for, per case.
        declared: trials that the files themselves say were asked for, per case; a case that is not there: none says it.
        missing: evidence that is missing and belongs to no case that is known: a sentence each. If there is any, the
            results are incomplete whatever the trials say.
        warnings: sentences for the user.
        unreadable: files that were no evidence.
    """

    trials: tuple[Trial, ...]
    cases: tuple[str, ...]
    asked: dict[str, int]
    missing: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    unreadable: tuple[UnreadableFile, ...] = ()
    declared: Mapping[str, int] = field(default_factory=dict)


def natural_order(files: Iterable[Path]) -> list[Path]:
    """Paths in the order in which people count: `run-2` before `run-10`."""

    return sorted(files, key=lambda path: natural_key(str(path)))


def collect(
    files: Sequence[Path],
    *,
    repeats: int | None = None,
    options: ReadOptions | None = None,
    one_file_a_repetition: bool = False,
) -> Collected:
    """Read results files and number their trials.

    Within a file repetitions are as read; a later file that has the same case again holds its next repetitions.

    Args:
        files: in any order; they are taken in natural order of their paths. A path where there is no file counts as a
            file that cannot be read.
        repeats: trials asked for per case, at least 1; None: as many as any case has.
        options: how files are read.
        one_file_a_repetition: the files come from runs of one command, one each: the k-th file's trials are repetition
            k, also of cases that an earlier file lacks, and files may be equal.

    Returns:
        The trials, and what is missing. Without any trial all that is known is in `missing` and `unreadable`.

    Raises:
        UserError: a file is handed over twice, or is one of our own run files.
    """
    options = options or ReadOptions()
    paths = natural_order(files)
    refuse_same_file(paths)
    own = [path for path in paths if _is_run_file(path, options)]
    if own:
        text = "is a run file of repeat-eval and cannot be mixed in here"
        if len(paths) == 1:
            text = "is a run file of repeat-eval whose first line is broken: it cannot be read"
        raise UserError([Problem(text, str(path)) for path in own])
    read: list[FileResults | None] = []
    unreadable: list[UnreadableFile] = []
    for path in paths:
        try:
            results = read_file(path, options)
        except ReadError as error:
            unreadable.append(UnreadableFile(path=path, problems=error.problems))
            read.append(None)
            continue
        if results.broken is not None:
            problem = Problem(f"contradicts itself: {results.broken}", str(path))
            unreadable.append(UnreadableFile(path=path, problems=(problem,)))
        read.append(results)
    if not one_file_a_repetition:
        # Two runs may well have died with the same few bytes, so only files that can be read are compared.
        readable = [results for results in read if results is not None and results.broken is None]
        refuse_equal_bytes([results.path for results in readable])
        refuse_same_run(readable)
    read, told = apart_by_variant(read)
    if len(formats := sorted({results.format for results in read if results is not None})) > 1:
        told.append(
            f"the files are of several formats ({', '.join(formats)}): a run that was written in two of them counts "
            "twice"
        )
    if options.scorer is not None and not any(results is not None and results.format == "inspect" for results in read):
        told.append("--scorer has no effect: only logs of Inspect tell scorers apart")
    collected = _Collection(paths, read, unreadable, options, one_file_a_repetition).collected(repeats)
    return replace(collected, warnings=(*told, *collected.warnings))


class _Collection:
    """Numbers the trials of files that have been read."""

    def __init__(
        self,
        paths: list[Path],
        read: list[FileResults | None],
        unreadable: list[UnreadableFile],
        options: ReadOptions,
        by_file: bool,
    ) -> None:
        self.paths = paths
        self.read = read
        self.unreadable = unreadable
        self.reasons = {file.path: file.reason for file in unreadable}
        self.options = options
        self.by_file = by_file
        self.cases = tuple(dict.fromkeys(trial.case for results in read if results for trial in results.trials))
        self.trials: list[Trial] = []
        self.highest: dict[str, int] = {}
        self.declared: dict[str, int] = {}
        self.missing: list[str] = []

    def collected(self, repeats: int | None) -> Collected:
        """Everything, once."""
        width = self._width() if self.by_file else 0
        for index, (path, results) in enumerate(zip(self.paths, self.read, strict=True)):
            bases = None if not self.by_file else index * width
            if results is None:
                self._errors(path, f"{path} cannot be read: {self.reasons[path]}", self.cases, bases)
            elif results.broken is not None:
                self._void(results, f"{path} {self.reasons[path]}", bases)
            else:
                self._take(results, bases)
                self._gaps(results, bases)
        if not self.by_file:
            self._note_absent()
        most = max(self.highest.values(), default=0)
        # A file may ask for less of one case than of others, so its word goes before what the others have.
        if repeats is None and not self.declared:
            asked = dict.fromkeys(self.cases, most)
        else:
            asked = {
                case: max(repeats or self.declared.get(case) or most, self.highest.get(case, 0)) for case in self.cases
            }
        if not self.cases and not self.missing:
            self.missing.append("no results were found" if not self.paths else "no file holds a result")
        return Collected(
            trials=tuple(self.trials),
            cases=self.cases,
            asked=asked,
            missing=tuple(dict.fromkeys(self.missing)),
            warnings=tuple(self._warnings(repeats, most)),
            unreadable=tuple(self.unreadable),
            declared=self.declared,
        )

    def _width(self) -> int:
        widest = 1
        for results in self.read:
            if results is not None:
                widest = max([widest, *(trial.repetition or 1 for trial in results.trials)])
        return widest

    @cached_property
    def widths(self) -> dict[str, int]:
        """The most trials of each case that one file holds: what a file that proves nothing may have held of it."""
        widths: dict[str, int] = {}
        for results in self.read:
            if results is not None:
                for case, count in Counter(trial.case for trial in results.trials).items():
                    widths[case] = max(count, widths.get(case, 0))
        return widths

    def _note_absent(self) -> None:
        """Of files that have cases in common each should hold all cases of the other, where they say what was asked."""
        files = [results.asked for results in self.read if results is not None and results.asked]
        lacking: dict[str, int] = defaultdict(int)
        for asked in files if len(files) > 1 else ():
            expected = {case for other in files if not asked.keys().isdisjoint(other) for case in other}
            for case in expected - asked.keys():
                lacking[case] += min(asked.values())
        for case, count in lacking.items():
            self.declared[case] = self.declared.get(case, 0) + count

    def _numbers(self, results: FileResults, base: int | None) -> list[int]:
        """Repetition of each trial of a file: as written if that is after what there is, else counted on."""
        numbers = []
        highest = self.highest
        if base is None and not results.asked and all(trial.repetition is None for trial in results.trials):
            for trial in results.trials:
                highest[trial.case] = number = highest.get(trial.case, 0) + 1
                numbers.append(number)
            return numbers
        before = {case: max(base or 0, highest.get(case, 0)) for case in results.asked}
        shifts: dict[str, int] = {}
        if base is None and any(trial.repetition is not None for trial in results.trials):
            lowest: dict[str, int] = {}
            for trial in results.trials:
                if trial.repetition is not None:
                    lowest[trial.case] = min(trial.repetition, lowest.get(trial.case, trial.repetition))
            for case, least in lowest.items():
                start = highest.get(case, 0)
                shifts[case] = 0 if least > start else start
        for trial in results.trials:
            case = trial.case
            if trial.repetition is None:
                number = max(base or 0, highest.get(case, 0)) + 1
            else:
                number = trial.repetition + (shifts[case] if base is None else base)
            if number > highest.get(case, 0):
                highest[case] = number
            numbers.append(number)
        for case, count in results.asked.items():
            known = self.declared.get(case, 0)
            start = 0 if base is None and shifts.get(case) == 0 else max(before[case], known)
            # A file may declare any number; each trial that is missing is told one by one.
            bounded_count = min(count, max(_MAX_DECLARED, highest.get(case, 0)))
            self.declared[case] = max(start + bounded_count, known)
        return numbers

    def _take(self, results: FileResults, base: int | None) -> None:
        source = str(results.path)
        counted = self.options.count_as_failed
        add = self.trials.append
        for found, number in zip(results.trials, self._numbers(results, base), strict=True):
            if found.outcome == "passed" and _others(found) == _NO_OTHERS:
                # Most trials of a large file; the other fields need not be moved one by one.
                add(
                    Trial(
                        case=found.case,
                        repetition=number,
                        outcome="passed",
                        duration=found.duration,
                        started=found.started,
                        source=source,
                    )
                )
                continue
            outcome: Outcome = found.outcome
            kind, message = found.error_kind, found.message
            if kind is not None and kind in counted:
                outcome, kind, message = "failed", None, f"{kind}: {message}" if message else kind
            add(
                Trial(
                    case=found.case,
                    repetition=number,
                    outcome=outcome,
                    error_kind=kind,
                    score=found.score,
                    message=message,
                    output=None if found.output is None else bounded(found.output),
                    output_sha256=None if found.output is None else sha256_of(found.output),
                    duration=found.duration,
                    cost=found.cost,
                    tokens=found.tokens,
                    attempts=found.attempts,
                    cached=found.cached,
                    turns=found.turns,
                    started=found.started,
                    source=source,
                )
            )

    def _void(self, results: FileResults, message: str, base: int | None) -> None:
        """A file that contradicts itself proves nothing: what it lists are errors, and so is what it may have lost."""
        for found, number in zip(results.trials, self._numbers(results, base), strict=True):
            self.trials.append(_error(found.case, number, message, results.path))
        listed = {trial.case for trial in results.trials}
        self._errors(results.path, message, (case for case in self.cases if case not in listed), base)

    def _errors(self, path: Path, message: str, cases: Iterable[str], base: int | None) -> None:
        """What a file should have held of each case, as errors: as many trials as another file has of it."""
        self.missing += [] if self.cases else [message]
        for case in cases:
            start = self.highest.get(case, 0) if base is None else base
            for number in range(start + 1, start + 1 + self.widths.get(case, 1)):
                self.highest[case] = max(number, self.highest.get(case, 0))
                self.trials.append(_error(case, number, message, path))

    def _gaps(self, results: FileResults, base: int | None) -> None:
        """A case that a gap explains lacks what another file has of it, however many gaps there are."""
        if not results.gaps:
            return
        listed = {trial.case for trial in results.trials}
        absent = [case for case in self.cases if case not in listed]
        for gap in results.gaps:
            message = f"{results.path}: {gap.message}"
            if any(_within(case, gap.scope) for case in absent):
                lost = [case for case in absent if _within(case, gap.scope) and case not in listed]
                self._errors(results.path, message, lost, base)
                listed.update(lost)
            else:
                self.missing.append(message)

    def _warnings(self, repeats: int | None, most: int) -> list[str]:
        # Without a case, what is missing says the same.
        listed = self.unreadable[:_MAX_LISTED] if self.cases else []
        warnings = [f"{file.path} is no evidence: {file.reason}" for file in listed]
        if self.cases and len(self.unreadable) > _MAX_LISTED:
            warnings.append(f"{len(self.unreadable) - _MAX_LISTED} more files are no evidence")
        for results in self.read:
            if results is not None:
                warnings += [f"{results.path}: {text}" for text in results.warnings]
                if not results.trials and results.broken is None and not results.gaps:
                    warnings.append(f"{results.path} holds no trial")
        counts: dict[str, int] = defaultdict(int)
        for trial in self.trials:
            if trial.outcome != "error" or trial.error_kind != "harness":
                counts[trial.case] += 1
        largest = max(counts.values(), default=0)
        retried = sum(
            trial.retried for results in self.read if results and results.broken is None for trial in results.trials
        )
        if retried:
            warnings.append(f"{retried} trials were retried by the tool that ran them; each counts once")
        if self.cases and set(counts.values()) == {1} and ((repeats or 0) > 1 or len(self.paths) > 1):
            wanted = f"{repeats} were asked for" if repeats else f"there are {len(self.paths)} files"
            warnings.append(
                f"every case has one trial although {wanted}: part of the names may change from run to run, such as a "
                "time, a session or an index"
            )
        elif fewer := [case for case in self.cases if counts[case] < self.declared.get(case, largest)]:
            names = ", ".join(fewer[:_MAX_LISTED]) + (", …" if len(fewer) > _MAX_LISTED else "")
            than = "were asked for" if all(case in self.declared for case in fewer) else "the others"
            warnings.append(f"{len(fewer)} of {len(self.cases)} cases have fewer trials than {than}: {names}")
        if repeats is not None and most > repeats and not self.by_file:
            warnings.append(f"some cases have up to {most} trials although {repeats} were asked for; all count")
        return warnings


def _error(case: str, repetition: int, message: str, path: Path) -> Trial:
    return Trial(
        case=case,
        repetition=repetition,
        outcome="error",
        error_kind="harness",
        message=one_line(message),
        source=str(path),
    )


def _within(case: str, scope: str | None) -> bool:
    """Whether a case belongs to a class or module, by its name, or is what is missing itself."""
    return scope is None or case == scope or case.startswith((f"{scope}::", f"{scope}.", f"{scope}$"))


def _is_run_file(path: Path, options: ReadOptions) -> bool:
    try:
        return format_of(path, options).name == RUN_FORMAT
    except ReadError:
        return False
