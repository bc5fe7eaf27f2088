"""Scripts of the HTML page, run in Node."""

from __future__ import annotations

import json
import shutil
import subprocess
from importlib.resources import files
from typing import Any

import pytest

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="the page's scripts need Node to be tried")

_RUN = """
const script = require(process.argv[1]);
const asked = JSON.parse(require("fs").readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify(asked.map(([name, ...given]) => script[name](...given))));
"""


def in_node(script: str, calls: list[list[Any]]) -> list[Any]:
    """What functions of one of the page's scripts give: each call is the function's name and its arguments."""
    path = files("repeat_eval") / "templates" / "report_html" / script
    done = subprocess.run(
        ["node", "-e", _RUN, str(path)],
        input=json.dumps(calls),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    answers: list[Any] = json.loads(done.stdout)
    return answers
