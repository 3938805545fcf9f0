from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundwire.text.tokens import language_hint, normalise, script, similarity, words


@pytest.mark.parametrize(
    "forms",
    [
        ("increase", "increased", "increasing", "Increases"),
        ("company", "companies", "company's"),
        ("stop", "stopped", "stopping"),
        ("win", "won", "winning"),
        ("add", "added", "adding"),
        ("happy", "happily"),
        ("שמאי", "השמאי", "לשמאי", "והשמאי"),
        ("פיצוי", "הפיצויים", "פיצויים"),
        ("העסיק", "העסיקה"),
        ("שָׁלוֹם", "שלום"),
        ("كتاب", "الكتاب", "والكتاب"),
        ("café", "Cafe"),
    ],
)
def test_forms_of_one_word_are_equal(forms: tuple[str, ...]) -> None:
    assert len({normalise(form) for form in forms}) == 1


@pytest.mark.parametrize(
    ("a", "b"), [("university", "universe"), ("Paris", "Parrot"), ("ירד", "עלה"), ("dose", "dozen")]
)
def test_different_words_stay_different(a: str, b: str) -> None:
    assert normalise(a) != normalise(b)


def test_unspaced_scripts_give_pairs_of_characters() -> None:
    assert [w.text for w in words("東京は大きい")][:2] == ["東京", "京は"]


def test_hebrew_acronyms_and_contractions_are_one_word() -> None:
    assert [w.text for w in words("צה\"ל didn't")] == ['צה"ל', "didn't"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The cat sat on the mat.", ("latin", "en")),
        ("Les études sont dans la ville avec les enfants.", ("latin", "latin")),
        ("השמאי קבע פיצוי", ("hebrew", "he")),
        ("مرحبا بالعالم", ("arabic", "ar")),
        ("中国的人口", ("cjk", "cjk")),
        ("Москва слезам не верит", ("other", "other")),
        ("12, 34", ("", "en")),
    ],
)
def test_script_and_language(text: str, expected: tuple[str, str]) -> None:
    assert (script(text), language_hint(text)) == expected


def test_similarity_orders_inflections_before_strangers() -> None:
    assert similarity("organisation", "organization") > similarity("organisation", "orange") > 0


@settings(max_examples=60, deadline=None)
@given(st.text())
def test_offsets_are_exact(text: str) -> None:
    found = words(text)
    assert all(text[w.start : w.end] == w.text and w.norm for w in found)
    assert [w.start for w in found] == sorted(w.start for w in found)
