"""Conditionals of every make come out as the one form."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.verifiers.logic.conditions import ANYONE, Implication, Literal, literals, read

TALL_IS_KIND = {Implication((Literal(ANYONE, "is tall"),), (Literal(ANYONE, "is kind"),))}
KIND_IS_TALL = {Implication((Literal(ANYONE, "is kind"),), (Literal(ANYONE, "is tall"),))}


@pytest.mark.parametrize(
    "sentence",
    [
        "If someone is tall, then he is kind.",
        "If somebody is tall, they are kind.",
        "If there is someone who is tall, then he is kind.",
        "If a person is tall, then that person is kind.",
        "Someone is kind if he is tall.",
        "Someone is tall only if he is kind.",
        "Whenever someone is tall, he is kind.",
        "As long as someone is tall, he is kind.",
        "All tall people are kind.",
        "Every tall person is kind.",
        "Everyone who is tall is kind.",
        "Someone who is tall is always kind.",
        "Whoever is tall is kind.",
        "Those who are tall are kind.",
        "It can be concluded that someone is kind once knowing that he is tall.",
        "Someone being tall implies that he is kind.",
        "Someone being tall implies being kind.",
        "If there is at least one person who is tall , then he is kind.",
        "The fact that someone is tall means that he is kind.",
        "It follows from someone being tall that he is kind.",
        "No one who is tall is not kind.",
        "Unless someone is not tall, he is kind.",
    ],
)
def test_many_ways_to_say_one_rule(sentence: str) -> None:
    assert set(read(sentence)) == TALL_IS_KIND


@pytest.mark.parametrize(
    "sentence",
    [
        "Someone is tall if and only if he is kind.",
        "Someone being tall is equivalent to being kind.",
        "If someone is tall, then he is kind, and vice versa.",
        "If someone is tall, he is kind, and vice versa.",
        "Someone who is tall is always kind and vice versa.",
        "Someone being tall is equivalent to him being kind.",
    ],
)
def test_both_ways(sentence: str) -> None:
    assert set(read(sentence)) == TALL_IS_KIND | KIND_IS_TALL


@pytest.mark.parametrize(
    ("sentence", "body", "head", "holds"),
    [
        ("All members get a discount.", "is member", "get discount", True),
        ("All fish can swim.", "is fish", "can swim", True),
        ("Metals conduct electricity.", "is metal", "conduct electricity", True),
        ("Whales are mammals.", "is whale", "is mammal", True),
        ("A whale is a mammal.", "is whale", "is mammal", True),
        ("Each gold member gets a gift.", "is gold member", "get gift", True),
        ("No guests are members.", "is guest", "is member", False),
        ("No guest gets a gift.", "is guest", "get gift", False),
        ("Only members get a gift.", "get gift", "is member", True),
        ("Every driver must have a licence.", "is driver", "must have licence", True),
    ],
)
def test_what_is_said_of_kinds(sentence: str, body: str, head: str, holds: bool) -> None:
    assert read(sentence) == (Implication((Literal(ANYONE, body),), (Literal(ANYONE, head, holds),)),)


def test_some_of_a_kind() -> None:
    body = (Literal(ANYONE, "is member"), Literal(ANYONE, "have card"))
    for sentence in ("Members who have a card can vote.", "Every member that has a card can vote."):
        assert read(sentence) == (Implication(body, (Literal(ANYONE, "can vote"),)),)


@pytest.mark.parametrize(
    "sentence",
    [
        "If a ticket is unused, it is refundable.",
        "A ticket is refundable if it is unused.",
        "A ticket is unused only if it is refundable.",
        "If there is a ticket that is unused, the ticket is refundable.",
    ],
)
def test_what_a_kind_is_stays_a_condition(sentence: str) -> None:
    body = (Literal(ANYONE, "is ticket"), Literal(ANYONE, "is unused"))
    assert read(sentence) == (Implication(body, (Literal(ANYONE, "is refundable"),)),)


def test_all_of_a_condition_and_any_of_it() -> None:
    a, b, c = Literal("ana", "is tall"), Literal("bo", "is old"), Literal("the door", "is open")
    assert read("If Ana is tall and Bo is old, the door is open.") == (Implication((a, b), (c,)),)
    assert read("If Ana is tall or Bo is old, the door is open.") == (Implication((a,), (c,)), Implication((b,), (c,)))
    assert read("If the door is open, Ana is tall and Bo is old.") == (Implication((c,), (a,)), Implication((c,), (b,)))
    assert read("If the door is open, Ana is tall or Bo is old.") == (Implication((c,), (a, b)),)
    assert read("Ana is tall or Bo is old.") == (Implication((), (a, b)),)


@pytest.mark.parametrize(
    "sentence",
    [
        "If it rains, the road is wet.",
        "A contract is not binding if a party is a minor.",
        "If someone is tall, someone is kind.",
        "If Ana is tall, someone is kind.",
        "Someone is tall.",
        "Even if Ana is tall, Bo is kind.",
        "Ana is tall even if Bo is kind.",
        "The door is open except when Ana is in.",
        "Unless everyone is tall, Ana is kind.",
        "Unless someone is tall, Ana is kind.",
        "Members who came late do not get tea.",
        "Ana who is tall is kind.",
        "If Ana were tall, she would be kind.",
        "If Ana is tall, she may be kind.",
        "If Ana is tall and Bo is old or kind, Cy is tall.",
        "Not everyone is tall.",
        "If nobody is tall or old, Ana is kind.",
        "If there is nobody who is tall or old, Ana is kind.",
        "Ana is tall and vice versa.",
        "Most members get a discount.",
        "A man is walking.",
        "Two people are kind.",
        "Is Ana tall?",
        "Ana: tall",
        "If " + "very " * 100 + "tall, Ana is kind.",
        "If you are a member, call us.",
    ],
)
def test_what_it_does_not_understand_it_leaves(sentence: str) -> None:
    assert read(sentence) == ()


def test_sentences_that_were_not_cut_apart() -> None:
    assert read("Ana is tall. if someone is tall, he is kind.") == (*read("Ana is tall."), *TALL_IS_KIND)
    assert read("Ana is tall. perhaps he is kind.") == ()


def test_what_some_are_doing_is_no_rule() -> None:
    assert not any(rule.body for rule in read("Men are walking."))


def test_only_plain_sentences_about_named_things_are_claims() -> None:
    assert literals("Ana is tall and the pump is not running.") == (
        Literal("ana", "is tall"),
        Literal("the pump", "is running", False),
    )
    for other in ("Everyone is tall.", "All members are tall.", "Ana is tall or old.", "Is it?", ""):
        assert literals(other) == ()


WORDS = ["If", "if", ",", "then", "and", "or", "not", "all", "no", "who", "is", "a", "the", "Ana", "he", "unless"]


@given(st.text(max_size=400) | st.lists(st.sampled_from(WORDS), max_size=60).map(" ".join))
def test_any_text_is_read_or_left(text: str) -> None:
    for rule in read(text):
        assert rule.head
        assert all(part.subject and part.predicate for part in rule.parts)
