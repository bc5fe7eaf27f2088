"""Analysis: from a run to figures, verdicts and a report. Never renders."""
