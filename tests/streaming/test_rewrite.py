"""Rewording by rule: Markdown stays whole, the original can be had back, in English and Hebrew."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groundwire.claims.extractor import extract
from groundwire.config import RiskAction
from groundwire.streaming.protocol import cut_at, limits, reworded, stopped
from groundwire.types import Claim, ClaimKind, ClaimVerification, EvidenceRef, GapType, Repair, Risk, Status
from groundwire.types.stream import Alternative, KnowledgeCheck, Requirement, WeakPoint
from groundwire.verdicts.judge import unchecked
from groundwire.verdicts.repair import restore

REPHRASE: dict[Risk, RiskAction] = {Risk.LOW: "none", Risk.MEDIUM: "rephrase", Risk.HIGH: "rephrase"}
MARK: dict[Risk, RiskAction] = {Risk.LOW: "mark", Risk.MEDIUM: "mark", Risk.HIGH: "mark"}


def weak(text: str, *ids: str, kind: str = "unsupported", risk: Risk = Risk.MEDIUM) -> list[WeakPoint]:
    """Weak points at the claims with these ids; at all claims without."""
    found = [c for c in extract(text) if c.kind is ClaimKind.ASSERTION]
    return [WeakPoint(c.text, c.start, c.end, kind, risk) for c in found if not ids or c.id in ids]


def rephrased(text: str, *ids: str, kind: str = "unsupported") -> str:
    made = reworded(text, (), weak(text, *ids, kind=kind), REPHRASE)
    assert restore(made.text, made.edits) == text
    return made.text


def carried(claim: Claim, source: str = "S1") -> ClaimVerification:
    plain = unchecked(claim, "")
    return ClaimVerification(
        **{
            **{name: getattr(plain, name) for name in plain.__dataclass_fields__},
            "status": Status.ENTAILED,
            "evidence": (EvidenceRef(source, 0, 5, "text"),),
        }
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The tower is tall.", "I believe, but cannot confirm from the sources, that the tower is tall."),
        ("Paris is tall.", "I believe, but cannot confirm from the sources, that Paris is tall."),
        ("**The tower** is tall.", "I believe, but cannot confirm from the sources, that **the tower** is tall."),
        ("- The tower is tall.", "- I believe, but cannot confirm from the sources, that the tower is tall."),
        ("1. It is tall.", "1. I believe, but cannot confirm from the sources, that it is tall."),
        ("> It is tall.", "> I believe, but cannot confirm from the sources, that it is tall."),
        ("However, it is tall.", "However, I believe, but cannot confirm from the sources, that it is tall."),
        ("In 2010, Anna won the cup.",
         "I believe, but cannot confirm from the sources, that in 2010, Anna won the cup."),
        ("I'm tall as a tower.", "I believe, but cannot confirm from the sources, that I'm tall as a tower."),
        ("| City | Size |\n|---|---|\n| Bonn | 300 |", "| City | Size |\n|---|---|\n| Bonn | 300 (unverified) |"),
        ("המגדל הוא גבוה מאוד.", "אני סבור, אך איני יכול לאשר מן המקורות, שהמגדל הוא גבוה מאוד."),
    ],
)  # fmt: skip
def test_a_weak_sentence_says_how_it_is_known(text: str, expected: str) -> None:
    assert rephrased(text) == expected


def test_a_word_that_stands_small_elsewhere_begins_small() -> None:
    text = "Cats sleep. We like cats."
    assert rephrased(text, "c1") == "I believe, but cannot confirm from the sources, that cats sleep. We like cats."


@pytest.mark.parametrize(
    ("kind", "opening"),
    [
        ("partial_support", "I believe, though the sources support it only in part, that it is tall."),
        ("over_extrapolation", "It may be, though the sources do not say so, that it is tall."),
        ("doubtful", "I am not sure, since the sources seem to say otherwise, but I believe that it is tall."),
        ("unchecked", "I could not check it, but I believe that it is tall."),
        ("phantom_citation", "I believe, but cannot confirm from a source that exists, that it is tall."),
    ],
)
def test_each_kind_of_doubt_has_its_words(kind: str, opening: str) -> None:
    assert rephrased("It is tall.", kind=kind) == opening


def test_an_opening_behind_a_connective_begins_small() -> None:
    made = rephrased("However, it is tall.", kind="over_extrapolation")
    assert made == "However, it may be, though the sources do not say so, that it is tall."


def test_what_differs_from_before_says_from_what() -> None:
    text = "It opens in June."
    point = WeakPoint(text, 0, len(text), "earlier", Risk.MEDIUM, prior="It opens in March.")
    made = reworded(text, (), [point], REPHRASE)
    assert made.text == "This differs from what was said before (“It opens in March.”): It opens in June."


def test_only_the_weak_sentence_changes() -> None:
    text = "It is **old**. It is tall.\n\n```\ncode. stays.\n```\nIt is red."
    made = reworded(text, (), weak(text, "c2"), REPHRASE)
    assert made.text == text.replace("It is tall.", "I believe, but cannot confirm from the sources, that it is tall.")
    (edit,) = made.edits
    assert text[edit.start : edit.end] == "I"
    assert made.text[edit.new_start : edit.new_end].endswith("that i")


@pytest.mark.parametrize(
    ("kind", "mark"),
    [
        ("unsupported", "It is tall (unverified)."),
        ("unchecked", "It is tall (not checked)."),
        ("contradicted", "It is tall (the sources say otherwise)."),
        ("doubtful", "It is tall (the sources say otherwise)."),
        ("phantom_citation", "It is tall (no such source)."),
        ("established", "It is tall (this differs from what was said before)."),
        ("vague", "It is tall."),
    ],
)
def test_marks_stand_before_the_full_stop(kind: str, mark: str) -> None:
    assert reworded("It is tall.", (), weak("It is tall.", kind=kind), MARK).text == mark


def test_what_a_source_carries_gets_its_name_once() -> None:
    text = "It is tall. It is old [S2]. It is red."
    claims = [carried(c) for c in extract(text, known_sources=["S1", "S2"])]
    made = reworded(text, claims, weak(text, "c3"), MARK)
    assert made.text == "It is tall [S1]. It is old [S2]. It is red (unverified)."
    assert reworded(text, claims, (), REPHRASE).text == text


def test_the_graver_point_speaks_for_the_lesser() -> None:
    text = "It is tall and red."
    lesser = WeakPoint("red", 15, 18, "warning", Risk.LOW)
    graver = WeakPoint(text, 0, len(text), "doubtful", Risk.MEDIUM)
    made = reworded(text, (), [lesser, graver], MARK)
    assert made.text == "It is tall and red (the sources say otherwise)."


PIECES = st.lists(
    st.sampled_from(
        ["The tower is tall.", "**Paris** is big!", "- It is old.", "\n", "\n\n", "| a | b |", "המגדל גבוה.",
         "`x = 1`", "However, it rains.", "[Link](http://x.y) is blue.", "A [S1] b.", " ", "“Quoted.”", "?", "e.g. 3.5"]
    ),
    max_size=8,
)  # fmt: skip


@given(PIECES, st.sampled_from(["unsupported", "doubtful", "earlier", "unchecked"]), st.booleans())
def test_the_original_can_always_be_had_back(pieces: list[str], kind: str, opened: bool) -> None:
    text = " ".join(pieces)
    made: Repair = reworded(text, (), weak(text, kind=kind), REPHRASE if opened else MARK)
    assert restore(made.text, made.edits) == text
    for edit in made.edits:
        assert made.text[edit.new_start : edit.new_end] == edit.after
        assert edit.after.lower().endswith(edit.before.lower())


@given(st.text(max_size=120))
def test_any_text_can_be_reworded_and_cut(text: str) -> None:
    points = weak(text)
    made = reworded(text, (), points, REPHRASE)
    assert restore(made.text, made.edits) == text
    if points:
        assert 0 <= cut_at(text, points) <= points[0].start
        assert stopped(text, points)


def failing(text: str, claim: str, **more: str) -> list[WeakPoint]:
    return [p if p.text != claim else WeakPoint(p.text, p.start, p.end, "contradicted", Risk.HIGH, **more)
            for p in weak(text) if p.text == claim]  # fmt: skip


def test_what_stands_before_the_failing_sentence_stays() -> None:
    text = "It is tall. It was built in 1952. It is red."
    made = stopped(text, failing(text, "It was built in 1952.", quote="It was built in 1987.", source="S0"))
    assert made == (
        "It is tall.\n\nI cannot confirm from the sources what I was about to say here. "
        "The sources say: “It was built in 1987.” [S0] I cannot say more about this from the sources."
    )


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Facts:\n\n- It is tall.\n- It was built in 1952.", "Facts:\n\n- It is tall."),
        ("It is tall. **It was built in 1952.**", "It is tall."),
        ("It was built in 1952.", ""),
    ],
)
def test_no_bullet_and_no_emphasis_is_left_over(text: str, kept: str) -> None:
    assert text[: cut_at(text, failing(text, "It was built in 1952."))].rstrip() == kept


def test_a_stop_asserts_nothing_new() -> None:
    for text in ("It is so.", "זה כך לגמרי היום."):
        said = stopped(text, weak(text))
        assert [c for c in extract(said) if c.kind is ClaimKind.ASSERTION] == []


def test_limits_say_what_is_missing_and_what_to_do() -> None:
    check = KnowledgeCheck(
        verified=False,
        requirements=(Requirement("the price of the pen"),),
        alternatives=((Alternative.ASK, "which pen?"), (Alternative.DECLINE, "")),
    )
    assert limits("What does the pen cost?", knowledge=check) == (
        "I cannot answer this reliably from the sources I have. I have no source for “the price of the pen”.\n"
        "Please tell me more about what you need.\nPlease ask an expert."
    )
    hebrew = limits("כמה עולה העט?", knowledge=check)
    assert hebrew.startswith("איני יכול לענות")


def test_limits_after_a_failure_quote_the_sources() -> None:
    point = WeakPoint("x", 0, 1, "contradicted", Risk.HIGH, quote="It was built in 1987.", source="S0")
    said = limits("When was it built?", [point, point])
    assert said.count("The sources say: “It was built in 1987.” [S0]") == 1
    assert "disagreed with the sources" in said
    assert GapType.CONTRADICTED.value not in said
