"""A stored base in front of two looks: it screens, and base is run only where something is suspected.

Where base cannot be run at all, and the gate may rest on the store (`gate-stored`), the stored trials are divided: a
part is base's first look, the rest its second one.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec
from msgspec import UnsetType

from repeat_eval.analysis.comparison import compare_runs
from repeat_eval.analysis.first_look import first_look_of, first_trials
from repeat_eval.analysis.looked_twice import stored_counts
from repeat_eval.analysis.rules import Rules
from repeat_eval.analysis.second_look import StoredBase
from repeat_eval.errors import Problem, UserError
from repeat_eval.execution.stopping import Stop
from repeat_eval.records.journal import Journal, read_run
from repeat_eval.records.run import Run, RunFooter, RunHeader
from repeat_eval.records.two_looks import TwoLooks
from repeat_eval.statistics.second_look import MIN_CASES, Mode
from repeat_eval.statistics.stored_base import LEAST

STORED_FILE = "stored.jsonl"
"""The stored base of a run that it screened, beside its run file, so that the run can be judged again."""
MAX_NAMED = 3


class Screening(msgspec.Struct, frozen=True):
    """A stored base that stands for base's first look.

    Attributes:
        stored: its run. mode: screen, or split where base cannot be run.
        unknown: ids of head's cases that it says nothing about; empty where it screens.
    """

    stored: Run
    mode: Mode
    unknown: tuple[str, ...] = ()

    def looks(self, looks: TwoLooks) -> TwoLooks:
        """The looks with this base behind them."""
        return msgspec.structs.replace(looks, mode=self.mode, base_stored=self.stored.header.commit or "")

    def counts(self, head: Run, rules: Rules) -> StoredBase:
        """What it says of head's cases, as the comparison takes it. `head` is a run with its first look."""
        return stored_counts(self.stored, compare_runs(self.stored, first_look_of(head), rules, source="stored"))


def screening_of(
    stored: Run, header: RunHeader, looks: TwoLooks, rules: Rules, *, beside: bool
) -> tuple[Screening | None, str]:
    """The stored base as a part of two looks, or why it cannot be one, in a sentence.

    It screens only when it knows every case as head has it: a case that it does not know would never be compared. For
    the split form base needs so many trials that half of a suspect's fresh ones are left for the second look.

    Args:
        stored: the stored base, of the same suite. header: of head's run. looks: those that the run would take.
        rules: head's rules. beside: whether base can be run.
    """
    counted = stored.header.settings.get("count_as_failed")
    if isinstance(counted, list | tuple) and set(counted) != rules.count_as_failed:
        return None, "it was stored with another count_as_failed"
    verdicts = _verdicts(stored, rules)
    prints = {plan.id: plan.case_fingerprint for plan in stored.header.cases}
    least = LEAST if beside else _least_to_split(looks.fresh)
    unknown = tuple(
        plan.id
        for plan in header.cases
        if verdicts.get(plan.id, 0) < least
        or (plan.case_fingerprint and prints.get(plan.id) and plan.case_fingerprint != prints[plan.id])
    )
    named = ", ".join(repr(case) for case in unknown[:MAX_NAMED]) + (", …" if len(unknown) > MAX_NAMED else "")
    if beside:
        why = f"it does not know {len(unknown)} of {len(header.cases)} cases as they are now ({named})"
        return (None, why) if unknown else (Screening(stored, "screen"), "")
    if len(header.cases) - len(unknown) < MIN_CASES:
        why = f"fewer than {MIN_CASES} cases have {least} stored verdicts and are as they were; two looks need them"
        return None, why
    return Screening(stored, "split", unknown), ""


def _verdicts(run: Run, rules: Rules) -> dict[str, int]:
    found: dict[str, int] = {}
    for trial in first_trials(run.header, run.trials):
        judged = trial.outcome in ("passed", "failed") or trial.error_kind in rules.count_as_failed
        found[trial.case] = found.get(trial.case, 0) + judged
    return found


def _least_to_split(fresh: int) -> int:
    """Stored verdicts of which two thirds are at least half of the fresh trials: with fewer no second look is whole."""
    return next(n for n in range(LEAST, 10_000) if 2 * (n - n // 3) >= fresh)


def keep_stored(out: Path, stored: Run) -> None:
    """Write the stored base beside the run file. UserError when it cannot be written."""
    path = out / STORED_FILE
    try:
        with Journal.create(path, stored.header) as journal:
            for trial in stored.trials:
                journal.append(trial)
            journal.finish(RunFooter(complete=True, trials=len(stored.trials)))
    except OSError as error:
        raise UserError(Problem(f"cannot be written: {error.strerror}", str(path))) from None


def stored_beside(files: Sequence[Path], header: RunHeader) -> Run | None:
    """The stored base of a run that is read again; None where there was none.

    Raises:
        UserError: the file is gone, or is of another base.
    """
    looks = header.second_look
    if isinstance(looks, UnsetType) or looks.mode in ("side-by-side", "alone"):
        return None
    path = files[0].parent / STORED_FILE
    if not path.is_file():
        text = f"base's first look came from a store, and {STORED_FILE} is not beside it: it cannot be judged again"
        raise UserError(Problem(text, str(files[0])))
    found = read_run(path, lean=True)
    if (found.header.commit or "") != looks.base_stored or found.header.suite != header.suite:
        raise UserError(Problem("is another base than the one that this run was screened by", str(path)))
    return found


async def ready(make: Callable[[], None], stop: Stop) -> bool:
    """Make base's environment while signals are heard; false when the run was interrupted meanwhile.

    Raises:
        UserError: it cannot be made.
    """
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    failed: list[BaseException] = []

    def tell() -> None:
        loop.call_soon_threadsafe(ended.set)

    def work() -> None:
        try:
            make()
        except BaseException as error:  # handed over: it is raised in the event loop
            failed.append(error)
        finally:
            tell()

    stop.on_trigger(tell)
    # Nobody waits for it after an interruption: an installation may take minutes.
    threading.Thread(target=work, daemon=True).start()
    if stop.reason is None:
        await ended.wait()
    if failed:
        raise failed[0]
    return stop.reason is None
