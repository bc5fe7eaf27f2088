"""A Chromium for the tests of this folder, and pages that tell when anything at all is wrong with them.

Where no Chromium is found the tests are skipped; `make test` installs Debian's first where it can.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from browser_pages import NO_BROWSER, Opener, chromium_program  # noqa: E402 - the path must be there first
from page_reports import refund_desk, shapes  # noqa: E402

# Tests that run after these in the same process may start event loops of their own: the browser's must be gone by then.
SCOPE = "module"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    missing = chromium_program() is None
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.browser)
            if missing:
                item.add_marker(pytest.mark.skip(reason=NO_BROWSER))


@pytest.fixture(scope=SCOPE)
def browser() -> Iterator[Any]:
    """A running Chromium."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium_program())
        yield started
        started.close()


@pytest.fixture
def open_page(browser: Any) -> Iterator[Opener]:
    """Opens pages from disk. At the end of the test nothing may have been complained of in any of them."""
    opener = Opener(browser)
    yield opener
    opener.close()
    assert opener.complaints == []


@pytest.fixture(scope="session")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a run of the refund desk beside its earlier revision: two cases broke, one was fixed."""
    return refund_desk(tmp_path_factory.mktemp("desk"))


@pytest.fixture(scope="session")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Folders of reports of other shapes, by what is special about them."""
    return shapes(tmp_path_factory.mktemp("shapes"))
