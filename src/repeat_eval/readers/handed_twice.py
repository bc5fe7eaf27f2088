"""The same run handed over twice would count twice: how that shows, and the refusal."""

from __future__ import annotations

import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

from repeat_eval.errors import Problem, UserError
from repeat_eval.readers.base import FileResults, FoundTrial

_CHUNK = 1 << 20
_MIN_DISTINCT_DURATIONS = 5
_MIN_ID_CHARACTERS = 16
_LOG_CHANCE = math.log(1e-6)
"""Two runs that agree by a chance below this are one run."""


def refuse_same_file(paths: Sequence[Path]) -> None:
    """Raise UserError where two paths lead to one file."""
    seen: dict[tuple[int, int], Path] = {}
    problems = []
    for path in paths:
        try:
            status = path.stat()
        except (OSError, ValueError):
            continue
        first = seen.setdefault((status.st_dev, status.st_ino), path)
        if first is not path:
            problems.append(Problem(f"is the same file as {first}", str(path)))
    if problems:
        raise UserError(problems)


def _digest(path: Path) -> bytes | None:
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
    except OSError:
        return None
    return digest.digest()


def refuse_equal_bytes(paths: Sequence[Path]) -> None:
    """Raise UserError where two files are equal, byte for byte."""
    by_size: dict[int, list[Path]] = defaultdict(list)
    for path in paths:
        if path.is_file() and (size := path.stat().st_size):
            by_size[size].append(path)
    problems = []
    for same in by_size.values():
        if len(same) < 2:
            continue
        seen: dict[bytes, Path] = {}
        for path in same:
            digest = _digest(path)
            if digest is not None and (first := seen.setdefault(digest, path)) is not path:
                text = f"is equal to {first}, byte for byte, as if one run was handed over twice"
                problems.append(Problem(text, str(path)))
    if problems:
        raise UserError(problems)


def refuse_same_run(read: Sequence[FileResults]) -> None:
    """Raise UserError where two files that are written differently tell of the same trials.

    That shows in ids that a tool gave to single trials, in equal precise start times with equal durations, or, where a
    file tells neither, in that all of it is equal and that two runs would hardly agree so.
    """
    if len(read) < 2:
        return
    problems = []
    seen: dict[bytes, Path] = {}
    for results in read:
        signature = _signature(results.trials)
        if signature is not None and (first := seen.setdefault(signature[1], results.path)) is not results.path:
            text = f"has the {signature[0]} of {first} throughout, as if one run was handed over twice"
            problems.append(Problem(text, str(results.path)))
    for (path, first), count in _shared(read).items():
        if all(problem.file != str(path) for problem in problems):
            text = (
                f"holds {count} trials that {first} holds too, as a log does that took up an earlier one; give one of "
                "the two only"
            )
            problems.append(Problem(text, str(path)))
    if problems:
        raise UserError(problems)


def _shared(read: Sequence[FileResults]) -> Counter[tuple[Path, Path]]:
    """How many trials of a file an earlier file holds too."""
    starts = Counter(start for results in read for start in {t.started for t in results.trials} if start is not None)
    common = {start for start, files in starts.items() if files > 1 and "." in start}
    if not common and all(trial.origin is None for results in read for trial in results.trials):
        return Counter()
    seen: dict[object, Path] = {}
    shared: Counter[tuple[Path, Path]] = Counter()
    for results in read:
        for trial in results.trials:
            key: object = None
            if trial.origin is not None and len(trial.origin) >= _MIN_ID_CHARACTERS:
                key = trial.origin
            elif trial.started in common and trial.duration:
                key = (trial.case, trial.started, trial.duration)
            if key is not None and (first := seen.setdefault(key, results.path)) is not results.path:
                shared[results.path, first] += 1
    return shared


def _signature(trials: Sequence[FoundTrial]) -> tuple[str, bytes] | None:
    """What tells one run from another, and what that is; None where it is too coarse to prove anything."""
    if not trials:
        return None
    durations = {trial.duration for trial in trials if trial.duration}
    if all(trial.started is None and trial.origin is None for trial in trials):
        if len(durations) < _MIN_DISTINCT_DURATIONS and (durations or _log_chance(trials) > _LOG_CHANCE):
            return None
        return "content", _hash([repr(trial) for trial in _ordered(trials)])
    if any(trial.started is None or trial.duration is None for trial in trials):
        return None
    precise = any("." in (trial.started or "") for trial in trials)
    if len(durations) < (1 if precise else _MIN_DISTINCT_DURATIONS):
        return None
    lines = [f"{trial.case}\0{trial.repetition}\0{trial.started}\0{trial.duration}" for trial in _ordered(trials)]
    return "start times and durations", _hash(lines)


def _ordered(trials: Sequence[FoundTrial]) -> list[FoundTrial]:
    return sorted(trials, key=lambda trial: (trial.case, trial.repetition or 0))


def _hash(lines: Sequence[str]) -> bytes:
    digest = hashlib.sha256()
    for line in lines:
        digest.update(f"{line}\n".encode("utf-8", "surrogatepass"))
    return digest.digest()


def _log_chance(trials: Sequence[FoundTrial]) -> float:
    """Logarithm of the chance that another run with as many passes of each case has them at the same repetitions.

    Of n trials with c passes each of the C(n, c) orders is as likely as any other.
    """
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0])
    for trial in trials:
        counts[trial.case][0] += 1
        counts[trial.case][1] += trial.outcome == "passed"
    return -math.fsum(math.log(math.comb(n, c)) for n, c in counts.values() if n <= 1_000 and 0 < c < n)
