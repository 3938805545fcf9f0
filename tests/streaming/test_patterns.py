"""Each pattern shows where it should, and not where something only looks like it."""

from __future__ import annotations

from pathlib import Path

import pytest

from groundwire.streaming.guard import GenerationMonitor
from groundwire.streaming.patterns import PATTERNS
from groundwire.types import Risk, Source
from groundwire.types.stream import StreamWarning

SOURCES = (
    Source("S0", "Atlas Mining was founded in 1998 by Mara Lind in Tromsø. It employs 1,240 people. Sales grew 12%."),
    Source("S1", "See https://atlas.example/report and doi 10.1000/xyz123. Smith et al. (2021) describe the flood."),
    Source("S2", "Call `client.open(path)` and `client.close()`; pass --verbose. The survey shows that 61% agree [7]."),
)  # fmt: skip
TALK = (Source("S0", "The harbour has a long history."),)


def warned(text: str, sources: tuple[Source, ...] = SOURCES, request: str = "") -> list[StreamWarning]:
    monitor = GenerationMonitor(PATTERNS, sources, request=request)
    return [*monitor.update(text), *monitor.close()]


FIRES = {
    "rising_specificity": "The company grew from year to year. It opened in Oslo with 31 clerks. Then Ola Berg and Kari Moe hired 57 "
    "engineers in 2003, and Per Dahl led 412 divers.",
    "unsourced_statistic": "About 37% of the workers left.",
    "fake_precision": "It dug 48,317 tonnes of ore.",
    "invented_date": "The mine burnt down on 4 May 2007.",
    "invented_name": "It was run by Jonas Ekdahl then.",
    "invented_citation": "The mine is deep [S9].",
    "invented_url": "Read more at https://mining.example/atlas.",
    "invented_doi": "It is described in doi:10.5555/12345678.",
    "fabricated_references": "Deep [S8]. Wide [S9]. Old: https://a.example/x. And more was said about it.",
}
NEAR_MISSES = {
    "rising_specificity": "The company was founded. Mara Lind did so in 1998. Mara Lind founded Atlas Mining in Tromsø "
    "in 1998 with 1,240 people and 12% growth.",
    "unsourced_statistic": "Sales grew by 12%. For example, if 37% left, it would close. It is 100% ours.",
    "fake_precision": "It employs 1,240 people, about 1,200 of them miners, 45 of them cooks, and pays in 3.5 weeks.",
    "invented_date": "It was founded in 1998, in the 1990s.",
    "invented_name": "It was run by Mara Lind in New York for Atlas Mining.",
    "invented_citation": "It is deep [S0], as (S1) says, and Smith et al. (2021) describe it; the survey says so [7].",
    "invented_url": "Read more at https://www.atlas.example/report/.",
    "invented_doi": "It is described in doi:10.1000/XYZ123.",
    "fabricated_references": "Deep [S0]. Wide [S1]. Old: https://atlas.example/report. And doi:10.1000/xyz123.",
}  # fmt: skip


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.name)
def test_it_fires(pattern: object) -> None:
    name = pattern.name  # type: ignore[attr-defined]
    found = [warning for warning in warned(FIRES[name]) if warning.pattern == name]
    assert found
    assert all(0.0 < warning.confidence <= 1.0 and warning.note for warning in found)


@pytest.mark.parametrize("pattern", PATTERNS, ids=lambda pattern: pattern.name)
def test_a_near_miss_is_none(pattern: object) -> None:
    name = pattern.name  # type: ignore[attr-defined]
    assert [warning for warning in warned(NEAR_MISSES[name]) if warning.pattern == name] == []


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Three out of eight miners smoke.", "unsourced_statistic"),
        ("Miners are three times more likely to cough.", "unsourced_statistic"),
        ("37 אחוז מהעובדים עזבו.", "unsourced_statistic"),
        ("(Nilsen et al., 2019) say so.", "invented_citation"),
        ("Nilsen and Berg (2019) say so.", "invented_citation"),
        ("As shown (see Nilsen, 2019), it is so.", "invented_citation"),
        ("See arXiv:2101.12345.", "invented_doi"),
    ],
)
def test_other_forms_it_takes(text: str, name: str) -> None:
    assert name in {warning.pattern for warning in warned(text)}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("It is rated 4.5 out of 5 stars.", "unsourced_statistic"),
        ("It is open from 8:00 AM to 5:30 PM.", "fake_precision"),
        ("The router has 192.168.123.254.", "fake_precision"),
        ("Version 3.1415 is out.", "fake_precision"),
        ("In May (2021) it rained; Avatar (2009) is a film; (Sept 2013) was wet.", "invented_citation"),
        ("**Business Model:** it digs. ## Key Features", "invented_name"),
        ("IncrementalStep 6 comes after IncrementalStep 5. On Monday May came.", "invented_name"),
    ],
)
def test_what_only_looks_like_it(text: str, name: str) -> None:
    assert name not in {warning.pattern for warning in warned(text)}


def test_what_was_asked_about_is_not_invented() -> None:
    request = "What did Jonas Ekdahl write at https://mining.example/atlas in 2007?"
    text = "Jonas Ekdahl wrote a letter in 2007 at https://mining.example/atlas."
    assert warned(text, request=request) == []


def test_without_sources_nothing_is_held_against_them() -> None:
    text = "It dug 48,317 tonnes under Jonas Ekdahl on 4 May 2007. Call `x.y()`."
    assert warned(text, ()) == []


def test_passages_by_their_own_names_exist() -> None:
    sources = (Source("context", "passage 1: Salt is white. passage 2: Snow is white."),)
    assert warned("Salt is white (passage 1). Both are (Passages 1 and 2).", sources) == []


def test_the_table_says_what_each_is_for() -> None:
    assert len({pattern.name for pattern in PATTERNS}) == len(PATTERNS)
    assert all(pattern.catches and pattern.misses for pattern in PATTERNS)
    assert [pattern.name for pattern in PATTERNS if pattern.risk is Risk.CRITICAL] == ["fabricated_references"]


def test_the_page_shows_the_table() -> None:
    page = (Path(__file__).parents[2] / "docs" / "monitor.md").read_text(encoding="utf-8")
    for pattern in PATTERNS:
        mark = "¹" if pattern.needs_sources else ""
        row = f"| `{pattern.name}`{mark} | {pattern.risk.value} | {pattern.catches} | {pattern.misses} |"
        assert row in page


@pytest.mark.parametrize(
    ("cited", "named"),
    [("Nilsen et al. (2019)", "Nilsen et al. (2019)"), ("(Nilsen et al., 2019)", "Nilsen et al., 2019")],
)
def test_an_invented_reference_is_named_with_its_brackets_in_pairs(cited: str, named: str) -> None:
    (found,) = (one for one in warned(f"It is deep, {cited} say.") if one.pattern == "invented_citation")
    assert found.note == f"no source mentions {named}"
