"""`run_with_a_kill.py PID TRIALS RUN_FILE COMMAND…`: kill a process amid a run; no trial may be lost or there twice."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

if __name__ == "__main__":
    victim, trials, path = int(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3])
    process = subprocess.Popen(sys.argv[4:])
    while process.poll() is None:
        if path.is_file() and path.read_bytes().count(b"\n") > trials // 4:
            os.kill(victim, signal.SIGKILL)
            break
        time.sleep(0.02)
    code = process.wait()
    lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    keys = [(line["case"], line["repetition"]) for line in lines if "repetition" in line]
    print(f"{len(keys)} trials, {len(keys) - len(set(keys))} of them twice")
    sys.exit(code if len(keys) == len(set(keys)) == trials else 70)
