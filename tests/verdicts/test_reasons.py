"""A reason agrees with its verdict, adds something to the claim, and names whole values."""

from __future__ import annotations

import pytest

from groundwire.types import Claim, Estimate, EvidenceRef, GapType, Span
from groundwire.verdicts.judge import reason_for

TEXT = "The tower is 330 metres tall and was painted green in 1899."
CLAIM = Claim("c1", TEXT, 0, len(TEXT))
EVIDENCE = (EvidenceRef("S0", 0, 40, "The tower is 330 metres tall. It opens at 17:00."),)


def reason(gap: GapType, given: str = "", spans: tuple[Span, ...] = ()) -> str:
    estimate = Estimate.point(0.2, 0.1, "fake", reason=given, spans=spans)
    return reason_for(gap, CLAIM, estimate, EVIDENCE)


@pytest.mark.parametrize(
    ("gap", "given", "said"),
    [
        (GapType.UNSUPPORTED, "the sources cover it", "the sources do not mention this"),
        (GapType.CONTRADICTED, "The evidence confirms the claim.", "the sources say otherwise"),
        (GapType.UNSUPPORTED, f"the evidence does not carry “{TEXT}”", "the sources do not mention this"),
        (GapType.CONTRADICTED, "evidence says 00", "the sources say otherwise"),
    ],
)
def test_a_reason_that_denies_the_verdict_or_says_nothing_is_replaced(gap: GapType, given: str, said: str) -> None:
    assert reason(gap, given) == said


@pytest.mark.parametrize(
    "given",
    ["evidence says 320 metres", "no source supports the date", "it opens at 17:00 only", "evidence says 5 March 2019"],
)
def test_a_reason_that_explains_something_stands_alone(given: str) -> None:
    assert reason(GapType.UNSUPPORTED, given) == given


def test_a_partly_supported_claim_says_which_part_is_not() -> None:
    start = TEXT.index("painted")
    spans = (Span(start, TEXT.index(".")),)
    assert reason(GapType.PARTIAL_SUPPORT, spans=spans) == "supported except for “painted green in 1899”"
    assert reason(GapType.UNSUPPORTED, spans=spans) == "the sources do not say “painted green in 1899”"


def test_without_spans_the_part_is_the_words_that_no_source_has() -> None:
    claim = Claim("c1", "The tower is 331 metres tall.", 0, 29)
    found = reason_for(GapType.PARTIAL_SUPPORT, claim, Estimate.point(0.5, 0.0, "fake"), EVIDENCE)
    assert found == "supported except for “331”"


def test_a_part_that_is_the_whole_claim_is_not_quoted() -> None:
    spans = (Span(0, len(TEXT)),)
    assert reason(GapType.PARTIAL_SUPPORT, spans=spans) == "the sources are about this but do not say it"
    assert reason(GapType.OVER_EXTRAPOLATION, spans=spans) == "the sources are about this but do not say it"


@pytest.mark.parametrize("gap", [GapType.UNSUPPORTED, GapType.PARTIAL_SUPPORT, GapType.OVER_EXTRAPOLATION])
def test_what_is_not_in_the_sources_is_never_said_to_be_denied_by_them(gap: GapType) -> None:
    for given in ("the evidence speaks against it", "the evidence speaks against “green”", "the sources say otherwise"):
        assert "against" not in reason(gap, given)
        assert "otherwise" not in reason(gap, given)


def test_what_is_contradicted_is_never_said_to_be_merely_unsaid() -> None:
    found = reason(GapType.CONTRADICTED, "the evidence does not carry “green”")
    assert found == "the sources say otherwise"


def test_a_claim_of_which_little_is_left_is_not_called_supported() -> None:
    text = "Bistro Mobil was left out because its offer came in too late."
    spans = (Span(13, len(text) - 1),)
    found = reason_for(
        GapType.PARTIAL_SUPPORT,
        Claim("c1", text, 0, len(text)),
        Estimate.point(0.5, 0.0, "fake", spans=spans),
        EVIDENCE,
    )
    assert found == "the sources do not say “was left out because its offer came in too late”"


def test_a_value_cut_out_of_a_longer_one_is_not_named() -> None:
    assert reason(GapType.CONTRADICTED, "the sources say 33 here") == "the sources say otherwise"


def test_a_value_that_the_claim_itself_names_is_not_given_as_what_the_evidence_says_instead() -> None:
    assert reason(GapType.CONTRADICTED, "evidence says 330 metres") == "the sources say otherwise"
    assert reason(GapType.CONTRADICTED, "evidence says 33 metres") == "evidence says 33 metres"
