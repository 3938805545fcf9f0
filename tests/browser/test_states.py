"""When things go wrong, when a key is wanted, and how the page looks: themes, phones, motion, names for readers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import expect
from tests.browser.conftest import Opener, file, run, settings, write
from tests.serving import Served, served

from groundwire.stores.keys import KeyStore

SOURCE = "It has 40 employees."
PAGES = ["/", "/audit"]


def problem(route: Any, status: int, detail: str, headers: dict[str, str] | None = None) -> None:
    told = {"type": "/docs", "title": "Problem", "status": status, "detail": detail}
    route.fulfill(status=status, headers=headers or {}, content_type="application/problem+json", body=json.dumps(told))


def test_a_server_that_is_gone_is_said_and_the_text_is_safe(opened: Opener) -> None:
    page = opened(tolerate="ERR_FAILED")
    write(page, SOURCE, SOURCE)
    page.route("**/v1/check", lambda route: route.abort())
    page.click("#run")
    page.wait_for_selector("#trouble:visible")
    assert page.inner_text("#trouble-title") == "The server cannot be reached"
    page.unroute("**/v1/check")
    page.click("#again")
    page.wait_for_selector(".verdict")


def test_a_busy_server_is_asked_again_when_it_said(opened: Opener) -> None:
    page = opened(tolerate="429")
    page.clock.install()
    write(page, SOURCE, SOURCE)
    page.route("**/v1/check", lambda route: problem(route, 429, "64 are under way", {"Retry-After": "7"}))
    page.click("#run")
    page.wait_for_selector("#trouble:visible")
    assert page.inner_text("#trouble-detail") == "64 are under way"
    expect(page.locator("#again")).to_have_text("Try again in 7 s")
    expect(page.locator("#again")).to_be_disabled()
    page.clock.run_for(8000)
    expect(page.locator("#again")).to_be_enabled()
    page.unroute("**/v1/check")
    page.click("#again")
    page.wait_for_selector(".verdict")


def test_too_much_is_said_to_be_too_much(opened: Opener, tmp_path: Any) -> None:
    more = {"hallucination.backend.type": "fake", "server.max_body_bytes": 2000}
    with served(settings(tmp_path, **more)) as small:
        page = opened(base=small.url, tolerate="413")
        write(page, SOURCE, "word " * 1000)
        page.click("#run")
        page.wait_for_selector("#trouble:visible")
        assert page.inner_text("#trouble-title") == "That is too much at once"
        assert page.locator("#again").is_hidden()
        page.click("#back")
        assert page.input_value("#answer") == SOURCE
        page.set_input_files("#files", [file("big.txt", b"x" * 3000)])
        expect(page.locator("#sources-error")).to_contain_text("big.txt")


def test_waiting_can_be_broken_off(opened: Opener) -> None:
    page = opened()
    write(page, SOURCE, SOURCE)
    page.route("**/v1/check", lambda route: None)
    page.click("#run")
    page.wait_for_selector("#wait:visible")
    page.keyboard.press("Escape")
    page.wait_for_selector("#compose:visible")
    assert page.input_value("#answer") == SOURCE


def test_what_could_not_be_checked_is_not_called_fine(opened: Opener, tmp_path: Any) -> None:
    nowhere = {"hallucination.backend.type": "external", "external.url": "http://127.0.0.1:9", "limits.retries": 0}
    with served(settings(tmp_path, **nowhere)) as broken:
        page = opened(base=broken.url)
        write(page, SOURCE, SOURCE)
        run(page)
        assert page.inner_text("#verdict") == "Could not be checked"
        assert page.inner_text(".inspector .pill").endswith("Could not be checked")
        assert page.locator(".answer .c.UNCHECKED").count() == 1
        assert page.locator(".verdict.warn").count() == 1
        assert page.locator(".opinion button").count() == 0


def test_an_answer_without_claims_says_so(opened: Opener) -> None:
    page = opened()
    write(page, "Shall we go on?", SOURCE)
    run(page)
    assert page.inner_text("#verdict") == "The answer makes no claims"
    assert "Shall we go on?" in page.inner_text(".plain-list")


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    more = {"hallucination.backend.type": "fake", "server.auth": "always"}
    with served(settings(tmp_path_factory.mktemp("locked"), **more)) as running:
        yield running


def test_a_key_is_asked_for_and_stays_in_the_tab(opened: Opener, locked: Served) -> None:
    _, token = KeyStore(locked.service.database).add("ann", ["check", "reports", "facts:read"])
    page = opened(base=locked.url, tolerate="401")
    write(page, SOURCE, SOURCE)
    page.click("#run")
    page.wait_for_selector("dialog[open]")
    page.fill("#key-value", "gw_wrong")
    page.keyboard.press("Enter")
    expect(page.locator("#key-why")).to_have_text("the API key is not valid")
    page.fill("#key-value", token)
    page.click("dialog >> text=Use this key")
    page.wait_for_selector(".verdict")
    assert token not in page.url
    assert page.evaluate("JSON.stringify(localStorage)").find(token) < 0
    assert page.evaluate("document.cookie") == ""
    assert token in page.evaluate("JSON.stringify(sessionStorage)")
    page.reload()
    page.wait_for_selector(".verdict")


def test_a_key_without_the_scope_can_be_changed(opened: Opener, locked: Served) -> None:
    keys = KeyStore(locked.service.database)
    _, poor = keys.add("poor", ["metrics"])
    _, rich = keys.add("rich", ["admin"])
    page = opened(base=locked.url, tolerate="status of 40")
    write(page, SOURCE, SOURCE)
    page.click("#run")
    page.fill("#key-value", poor)
    page.keyboard.press("Enter")
    expect(page.locator("#key-why")).to_contain_text("lacks the scope check")
    page.fill("#key-value", rich)
    page.keyboard.press("Enter")
    page.wait_for_selector(".verdict")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_theme_is_the_systems_until_one_is_chosen(opened: Opener, scheme: str) -> None:
    page = opened(color_scheme=scheme)
    assert page.get_attribute("html", "data-theme") == scheme
    before = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.click("#theme")
    other = "light" if scheme == "dark" else "dark"
    assert page.get_attribute("html", "data-theme") == other
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != before
    page.goto("/audit")
    assert page.get_attribute("html", "data-theme") == other
    assert page.get_attribute("#theme", "aria-pressed") == str(other == "dark").lower()


@pytest.mark.parametrize("path", PAGES)
def test_nothing_runs_out_of_a_phone(opened: Opener, path: str) -> None:
    page = opened(path, viewport={"width": 360, "height": 740})
    page.wait_for_load_state("networkidle")
    assert page.evaluate("document.documentElement.scrollWidth") == 360


def test_a_phone_shows_the_claim_in_a_sheet(opened: Opener) -> None:
    page = opened(viewport={"width": 360, "height": 740}, has_touch=True)
    write(page, f"{'Unbreakable' * 30} It has 400 employees. {SOURCE}", SOURCE)
    run(page)
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    assert page.locator(".inspector").is_hidden()
    page.locator(".answer .c.flag").last.tap()
    expect(page.locator(".inspector.open")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == 360
    page.locator(".inspector .shut").tap()
    expect(page.locator(".inspector")).to_be_hidden()


def test_who_wants_no_motion_gets_none(opened: Opener) -> None:
    page = opened(reduced_motion="reduce")
    assert page.evaluate("getComputedStyle(document.getElementById('said')).transitionDuration") == "1e-05s"


@pytest.mark.parametrize("path", [*PAGES, "report"])
def test_everything_one_can_use_has_a_name(opened: Opener, path: str) -> None:
    page = opened("/" if path == "report" else path)
    if path == "report":
        write(page, f"It has 400 employees. {SOURCE}", SOURCE)
        run(page)
    nameless = page.evaluate(
        """() => [...document.querySelectorAll("button, a[href], input, textarea, select, [role=button], svg[role=img], [tabindex='0']")]
        .filter(e => !e.closest("[hidden], dialog:not([open])") && e.type !== "file"
          && !(e.getAttribute("aria-label") || e.textContent.trim() || e.labels?.length || e.title))
        .map(e => e.outerHTML.slice(0, 100))"""
    )
    assert nameless == []
    assert page.locator("main h1:visible").count() == 1
    assert page.locator("html[lang=en]").count() == 1


def test_the_keyboard_skips_to_the_content(opened: Opener) -> None:
    page = opened()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
