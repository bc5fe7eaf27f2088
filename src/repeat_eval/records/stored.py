"""What the store keeps of runs of the default branch: counts, sums and fingerprints, never what a model said.

The file is JSON with one run a line. It comes from a branch that others may write, so all that is read is bounded.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from repeat_eval.errors import UserError
from repeat_eval.records.run import CasePlan, Run, RunFooter, RunHeader, RunSource, Selection
from repeat_eval.records.trial import ErrorKind, NotNegative, Outcome, PositiveInt, Trial, UnitInterval

STORE_SCHEMA = "repeat-eval/store/1"
MAX_BYTES = 1_000_000
"""Size of one store file; the oldest runs make room."""
MAX_RUNS = 500
MAX_TRIALS = 100_000
"""Trials of one stored run that are believed: with more the exact tests would take minutes."""

Count = Annotated[int, msgspec.Meta(ge=0, le=100_000)]
Commit = Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{40}([0-9a-f]{24})?$")]
Moment = Annotated[str, msgspec.Meta(pattern=r"^\d{4}-\d\d-\d\dT[0-9:.]{5,20}(Z|[+-]\d\d:\d\d)$")]


_Short = Annotated[str, msgspec.Meta(max_length=40)]
Settings = dict[_Short, bool | int | float | _Short | tuple[_Short, ...]]


class StoredCase(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One case of a stored run: how many trials were asked for and how they ended.

    `seconds` is the sum over the `timed` trials whose duration is known, `cost` (US dollars) over the `paid` ones; both
    count trials with a verdict that did not come from a cache. None where none is known.
    """

    id: str
    asked: Annotated[int, msgspec.Meta(ge=1, le=100_000)]
    passed: Count = 0
    failed: Count = 0
    errors: Count = 0
    skipped: Count = 0
    threshold: str | None = None
    gate: Literal["wilson", "strict", "none"] | None = None
    fingerprint: str | None = None
    seconds: NotNegative | None = None
    timed: Count = 0
    cost: NotNegative | None = None
    paid: Count = 0


class StoredRun(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One run of the default branch.

    Attributes:
        suite: its name. source: how it was run. commit: what was tested. started: RFC 3339 time.
        run, attempt: the workflow run that it comes from; a later attempt replaces an earlier one.
        seed, version: of repeat-eval. target_fingerprint: of the target. selection: which cases were asked for.
        settings: of its gate, as in a run file, those that say something; empty where they are not known.
        verdict: of the suite. pass_rate, interval: mean of the case rates with its re-run 95 % interval.
        cases: its cases in suite order.
    """

    suite: str
    source: RunSource = "suite"
    commit: Commit
    started: Moment
    run: PositiveInt
    attempt: PositiveInt
    seed: int = 0
    version: str | None = None
    target_fingerprint: str | None = None
    selection: Selection = Selection()
    settings: Settings = {}
    verdict: Literal["pass", "fail", "incomplete"]
    pass_rate: UnitInterval | None = None
    interval: tuple[UnitInterval, UnitInterval] | None = None
    cases: tuple[StoredCase, ...] = ()


class Store(msgspec.Struct, frozen=True, kw_only=True):
    """The runs of one suite, oldest first."""

    schema: str = STORE_SCHEMA
    runs: tuple[StoredRun, ...] = ()

    def with_run(self, run: StoredRun) -> Store:
        """This store with one run more; another attempt of the same workflow run gives way to the newest."""
        others = [one for one in self.runs if one.run != run.run]
        same = [one for one in self.runs if one.run == run.run and one.attempt > run.attempt]
        return Store(runs=tuple(sorted([*others, *(same or [run])], key=lambda one: one.started)))


def encode(store: Store, *, limit: int = MAX_BYTES) -> str:
    """The store as text of at most `limit` bytes and `MAX_RUNS` runs; the oldest runs are dropped.

    Raises:
        UserError: not even the newest run has room.
    """
    lines: list[str] = []
    size = len(_text([]).encode())
    for run in reversed(store.runs[-MAX_RUNS:]):
        line = msgspec.json.encode(run).decode()
        size += len(line.encode()) + 2
        if size > limit:
            break
        lines.append(line)
    if store.runs and not lines:
        raise UserError(f"a run of this suite does not fit into the {limit:,} bytes of its store file")
    return _text(lines[::-1])


def decode(data: bytes) -> Store:
    """The store in a file's bytes.

    Raises:
        UserError: it is too large, no store file, of a newer version, or claims what cannot be.
    """
    if len(data) > MAX_BYTES:
        raise UserError(f"the store file is larger than {MAX_BYTES:,} bytes")
    try:
        schema = msgspec.json.decode(data, type=_Schema).schema
        if schema != STORE_SCHEMA:
            raise UserError(f"the store file is of another version than {STORE_SCHEMA}; use a newer repeat-eval")
        store = msgspec.json.decode(data, type=Store)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        raise UserError("the store file is not one of repeat-eval's") from None
    for run in store.runs:
        if sum(case.passed + case.failed + case.errors + case.skipped for case in run.cases) > MAX_TRIALS:
            raise UserError("the store file claims more trials than a run can have")
    return store


def looks_like_store(path: Path) -> bool:
    """Whether a file begins as files of the store do."""
    begin = f'{{"schema":"{STORE_SCHEMA.rpartition("/")[0]}/'.encode()
    try:
        with path.open("rb") as file:
            return file.read(len(begin)) == begin
    except OSError:
        return False


def run_of_stored(stored: StoredRun) -> Run:
    """The run behind a stored one, as far as counts tell: every trial has the mean duration and cost of its case."""
    trials = [trial for case in stored.cases for trial in _trials_of(case)]
    plans = tuple(
        CasePlan(
            id=case.id,
            asked=case.asked,
            threshold=case.threshold,
            gate=case.gate,
            case_fingerprint=case.fingerprint,
        )
        for case in stored.cases
    )
    header = RunHeader(
        suite=stored.suite,
        source=stored.source,
        commit=stored.commit,
        selection=stored.selection,
        repeats=max((case.asked for case in stored.cases), default=1),
        cases=plans,
        settings=dict(stored.settings),
        seed=stored.seed,
        target_fingerprint=stored.target_fingerprint,
        tool_version=stored.version,
        started=stored.started,
    )
    return Run(header=header, trials=tuple(trials), footer=RunFooter(complete=True, trials=len(trials)))


class _Schema(msgspec.Struct):
    schema: str


def _text(lines: list[str]) -> str:
    return f'{{"schema":"{STORE_SCHEMA}","runs":[\n' + ",\n".join(lines) + "\n]}\n"


def _trials_of(case: StoredCase) -> list[Trial]:
    counts: list[tuple[Outcome, int]] = [
        ("passed", case.passed),
        ("failed", case.failed),
        ("error", case.errors),
        ("skipped", case.skipped),
    ]
    trials: list[Trial] = []
    for outcome, count in counts:
        for _ in range(count):
            number = len(trials) + 1
            judged: dict[str, Any] = {}
            # Only as many trials have a duration as had one: how far a mean can be trusted depends on it.
            if outcome in ("passed", "failed"):
                if case.seconds is not None and number <= case.timed:
                    judged["duration"] = case.seconds / case.timed
                if case.cost is not None and number <= case.paid:
                    judged["cost"] = case.cost / case.paid
            kind: ErrorKind | None = "harness" if outcome == "error" else None
            trials.append(Trial(case=case.id, repetition=number, outcome=outcome, error_kind=kind, **judged))
    return trials
