"""Releasing: the tag names the image by digest, and the major tag moves forward only."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import yaml
from server.web import GitHubServer

from repeat_eval.github.client import GitHub
from repeat_eval.github.errors import GitHubError

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "scripts"))

import release  # noqa: E402 - the path must be there first

IMAGE = "ghcr.io/octo/repeat-eval@sha256:" + "0a" * 32
ACTION = (ROOT / "action.yml").read_text()


def on_main(server: GitHubServer, version: str) -> str:
    files = {"action.yml": ACTION.encode(), "src/repeat_eval/version.py": f'__version__ = "{version}"\n'.encode()}
    return server.state.commit_files(files, branch="main")


@pytest.fixture
def github(github_server: GitHubServer) -> GitHub:
    return GitHub(github_server.state.repository, github_server.state.token, api_url=github_server.url)


def test_the_released_action_differs_in_the_image_only() -> None:
    before, after = yaml.safe_load(ACTION), yaml.safe_load(release.released_action(ACTION, IMAGE))
    assert after["runs"].pop("image") == f"docker://{IMAGE}"
    assert before["runs"].pop("image") == "Dockerfile"
    assert after == before


@pytest.mark.parametrize("image", ["ghcr.io/octo/repeat-eval:1.2.3", IMAGE + "\n  args: x", "Ghcr.io/x@sha256:00", ""])
def test_an_image_without_a_digest_is_refused(image: str) -> None:
    with pytest.raises(release.ReleaseError, match="digest"):
        release.released_action(ACTION, image)


@pytest.mark.parametrize("version", ["1.2", "v1.2.3", "1.2.3rc1", "01.2.3", "1.2.3\n", "../1.2.3", ""])
def test_a_version_is_three_numbers(version: str) -> None:
    with pytest.raises(release.ReleaseError, match="three numbers"):
        release.check(version)


def test_the_version_must_be_the_sources_and_in_the_changelog(tmp_path: Path) -> None:
    source = tmp_path / "src/repeat_eval/version.py"
    source.parent.mkdir(parents=True)
    source.write_text('__version__ = "1.2.3"\n')
    (tmp_path / "CHANGELOG.md").write_text("# Changes\n\n## Unreleased\n")
    with pytest.raises(release.ReleaseError, match=r"says 1\.2\.3, not 1\.2\.4"):
        release.check("1.2.4", tmp_path)
    with pytest.raises(release.ReleaseError, match="no section"):
        release.check("1.2.3", tmp_path)
    (tmp_path / "CHANGELOG.md").write_text("# Changes\n\n## Unreleased\n\n## 1.2.3 (2026-12-01)\n")
    release.check("1.2.3", tmp_path)


def test_the_first_release_makes_both_tags(github: GitHub, github_server: GitHubServer) -> None:
    commit = on_main(github_server, "1.0.0")
    made = release.tag(github, "1.0.0", IMAGE, commit)
    assert github.ref("tags/v1.0.0") == made
    assert github.ref("tags/v1") is None
    assert IMAGE.encode() in (github.read_file(made, "action.yml") or b"")
    release.move(github, "1.0.0")
    assert github.ref("tags/v1") == made
    assert github.ref("heads/main") == commit


def test_the_next_release_moves_the_major_tag_forward_without_force(
    github: GitHub, github_server: GitHubServer
) -> None:
    first = release.tag(github, "1.0.0", IMAGE, on_main(github_server, "1.0.0"))
    release.move(github, "1.0.0")
    commit = on_main(github_server, "1.1.0")
    second = release.tag(github, "1.1.0", IMAGE, commit)
    assert github.ref("tags/v1") == first
    release.move(github, "1.1.0")
    assert github.ref("tags/v1") == second
    assert list(github.commit(second).parents) == [commit, first]
    assert all(request.body["force"] is False for request in github_server.requests("PATCH", "/git/refs/tags/v1"))


def test_moving_twice_changes_nothing(github: GitHub, github_server: GitHubServer) -> None:
    made = release.tag(github, "1.0.0", IMAGE, on_main(github_server, "1.0.0"))
    release.move(github, "1.0.0")
    release.move(github, "1.0.0")
    assert github.ref("tags/v1") == made


def test_a_tag_that_is_there_and_an_older_version_are_refused(github: GitHub, github_server: GitHubServer) -> None:
    made = release.tag(github, "1.1.0", IMAGE, on_main(github_server, "1.1.0"))
    release.move(github, "1.1.0")
    with pytest.raises(release.ReleaseError, match="never moved"):
        release.tag(github, "1.1.0", IMAGE, on_main(github_server, "1.1.0"))
    with pytest.raises(release.ReleaseError, match=r"1\.1\.0 is released"):
        release.tag(github, "1.0.9", IMAGE, on_main(github_server, "1.0.9"))
    assert github.ref("tags/v1") == made


def test_another_major_version_has_a_tag_of_its_own(github: GitHub, github_server: GitHubServer) -> None:
    first = release.tag(github, "1.0.0", IMAGE, on_main(github_server, "1.0.0"))
    release.move(github, "1.0.0")
    second = release.tag(github, "2.0.0", IMAGE, on_main(github_server, "2.0.0"))
    release.move(github, "2.0.0")
    assert (github.ref("tags/v1"), github.ref("tags/v2")) == (first, second)


def test_a_major_tag_that_was_moved_in_between_is_left_alone(github: GitHub, github_server: GitHubServer) -> None:
    release.tag(github, "1.0.0", IMAGE, on_main(github_server, "1.0.0"))
    elsewhere = on_main(github_server, "1.0.1")
    github.create_ref("tags/v1", elsewhere)
    with pytest.raises(GitHubError) as refused:
        release.move(github, "1.0.0")
    assert refused.value.status == 409
    assert github.ref("tags/v1") == elsewhere


def test_a_refusal_is_one_annotation_without_the_token(
    github_server: GitHubServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("GITHUB_REPOSITORY", github_server.state.repository)
    monkeypatch.setenv("GITHUB_API_URL", github_server.url)
    monkeypatch.setenv("GITHUB_TOKEN", github_server.state.token)
    with pytest.raises(SystemExit) as ended:
        release.main(["move", "1.0.0"])
    shown = capsys.readouterr().out
    assert ended.value.code == 1
    assert shown == "::error title=release::there is no tag v1.0.0\n"
    with pytest.raises(SystemExit):
        release.main(["check", "1\n::add-mask::x"])
    assert len(capsys.readouterr().out.splitlines()) == 1
