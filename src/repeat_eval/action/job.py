"""What one step of a workflow is asked to do, and where."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from repeat_eval.action.inputs import Inputs
from repeat_eval.action.log import Log
from repeat_eval.errors import Problem, UserError
from repeat_eval.github.event import Context
from repeat_eval.targets.run_as import RunAs, owner_of

if TYPE_CHECKING:
    from repeat_eval.github.client import GitHub


@dataclass(frozen=True, kw_only=True)
class Job:
    """One step: its inputs, its event, its places.

    Attributes:
        inputs: checked. context: the event. environ: the environment without the token.
        token: None when there is none. log: where things are said.
        workspace: the user's files. folder: where paths start and commands run, inside of the workspace.
        fetch_from: address of the server that base is fetched from; None for GitHub's, as the context names it.
    """

    inputs: Inputs
    context: Context
    environ: Mapping[str, str]
    token: str | None
    log: Log
    workspace: Path
    folder: Path
    fetch_from: str | None = None

    @cached_property
    def run_as(self) -> RunAs | None:
        """Whom the user's code runs as: the workspace's owner where we are root, else ourselves."""
        return owner_of(self.workspace)

    @cached_property
    def report_dir(self) -> Path:
        """The folder of the reports in the workspace."""
        return self.workspace / self.inputs.report_dir

    @cached_property
    def shown_report_dir(self) -> str:
        """That folder as outputs name it: relative to the workspace."""
        return Path(self.inputs.report_dir).as_posix()

    @cached_property
    def client(self) -> GitHub | None:
        """Speaks to GitHub; None without a token."""
        if self.token is None:
            return None
        from repeat_eval.github.client import GitHub

        ca_bundle = self.environ.get("SSL_CERT_FILE") or self.environ.get("REQUESTS_CA_BUNDLE") or None
        return GitHub(self.context.repository, self.token, api_url=self.context.api_url, ca_bundle=ca_bundle)

    @property
    def user_environ(self) -> dict[str, str]:
        """What the user's code is started from. The token in it is dropped on the way, and scrubbed from all texts."""
        return {**self.environ, **({"GITHUB_TOKEN": self.token} if self.token else {})}

    @property
    def base_name(self) -> str:
        """What base is called: the branch it is on where that is known."""
        pull_request = self.context.pull_request
        return pull_request.base_ref if pull_request is not None and pull_request.base_ref else "base"


def places(inputs: Inputs, environ: Mapping[str, str]) -> tuple[Path, Path]:
    """The workspace and the working directory in it.

    Raises:
        UserError: the workspace is not there, or a folder of the inputs leads out of it.
    """
    workspace = Path(environ.get("GITHUB_WORKSPACE") or os.curdir).resolve()
    if not workspace.is_dir():
        raise UserError("GITHUB_WORKSPACE is no folder")
    problems = []
    for name, written in (("working-directory", inputs.working_directory), ("report-dir", inputs.report_dir)):
        if not (workspace / written).resolve().is_relative_to(workspace):
            problems.append(Problem(f"`{name}` leads out of the workspace by a link", name))
    folder = (workspace / inputs.working_directory).resolve()
    if not problems and not folder.is_dir():
        hint = "" if any(workspace.iterdir()) else ": the workspace is empty; is actions/checkout missing before?"
        problems.append(
            Problem(f"`working-directory` {inputs.working_directory} is no folder{hint}", "working-directory")
        )
    if problems:
        raise UserError(problems)
    return workspace, folder


@contextlib.contextmanager
def as_user(run_as: RunAs | None) -> Iterator[None]:
    """Do something with the rights of the user that children run as, who may have put links into our way."""
    if run_as is None:
        yield
        return
    user, group = os.geteuid(), os.getegid()
    os.setegid(run_as.group)
    os.seteuid(run_as.user)
    try:
        yield
    finally:
        os.seteuid(user)
        os.setegid(group)
