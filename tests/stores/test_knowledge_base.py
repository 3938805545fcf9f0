"""The contract of a knowledge base, on both databases."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime

import pytest
from tests.knowledge import all_facts

from groundwire.errors import InputError
from groundwire.stores import facts as fact_store
from groundwire.stores.knowledge_base import Knowledge
from groundwire.stores.values import value_of
from groundwire.types import (
    Attribute,
    CoverageProvider,
    Entity,
    Fact,
    FactStatus,
    MatchKind,
    Provenance,
    Record,
    Role,
    Value,
    ValueKind,
)


@pytest.fixture
def kb(store_url: str) -> Iterator[Knowledge]:
    with Knowledge.open(store_url, create=False) as knowledge:
        yield knowledge


def ref(name: str, identity: str = "") -> Value:
    return Value(name, ValueKind.REFERENCE, entity=identity)


def triple(subject: str, predicate: str, obj: str, **more: object) -> Fact:
    roles = (Role("subject", ref(subject)), Role("object", value_of(obj, about=predicate)))
    return replace(Fact("", predicate, roles), **more)  # type: ignore[arg-type]


def objects(facts: list[Fact]) -> list[str]:
    return sorted(value.text for fact in facts if (value := fact.role("object")))


FOUND = {
    "Jane Smith": ("jane-smith", MatchKind.EXACT),
    "jane SMITH": ("jane-smith", MatchKind.EXACT),
    "Jané Smith's": ("jane-smith", MatchKind.EXACT),
    "Janie": ("jane-smith", MatchKind.ALIAS),
    "Dr. Jane Smith": ("jane-smith", MatchKind.ALIAS),
    "the Analytics team": ("analytics", MatchKind.ALIAS),
    "Acme Inc.": ("acme-corporation", MatchKind.ALIAS),
    "Jane Smth": ("jane-smith", MatchKind.FUZZY),
    "Smith, Jane": ("jane-smith", MatchKind.FUZZY),
    "Aplolo 11": ("apollo-11", MatchKind.FUZZY),
    "Kowalski": ("piotr-kowalski", MatchKind.FUZZY),
}
NOT_FOUND = (
    "Apollo 12", "Apollo", "Austria", "York", "Java", "C", "Maria", "Jane", "", "  ", "!", "Zaphod Beeblebrox",
)  # fmt: skip


def test_names_are_found_as_people_write_them_and_others_are_not(kb: Knowledge) -> None:
    fill_names(kb)
    matches = kb.find([*FOUND, *NOT_FOUND])
    assert {name: (match.entity.id, match.kind) for name, match in matches.items()} == FOUND
    assert all(match.score == 1.0 or match.kind is MatchKind.FUZZY for match in matches.values())
    for name, (entity, kind) in FOUND.items():
        alone = kb.find([name])[name]
        assert (alone.entity.id, alone.kind) == (entity, kind)


def fill_names(kb: Knowledge) -> None:
    kb.put_entities(
        [
            Entity("", "Jane Smith", "person", ("Janie",)),
            Entity("", "Jane Doe", "person"),
            Entity("", "Piotr Kowalski", "person"),
            Entity("", "Analytics", "team"),
            Entity("", "Acme Corporation", "company"),
            Entity("", "Apollo 11", "mission"),
            Entity("", "Australia", "country"),
            Entity("", "New York", "city"),
            Entity("", "JavaScript", "language"),
            Entity("", "C++", "language"),
            Entity("", "Mario", "game"),
        ]
    )


def test_without_fuzzy_only_the_name_itself_counts(kb: Knowledge) -> None:
    fill_names(kb)
    assert list(kb.find(["Jane Smth", "Janie", "Janie"], fuzzy=False)) == ["Janie"]


def test_similar_names_come_best_first(kb: Knowledge) -> None:
    fill_names(kb)
    assert [m.entity.name for m in kb.similar("Jane Smyth")] == ["Jane Smith"]
    assert {m.entity.name for m in kb.similar("Jane")} == {"Jane Smith", "Jane Doe"}
    assert len(kb.similar("Jane", limit=1)) == 1
    first = kb.similar("Jane Smith")[0]
    assert (first.kind, first.score) == (MatchKind.EXACT, 1.0)


def test_an_entity_comes_back_as_it_went_in(kb: Knowledge) -> None:
    entity = Entity(
        "e1",
        "Dr. Zoë Müller-Lüdenscheidt 🚀",
        "person",
        ("Zoe", "ז׳ואי"),
        (
            Attribute("born", value_of("March 15, 1980", about="born")),
            Attribute("height", value_of("172 cm")),
            Attribute("speaks", Value("German"), many=True),
            Attribute("speaks", Value("Hebrew"), many=True),
            Attribute("team", ref("Sales"), valid_from=date(2019, 1, 1), valid_to=date(2020, 12, 31)),
            Attribute("team", ref("Analytics"), valid_from=date(2021, 1, 1)),
        ),
    )
    written = kb.put_entity(entity)
    assert kb.put_entity(entity) == written == kb.entities(["e1", "none"])["e1"]
    assert kb.entities(["none"]) == {}
    assert written.values_of("team", date(2020, 5, 1))[0].value == ref("Sales", "sales")
    assert replace(written, attributes=entity.attributes[:4]) == replace(entity, attributes=written.attributes[:4])


def test_an_attribute_with_one_value_takes_the_new_one(kb: Knowledge) -> None:
    kb.put_entity(Entity("", "Ann", "person", (), (Attribute("team", Value("Sales")),)))
    ann = kb.put_entity(Entity("", "Ann", "person", (), (Attribute("team", Value("Analytics")),)))
    assert [a.value.text for a in ann.attributes] == ["Analytics"]


def test_the_same_name_may_be_two_things(kb: Knowledge) -> None:
    fruit = kb.put_entity(Entity("", "Apple", "fruit"))
    company = kb.put_entity(Entity("", "Apple", "company"))
    assert (fruit.id, company.id) == ("apple", "apple@company")
    with pytest.raises(InputError, match="names 2 entities"):
        kb.put_fact(triple("Apple", "founded", "1976"))


def test_an_entity_of_no_type_takes_the_type_that_comes(kb: Knowledge) -> None:
    kb.put_fact(triple("Acme", "founded", "1976"))
    assert kb.put_entity(Entity("", "ACME", "company")) == Entity("acme", "ACME", "company")


def test_the_same_fact_twice_is_one(kb: Knowledge) -> None:
    first = kb.put_fact(triple("Acme", "founded in", "March 15, 1976"))
    again = kb.put_fact(triple("ACME", "founded_in", "1976-03-15", confidence=0.5))
    assert first.id == again.id
    assert kb.stats().facts == 1
    assert again.confidence == 0.5
    assert again.provenance.recorded == first.provenance.recorded


def test_a_new_value_takes_the_place_of_the_old_one(kb: Knowledge) -> None:
    old = kb.put_fact(triple("Acme", "ceo", "Bob"))
    new = kb.put_fact(triple("Acme", "ceo", "Carol"))
    assert objects(kb.facts_about(["acme"])) == ["Carol"]
    assert objects(kb.history(old.id)) == ["Bob", "Carol"]
    gone, stands = kb.history(old.id)
    assert (gone.status, gone.superseded_by) == (FactStatus.SUPERSEDED, new.id)
    assert stands == new
    kb.put_fact(triple("Acme", "ceo", "Bob"))
    assert objects(kb.facts_about(["acme"])) == ["Bob"]


def test_qualified_values_and_many_values_stand_side_by_side(kb: Knowledge) -> None:
    for year, amount in (("2020", "$5 million"), ("2021", "$6 million")):
        fact = triple("Acme", "revenue", amount)
        kb.put_fact(replace(fact, roles=(*fact.roles, Role("year", value_of(year)))))
    kb.put_fact(triple("Ann", "speaks", "German", many=True))
    kb.put_fact(triple("Ann", "speaks", "Hebrew"))
    assert objects(kb.facts_about(["acme"])) == ["$5 million", "$6 million"]
    assert [fact.many for fact in kb.facts_about(["ann"])] == [True, True]


def test_values_of_other_times_stand_side_by_side(kb: Knowledge) -> None:
    kb.put_fact(triple("Acme", "ceo", "Bob", valid_to=date(2015, 6, 30)))
    kb.put_fact(triple("Acme", "ceo", "Carol", valid_from=date(2015, 7, 1)))
    assert objects(kb.facts_about(["acme"])) == ["Bob", "Carol"]


def test_a_fact_comes_back_as_it_went_in(kb: Knowledge) -> None:
    fact = Fact(
        id="deal-7",
        predicate="sold",
        roles=(
            Role("seller", ref("Acme", "acme")),
            Role("buyer", ref("Bob", "bob")),
            Role("goods", Value("tractor")),
            Role("price", value_of("$1,200.50")),
            Role("day", value_of("2024-02-29")),
            Role("witness", ref("Ann", "ann")),
            Role("witness", ref("Zed", "zed")),
        ),
        confidence=0.75,
        status=FactStatus.VERIFIED,
        provenance=Provenance("deeds.txt", 10, 90, datetime(2024, 3, 1, 12, 30, 0, 123456, tzinfo=UTC)),
        record=Record(0.1, 0.99, 3.25, "local"),
        text="Acme sold Bob a tractor.",
        valid_from=date(2024, 2, 29),
    )
    assert kb.put_fact(fact) == fact == kb.fact("deal-7")
    assert kb.facts_about(["zed"]) == [fact] == kb.facts_about(["bob"])
    assert kb.facts_about(["nobody"]) == []


def test_facts_that_name_an_entity_only_as_text_are_about_it_too(kb: Knowledge) -> None:
    kb.put_fact(triple("Ann", "works in", "Analytics"))
    kb.put_entity(Entity("a1", "Analytics", "team"))
    assert objects(kb.facts_about(["a1"])) == ["Analytics"]


def test_a_retracted_fact_is_history(kb: Knowledge) -> None:
    fact = kb.put_fact(triple("Acme", "ceo", "Bob", status=FactStatus.RETRACTED))
    assert kb.facts_about(["acme"]) == []
    assert kb.history(fact.id) == [fact]


def test_what_nobody_verified_takes_nobodys_place_until_it_is(kb: Knowledge) -> None:
    kb.put_fact(triple("Acme", "ceo", "Bob"))
    pending = kb.put_fact(triple("Acme", "ceo", "Carol", status=FactStatus.PENDING, confidence=0.4))
    assert objects(kb.facts_about(["acme"])) == ["Bob"]
    with kb.writing() as connection:
        settled = fact_store.apply_verdict(connection, pending.id, FactStatus.VERIFIED, 0.9, Record(0.1, 0.9, 2.5))
        assert fact_store.apply_verdict(connection, "no", FactStatus.VERIFIED, 1, None) is None
    assert settled is not None
    assert kb.fact(pending.id) == settled
    assert objects(kb.facts_about(["acme"])) == ["Carol"]


def test_a_refused_fact_leaves_no_trace(kb: Knowledge) -> None:
    fact = kb.put_fact(triple("Acme", "ceo", "Carol", status=FactStatus.PENDING))
    with kb.writing() as connection:
        fact_store.remove(connection, fact.id)
        fact_store.remove(connection, fact.id)  # once more does nothing
    assert kb.fact(fact.id) is None
    assert all_facts(kb) == []


def test_facts_are_listed_newest_first_page_by_page(kb: Knowledge) -> None:
    kb.put_many([triple("Ann", "knows", str(n), many=True) for n in range(5)])
    with kb.database.read() as connection:
        first = fact_store.list_facts(connection, limit=3)
        rest = fact_store.list_facts(connection, limit=3, after=first[-1].id)
        pending = fact_store.list_facts(connection, status=FactStatus.PENDING)
    assert [f.role("object").text for f in (*first, *rest)] == ["4", "3", "2", "1", "0"]  # type: ignore[union-attr]
    assert pending == []


BAD = (
    Fact("", "p", ()),
    Fact("", "", (Role("subject", Value("x")),)),
    Fact("", "p", (Role("", Value("x")),)),
    Fact("", "p", (Role("subject", Value("nul\0")),)),
    Fact("", "p", (Role("subject", Value("\ud800")),)),
    Fact("", "p", (Role("subject", Value("x")),), confidence=float("nan")),
    Fact("", "p", (Role("subject", Value("x")),), confidence=1.5),
    Fact("", "p", (Role("n", Value("x", ValueKind.NUMBER, float("inf"))),)),
    Fact("", "p", (Role("n", Value("x")),), provenance=Provenance("", 2**40)),
)


def test_what_cannot_be_kept_is_refused(kb: Knowledge) -> None:
    for bad in BAD:
        with pytest.raises(InputError):
            kb.put_many([triple("Ann", "knows", "Bob"), bad])
    assert kb.stats().facts == 0


def test_long_names_and_values_are_kept_whole(kb: Knowledge) -> None:
    long = "x" * 1900
    kb.put_fact(triple(long, "says", "word " * 20_000))
    assert kb.find([long])[long].entity.name == long
    assert len(objects(all_facts(kb))[0]) == 99_999


def test_it_says_what_it_covers(kb: Knowledge) -> None:
    fill_names(kb)
    kb.put_entity(Entity("", "Ann", "", (), (Attribute("team", Value("Sales")),)))
    kb.put_fact(triple("Mario", "made by", "Nintendo"))
    coverage = kb.coverage()
    assert isinstance(kb, CoverageProvider)
    assert (coverage.types["person"] > 1, coverage.only["game"]) == (True, "mario")
    assert "person" not in coverage.only
    assert coverage.predicates == {"team", "made by"}
    assert kb.values(["SALES"]) == {"SALES"}


def test_the_store_counts_what_it_holds(kb: Knowledge) -> None:
    fill_names(kb)
    kb.put_fact(triple("Mario", "made by", "Nintendo"))
    stats = kb.stats()
    assert (stats.entities, stats.names, stats.facts) == (11, 12, 1)
    assert stats.types["person"] == 3
    assert (stats.predicates, stats.by_status) == ({"made by": 1}, {"asserted": 1})
