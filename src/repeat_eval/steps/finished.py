"""What comes out of a run, however it was run."""

from __future__ import annotations

import msgspec

from repeat_eval.analysis.report import Report
from repeat_eval.steps.recording import Recording


class Finished(msgspec.Struct, frozen=True):
    """A run that came to its end or was stopped: its report, and the trials behind it."""

    report: Report
    recording: Recording
