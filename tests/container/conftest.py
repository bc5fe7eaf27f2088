"""Makes the image once, and lets the tests of this folder import `boxes`.

They are asked for with `-m container` (`make test-container`): building the image takes a minute or two.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from boxes import Box, NoContainers, build_image  # noqa: E402 - the path must be there first
from hub import Hub, hub, released_action  # noqa: E402
from workflows import act_program, build_job_image, engine_socket  # noqa: E402


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    asked = "container" in config.getoption("markexpr")
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.container)
            if not asked:
                item.add_marker(pytest.mark.skip(reason="NOT TESTED: the container; run `make test-container`"))


@pytest.fixture(scope="session")
def image() -> str:
    """The image of this working tree."""
    try:
        return build_image()
    except NoContainers as error:
        pytest.skip(f"NOT TESTED: the container, since podman cannot be had: {error}")


@pytest.fixture
def box(image: str, tmp_path: Path) -> Box:
    """A place to run the image in, with a workspace of its own that belongs to user 1001, as on GitHub's runners."""
    return Box(image, tmp_path)


@pytest.fixture(scope="session")
def socket(image: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The engine's socket, for act."""
    try:
        act_program()
    except NoContainers as error:
        pytest.skip(f"NOT TESTED: workflows: {error}")
    build_job_image()
    with engine_socket(tmp_path_factory.mktemp("socket")) as address:
        yield address


@pytest.fixture
def github(image: str, socket: str, tmp_path: Path) -> Iterator[Hub]:
    """GitHub with an empty repository, on which `org/repeat-eval@v1` is this image."""
    with hub(tmp_path, socket) as made:
        made.actions["org/repeat-eval@v1"] = released_action(tmp_path / "action", image)
        yield made
