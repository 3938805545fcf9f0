"""`make pictures`: the page with its example, in light and in dark, for the README and the docs."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, sync_playwright
from tests.serving import serving

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "pictures"
SIZE = {"width": 1180, "height": 840}
MOST_BYTES = 200_000


def main() -> None:
    chromium = shutil.which("chromium")
    if chromium is None:
        raise SystemExit("there is no Chromium here (Debian: apt-get install chromium)")
    with tempfile.TemporaryDirectory(prefix="groundwire-pictures-") as store, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        with serving({"store.url": f"{store}/store.db", "store.cache_path": ""}) as url:
            for scheme in ("light", "dark"):
                take(browser, url, scheme, FOLDER / f"page-{scheme}.png")
        browser.close()


def take(browser: Browser, url: str, scheme: str, path: Path) -> None:
    how: dict[str, Any] = {"viewport": SIZE, "color_scheme": scheme, "reduced_motion": "reduce"}
    context = browser.new_context(**how)
    page = context.new_page()
    page.goto(url)
    page.click("#example")
    page.wait_for_selector(".passage mark")
    page.mouse.move(0, 0)
    page.evaluate("document.activeElement.blur()")
    page.screenshot(path=path)
    context.close()
    size = path.stat().st_size
    if size > MOST_BYTES:
        raise SystemExit(f"{path.name} has {size:,} bytes")
    print(f"{path.name}: {size:,} bytes")


if __name__ == "__main__":
    main()
