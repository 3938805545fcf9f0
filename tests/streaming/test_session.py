"""What a request needs to know, where that is, and what to do where it is not."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.knowledge import MemoryKnowledge

from groundwire.requests import as_turns
from groundwire.streaming.session import is_unanswerable, kind_of, needs, questions, verify_knowledge
from groundwire.types import Attribute, Entity, Fact, Role, Source, Value
from groundwire.types.stream import Alternative, Context

SOURCES = (
    Source("atlas", "Atlas Mining was founded in 1998 by Mara Lind. Atlas Mining failed in 2015 after a flood."),
    Source("pay", "The Analytics team has 14 members. The budget of the Borealis project is 3 million euros."),
    Source("he", "חברת אקמה הוקמה בשנת 1987 על ידי דנה לוי. החברה עברה לחיפה."),
)  # fmt: skip
HERE = Context(SOURCES)


@pytest.mark.parametrize(
    "request_",
    [
        "Hi there!", "hello, how are you today?", "Thanks so much!", "שלום, מה שלומך?", "", "???",
        "Write a poem about the sea", "Can you come up with a slogan for my bakery?", "כתוב לי שיר על הים",
        "Write a Python function that reverses a list",
        "Summarize the following text:\nThe quick brown fox jumps over the lazy dog again.",
        "Translate 'good morning' to French", "Can you explain this code?\n```py\nx = 1\n```", "What is 17 * 23?",
    ],
)  # fmt: skip
def test_small_talk_inventions_and_errands_on_given_text_need_nothing(request_: str) -> None:
    found = verify_knowledge(request_, Context())
    assert found.verified
    assert found.requirements == ()


@pytest.mark.parametrize(
    ("request_", "place"),
    [
        ("When was Atlas Mining founded?", "atlas"),
        ("Who founded Atlas Mining?", "atlas"),
        ("Why did Atlas Mining fail?", "atlas"),
        ("How many members does the Analytics team have?", "pay"),
        ("מתי הוקמה חברת אקמה?", "he"),
        ("מי ייסד את חברת אקמה ומתי?", "he"),
    ],
)
def test_what_the_sources_hold_is_found_there(request_: str, place: str) -> None:
    found = verify_knowledge(request_, HERE)
    assert found.verified
    assert found.missing == ()
    assert found.requirements[0].found_in == "sources"
    assert found.requirements[0].place.startswith(place)


@pytest.mark.parametrize(
    ("request_", "lost"),
    [
        ("When was Zenith Shipping founded?", "Zenith Shipping"),
        ("How much does the Pixel 5 cost?", "Pixel"),
        ("Why did the Borealis project win an award?", "win an award"),
        ("מתי הוקמה חברת נובל?", "נובל"),
    ],
)
def test_what_they_do_not_hold_is_missing(request_: str, lost: str) -> None:
    found = verify_knowledge(request_, HERE)
    assert not found.verified
    assert any(lost in requirement.text for requirement in found.missing)
    assert found.alternatives[-1][0] is Alternative.DECLINE


def test_a_question_for_a_number_is_not_met_by_talk_about_the_matter() -> None:
    talk = Context((Source("s", "The harbour of Riva employs fishermen. They like the harbour."),))
    assert not verify_knowledge("How many fishermen does the harbour of Riva employ?", talk).verified


def test_a_premise_must_be_said_somewhere() -> None:
    found = verify_knowledge("Why did Atlas Mining move to Norway?", HERE)
    premises = [r for r in found.missing if r.kind == "premise"]
    assert [(p.explicit, p.text) for p in premises] == [(False, "Atlas Mining move to Norway")]
    assert any(kind is Alternative.ASK and "Norway" in said for kind, said in found.alternatives)


@pytest.mark.parametrize(
    "known",
    [
        "The tower stands in Tallinn. The tower is 310 metres tall.",
        "The tower is tall. The tower did not collapse.",
        "The tower never collapsed.",
        "The tower was completed in 1889. It stands in Tallinn and is 310 metres tall.",
        "The tower was completed in 1889. It has never collapsed.",
    ],
)
def test_a_question_with_a_false_premise_is_caught_before_generation(known: str) -> None:
    context = Context((Source("s", known),))
    found = verify_knowledge("Why did the tower collapse?", context)
    (premise,) = [r for r in found.missing if r.kind == "premise"]
    assert (premise.text, premise.explicit, premise.place[:2]) == ("the tower collapse", True, "s[")
    assert is_unanswerable(found, context)


def test_a_false_premise_is_caught_by_the_knowledge_base() -> None:
    tower = Entity("tower", "Norvale tower", attributes=(Attribute("status", Value("standing")),))
    context = Context(kb=MemoryKnowledge([tower]))
    found = verify_knowledge("Why did the Norvale tower collapse?", context)
    assert [r.place for r in found.missing if r.kind == "premise"] == ["Norvale tower: status"]
    assert is_unanswerable(found, context)


@pytest.mark.parametrize(
    "known",
    [
        "The tower collapsed in 1987, since it was not maintained.",
        "The tower stood for a century. The tower collapsed in 1987.",
        "The tower was completed in 1889. It collapsed in 1987.",
        "The tower was completed in 1889. It stood for a century. It collapsed in 1987.",
    ],
)
def test_a_true_premise_is_no_gap(known: str) -> None:
    context = Context((Source("s", known),))
    assert not is_unanswerable(verify_knowledge("Why did the tower collapse?", context), context)


@pytest.mark.parametrize(
    ("asked", "known"),
    [
        ("Why was the tower demolished?", "The tower was completed in 1889. It stands in Tallinn and is open daily."),
        ("Why was the tower demolished?", "The tower was never torn down. It was restored in 1990."),
        ("Why was the tower torn down?", "The tower is used as a museum."),
        ("Why did the museum close?", "The museum is open daily from 9 to 17."),
        ("Why was the law repealed?", "The law remains in force."),
        ("Why did the company go bankrupt?", "The company operates in 12 countries."),
        ("Why was the bridge destroyed?", "The bridge still carries 20,000 cars a day."),
    ],
)
def test_a_question_why_something_is_no_more_is_caught_where_sources_say_it_still_is(asked: str, known: str) -> None:
    context = Context((Source("s", known),))
    found = verify_knowledge(asked, context)
    assert [r.explicit for r in found.missing if r.kind == "premise"] == [True]
    assert is_unanswerable(found, context)


@pytest.mark.parametrize(
    ("asked", "known"),
    [
        ("Why was the tower demolished?", "The tower was demolished in 1987 because it was unsafe."),
        ("Why was the tower demolished?", "The tower was torn down in 1987. A new tower stands there today."),
        ("Why was the law repealed?", "The law was abolished in 2010, since nobody obeyed it."),
        ("Why is the shop closed on Sundays?", "The shop is closed on Sundays by law. It is open on Saturdays."),
        ("Why is the tower famous?", "The tower stands in Tallinn. It is famous for its clock."),
    ],
)
def test_what_a_source_says_has_ended_in_whatever_words_is_no_false_premise(asked: str, known: str) -> None:
    found = verify_knowledge(asked, Context((Source("s", known),)))
    assert not any(r.kind == "premise" and r.explicit for r in found.missing)


def test_a_comparison_needs_both_sides() -> None:
    found = verify_knowledge("Compare Atlas Mining and Zenith Shipping", HERE)
    assert [(r.text, bool(r.found_in)) for r in found.requirements if r.kind == "side"] == [
        ("Atlas Mining", True),
        ("Zenith Shipping", False),
    ]
    assert Alternative.NARROW in dict(found.alternatives)
    assert Alternative.RETRIEVE in dict(found.alternatives)


def test_several_questions_are_looked_up_one_by_one() -> None:
    found = verify_knowledge("Who founded Atlas Mining and what is the wifi password?", HERE)
    asked = {r.text: r.found_in for r in found.requirements if r.explicit}
    assert asked == {"Who founded Atlas Mining": "sources", "what is the wifi password?": ""}


def test_a_pronoun_needs_somebody_it_can_mean() -> None:
    alone = verify_knowledge("When was it built?", Context(SOURCES))
    assert [(r.kind, r.text) for r in alone.missing if r.kind == "referent"] == [("referent", "it")]
    assert alone.alternatives[0] == (Alternative.ASK, 'Ask what "it" refers to.')
    said = as_turns([{"role": "user", "content": "I like the Eiffel Tower."}])
    known = verify_knowledge("When was it built?", Context((Source("s", "The Eiffel Tower was built in 1889."),
                                                            Source("t", "Bread.")), said))  # fmt: skip
    assert known.verified


def test_what_was_said_before_is_working_memory() -> None:
    said = as_turns([{"role": "user", "content": "My budget is 400 euros."}, {"role": "assistant", "content": "Ok."}])
    found = verify_knowledge("What is my budget?", Context(history=said))
    assert [(r.found_in, r.place) for r in found.requirements] == [("memory", "turn 1")]


def test_a_question_asked_before_tells_nothing() -> None:
    said = as_turns([{"role": "user", "content": "When was Zenith Shipping founded?"}])
    assert not verify_knowledge("When was Zenith Shipping founded?", Context(history=said)).verified


def test_what_is_known_is_found_in_the_knowledge_base() -> None:
    zenith = Entity("e1", "Zenith Shipping", attributes=(Attribute("founding year", Value("1901")),))
    moved = Fact("f1", "moved_to", (Role("subject", Value("Zenith Shipping", entity="e1")),
                                    Role("object", Value("Rotterdam"))))  # fmt: skip
    context = Context(kb=MemoryKnowledge([zenith], [moved]))
    place = {
        request: verify_knowledge(request, context).requirements[0].place
        for request in ("Tell me about Zenith Shipping.", "Where did Zenith Shipping move?")
    }
    assert list(place.values()) == ["Zenith Shipping", "Zenith Shipping: moved_to"]
    assert not verify_knowledge("Who insures Zenith Shipping?", context).verified


def test_with_nothing_at_hand_every_question_lacks_its_answer() -> None:
    found = verify_knowledge("When was Atlas Mining founded?", Context())
    assert not found.verified
    assert {kind for kind, _ in found.alternatives} == {Alternative.RETRIEVE, Alternative.DECLINE}


def test_hebrew_requests_are_answered_in_hebrew() -> None:
    found = verify_knowledge("מתי הוקמה חברת נובל?", HERE)
    assert all(any("א" <= letter <= "ת" for letter in said) for _, said in found.alternatives)


@given(st.text(max_size=300))
@settings(max_examples=60, deadline=None)
def test_any_text_is_a_request(request_: str) -> None:
    found = verify_knowledge(request_, HERE)
    assert found.verified == (not found.missing)
    assert bool(found.alternatives) == (not found.verified)
    assert len(needs(request_)) <= 12
    assert kind_of(request_)


def test_a_megabyte_of_request_is_read_at_its_ends() -> None:
    assert questions("word " * 200_000 + "? When was Atlas Mining founded?")[-1] == "When was Atlas Mining founded?"


def test_of_a_long_conversation_the_latest_is_remembered() -> None:
    said = as_turns([{"role": "user", "content": f"My door {n} is green."} for n in range(3000)])
    found = verify_knowledge("What is my door 2999 painted?", Context(history=said))
    assert found.requirements[0].place == "turn 3000"
    assert verify_knowledge("word " * 200_000 + "? Who is Zork Blatt?", Context(history=said)).missing


@pytest.mark.parametrize(
    "request_",
    ["Summarise this.", "Explain the text in simple words.", "Translate it to French.", "List three facts.",
     "Give me the key points.", "Can you summarize the attached document?", "What does the article say?", "סכם את המסמך"],
)  # fmt: skip
def test_an_errand_on_what_is_at_hand_needs_only_that(request_: str) -> None:
    assert verify_knowledge(request_, HERE).verified
    alone = verify_knowledge(request_, Context())
    assert [r.kind for r in alone.missing] == ["material"]
    assert alone.alternatives[0][0] is Alternative.ASK


@pytest.mark.parametrize("request_", ["List three facts about Zenith Shipping.", "List three facts about volcanoes."])
def test_an_errand_about_something_is_a_question(request_: str) -> None:
    assert not verify_knowledge(request_, HERE).verified
