"""The figures of a comparison and its report.json, and no other report.

compare_json.py BASE HEAD OUT
"""

from __future__ import annotations

import sys
from pathlib import Path

from repeat_eval.reports.registry import write_reports
from repeat_eval.steps.bases import Base, run_from
from repeat_eval.steps.read_results import compared
from repeat_eval.steps.request import Request

base, head, out = sys.argv[1:]
request = Request()
report = compared([head], request, Base(run_from([base], request), "file"))
write_reports(report, Path(out), names=["report.json"])
