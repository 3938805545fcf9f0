"""The units that speak of a claim are found, quickly and always the same."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundwire.retrieval.select import Index, units
from groundwire.types import Source, Unit, UnitKind

TOWER = Source(
    "S0",
    "The Eiffel Tower stands in Paris. It is 330 metres tall. The Louvre is a museum. "
    "France has 67 million inhabitants. Wine is made in Bordeaux.",
)
BUSINESS = Source(
    "S1",
    '{"name": "Finch & Fork", "attributes": {"WiFi": "free", "OutdoorSeating": false}, "hours": {"Sunday": "9:0-21:0"}}',
)


def selected(claim: str, *sources: Source, only: list[str] | None = None) -> list[str]:
    return [unit.text for unit in Index(sources or (TOWER, BUSINESS)).select(claim, only=only)]


@pytest.mark.spec("SPEC-16.07")
@pytest.mark.parametrize(
    ("claim", "best"),
    [
        ("The population of France is 999 million inhabitants.", "France has 67 million inhabitants."),
        ("It is open on Sunday until 9 pm.", "hours Sunday: 9:0-21:0"),
        ("Bordeaux makes wines", "Wine is made in Bordeaux."),
        ("The restaurant offers outdoor seating.", "attributes OutdoorSeating: no"),
        ("Finch & Fork has free WiFi", "name: Finch & Fork"),
    ],
)
def test_the_best_unit_comes_first(claim: str, best: str) -> None:
    assert selected(claim)[0] == best


@pytest.mark.parametrize("claim", ["Zebras migrate across the Serengeti.", "", "It is what it is.", "!!!"])
def test_where_nothing_speaks_of_it_nothing_is_selected(claim: str) -> None:
    assert selected(claim) == []


def test_a_sentence_that_begins_with_a_pronoun_brings_the_one_before() -> None:
    assert selected("Its height is 330 metres tall") == ["It is 330 metres tall.", "The Eiffel Tower stands in Paris."]


def test_each_part_of_a_claim_finds_its_own_evidence() -> None:
    found = selected("France has 67 million inhabitants and the Louvre is a museum.")
    assert found[:2] == ["France has 67 million inhabitants.", "The Louvre is a museum."]


def test_a_fact_that_stands_twice_is_found_twice() -> None:
    text = "Lyon has 522,000 inhabitants."
    assert selected(text, Source("S0", text), Source("S1", "Other things. " + text)) == [text, text]


def test_only_the_named_sources_are_searched() -> None:
    assert selected("France has 67 million inhabitants", only=["S1"]) == []


def test_hebrew_prefixes_and_chinese_without_spaces() -> None:
    hebrew = Source("S0", "השמאי קבע פיצוי של 50,000 שקלים. ההחלטה ניתנה בירושלים.")
    assert selected("הפיצוי שקבע שמאי הוא 50000", hebrew)[0].startswith("השמאי")
    chinese = Source("S0", "巴黎是法国的首都。里昂是一座大城市。")
    assert selected("法国的首都是巴黎", chinese)[0] == "巴黎是法国的首都。"


def test_budget_and_k_are_kept() -> None:
    index = Index([Source("S0", " ".join(f"Lyon fact number {n} is here." for n in range(50)))])
    assert len(index.select("Lyon fact number 7, fact number 8, fact number 9", k=2)) == 2
    assert index.select("Lyon fact number 7", budget=1) == []


def test_ties_are_broken_by_the_order_of_the_text() -> None:
    index = Index([Source("S0", "Lyon is big.\n\nLyon is big.\n\nLyon is big.")])
    starts = [unit.start for unit in index.select("Lyon is big")]
    assert starts == sorted(starts)
    assert index.ranked("Lyon is big") == [0, 1, 2]


def test_a_megabyte_is_indexed_and_searched() -> None:
    text = " ".join(f"Station {n} of line {n % 7} opened in {1900 + n % 100} near Lyon." for n in range(21_000))
    assert len(text) > 1_000_000
    index = Index([Source("S0", text)])
    assert len(index.units) == 21_000
    assert index.select("Station 1234 of line 2 opened in 1934")[0].text.startswith("Station 1234 ")


def test_no_sources_no_units() -> None:
    assert Index([]).select("anything") == []
    assert Index([Source("S0", "")]).ranked("anything") == []


def test_units_are_exact() -> None:
    assert units(BUSINESS)[2] == Unit("S1", 74, 79, "attributes OutdoorSeating: no", UnitKind.LEAF)
    assert BUSINESS.text[74:79] == "false"
    assert units(TOWER)[0].text == TOWER.text[:33]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(max_size=60), max_size=3), st.text(max_size=40))
def test_any_text_and_any_claim(texts: list[str], claim: str) -> None:
    sources = [Source(f"S{n}", text) for n, text in enumerate(texts)]
    index = Index(sources)
    found = index.select(claim)
    assert found == index.select(claim)
    for unit in found:
        source = sources[int(unit.source[1:])]
        assert source.text[unit.start : unit.end].strip()


def test_coverage_counts_what_the_best_units_hold_together() -> None:
    index = Index([Source("S0", "The tunnel opened in 1998. The tunnel is deep. Bread is good.")])
    whole, best = index.coverage("When did the tunnel open?")
    assert whole == 1.0
    assert index.units[best[0]].text == "The tunnel opened in 1998."
    half, _ = index.coverage("the tunnel of Ruritania")
    assert 0.3 < half < 0.6
    assert index.coverage("Ruritania")[0] == 0.0
    assert index.coverage("of the")[0] == 1.0
    assert Index([]).coverage("the tunnel") == (0.0, [])
