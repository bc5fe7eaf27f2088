"""The least that a runner of commands has to do: a process a trial, JSON in, text out, one flushed line.

raw_commands.py TRIALS FILE COMMAND...
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

trials, path, command = int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:]
with path.open("w", encoding="utf-8") as file:
    for number in range(trials):
        case = json.dumps({"case": "case-0", "input": "ping", "repetition": number + 1})
        done = subprocess.run(command, input=case, capture_output=True, text=True, check=False)
        file.write(json.dumps({"case": "case-0", "passed": done.returncode == 0, "output": done.stdout}) + "\n")
        file.flush()
