"""Text as people write it: hostile, right to left, with emoji, very long."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.browser.conftest import Opener, file, run, write

from groundwire import check
from groundwire.reports.html import batch_page, batch_row, to_html

EVIL = '<img src=x onerror="window.hacked=1"><script>window.hacked=1</script>\'"&lt;b&gt;'
SOURCE = "It has 40 employees. Its office is in Berlin."


def unharmed(page: Any) -> None:
    assert page.evaluate("window.hacked") is None
    assert page.locator("main img, main script, main iframe").count() == 0


def marks(page: Any) -> dict[int, str]:
    """What is marked of each claim, by its number."""
    found: dict[str, str] = page.evaluate(
        """() => { const found = {}; for (const s of document.querySelectorAll("[data-claim]"))
        found[s.dataset.claim] = (found[s.dataset.claim] || "") + s.textContent; return found; }"""
    )
    return {int(number): text for number, text in found.items()}


def test_hostile_text_is_text_everywhere(opened: Opener) -> None:
    page = opened()
    write(page, f"{EVIL} It has 400 employees. {EVIL}", f"{EVIL} {SOURCE}")
    page.locator(".source .id").fill(EVIL)
    page.click("summary")
    page.fill("#question", EVIL)
    run(page)
    assert EVIL in page.inner_text(".answer")
    assert EVIL in page.inner_text(".verdict .asked")
    unharmed(page)
    page.reload()
    page.wait_for_selector(".verdict")
    unharmed(page)


def test_hostile_file_names_are_text(opened: Opener) -> None:
    page = opened()
    name = "<img src=x onerror=window.hacked=1>.txt"
    page.set_input_files("#files", [file(name, SOURCE.encode())])
    page.wait_for_selector(".source .name bdi:text('.txt')")
    page.fill("#answer", "It has 40 employees.")
    run(page)
    assert name in page.inner_text(".evidence h3")
    unharmed(page)


def test_a_stored_report_that_was_tampered_with_is_text(opened: Opener) -> None:
    claim = {
        "id": EVIL, "text": EVIL, "start": -5, "end": 10**9, "citations": [EVIL], "evidence": [{"source": EVIL, "start": 0, "end": 9}],
        "confidence": 0.95, "p1": 0.1, "p0": 0.05, "required_bits": 3.8, "observed_bits": 0.1, "budget_gap": 3.7,
        "status": "constructor", "gap_type": "__proto__", "flagged": True, "reason": EVIL, "method": EVIL, "spans": [],
        "key": EVIL, "feedback": None,
    }  # fmt: skip
    report = {
        "id": EVIL, "flagged": True, "risk": 1.0, "grounding_ratio": 0.0, "backend": EVIL, "profile": EVIL, "claims": [claim],
        "skipped": [{"text": EVIL, "start": 0, "end": 3, "kind": EVIL}], "spans": [], "error": EVIL,
        "flags": [{"type": EVIL, "content": EVIL, "confidence": 0.5, "evidence": EVIL, "suggestion": EVIL}],
        "repair": {"text": EVIL},
    }  # fmt: skip
    stored = {"id": "evil", "kind": "check", "report": report, "answer": EVIL, "question": EVIL, "sources": [{"id": EVIL, "text": EVIL, "origin": EVIL}]}  # fmt: skip
    page = opened("/audit")
    page.route("**/v1/reports/evil", lambda route: route.fulfill(json=stored))
    page.goto("/r/evil")
    page.wait_for_selector(".verdict")
    assert EVIL in page.inner_text(".inspector .said")
    unharmed(page)


def test_text_that_turns_other_text_around_is_shown_as_a_mark(opened: Opener) -> None:
    page = opened()
    write(page, "It has \u202e40 employees. It has 400 employees.", SOURCE)
    run(page)
    assert "\u202e" not in page.inner_text("#result")
    assert "\ufffd" in page.inner_text(".answer")


@pytest.mark.parametrize(
    "answer",
    [
        "🙂🙂🙂 It has 400 employees. 👩‍👩‍👧 Its office is in Berlin. 🇩🇪 It has 41 windows.",
        "𝒜 begins. It has 400 employees.\n\n- 🙂 Its office is in Berlin.\n- It has 🙂 41 windows 🙂.",
        "Cafe\u0301 society. It has 400 employees\u200d. Its office is in Berlin.",
    ],
)
def test_emoji_shift_no_mark(opened: Opener, answer: str) -> None:
    page = opened()
    write(page, answer, SOURCE)
    with page.expect_response("**/v1/check") as coming:
        run(page)
    claims = json.loads(coming.value.text())["claims"]
    assert claims
    for number, claim in enumerate(claims):
        assert marks(page)[number] == answer[claim["start"] : claim["end"]].replace("\n", "")
    hot = "".join(page.locator(".c.hot").all_inner_texts())
    spans = json.loads(coming.value.text())["spans"]
    assert hot == "".join(answer[span["start"] : span["end"]] for span in spans)


def test_emoji_in_a_source_shift_no_passage(opened: Opener) -> None:
    page = opened()
    source = "🙂🙂🙂 Ann runs it. " + SOURCE
    write(page, "It has 40 employees.", source)
    with page.expect_response("**/v1/check") as coming:
        run(page)
    (first, *_) = json.loads(coming.value.text())["claims"][0]["evidence"]
    assert page.inner_text(".passage mark.best") == source[first["start"] : first["end"]]


def test_hebrew_is_laid_out_from_the_right(opened: Opener) -> None:
    page = opened()
    page.click("#example-he")
    page.wait_for_selector(".verdict")
    line = page.locator(".answer > p").first
    assert line.evaluate("element => getComputedStyle(element).direction") == "rtl"
    box, first = line.bounding_box(), page.locator(".answer [data-claim='0']").first.bounding_box()
    assert box is not None
    assert first is not None
    assert abs((first["x"] + first["width"]) - (box["x"] + box["width"])) < 8
    assert page.locator(".passage").first.evaluate("element => getComputedStyle(element).direction") == "rtl"
    assert page.evaluate("getComputedStyle(document.documentElement).direction") == "ltr"
    assert "85" in page.locator(".c.CONTRADICTED").all_inner_texts().__str__()


def test_each_paragraph_has_its_own_direction(opened: Opener) -> None:
    page = opened()
    write(page, "המשרד נמצא בברלין.\n\nIts office is in Berlin.", SOURCE)
    run(page)
    directions = page.locator(".answer > p").evaluate_all("all => all.map(e => getComputedStyle(e).direction)")
    assert directions == ["rtl", "ltr"]


def long_report() -> tuple[dict[str, Any], str]:
    """500 claims in 10,000 words."""
    sentence = (
        "This is sentence number {:05d} of a very long answer that goes on and on about 🙂 the many things it knows."
    )
    answer, claims = "", []
    for number in range(500):
        text = sentence.format(number)
        flagged = number % 7 == 3
        claims.append({
            "id": f"c{number + 1}", "text": text, "start": len(answer), "end": len(answer) + len(text), "citations": [],
            "evidence": [{"source": "S0", "start": 100 * number, "end": 100 * number + 60}], "confidence": 0.95, "p1": 0.9,
            "p0": 0.05, "required_bits": 3.8, "observed_bits": 3.5, "budget_gap": 0.3, "flagged": flagged,
            "status": "NOT_IN_CONTEXT" if flagged else "ENTAILED", "gap_type": None, "reason": "so", "method": "m",
            "spans": [], "key": f"{number:012d}", "feedback": None,
        })  # fmt: skip
        answer += text + ("\n\n" if number % 5 == 4 else " ")
    report = {"id": "r", "flagged": True, "risk": 1.0, "grounding_ratio": 0.85, "backend": "local", "profile": "default",
              "claims": claims, "skipped": [], "spans": [], "error": None}  # fmt: skip
    stored = {"id": "long", "kind": "check", "report": report, "answer": answer, "question": "",
              "sources": [{"id": "S0", "text": "word " * 200_000, "origin": "huge.txt"}]}  # fmt: skip
    return stored, answer


def test_a_very_long_answer_stays_quick(opened: Opener) -> None:
    stored, answer = long_report()
    assert len(answer.split()) >= 10_000
    page = opened("/audit")
    page.route("**/v1/reports/long", lambda route: route.fulfill(json=stored))
    page.goto("/r/long")
    page.wait_for_selector(".verdict")
    assert page.locator(".claim-row").count() == 500
    assert marks(page)[499] == stored["report"]["claims"][499]["text"]
    for _ in range(20):
        page.keyboard.press("j")
    assert page.inner_text(".inspector .said").startswith("This is sentence number 00023")
    assert len(page.inner_text(".passage")) < 3000  # a window of a million characters
    # Far from any limit on a quiet machine (a few milliseconds a step): only a page gone quadratic fails.
    took = page.evaluate(
        """() => { const start = performance.now();
        for (let i = 0; i < 50; i++) document.dispatchEvent(new KeyboardEvent("keydown", {key: "j", bubbles: true}));
        return performance.now() - start; }"""
    )
    assert took < 15_000
    page.click(".chip.NOT_IN_CONTEXT")
    assert page.locator(".claims li:not([hidden])").count() == 71


MARKDOWN = """# Visiting

The museum had **84,200 visitors** in 2024 and is closed on *Mondays*. It was
founded by `the city`.
Short line.

- one [S0]
  - nested **two**
1. first
[^1]: a note

Heading by line
---------------
| year | visitors |
|------|---------:|
| 2024 | 48,200 |
| | a \\| b |

```python
x = "<b>"
  y
```
> quoted 🙂 text
> goes on

***
a_b_c and 2 * 3 * 4 __strong__
"""
DRAWN = """box => [...box.querySelectorAll("h3, p, li, blockquote, th, td, pre, b, i, code")].map(e =>
[e.tagName, e.className.startsWith("depth") ? e.className : "", e.dataset.marker || "", e.textContent.trim()].join("|"))"""


def test_markdown_is_drawn_as_in_the_html_report(opened: Opener, tmp_path: Path) -> None:
    report = replace(check("It is so.", "It is so."), response=MARKDOWN, claims=(), spans=())
    page = opened()
    stored = {
        "id": "md",
        "kind": "check",
        "report": report.to_dict(),
        "answer": MARKDOWN,
        "question": "",
        "sources": [],
    }
    page.route("**/v1/reports/md", lambda route: route.fulfill(json=stored))
    page.goto("/r/md")
    page.wait_for_selector(".verdict")
    drawn = page.locator(".answer").evaluate(DRAWN)
    (tmp_path / "report.html").write_text(to_html(report), encoding="utf-8")
    page.goto((tmp_path / "report.html").as_uri())
    assert drawn == page.locator(".answer").evaluate(DRAWN)
    assert "TD|||48,200" in drawn
    assert 'PRE|||x = "<b>"\n  y' in drawn


def test_the_page_of_a_batch_is_sorted_and_filtered(opened: Opener, tmp_path: Path) -> None:
    whole = check("It is so.", "It is so.")
    risks = {"a": 0.2, "b": 0.9, "c": 0.5}
    made = [replace(whole, response_id=name, risk=risk, flagged=name == "b") for name, risk in risks.items()]
    rows = [batch_row(report, n, "x" if n < 2 else "y") for n, report in enumerate(made)]
    groups = [("group", "responses"), ("x", "2"), ("y", "1")]
    (tmp_path / "batch.html").write_text("".join(batch_page("runs", "3 rows", groups, rows)), encoding="utf-8")
    page = opened()
    page.goto((tmp_path / "batch.html").as_uri())

    def shown() -> list[str]:
        names: list[str] = page.locator("tbody[data-id]:not([hidden])").evaluate_all(
            "all => all.map(e => e.dataset.id)"
        )
        return names

    page.click("[data-key='risk']")
    assert shown() == ["b", "c", "a"]
    page.click("[data-key='risk']")
    assert shown() == ["a", "c", "b"]
    page.click("[data-only='flagged']")
    assert shown() == ["b"]
    page.click("[data-only='']")
    page.select_option("select", "x")
    assert shown() == ["a", "b"]
    page.fill("input[type='search']", "nothing of this")
    assert shown() == []
