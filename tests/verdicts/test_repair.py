"""Several edits at once, and the way back."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundwire.types import Action, ActionKind
from groundwire.verdicts.repair import apply, diff, restore

TEXT = "Ann is an engineer. Bo is a lawyer. They met in 1990."


def correct(words: str, by: str, text: str = TEXT) -> Action:
    start = text.index(words)
    return Action(ActionKind.CORRECT, start, start + len(words), words, by)


def remove(words: str, text: str = TEXT) -> Action:
    start = text.index(words)
    return Action(ActionKind.REMOVE, start, start + len(words), words)


def remark(words: str, said: str = "[doubtful]", text: str = TEXT) -> Action:
    start = text.index(words)
    return Action(ActionKind.FLAG, start, start + len(words), annotation=said)


def test_offsets_hold_under_several_edits() -> None:
    repair = apply([correct("1990", "2001"), correct("lawyer", "accountant"), remark("engineer")], TEXT)
    assert repair.text == "Ann is an engineer. [doubtful] Bo is an accountant. They met in 2001."
    for edit in repair.edits:
        assert repair.text[edit.new_start : edit.new_end] == edit.after
        assert TEXT[edit.start : edit.end] == edit.before
    assert restore(repair.text, repair.edits) == TEXT


def test_the_article_follows_the_word() -> None:
    assert apply([correct("engineer", "lawyer")], TEXT).text.startswith("Ann is a lawyer.")
    assert apply([correct("engineer", "1st mate")], TEXT).text.startswith("Ann is an 1st mate.")


@pytest.mark.parametrize(
    ("words", "left"),
    [
        ("Ann is an engineer.", "Bo is a lawyer. They met in 1990."),
        ("Bo is a lawyer.", "Ann is an engineer. They met in 1990."),
        ("They met in 1990.", "Ann is an engineer. Bo is a lawyer."),
    ],
)
def test_a_removed_sentence_leaves_no_hole(words: str, left: str) -> None:
    assert apply([remove(words)], TEXT).text == left


def test_a_list_item_goes_with_its_line() -> None:
    text = "Staff:\n- Ann leads.\n- Bo cooks.\n- Cy sings.\n"
    assert apply([remove("Bo cooks.", text)], text).text == "Staff:\n- Ann leads.\n- Cy sings.\n"


def test_removal_swallows_what_stands_inside() -> None:
    repair = apply([correct("1990", "2001"), remark("1990"), remove("They met in 1990.")], TEXT)
    assert repair.text == "Ann is an engineer. Bo is a lawyer."


def test_the_same_remark_stands_once() -> None:
    assert apply([remark("1990"), remark("1990")], TEXT).text.count("[doubtful]") == 1


def test_the_diff_shows_the_sentences_that_changed() -> None:
    lines = diff(apply([correct("1990", "2001")], TEXT)).splitlines()
    assert "-They met in 1990." in lines
    assert "+They met in 2001." in lines
    assert not any("Ann" in line for line in lines)


_ACTIONS = st.builds(
    lambda kind, a, b, words: Action(kind, min(a, b), max(a, b), replacement=words, annotation=words),
    st.sampled_from(list(ActionKind)),
    st.integers(0, 60),
    st.integers(0, 60),
    st.text(max_size=8),
)


@given(st.text(min_size=60, max_size=90), st.lists(_ACTIONS, max_size=8))
@settings(max_examples=150)
def test_the_original_always_comes_back(text: str, actions: list[Action]) -> None:
    repair = apply(actions, text)
    assert restore(repair.text, repair.edits) == text
    assert all(repair.text[e.new_start : e.new_end] == e.after for e in repair.edits)


@pytest.mark.parametrize(
    ("text", "words", "by", "repaired"),
    [
        ("It is at 2 p.m. We meet then.", "2 p.m.", "10 am", "It is at 10 am. We meet then."),
        ("It is at 2 p.m.", "2 p.m.", "10 am", "It is at 10 am."),
        ("It is at 2 pm.", "2 pm", "10 a.m.", "It is at 10 a.m."),
        ("It is at 2 p.m. in Oslo.", "2 p.m.", "10 am", "It is at 10 am in Oslo."),
        ("It is at 2 p.m. sharp.", "2 p.m", "10 am", "It is at 10 am sharp."),
        ("It is at 2 p.m.", "2 p.m", "10 am", "It is at 10 am."),
    ],
)
def test_a_sentence_ends_with_one_point(text: str, words: str, by: str, repaired: str) -> None:
    repair = apply([correct(words, by, text)], text)
    assert repair.text == repaired
    assert restore(repair.text, repair.edits) == text


@pytest.mark.parametrize(
    ("text", "words", "by", "repaired"),
    [
        ("It is in June 2027.", "June 2027", "12 May 2027", "It is on 12 May 2027."),
        ("On 3 May 2026 it opened.", "3 May 2026", "1999", "In 1999 it opened."),
        ("It is in 2027.", "2027", "2026", "It is in 2026."),
        ("She works in Sales.", "Sales", "Legal", "She works in Legal."),
        ("She lives in May Street.", "May Street", "March Street", "She lives in March Street."),
    ],
)
def test_a_day_stands_behind_on_and_a_month_behind_in(text: str, words: str, by: str, repaired: str) -> None:
    repair = apply([correct(words, by, text)], text)
    assert repair.text == repaired
    assert restore(repair.text, repair.edits) == text


@pytest.mark.parametrize(
    ("text", "words", "by", "repaired"),
    [
        ("It has 600 employees.", "600", "420 people", "It has 420 employees."),
        ("It employs 600 people at two sites.", "600", "420 people", "It employs 420 people at two sites."),
        ("It employs 600.", "600", "420 people", "It employs 420 people."),
        ("It weighs 15 in all.", "15", "12 kg", "It weighs 12 kg in all."),
    ],
)
def test_what_is_counted_is_said_once(text: str, words: str, by: str, repaired: str) -> None:
    repair = apply([correct(words, by, text)], text)
    assert repair.text == repaired
    assert restore(repair.text, repair.edits) == text
