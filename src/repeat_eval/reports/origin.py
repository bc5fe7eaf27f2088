"""Where the figures of a report come from, so that they can be made again: the same on every surface."""

from __future__ import annotations

from repeat_eval.analysis.report import Report
from repeat_eval.reports import looks_text

MAX_FILES = 20


def origin_of(report: Report) -> list[tuple[str, str]]:
    """Label and text, unescaped, in their order; what is unknown is left out."""
    origin = report.provenance
    more = len(origin.files) - MAX_FILES
    pairs = {
        "seed": None if origin.seed is None else str(origin.seed),
        "commit": origin.commit,
        "command" if origin.source == "command" else "target": origin.command,
        "selection": ", ".join(origin.selection),
        "files": ", ".join(origin.files[:MAX_FILES]) + (f" and {more} more" if more > 0 else ""),
        "started": origin.started,
        "looks": looks_text.kept_back(report),
        "attempt": str(origin.attempt) if origin.attempt > 1 else None,
        "repeat-eval": origin.version,
    }
    return [(label, text) for label, text in pairs.items() if text]
