"""Which action a flag deserves."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundwire.config import MitigationConfig
from groundwire.types import ActionKind, Flag, HallucinationType
from groundwire.verdicts.repair import guidance, mitigate

TEXT = "Ann works in Sales. The office opened in 1990. Studies show it helps. All is well."
DEFAULT = MitigationConfig()


def flag(
    words: str, confidence: float, kind: HallucinationType = HallucinationType.WRONG_ATTRIBUTE, correction: str = ""
) -> Flag:
    start = TEXT.index(words)
    end = start + len(words)
    return Flag(kind, start, end, words, confidence, correction=correction, fix=(start, end) if correction else None)


def test_a_sure_flag_with_a_known_value_is_corrected() -> None:
    (action,) = mitigate([flag("Sales", 0.85, correction="Engineering")], TEXT, DEFAULT)
    assert action.kind is ActionKind.CORRECT
    assert (action.original, action.replacement) == ("Sales", "Engineering")


def test_a_sure_flag_without_one_removes_the_sentence() -> None:
    (action,) = mitigate([flag("1990", 0.85)], TEXT, DEFAULT)
    assert action.kind is ActionKind.REMOVE
    assert TEXT[action.start : action.end] == "The office opened in 1990."


@pytest.mark.parametrize(
    ("confidence", "kind"), [(0.49, ActionKind.NONE), (0.5, ActionKind.FLAG), (0.79, ActionKind.FLAG)]
)
def test_a_doubt_is_remarked_or_left(confidence: float, kind: ActionKind) -> None:
    (action,) = mitigate([flag("Studies show", confidence)], TEXT, DEFAULT)
    assert action.kind is kind


def test_a_conflict_between_two_sentences_removes_neither() -> None:
    wide = Flag(HallucinationType.LOGICAL_INCONSISTENCY, 0, 46, TEXT[:46], 0.95)
    (action,) = mitigate([wide], TEXT, DEFAULT)
    assert action.kind is ActionKind.FLAG


def test_three_severe_flags_ask_for_the_whole_response_again() -> None:
    flags = [flag(words, 0.95) for words in ("Sales", "1990", "Studies")]
    (action,) = mitigate(flags, TEXT, DEFAULT)
    assert action.kind is ActionKind.REGENERATE
    assert "1. Verify attribute: 'Sales'" in action.guidance
    (again,) = mitigate(flags, TEXT, DEFAULT, attempt=1)
    assert again.kind is ActionKind.ESCALATE
    assert "3 severe flags" in again.reason


def test_more_corrections_than_allowed_are_only_remarked() -> None:
    flags = [flag("Sales", 0.85, correction="Legal"), flag("1990", 0.84, correction="1991")]
    kinds = [a.kind for a in mitigate(flags, TEXT, MitigationConfig(max_corrections=1))]
    assert kinds == [ActionKind.CORRECT, ActionKind.FLAG]


def test_two_authorities_that_disagree_call_a_person() -> None:
    flags = [flag("Sales", 0.85, correction="Legal"), flag("Sales", 0.84, correction="Engineering")]
    assert {a.kind for a in mitigate(flags, TEXT, DEFAULT)} == {ActionKind.ESCALATE}


def test_guidance_names_at_most_five_and_the_evidence() -> None:
    told = guidance([flag("Sales", 0.9, HallucinationType.CONTRADICTS_FACT)] * 7)
    assert told.count("\n") == 5
    assert "contradicts known facts" in told


@given(st.lists(st.floats(0, 1), max_size=12), st.integers(0, 3))
@settings(max_examples=60)
def test_every_flag_has_an_action_or_the_whole_has_one(confidences: list[float], attempt: int) -> None:
    flags = [flag("1990", confidence) for confidence in confidences]
    actions = mitigate(flags, TEXT, DEFAULT, attempt)
    assert len(actions) in (1, len(flags))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("The plant opened in 1990, and Gregory Mills runs it.", ActionKind.FLAG),
        ("The plant opened in 1990; ask Gregory Mills.", ActionKind.FLAG),
        ("Ask Gregory Mills for a tour of the plant.", ActionKind.REMOVE),
        ("Sorry, but Gregory Mills runs it.", ActionKind.REMOVE),
    ],
)
def test_a_sentence_that_says_more_is_not_removed(text: str, kind: ActionKind) -> None:
    start = text.index("Gregory Mills")
    named = Flag(HallucinationType.NONEXISTENT_ENTITY, start, start + 13, "Gregory Mills", 0.85)
    (action,) = mitigate([named], text, DEFAULT)
    assert action.kind is kind
