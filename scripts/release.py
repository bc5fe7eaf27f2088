"""The steps of a release that GitHub's workflow language has no words for.

    release.py check VERSION           the version is the source's, the changelog knows it, and it is not released yet
    release.py tag VERSION IMAGE       make the tag vVERSION on a commit whose action.yml names IMAGE (NAME@sha256:…)
    release.py move VERSION            move the major tag (v1) to the tag vVERSION

All speak to GitHub: GITHUB_REPOSITORY, GITHUB_SHA, GITHUB_TOKEN, GITHUB_API_URL.

A release commit has two parents, the branch's commit and the release before. So the major tag only ever moves forward,
without force, and GitHub refuses the move when somebody else has moved it in between.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from repeat_eval.github.client import GitHub

ROOT = Path(__file__).resolve().parents[1]
_VERSION = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)")
_IMAGE = re.compile(r"[a-z0-9][a-z0-9._/:-]*@sha256:[0-9a-f]{64}")
_SOURCE = "src/repeat_eval/version.py"


class ReleaseError(Exception):
    """The release cannot go on; the text says why."""


def parts(version: str) -> tuple[int, ...]:
    """The three numbers of a version. Raises ReleaseError for anything but X.Y.Z."""
    found = _VERSION.fullmatch(version)
    if found is None:
        raise ReleaseError(f"a version is three numbers like 1.2.3; found {version!r}")
    return tuple(map(int, found.groups()))


def version_in(source: str) -> str:
    """The version in the text of version.py."""
    found = re.search(r'^__version__ = "(.*)"$', source, re.MULTILINE)
    if found is None:
        raise ReleaseError(f"{_SOURCE} names no version")
    return found[1]


def check(version: str, root: Path = ROOT) -> None:
    """Raise ReleaseError unless the tree at `root` is this version."""
    parts(version)
    written = version_in((root / _SOURCE).read_text("utf-8"))
    if written != version:
        raise ReleaseError(f"{_SOURCE} says {written}, not {version}")
    if not re.search(rf"^## \[?{re.escape(version)}\b", (root / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE):
        raise ReleaseError(f"CHANGELOG.md has no section {version}")


def released_action(text: str, image: str) -> str:
    """The text of action.yml with the image in place of the Dockerfile."""
    if not _IMAGE.fullmatch(image):
        raise ReleaseError(f"the image must be named by digest, NAME@sha256:…; found {image!r}")
    changed, times = re.subn(r"(?m)^  image: Dockerfile$", f"  image: docker://{image}", text)
    if times != 1:
        raise ReleaseError("action.yml does not have one line `image: Dockerfile`")
    return changed


def major_tag(version: str) -> str:
    """The ref that moves with every release of this major version."""
    return f"tags/v{parts(version)[0]}"


def refuse_old(github: GitHub, version: str) -> str | None:
    """Raise ReleaseError when this version or a later one is released; gives the commit of the release before."""
    newest = github.ref(major_tag(version))
    if github.ref(f"tags/v{version}") is not None:
        raise ReleaseError(f"v{version} is there already; a released tag is never moved")
    if newest is not None:
        before = version_in((github.read_file(newest, _SOURCE) or b"").decode())
        if parts(before) >= parts(version):
            raise ReleaseError(f"{before} is released; {version} would not come after it")
    return newest


def tag(github: GitHub, version: str, image: str, commit: str) -> str:
    """Make the release commit and its tag; gives the commit.

    Args:
        github: with the right to write contents. version: X.Y.Z. image: NAME@sha256:…. commit: what is released.

    Raises:
        ReleaseError: the tag is there already, or a newer release is. GitHubError: GitHub refused.
    """
    newest = refuse_old(github, version)
    action = github.read_file(commit, "action.yml")
    if action is None:
        raise ReleaseError(f"{commit} has no action.yml")
    tree = github.create_tree({"action.yml": released_action(action.decode(), image)}, base=commit)
    made = github.create_commit(f"Release {version}", tree, [commit, newest] if newest else [commit])
    github.create_ref(f"tags/v{version}", made)
    return made


def move(github: GitHub, version: str) -> None:
    """Move the major tag forward to a release; GitHubError with status 409 when somebody moved it in between."""
    made = github.ref(f"tags/v{version}")
    if made is None:
        raise ReleaseError(f"there is no tag v{version}")
    name = major_tag(version)
    newest = github.ref(name)
    if newest is None:
        github.create_ref(name, made)
    else:
        github.update_ref(name, made, expected=newest)


def main(words: list[str]) -> None:
    """Do one step; the exit code is 1, with the reason as an annotation, when it cannot be done."""
    from repeat_eval.github.client import GitHub
    from repeat_eval.github.errors import GitHubError

    def client() -> GitHub:
        return GitHub(os.environ["GITHUB_REPOSITORY"], os.environ["GITHUB_TOKEN"], api_url=os.environ["GITHUB_API_URL"])

    try:
        match words:
            case ["check", version]:
                check(version)
                refuse_old(client(), version)
            case ["tag", version, image]:
                print(tag(client(), version, image, os.environ["GITHUB_SHA"]))
            case ["move", version]:
                move(client(), version)
            case _:
                sys.exit(__doc__)
    except (ReleaseError, GitHubError) as error:
        # Texts may hold what was typed; %, CR and LF are what could make another command of it.
        text = str(error).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
        print(f"::error title=release::{text}")
        sys.exit(1)


if __name__ == "__main__":
    main(sys.argv[1:])
