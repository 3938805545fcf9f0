"""The dashboard, the audit and the knowledge base, each with something in it and with nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect
from tests.browser.conftest import Opener, settings
from tests.serving import Served, served

from groundwire.types import Entity, Fact, Provenance, Role, Value, ValueKind

EVIL = "<img src=x onerror=window.hacked=1>"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server of its own, whose figures nobody else changes."""
    more = {"hallucination.backend.type": "fake"}
    with served(settings(tmp_path_factory.mktemp("small"), **more)) as running:
        yield running


def test_an_empty_dashboard_says_what_to_do(opened: Opener, tmp_path: Path) -> None:
    with served(settings(tmp_path, **{"hallucination.backend.type": "fake"})) as empty:
        page = opened("/dashboard", base=empty.url)
        page.click("text=Check an answer")
        page.wait_for_selector("#compose:visible")
        page.wait_for_load_state("networkidle")
        page.context.close()  # before its server goes: what it still asks for would be refused


def test_the_dashboard_counts_and_leads_to_reports(opened: Opener, small: Served) -> None:
    source = [{"id": "S0", "text": "It has 40 employees.", "origin": "handbook.pdf"}]
    for response in ("It has 40 employees.", "It has 400 employees. It has 40 employees."):
        small.client.post(
            "/v1/check", json={"response": response, "sources": source, "question": "How many?"}
        )
    small.service.keeper.flush()
    page = opened("/dashboard", base=small.url)
    page.wait_for_selector(".kpis")
    kpis = page.locator(".kpi b").all_inner_texts()
    assert kpis == ["33 %", "50 %", "2", "0"]
    assert "handbook.pdf" in page.inner_text(".shares >> nth=1")
    assert page.locator(".chart .dot").count() == 1
    page.click("text=24 hours")
    expect(page.locator(".kpis")).to_contain_text("in 24 hours")
    page.focus(".chart svg[role=img]")
    page.keyboard.press("ArrowLeft")
    assert "3 claims flagged" in page.inner_text(".tip")
    page.click(".reports .chip >> text=Could not check")
    expect(page.locator(".reports tbody")).to_have_text("None of them.")
    page.click(".reports .chip >> text=Flagged")
    expect(page.locator(".reports tbody tr")).to_have_count(1)
    page.locator(".reports a").first.click()
    page.wait_for_selector(".verdict")
    assert page.inner_text("#verdict") == "1 of 2 claims is not backed"


def test_a_trace_is_audited_and_shared(opened: Opener) -> None:
    page = opened("/audit")
    page.click("#example")
    page.wait_for_selector(".steps")
    assert page.locator(".step").count() == 5
    assert page.locator(".step.CONTRADICTED").inner_text().find("300 metres") > 0
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


def test_an_empty_knowledge_base_says_how_to_fill_it(opened: Opener, small: Served) -> None:
    page = opened("/kb", base=small.url)
    page.wait_for_selector(".empty")
    assert "groundwire kb import" in page.inner_text(".empty")


def test_entities_are_found_and_shown_with_their_facts(opened: Opener, site: Served) -> None:
    ann = Entity("person/ann", "Ann Ruiz", "person", ("Annie", EVIL))
    site.service.knowledge.put_entities([ann, Entity("acme", "Acme", "company")])
    roles = (
        Role("subject", Value("Ann Ruiz", ValueKind.REFERENCE, entity="person/ann")),
        Role("object", Value(EVIL)),
    )
    site.service.knowledge.put_many(
        [Fact("", "works at", roles, 0.9, provenance=Provenance("register.csv", 3, 40))]
    )
    page = opened("/kb")
    page.wait_for_selector(".chips")
    page.fill("#q", "Anne Ruiz")
    page.wait_for_selector(".hit")
    page.press("#q", "ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_selector("#entity h2")
    assert page.inner_text("#entity h2") == "Ann Ruiz"
    fact = page.inner_text(".fact")
    assert f"Ann Ruiz works at {EVIL}" in fact
    assert "register.csv 3–40" in fact
    assert "confidence 0.90" in fact
    assert page.evaluate("window.hacked") is None
    page.reload()
    page.wait_for_selector("#entity h2")
    page.fill("#q", "Nobody at all")
    page.wait_for_selector("text=Nothing is known under")
