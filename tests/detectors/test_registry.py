"""One case through all detectors: switches, weights, duplicates, limits, and failures that are said aloud."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.knowledge import MemoryKnowledge

from groundwire.config import DetectorsConfig, DetectorSwitches, DetectorWeights
from groundwire.detectors.registry import DETECTORS, detect, merge_overlapping
from groundwire.errors import BackendDown, StoreError
from groundwire.types import Attribute, Case, Detection, Entity, Fact, Flag, HallucinationType, Match, Turn, Value
from groundwire.verifiers.fake import FakeVerifier

NOW = datetime(2026, 6, 15)
KB = MemoryKnowledge(
    [
        Entity("ann", "Ann Lee", "person", (), (Attribute("department", Value("Sales")),)),
        Entity("bo", "Bo Ray", "person", (), (Attribute("department", Value("Legal")),)),
        Entity("acme", "Acme", "company", (), (Attribute("ceo", Value("Bo Ray")),)),
    ]
)
OTHERS = "Bo Ray works in the Legal department."
WRONG = "Ann Lee works in the Legal department."


def run(text: str, config: DetectorsConfig | None = None, **beside: object) -> Detection:
    case = replace(Case(text, (), kb=KB, now=NOW), **beside)  # type: ignore[arg-type]
    return asyncio.run(detect(case, config))


class Broken(MemoryKnowledge):
    def find(self, names: Sequence[str], *, fuzzy: bool = True) -> dict[str, Match]:
        raise StoreError("the store is gone")


def test_all_eight_are_in_the_table_under_their_switches() -> None:
    assert set(DETECTORS) == set(DetectorSwitches.model_fields) == set(DetectorWeights.model_fields)


def test_a_detector_that_is_off_says_so_and_stays_silent() -> None:
    off = DetectorsConfig(enabled=DetectorSwitches(wrong_attributes=False))
    found = run(WRONG, off)
    assert HallucinationType.WRONG_ATTRIBUTE not in {flag.type for flag in found.flags}
    assert "wrong_attributes: off" in found.skipped


def test_a_weight_moves_the_confidence_and_the_threshold_cuts_it() -> None:
    text = f"{OTHERS} {WRONG}"
    (plain,) = run(text).flags
    (halved,) = run(text, DetectorsConfig(weights=DetectorWeights(wrong_attributes=0.6))).flags
    assert halved.confidence == pytest.approx(0.6 * plain.confidence)
    assert run(text, DetectorsConfig(detection_threshold=0.95)).flags == ()


def test_what_has_nothing_to_go_by_is_named() -> None:
    found = run("Ann Lee is here.", kb=None)
    assert "fabricated_facts: no knowledge base" in found.skipped
    assert "history_contradictions: no history" in found.skipped


def test_a_broken_store_is_an_error_and_never_fine() -> None:
    found = run(WRONG, kb=Broken())
    assert found.flags == ()
    assert found.errors == ("knowledge base: the store is gone",)
    assert "wrong_attributes: the knowledge base failed" in found.skipped


def test_a_broken_verifier_is_an_error_and_the_others_go_on() -> None:
    verifier = FakeVerifier(failing=[BackendDown("no answer")] * 50)
    history = (Turn(1, "assistant", "The parcel is at the depot in Leeds."),)
    case = Case(f"{WRONG} The parcel is at the harbour in Leeds.", (), kb=KB, now=NOW, history=history)
    found = asyncio.run(detect(case, None, verifier))
    assert HallucinationType.WRONG_ATTRIBUTE in {flag.type for flag in found.flags}


def test_only_so_many_claims_are_looked_at() -> None:
    found = run(f"{OTHERS} {WRONG}", DetectorsConfig(max_claims=1))
    assert found.claims_checked == 1
    assert found.flags == ()


@pytest.mark.parametrize("text", ["", " \n\t ", "?!…", "\ud800", "a" * 50_000, "the " * 20_000, "((((" * 5_000])
def test_whatever_stands_there_nothing_is_raised(text: str) -> None:
    assert run(text).errors == ()


@settings(max_examples=40)
@given(st.text(max_size=200))
def test_places_are_always_inside_the_response(text: str) -> None:
    for flag in run(f"{text} {WRONG}").flags:
        assert 0 <= flag.start < flag.end <= len(text) + 1 + len(WRONG)
        assert flag.fix is None or flag.start <= flag.fix[0] <= flag.fix[1] <= flag.end


def _flag(kind: HallucinationType, start: int, end: int, confidence: float, **more: object) -> Flag:
    return replace(Flag(kind, start, end, "x", confidence, evidence=kind.value), **more)  # type: ignore[arg-type]


def test_of_overlapping_flags_the_surest_stays_with_the_others_evidence() -> None:
    low = _flag(HallucinationType.NONEXISTENT_ENTITY, 0, 5, 0.7)
    high = _flag(HallucinationType.WRONG_ATTRIBUTE, 0, 20, 0.9)
    apart = _flag(HallucinationType.TEMPORAL_ERROR, 30, 40, 0.6)
    kept = merge_overlapping([low, apart, high])
    assert [flag.type for flag in kept] == [high.type, apart.type]
    assert kept[0].related == (("also", "NonexistentEntity: NonexistentEntity"),)


def test_of_equally_sure_flags_the_more_severe_stays() -> None:
    mild = _flag(HallucinationType.UNSUPPORTED_CLAIM, 0, 20, 0.8)
    severe = _flag(HallucinationType.CONTRADICTS_FACT, 0, 20, 0.8)
    assert merge_overlapping([mild, severe])[0].type is severe.type


def test_two_corrections_in_one_sentence_both_stay() -> None:
    first = _flag(HallucinationType.WRONG_ATTRIBUTE, 0, 20, 0.9, fix=(5, 8), correction="a")
    second = _flag(HallucinationType.WRONG_ATTRIBUTE, 0, 30, 0.9, fix=(25, 30), correction="b")
    assert len(merge_overlapping([first, second])) == 2


def test_pronouns_mean_whom_the_sentences_before_spoke_of() -> None:
    found = run("Ann Lee is our contact. She works in the Legal department.")
    assert [flag.correction for flag in found.flags] == ["Sales"]


def test_pronouns_may_mean_whom_the_dialogue_spoke_of() -> None:
    history = (Turn(1, "user", "Who is Ann Lee?"),)
    assert run("She works in the Legal department.", history=history).flags[0].correction == "Sales"


def test_markup_around_the_words_moves_nothing() -> None:
    text = "- **Ann Lee** works in the *Legal* department [1]."
    (flag,) = run(text).flags
    assert flag.fix is not None
    assert text[flag.fix[0] : flag.fix[1]] == "Legal"


def test_a_fact_of_a_bare_knowledge_base_is_asked_too() -> None:
    from groundwire.types import Role, ValueKind

    ann = Role("subject", Value("Ann Lee", ValueKind.REFERENCE, entity="ann"))
    fact = Fact("f", "live in", (ann, Role("object", Value("Oslo"))), confidence=0.5)
    kb = MemoryKnowledge([Entity("ann", "Ann Lee", "person")], [fact])
    (flag,) = run("Ann Lee lives in Bergen.", DetectorsConfig(detection_threshold=0.4), kb=kb).flags
    assert flag.type is HallucinationType.CONTRADICTS_FACT
    assert flag.confidence == pytest.approx(0.95 * 0.5)


def test_the_rows_of_a_table_are_claims() -> None:
    text = "| Name | Department |\n|---|---|\n| Ann Lee | Legal |\n| Bo Ray | Legal |\n"
    (flag,) = run(text).flags
    assert flag.fix is not None
    assert (text[slice(*flag.fix)], flag.correction) == ("Legal", "Sales")
