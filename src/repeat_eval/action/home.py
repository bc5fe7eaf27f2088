"""A home for the user's code, which runs as another user than we do where we are root."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from repeat_eval.action.job import Job, as_user
from repeat_eval.targets.run_as import RunAs


@contextlib.contextmanager
def with_home(job: Job) -> Iterator[Job]:
    """The job with a `HOME` that its user's code can write to.

    On GitHub's own runners the one that is there will do. Other runners leave root's, where uv, pip or a model's client
    could not keep its cache; then it is a temporary folder, which is removed afterwards.
    """
    if job.run_as is None or _writable(job.environ.get("HOME"), job.run_as):
        yield job
        return
    home = Path(tempfile.mkdtemp(prefix="repeat-eval-home-"))
    try:
        job.run_as.give(home)
        yield dataclasses.replace(job, environ={**job.environ, "HOME": str(home)})
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _writable(home: str | None, user: RunAs) -> bool:
    with as_user(user):
        return bool(home) and os.access(str(home), os.W_OK | os.X_OK, effective_ids=True)
