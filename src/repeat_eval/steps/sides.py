"""Base's files: where they are, and that they really are another revision than head's."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from repeat_eval.errors import Problem, UserError
from repeat_eval.records.revision import ask_git, commit_of, git_environment
from repeat_eval.steps.request import Request
from repeat_eval.targets.environment import child_environment
from repeat_eval.targets.scratch import is_left_behind, new_folder


class Checkout(msgspec.Struct, frozen=True):
    """One side's files: the root of its checkout, the suite's folder in it, and the commit if it is known."""

    root: Path
    folder: Path
    commit: str | None


def root_of(folder: Path) -> Path:
    """The root of the repository around a folder; without one the current folder if it is around, else itself."""
    found = ask_git(folder, "rev-parse", "--show-toplevel")
    if found is not None:
        return Path(found).resolve()
    here = Path.cwd().resolve()
    return here if folder.is_relative_to(here) else folder


@contextlib.contextmanager
def base_checkout(request: Request, head: Path) -> Iterator[Checkout]:
    """Base's files for a run beside head, whose suite (or command) stands in the folder `head`.

    A folder given with --base-dir is used as it is. For --base-ref a worktree of the user's repository is made, and
    removed afterwards.

    Raises:
        UserError: the folder or the revision is not there, or is head itself.
    """
    head = head.resolve()
    root = root_of(head)
    if request.base_dir is not None:
        yield _checkout(request.base_dir, root, head)
        return
    reference = request.base_ref or ""
    _remove_dead_worktrees(root)
    place = new_folder()
    try:
        _git(root, "worktree", "add", "--detach", "--quiet", str(place / "base"), reference, what=reference)
        yield _checkout(place / "base", root, head)
    finally:
        # Also after an interruption in the middle of `add`, when the worktree is known to git but not whole.
        with contextlib.suppress(UserError):
            _git(root, "worktree", "remove", "--force", "--force", str(place / "base"), what=reference)
        shutil.rmtree(place, ignore_errors=True)


def _remove_dead_worktrees(root: Path) -> None:
    """Have git forget the worktrees of runs that were killed; their folders may be gone already. Others stay."""
    for line in (ask_git(root, "worktree", "list", "--porcelain") or "").splitlines():
        path = Path(line.removeprefix("worktree "))
        if line.startswith("worktree ") and path.name == "base" and is_left_behind(path.parent.name):
            with contextlib.suppress(UserError):
                _git(root, "worktree", "remove", "--force", "--force", str(path), what="a worktree left behind")
            shutil.rmtree(path.parent, ignore_errors=True)


def _checkout(base: Path, head_root: Path, head: Path) -> Checkout:
    shown = str(base)
    base = base.resolve()
    if not base.is_dir():
        raise UserError(Problem("--base-dir is no folder", shown))
    if base in (head_root, head):
        raise UserError(Problem("base is head itself: there is nothing to compare", shown))
    folder = base / head.relative_to(head_root)
    if not folder.is_dir():
        missing = head.relative_to(head_root)
        raise UserError(Problem(f"base has no folder {missing}, where head's suite stands", shown))
    return Checkout(base, folder, commit_of(folder))


def _git(root: Path, *arguments: str, what: str) -> None:
    # A checkout runs the repository's hooks and filters: they are not ours, and get no token.
    environ = child_environment(git_environment())
    if what.startswith("-"):
        raise UserError(f"--base-ref {what!r} is no revision")
    try:
        done = subprocess.run(
            ["git", "-C", str(root), "-c", f"core.hooksPath={os.devnull}", *arguments],
            capture_output=True,
            text=True,
            env=environ,
            timeout=600,
            check=False,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise UserError(f"--base-ref needs git: {error}") from None
    if done.returncode:
        reason = (done.stderr.strip().splitlines() or ["unknown reason"])[-1]
        raise UserError(f"--base-ref {what}: git could not make a worktree: {reason}")


def side_environ(request: Request, folder: Path) -> Mapping[str, str]:
    """What the children of the side in `folder` inherit: its own environment's programs first, where that is asked."""
    programs = folder / ".venv" / "bin"
    if not request.own_environments or not programs.is_dir():
        return request.environ
    environ = {name: value for name, value in request.environ.items() if name != "PYTHONHOME"}
    path = os.pathsep.join(filter(None, (str(programs.absolute()), environ.get("PATH"))))
    return environ | {"PATH": path, "VIRTUAL_ENV": str(programs.parent.absolute())}


def check_side(name: str, file: str | None, own: Path, other: Path) -> str | None:
    """What is wrong with a target module that was loaded from `file` for a side with the checkout `own`.

    Returns:
        None, or a sentence: a module that stands outside its own side would have both sides run the same code.
    """
    if file is None:
        return None
    path = Path(file).resolve()
    if _within(path, own, other):
        return None
    whose = "the other side's code" if path.is_relative_to(other) else "code outside of both sides"
    return f"{name}: its target was loaded from {path}, which is {whose}: base and head would be the same. {_HINT}"


def check_imports(name: str, files: Sequence[str], own: Path, other: Path) -> str | None:
    """What is wrong with the modules that a side's targets import: a sentence about the first of the other side's."""
    for file in files:
        path = Path(file).resolve()
        if path.is_relative_to(other) and not _within(path, own, other):
            return (
                f"{name}: its target imports {path}, which is the other side's code: base and head would partly be the "
                f"same. {_HINT}"
            )
    return None


def _within(path: Path, own: Path, other: Path) -> bool:
    """Whether a file belongs to the checkout `own`; one checkout may lie in the other."""
    return path.is_relative_to(own) and not (other.is_relative_to(own) and path.is_relative_to(other))


_HINT = (
    "Perhaps the project is installed in the Python environment (an editable install, for instance)? Give each "
    "side its own environment (a .venv in its folder), or do not install the project"
)
