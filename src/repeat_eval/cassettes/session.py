"""What a run has to do with recordings: the mode, the counts, the misses, and who wraps what."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import Literal

from repeat_eval.cassettes.scrub import Cleaner
from repeat_eval.cassettes.store import Store
from repeat_eval.models.call import CallSlot
from repeat_eval.records.trial import one_line
from repeat_eval.targets.base import TargetError

Mode = Literal["auto", "record", "replay"]
MAX_MISSES_NAMED = 20


current: ContextVar[Session | None] = ContextVar("current_session", default=None)
"""The session of the side whose trial is running: a judge that both sides share records each side's calls apart."""


class CassetteMiss(TargetError):
    """A recording that is not there, or not of what was asked. Never retried, and never a live call instead."""

    def __init__(self, message: str) -> None:
        super().__init__("recording", message, retryable=False)


class Session:
    """The recordings of one side of a run.

    `calls` and `responses` are the modes for model calls and for the responses of targets whose code would not run;
    None records and replays nothing there.
    """

    def __init__(
        self,
        folder: Path,
        environ: Mapping[str, str],
        *,
        calls: Mode | None,
        responses: Mode | None = None,
        command: str = "repeat-eval run SUITE",
        shown: str | None = None,
    ) -> None:
        """Use the cassettes in `folder`.

        Args:
            folder: where the cassettes are, or will be.
            environ: the environment whose secrets are never recorded.
            calls: the mode for calls of models.
            responses: the mode for responses of Python, command and HTTP targets.
            command: how the run is started, to tell how a missing recording is made.
            shown: the folder as the user wrote it.
        """
        self.store = Store(folder)
        self.clean = Cleaner(environ)
        self.calls = calls
        self.responses = responses
        self.replayed = 0
        """Calls and responses that were served from recordings."""
        self.recorded = 0
        """Calls and responses that were recorded."""
        self.misses: dict[tuple[str, int], str] = {}
        """The first miss of each trial, as a sentence."""
        self.served: set[CallSlot] = set()
        """Calls that were served from recordings; none is served twice."""
        self._command = command
        self._shown = shown or str(folder)

    def enter(self) -> None:
        """Be the session of the trials that the current task runs from now on."""
        current.set(self)

    def miss(self, case: str, repetition: int, what: str, why: str = "there is no recording") -> CassetteMiss:
        """Note a miss, and make the error of it.

        Args:
            case: the case. repetition: the trial.
            what: what was wanted, for instance `target, call 2`. why: what is wrong.
        """
        shown = one_line(case, 80)
        text = f"cassette miss: case {shown}, repetition {repetition}, {what}: {why}; to record it: {self.how(case)}"
        self.misses.setdefault((case, repetition), text)
        return CassetteMiss(text)

    def how(self, case: str) -> str:
        """The command that records what a case lacks."""
        command = f"{self._command} --cassettes {shlex.quote(self._shown)} --cassette-mode auto"
        # A name that cannot be shown whole would select nothing; all that is there is replayed anyway.
        return f"{command} --case {shlex.quote(case)}" if one_line(case, 80) == case else command

    def missing(self) -> tuple[str, ...]:
        """The misses as sentences, in order of case and repetition; many are cut, and that is said."""
        texts = [self.misses[key] for key in sorted(self.misses)]
        if len(texts) > MAX_MISSES_NAMED:
            rest = len(texts) - MAX_MISSES_NAMED
            texts[MAX_MISSES_NAMED:] = [f"cassette miss: {rest} more trials have no recording"]
        return tuple(texts)

    def summary(self) -> str:
        """What was replayed and recorded, in one line."""
        done = f"{self.replayed} recorded earlier and replayed, {self.recorded} recorded now"
        lacking = f", {len(self.misses)} trials without a recording" if self.misses else ""
        return f"cassettes in {self.store.folder}: {done}{lacking}"

    def close(self) -> tuple[str, ...]:
        """Write what is left; gives what could not be recorded, as sentences. UserError when it cannot be written."""
        self.store.flush()
        refused = self.store.refused
        return (*refused[:5], *([f"not recorded: {len(refused) - 5} more"] if len(refused) > 5 else []))
