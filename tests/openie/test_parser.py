"""Sentences as subject, predicate and object."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundwire.openie.lexicon import groups, inverse, is_person, mentions, normal, same
from groundwire.openie.parser import triples
from groundwire.types import Tense

EXAMPLES = {
    "The company was founded in 1847 by James Roberts.": [
        ("The company", "founded in", "1847"),
        ("The company", "founded by", "James Roberts"),
    ],
    "You should contact Sarah from the Analytics team.": [("Sarah", "from", "the Analytics team")],
    "John Smith works in the Marketing department.": [("John Smith", "work in", "the Marketing department")],
    "Acme's CEO is Jane Doe.": [("Acme", "ceo", "Jane Doe")],
    "The capital of France is Paris.": [("France", "capital", "Paris")],
    "The deadline for the report is 3 March.": [("the report", "deadline", "3 March")],
    "The city has a population of 2.1 million.": [("The city", "population", "2.1 million")],
    "The tower is 330 metres tall.": [("The tower", "height", "330 metres")],
    "Alice and Bob work in Sales.": [("Alice", "work in", "Sales"), ("Bob", "work in", "Sales")],
    "John works in Sales and lives in Berlin.": [("John", "work in", "Sales"), ("John", "live in", "Berlin")],
    "Acme, which was founded in 1990, has 20 offices.": [("Acme", "founded in", "1990"), ("Acme", "offices", "20")],
    "The meeting starts at 3 pm on Tuesday.": [
        ("The meeting", "start at", "3 pm"),
        ("The meeting", "start on", "Tuesday"),
    ],
    "These days Ann Lee works in Sales.": [("Ann Lee", "work in", "Sales")],
    "The event happened last year in 2026.": [("The event", "happen", "last year"), ("The event", "happen in", "2026")],
}


@pytest.mark.parametrize("sentence", EXAMPLES)
def test_a_sentence_says_this(sentence: str) -> None:
    assert [(t.subject, t.predicate, t.object) for t in triples(sentence)] == EXAMPLES[sentence]


def test_a_role_is_said_of_both_ends() -> None:
    found = {(t.subject, t.predicate, t.object) for t in triples("Paris is the capital of France.")}
    assert found == {("Paris", "be", "the capital of France"), ("France", "capital", "Paris")}


@pytest.mark.parametrize(
    "sentence",
    [
        "If John works in Marketing, call him.",
        "John might work in Marketing.",
        "She said that John works in Marketing.",
        "Das Unternehmen wurde 1847 gegründet.",
        "החברה נוסדה בשנת 1847.",
        "",
        "1234 5678",
    ],
)
def test_what_is_not_said_gives_nothing(sentence: str) -> None:
    assert triples(sentence) == []


@pytest.mark.parametrize(
    ("sentence", "denied"),
    [
        ("John doesn't work in Sales.", True),
        ("Acme no longer sells printers.", True),
        ("Acme has no office.", True),
        ("John works in Sales.", False),
    ],
)
def test_what_is_denied_is_marked(sentence: str, denied: bool) -> None:
    assert [t.denied for t in triples(sentence)] == [denied]


def test_one_of_two_may_be_denied() -> None:
    assert [t.denied for t in triples("The system is both running and not running.")] == [False, True]


@pytest.mark.parametrize(
    ("sentence", "tense"),
    [
        ("John worked in Sales.", Tense.PAST),
        ("John works in Sales.", Tense.PRESENT),
        ("John will work in Sales.", Tense.FUTURE),
        ("John has been in Sales since May.", Tense.PRESENT),
    ],
)
def test_the_tense_is_the_verbs(sentence: str, tense: Tense) -> None:
    assert triples(sentence)[0].tense is tense


def test_quantifiers_stay_with_the_subject() -> None:
    assert triples("All items were shipped.")[0].quantifier == "all"
    assert triples("Nobody attended the meeting.")[0].quantifier == "no"


@settings(max_examples=150)
@given(
    st.text(max_size=120)
    | st.lists(
        st.sampled_from(
            ["the", "Ann", "Lee", "works", "is", "in", "of", "and", ",", ".", "'s", "not", "who", "5", "team"]
        )
    ).map(" ".join)
)
def test_places_are_exact_whatever_the_text(text: str) -> None:
    for triple in triples(text):
        start, end = triple.object_span
        assert text[start:end] == triple.object
        assert triple.start <= triple.subject_span[0] < triple.subject_span[1] <= triple.end


@settings(max_examples=150)
@given(st.text(max_size=120))
def test_mentions_stand_where_they_say(text: str) -> None:
    for mention in mentions(text):
        assert text[mention.start : mention.end].split() == mention.text.split()


def test_mentions_tell_names_descriptions_and_pronouns() -> None:
    found = [(m.text, m.kind.value) for m in mentions("He asked Ann Lee and the Analytics team.")]
    assert found == [("He", "Pronoun"), ("Ann Lee", "ProperName"), ("the Analytics team", "DefiniteDesc")]


def test_people_are_told_by_their_given_names() -> None:
    assert is_person("Sarah")
    assert is_person("Dr. Lee")
    assert not is_person("Sarah Institute")
    assert not is_person("Analytics")


def test_predicates_meet_in_their_groups() -> None:
    assert same("works_in", "department")
    assert same("founded in", "established")
    assert same("chief executive", "CEO")
    assert not same("founded in", "founded by")
    assert not same("price", "weight")
    assert normal("worksIn") == "work in"
    assert same(inverse("found"), "founder")
    assert groups("number of lions") == frozenset({"number lion"})


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Founded in 2011, Acme sells robots.", ("Acme", "founded in", "2011")),
        ("Ruth Adler founded Acme in 2011.", ("Acme", "founded in", "2011")),
        ("The Falcon came out in June 2022.", ("The Falcon", "come out in", "June 2022")),
        ("The Falcon weighs in at 15 kg.", ("The Falcon", "weigh", "15 kg")),
        ("The quarterly review is on Tuesday.", ("The quarterly review", "be on", "Tuesday")),
        ("Ann works out of the Dublin office.", ("Ann", "work out of", "the Dublin office")),
    ],
)
def test_participles_that_open_and_verbs_of_several_words(text: str, wanted: tuple[str, str, str]) -> None:
    assert wanted in [(t.subject, t.predicate, t.object) for t in triples(text)]
