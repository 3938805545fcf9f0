"""The pages in a real Chromium, against the real server. `make test-browser` runs them; `make test` passes them by."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.serving import Served, served

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

collect_ignore_glob = [] if os.environ.get("BROWSER_TESTS") else ["test_*.py"]

PATIENCE = 30_000
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

Opener = Callable[..., "Page"]


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    from playwright.sync_api import sync_playwright

    found = next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.fail("there is no Chromium here (Debian: apt-get install chromium)")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield launched
        launched.close()


def settings(folder: Path, **more: Any) -> dict[str, Any]:
    return {"store.url": str(folder / "store.db"), "store.cache_path": "", **more}


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The server as it comes: the embedded model, reports kept."""
    with served(settings(tmp_path_factory.mktemp("site"))) as running:
        yield running


@pytest.fixture
def opened(browser: Browser, site: Served) -> Iterator[Opener]:
    """Open a page of the site in a fresh profile. What a page says on its console fails the test.

    `tolerate` is a part of what it may say: a browser reports every failed request there.
    """
    contexts, said = [], []

    def open_page(path: str = "/", *, base: str = site.url, tolerate: str = "", **how: Any) -> Page:
        context = browser.new_context(base_url=base, **{"viewport": {"width": 1280, "height": 900}, **how})
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        page = context.new_page()

        def note(words: str) -> None:
            if not tolerate or tolerate not in words:
                said.append(words)

        page.on("console", lambda message: note(message.text) if message.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(path)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert said == []


def write(page: Page, answer: str, *sources: str) -> None:
    """Fill in the form by hand."""
    page.fill("#answer", answer)
    for number, text in enumerate(sources):
        if number:
            page.click("#add")
        page.locator("#sources textarea").nth(number).fill(text)


def run(page: Page) -> None:
    page.click("#run")
    page.wait_for_selector("#result .verdict")


def file(name: str, data: bytes) -> Any:
    """A file as Playwright chooses them."""
    return {"name": name, "mimeType": "application/octet-stream", "buffer": data}
