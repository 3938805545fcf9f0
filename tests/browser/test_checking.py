"""Checking an answer on the page: from the paste to the evidence, the link and the opinion."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import docx
import pytest
from playwright.sync_api import expect
from tests.browser.conftest import Opener, file, run, settings, write
from tests.serving import Served, served

SOURCE = "Acme was founded in 1987. It has 40 employees. Its office is in Berlin."
ANSWER = "Acme was founded in 1987. It has 400 employees. Its office is in Berlin."


def test_one_click_shows_what_it_is_for(opened: Opener) -> None:
    page = opened()
    page.click("#example")
    page.wait_for_selector(".verdict")
    assert page.inner_text("#verdict") == "3 of 7 claims are not supported"
    assert "/r/" in page.url
    assert page.inner_text(".inspector .said").startswith("Lost luggage is paid up to €5,000")
    assert "€2,000" in page.inner_text(".passage mark")
    assert page.inner_text(".inspector .pill").endswith("Contradicted")
    assert page.locator(".answer .c.flag").count() >= 3
    picture = page.locator(".picture").get_attribute("aria-label") or ""
    assert "The claim needs 3.82 bits" in picture


def test_a_pasted_answer_is_checked_by_its_pasted_sources(opened: Opener) -> None:
    page = opened()
    write(page, ANSWER, SOURCE, "Something else entirely.")
    assert page.inner_text("#answer-count") == "14 words"
    page.keyboard.press("Control+Enter")
    page.wait_for_selector(".verdict")
    assert page.inner_text("#verdict") == "1 of 3 claims is not supported"
    assert page.locator(".answer .c.flag").first.inner_text() in ANSWER


def test_what_is_missing_is_said_where_it_is_missing(opened: Opener) -> None:
    page = opened()
    page.click("#run")
    assert page.inner_text("#answer-error") == "Paste an answer first."
    assert page.evaluate("document.activeElement.id") == "answer"
    page.fill("#answer", ANSWER)
    page.click("#run")
    assert page.inner_text("#sources-error") == "Add at least one source."
    write(page, ANSWER, SOURCE, SOURCE)
    page.locator(".source .id").nth(1).fill("S0")
    page.click("#run")
    assert page.inner_text("#sources-error") == "Two sources are called S0."


def test_a_claim_is_chosen_by_mouse_and_keyboard(opened: Opener) -> None:
    page = opened()
    write(page, ANSWER, SOURCE)
    run(page)
    said = page.locator(".inspector .said")
    assert said.inner_text() == "It has 400 employees."
    page.locator(".answer .c", has_text="founded").click()
    assert said.inner_text() == "Acme was founded in 1987."
    page.keyboard.press("j")
    assert said.inner_text() == "It has 400 employees."
    page.keyboard.press("ArrowDown")
    assert said.inner_text() == "Its office is in Berlin."
    page.keyboard.press("k")
    page.keyboard.press("k")
    page.keyboard.press("k")
    assert said.inner_text() == "Acme was founded in 1987."
    assert page.locator(".claim-row[aria-current=true]").inner_text().find("founded") > 0
    assert page.locator("[data-claim][tabindex='0']").count() == 1


def test_tab_leads_from_the_actions_through_the_filters_to_the_answer(opened: Opener) -> None:
    page = opened()
    write(page, ANSWER, SOURCE)
    run(page)
    names = []
    for _ in range(12):
        page.keyboard.press("Tab")
        names.append(page.evaluate("document.activeElement.textContent.trim()"))
        assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
        if page.evaluate("document.activeElement.matches('[data-claim]')"):
            break
    assert names[0] == "Copy link"
    assert names[-1].startswith("It has")
    assert any(name.startswith("All") for name in names)


def test_claims_are_filtered_by_status(opened: Opener) -> None:
    page = opened()
    page.click("#example")
    page.wait_for_selector(".verdict")
    page.click(".chip.NOT_IN_CONTEXT")
    assert page.locator(".claim-row:visible").count() == 2
    assert page.get_attribute(".chip.NOT_IN_CONTEXT", "aria-pressed") == "true"
    assert "Baltic Mutual" in page.inner_text(".inspector .said")
    page.keyboard.press("j")
    assert "4.8 out of 5" in page.inner_text(".inspector .said")
    page.keyboard.press("j")
    assert "4.8 out of 5" in page.inner_text(".inspector .said")
    page.keyboard.press("Escape")
    assert page.locator(".claim-row:visible").count() == 7


def test_a_link_shows_the_same_report_to_somebody_else(opened: Opener) -> None:
    page = opened()
    write(page, ANSWER, SOURCE)
    page.fill("#answer", ANSWER)
    run(page)
    other = opened(page.url)
    other.wait_for_selector(".verdict")
    assert other.inner_text(".answer") == page.inner_text(".answer")
    assert other.inner_text(".passage") == page.inner_text(".passage")
    other.click("text=New check")
    assert other.input_value("#answer") == ANSWER


def test_back_leads_to_the_text_and_forth_to_the_report(opened: Opener) -> None:
    page = opened()
    write(page, ANSWER, SOURCE)
    run(page)
    page.go_back()
    page.wait_for_selector("#compose:visible")
    assert page.input_value("#answer") == ANSWER
    page.go_forward()
    page.wait_for_selector(".verdict")


def test_link_and_json_are_copied(opened: Opener) -> None:
    page = opened(permissions=["clipboard-read", "clipboard-write"])
    write(page, ANSWER, SOURCE)
    run(page)
    page.click("text=Copy link")
    page.wait_for_selector(".toast.on")
    assert page.evaluate("navigator.clipboard.readText()").partition("#")[0] == page.url
    page.click("text=Copy JSON")
    expect(page.locator("#said")).to_have_text("JSON copied")
    report = json.loads(page.evaluate("navigator.clipboard.readText()"))
    assert [claim["flagged"] for claim in report["claims"]] == [False, True, False]


@pytest.mark.parametrize("store", [True, False])
def test_the_report_is_downloaded_as_a_page(opened: Opener, store: bool) -> None:
    page = opened()
    write(page, ANSWER, SOURCE)
    page.set_checked("#store", store)
    run(page)
    with page.expect_download() as coming:
        page.click("text=Download")
    text = Path(coming.value.path()).read_text()
    assert coming.value.suggested_filename == "groundwire-report.html"
    assert "It has 400 employees." in text
    assert "1 of 3 claims is not supported" in text


def test_who_wants_nothing_kept_has_nothing_kept(opened: Opener, site: Served) -> None:
    page = opened()
    assert "deleted after 30 days" in page.inner_text("#privacy")
    page.uncheck("#store")
    assert page.inner_text("#privacy") == "Nothing of this check is stored."
    write(page, "Zanzibar is not to be kept.", SOURCE)
    run(page)
    assert page.url == f"{site.url}/"
    assert page.locator("text=Copy link").count() == 0
    site.service.report_writer.flush()
    assert "Zanzibar" not in site.client.get("/v1/reports").text


def test_a_verdict_is_marked_and_the_mark_stays(opened: Opener) -> None:
    page = opened()
    write(page, "The office has 31 windows. " + ANSWER, SOURCE)
    run(page)
    page.click(".opinion >> text=Wrong")
    page.wait_for_selector(".opinion >> text=Marked as wrong")
    page.reload()
    page.wait_for_selector(".opinion >> text=Marked as wrong")


def test_a_report_is_deleted_for_everybody(opened: Opener) -> None:
    page = opened()
    write(page, ANSWER, SOURCE)
    run(page)
    link = page.url
    page.reload()
    page.on("dialog", lambda dialog: dialog.accept())
    page.click(".actions >> text=Delete")
    page.wait_for_selector("#compose:visible")
    gone = opened(link, tolerate="404")
    gone.wait_for_selector("#trouble:visible")
    assert gone.inner_text("#trouble-title") == "There is nothing here"


def word(text: str) -> bytes:
    document = docx.Document()
    document.add_paragraph(text)
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def test_files_are_read_and_bad_ones_named(opened: Opener) -> None:
    page = opened()
    page.set_input_files(
        "#files",
        [
            file("acme.docx", word(SOURCE)),
            file("page.html", b"<p>Ann &amp; Ben</p><script>alert(1)</script>"),
            file("notes.txt", "שלום\r\n🙂".encode()),
            file("scan.pdf", b"%PDF-1.4 broken"),
        ],
    )
    expect(page.locator("#sources-error")).to_contain_text("scan.pdf")
    texts = page.evaluate("[...document.querySelectorAll('#sources textarea')].map(a => a.value)")
    assert texts == [SOURCE, "Ann & Ben", "שלום\n🙂"]
    assert page.locator(".source .name").all_inner_texts() == ["acme.docx", "page.html", "notes.txt"]
    page.fill("#answer", ANSWER)
    run(page)
    assert page.inner_text(".evidence h3").startswith("acme.docx")


def test_files_are_dropped_anywhere(opened: Opener) -> None:
    page = opened()
    transfer = page.evaluate_handle(
        """() => { const t = new DataTransfer();
        t.items.add(new File(["It has 40 employees."], "drop.txt", {type: "text/plain"})); return t; }"""
    )
    page.dispatch_event("body", "dragenter", {"dataTransfer": transfer})
    assert page.locator("body.dropping").count() == 1
    page.dispatch_event("body", "drop", {"dataTransfer": transfer})
    page.wait_for_selector(".source .name >> text=drop.txt")
    assert page.locator("body.dropping").count() == 0
    page.dispatch_event("#answer", "drop", {"dataTransfer": transfer})
    expect(page.locator("#answer")).to_have_value("It has 40 employees.")
    assert page.locator(".source").count() == 1


def test_sources_are_added_and_removed(opened: Opener) -> None:
    page = opened()
    page.click("#add")
    page.click("#add")
    assert page.evaluate("[...document.querySelectorAll('.source .id')].map(i => i.value)") == ["S0", "S1", "S2"]
    page.click("[aria-label='Remove source S1']")
    page.click("#add")
    assert page.evaluate("[...document.querySelectorAll('.source .id')].map(i => i.value)") == ["S0", "S2", "S1"]


def test_a_conversation_and_settings_go_with_it(opened: Opener) -> None:
    page = opened()
    write(page, ANSWER, SOURCE)
    page.click("summary")
    page.fill("#history", "user: How many people\nwork there?\nassistant: It has 40 employees.")
    page.select_option("#profile", "strict")
    page.fill("#target", "0.9")
    with page.expect_request("**/v1/check") as sent:
        run(page)
    asked: Any = sent.value.post_data_json
    assert asked["history"][0] == {"role": "user", "content": "How many people\nwork there?"}
    assert (asked["profile"], asked["target"]) == ("strict", 0.9)
    assert "strict profile" in page.inner_text(".verdict")


def test_an_answer_is_repaired_and_held_against_what_is_known(opened: Opener) -> None:
    page = opened(permissions=["clipboard-read", "clipboard-write"])
    write(page, ANSWER, SOURCE)
    page.click("summary")
    page.check("#fix")
    page.check("#kb")
    with page.expect_request("**/v1/check") as sent:
        run(page)
    asked: Any = sent.value.post_data_json
    assert (asked["fix"], asked["kb"]) == (True, True)
    assert page.inner_text(".repaired del") == "400"
    assert page.inner_text(".repaired ins") == "40"
    page.click("[aria-label='Copy the repaired answer']")
    assert page.evaluate("navigator.clipboard.readText()") == SOURCE


def test_a_claim_drawn_from_several_sources_says_what_is_lost_without_each(opened: Opener, tmp_path: Path) -> None:
    more = {"hallucination.backend.type": "fake", "shares": True}
    with served(settings(tmp_path, **more)) as measuring:
        page = opened(base=measuring.url)
        write(page, "The tower is 330 metres tall.", "The tower is tall.", "The tower is 330 metres tall.")
        run(page)
        page.locator(".answer .c").first.click()
        first, second = page.locator(".inspector .shares li").all_inner_texts()
    assert first.endswith("+0.00 bits, support 98 % without it")
    assert second.endswith("+4.10 bits, support 5 % without it; needed")
