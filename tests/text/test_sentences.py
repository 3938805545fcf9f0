"""Sentences: where they end, where they do not, and that their offsets are exact."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundwire.text.sentences import sentences


def cut(text: str) -> list[str]:
    return [text[span.start : span.end] for span in sentences(text)]


@pytest.mark.spec("SPEC-08.07")
@pytest.mark.parametrize(
    "text",
    [
        "Dr. Smith and Prof. Wu met Mr. and Mrs. J. R. R. Tolkien.",
        "Fruit, e.g. apples, i.e. what grows on trees, is cheap.",
        "The U.S. economy grew by 3.5 percent vs. 2.1 percent before.",
        "It was signed on 15.03.2023 at 10.30 a.m. by both sides.",
        "Am 15. März 2023 wurde es unterschrieben.",
        "See Fig. 3, No. 5 and pp. 12 of the report.",
        "Apple Inc. announced version 1.2.3 of file.txt on example.com.",
        "He waited... and waited … until dawn.",
        '"Really?" she asked.',
        "Yahoo! is a company.",
        "Write to a.b@example.org or see https://example.org/a.b?c=d.e for more.",
        "Restaurants in Goleta, CA are open.",
        "Hello . . . world . . . again.",
    ],
)
def test_one_sentence_stays_one(text: str) -> None:
    assert cut(text) == [text]


@pytest.mark.spec("SPEC-08.07")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It is in the U.S. The end.", ["It is in the U.S.", "The end."]),
        ("Select statements run in 3 ms. The rest is slow.", ["Select statements run in 3 ms.", "The rest is slow."]),
        ("It lies in Goleta, CA. The food is good.", ["It lies in Goleta, CA.", "The food is good."]),
        ("Is it so? No. It is not!", ["Is it so?", "No.", "It is not!"]),
        ("What?! Yes!! Fine… Good.", ["What?!", "Yes!!", "Fine…", "Good."]),
        (
            "He said “Go.” Then he left. (It was late.) All slept.",
            ["He said “Go.”", "Then he left.", "(It was late.)", "All slept."],
        ),
        ("1. First point. 2. Second point.", ["1. First point.", "2. Second point."]),
        ("the capital is paris. it has many people.", ["the capital is paris.", "it has many people."]),
        ("That is the end.The next one follows.", ["That is the end.", "The next one follows."]),
        ("One • two things • three", ["One", "• two things", "• three"]),
    ],
)
def test_sentences_end_where_a_reader_says(text: str, expected: list[str]) -> None:
    assert cut(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('השמאי קבע פיצוי של 50,000 ש"ח. זה נפוץ. האם כן?', ['השמאי קבע פיצוי של 50,000 ש"ח.', "זה נפוץ.", "האם כן?"]),
        ("هذا نص. هل هذا سؤال؟ نعم.", ["هذا نص.", "هل هذا سؤال؟", "نعم."]),
        ("یہ ہے۔ وہ تھا۔", ["یہ ہے۔", "وہ تھا۔"]),
        ("北京是首都。上海很大！真的吗？", ["北京是首都。", "上海很大！", "真的吗？"]),
        ("「行く。」と言った。帰った。", ["「行く。」と言った。", "帰った。"]),
        ("यह है। वह था।", ["यह है।", "वह था।"]),
        ("Первый был здесь. Второй ушёл.", ["Первый был здесь.", "Второй ушёл."]),
    ],
)
def test_other_scripts(text: str, expected: list[str]) -> None:
    assert cut(text) == expected


def test_a_citation_after_the_stop_belongs_to_the_sentence_before() -> None:
    text = "Paris is big.[1] Rome is old. [S2][3] Milan is rich.¹ So it goes. [2] says that it rains."
    assert cut(text) == [
        "Paris is big.[1]",
        "Rome is old. [S2][3]",
        "Milan is rich.¹",
        "So it goes.",
        "[2] says that it rains.",
    ]


def test_marks_that_lead_stay_with_what_they_lead() -> None:
    assert cut("[1] One thing. [2] Two things.") == ["[1] One thing.", "[2] Two things."]


def test_a_soft_wrap_is_no_end_and_a_line_of_its_own_is_one() -> None:
    wrapped = (
        "This line is rather long since it was wrapped by an\nEditor at some fifty characters, which\nmany do. End."
    )
    assert cut(wrapped) == [wrapped[:-5], "End."]
    assert cut("A title\nThe first sentence.\nname: x\nage: 5") == [
        "A title",
        "The first sentence.",
        "name: x",
        "age: 5",
    ]
    assert cut("one\n\ntwo\r\n\r\nthree") == ["one", "two", "three"]


PROSE = st.text(alphabet=st.sampled_from("aB9 .!?…\"'()[]1\n\t。؟אب,;:•-"), max_size=120)


@pytest.mark.spec("SPEC-16.37")
@settings(max_examples=150, deadline=None)
@given(st.one_of(PROSE, st.text(max_size=80)))
def test_spans_are_exact_ordered_and_leave_only_blanks(text: str) -> None:
    at = 0
    for span in sentences(text):
        assert at <= span.start < span.end <= len(text)
        assert not text[at : span.start].strip()
        assert text[span.start : span.end].strip() == text[span.start : span.end]
        at = span.end
    assert not text[at:].strip()


@pytest.mark.spec("SPEC-16.38")
@pytest.mark.parametrize("piece", [".", ". ", "A. ", ".[", ".)", "[", ".[1", ". [1]", "\n", "a\n", '." ', "¹", "x"])
def test_time_grows_with_length_only(piece: str) -> None:
    # A quadratic step would need minutes for this, not a moment.
    assert len(sentences(piece * (200_000 // len(piece)))) <= 200_000
