"""The audit page, and the API documentation in a browser."""

from __future__ import annotations

from tests.browser.conftest import Opener

EVIL = "<img src=x onerror=window.hacked=1>"


def test_a_trace_is_audited_and_shared(opened: Opener) -> None:
    page = opened("/audit")
    page.click("#example")
    page.wait_for_selector(".steps")
    assert page.locator(".step").count() == 5
    wrong = page.locator(".step", has_text="300 metres tall").get_attribute("class") or ""
    assert "CONTRADICTED" in wrong or "NOT_IN_CONTEXT" in wrong
    assert "follows from the steps" in page.inner_text(".outcome")
    assert page.url.count("#") == 1
    page.locator(".step summary").first.click()
    page.wait_for_selector(".step .picture")
    assert page.locator(".step .passage mark").first.inner_text()
    assert "not kept" not in page.inner_text(".steps")
    other = opened(page.url)
    other.wait_for_selector(".steps")
    assert other.inner_text(".steps").split() == page.inner_text(".steps").replace(page.locator(".step .inner").first.inner_text(), "").split()  # fmt: skip


def test_a_trace_may_be_json_with_its_own_sources_and_hostile(opened: Opener) -> None:
    page = opened("/audit")
    trace = (
        '{"question": "<img src=x onerror=window.hacked=1>", "sources": {"guide": "It is 330 metres tall."}, '
        '"steps": [{"claim": "It is 330 metres tall. <img src=x onerror=window.hacked=1>", "cites": ["guide"]}]}'
    )
    page.fill("#trace", trace)
    page.click("#run")
    page.wait_for_selector(".steps")
    assert EVIL in page.inner_text(".steps")
    assert page.evaluate("window.hacked") is None
    page.click("text=New audit")
    assert page.input_value("#trace") == trace


def test_an_audit_without_steps_asks_for_them(opened: Opener) -> None:
    page = opened("/audit")
    page.click("#run")
    assert page.inner_text("#trace-error") == "Paste the steps first."


def test_the_api_documentation_renders_offline(opened: Opener) -> None:
    page = opened("/docs")
    page.wait_for_selector("#operations-check-post_check")
    assert "groundwire" in page.inner_text(".info h1, .info h2")
