"""The recordings of a run: read before it starts, served while it goes on, written in batches.

Everything happens in the event loop of one process, so trials need no lock; each file is written whole and renamed. Of
two processes that record into one folder at once, the one that writes a case's file last wins.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from repeat_eval.cassettes import files
from repeat_eval.cassettes.entries import RecordedCall, RecordedResponse
from repeat_eval.cassettes.files import MAX_ENTRY_BYTES, MAX_FILE_BYTES, CaseCassette
from repeat_eval.errors import Problem, UserError
from repeat_eval.models.call import CallSlot

FLUSH_SECONDS = 1.0
"""Recordings wait about so long before they are on disk; the end of a run, however it comes, writes the rest."""


class Store:
    """The cassettes of one folder. Nothing is written, not even the folder, until something is recorded."""

    def __init__(self, folder: Path, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Use `folder`; `clock` tells when a batch is due."""
        self.folder = folder
        self.refused: list[str] = []
        """What was too large to be recorded, a sentence each."""
        self._cases: dict[str, CaseCassette] = {}
        self._sizes: dict[str, int] = {}
        self._dirty: set[str] = set()
        self._fresh: set[CallSlot] = set()
        self._clock = clock
        self._flushed = clock()
        self._due: asyncio.TimerHandle | None = None

    def load(self, cases: Iterable[str]) -> None:
        """Read the files of these cases.

        Raises:
            UserError: files are broken or newer than this program, all of them at once.
        """
        problems: list[Problem] = []
        for case in cases:
            path = self.path(case)
            if case in self._cases or not path.is_file():
                continue
            try:
                cassette = files.read(path)
                if cassette.case != case:
                    raise UserError(Problem(f"holds the recordings of case {cassette.case!r}, not {case!r}", str(path)))
            except UserError as error:
                problems += error.problems
            else:
                self._cases[case] = cassette
        if problems:
            raise UserError(problems)

    def path(self, case: str) -> Path:
        """The file of a case."""
        return self.folder / files.file_name(case)

    def cassette(self, case: str) -> CaseCassette | None:
        """All that is recorded of a case, if anything is."""
        return self._cases.get(case)

    def call(self, slot: CallSlot) -> RecordedCall | None:
        """The recording of a call, if there is one."""
        cassette = self._cases.get(slot.case)
        return None if cassette is None else cassette.calls.get(slot)

    def response(self, case: str, repetition: int) -> RecordedResponse | None:
        """The recorded response of a trial, if there is one."""
        cassette = self._cases.get(case)
        return None if cassette is None else cassette.responses.get(repetition)

    def is_fresh(self, slot: CallSlot) -> bool:
        """Whether a call was recorded since the run began."""
        return slot in self._fresh

    def add_call(self, call: RecordedCall) -> None:
        """Record a call in the place of an older recording.

        One that says the same as the older one leaves it as it is: only the seconds would differ. Otherwise later calls
        of the same part of the trial that are older answered another conversation, and go.
        """
        slot = call.slot
        older = self.call(slot)
        if older is not None and msgspec.structs.replace(older, seconds=call.seconds) == call:
            self._fresh.add(slot)
            return
        replaced = 0 if older is None else len(files.encode_call(older))
        if not self._fits(slot.case, len(files.encode_call(call)), replaced, f"call {files.call_key(slot)}"):
            return
        calls = self._cassette(slot.case).calls
        index = slot.index + 1
        while (later := CallSlot(slot.case, slot.repetition, slot.part, index)) in calls:
            if later not in self._fresh:
                del calls[later]
            index += 1
        calls[slot] = call
        self._fresh.add(slot)
        self._changed(slot.case)

    def add_response(self, case: str, response: RecordedResponse) -> None:
        """Record a response in the place of an older one.

        One that says the same as the older one leaves it as it is: only the seconds would differ.
        """
        older = self.response(case, response.repetition)
        if older is not None and _says(older) == _says(response):
            return
        size, replaced = len(files.encode_response(response)), 0 if older is None else len(files.encode_response(older))
        if not self._fits(case, size, replaced, f"the response of trial {response.repetition}"):
            return
        self._cassette(case).responses[response.repetition] = response
        self._changed(case)

    def flush(self) -> None:
        """Write what is not on disk yet; UserError when that is impossible."""
        self._flushed = self._clock()
        if self._due is not None:
            self._due.cancel()
            self._due = None
        if not self._dirty:
            return
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            for case in sorted(self._dirty):
                files.write(self.path(case), self._cases[case])
                self._dirty.discard(case)
        except OSError as error:
            raise UserError(Problem(f"recordings cannot be written: {error.strerror}", str(self.folder))) from None

    def _cassette(self, case: str) -> CaseCassette:
        if case not in self._cases:
            self._cases[case] = CaseCassette(case, {}, {})
        return self._cases[case]

    def _changed(self, case: str) -> None:
        self._dirty.add(case)
        wait = FLUSH_SECONDS - (self._clock() - self._flushed)
        if wait <= 0:
            self.flush()
        elif self._due is None:
            # The next recording may be a slow model's, a minute from now.
            with contextlib.suppress(RuntimeError):  # no event loop: the end of the session writes
                self._due = asyncio.get_running_loop().call_later(wait, self._flush_in_time)

    def _flush_in_time(self) -> None:
        self._due = None
        with contextlib.suppress(UserError):  # said when the session ends, which tries again
            self.flush()

    def _fits(self, case: str, size: int, replaced: int, what: str) -> bool:
        """Whether an entry may be recorded in the place of another. Indented, both take about a half more than here."""
        if case not in self._sizes:
            path = self.path(case)
            self._sizes[case] = path.stat().st_size if path.is_file() else 0
        limit = None
        if size > MAX_ENTRY_BYTES:
            limit = f"it has {size:,} bytes, and {MAX_ENTRY_BYTES:,} are allowed"
        elif self._sizes[case] + 2 * (size - replaced) > MAX_FILE_BYTES:
            limit = f"the case's file would have more than {MAX_FILE_BYTES:,} bytes"
        if limit is not None:
            self.refused.append(f"not recorded: {what} of case {case!r}: {limit}")
            return False
        self._sizes[case] += (size - replaced) * 3 // 2
        return True


def _says(response: RecordedResponse) -> tuple[object, ...]:
    answer = response.answer
    return response.request_key, answer.output, answer.tool_calls, answer.turns, answer.tokens, answer.cost
