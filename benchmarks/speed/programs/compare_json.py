"""The figures of a comparison and its report.json: the program itself, with all other report files left out.

compare_json.py BASE HEAD OUT
"""

from __future__ import annotations

import sys

from repeat_eval.cli.main import run
from repeat_eval.reports import registry

for name in [name for name in registry.REPORT_FILES if name != "report.json"]:
    del registry.REPORT_FILES[name]
base, head, out = sys.argv[1:]
sys.exit(run(["compare", base, head, "--out", out, "--quiet"]))
