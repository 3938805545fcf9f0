"""What mode `block` stops at, and what remarks say."""

from __future__ import annotations

from dataclasses import replace

import pytest

from groundwire.proxy.modes import add_remarks, cut_before, first_contradiction
from groundwire.types import Case, Claim, ClaimVerification, Estimate, EvidenceRef, HallucinationReport, Source
from groundwire.verdicts.judge import ClaimScores, Profile, judge
from groundwire.verdicts.summary import summarise

PROFILE = Profile("default", threshold_bits=2.0, target=0.95)
ANSWER = "The tower is tall. The tower is red [S0]. It is old."


def verdict(p_yes: float, p_no: float) -> ClaimVerification:
    """A verdict on the second sentence of the answer."""
    claim = Claim("c1", "The tower is red.", 19, 36, ("S0",))
    said = Estimate.point(p_yes, p_no, "fake", reason="evidence says blue")
    refs = (EvidenceRef("S0", 0, 18, "The tower is blue."),)
    return judge(ClaimScores(claim, refs, said, Estimate.point(0.3, 0.0, "fake")), PROFILE)


def report(*verdicts: ClaimVerification) -> HallucinationReport:
    return summarise(Case(ANSWER, (Source("S0", "The tower is blue."),)), verdicts, [], "fake", PROFILE)


def test_block_stops_at_whatever_check_calls_contradicted() -> None:
    doubtful = verdict(0.3, 0.6)
    assert first_contradiction([doubtful]) == doubtful
    assert first_contradiction([verdict(0.2, 0.1)]) is None
    assert cut_before(ANSWER, doubtful, 0.85)[0] == "The tower is tall."


def test_a_remark_stands_behind_its_sentence_and_is_a_sentence() -> None:
    assert add_remarks(report(verdict(0.01, 0.97))) == (
        "The tower is tall. The tower is red [S0]. "
        "[This contradicts known information: the sources say blue.] It is old."
    )


@pytest.mark.parametrize(
    ("p_no", "reason", "remark"),
    [
        (0.97, "the source says “The tower is blue.”", "known information: the source says “The tower is blue.”]"),
        (0.0, "not in the sources: “red”", "no supporting evidence: the sources do not say “red”.]"),
        (0.0, "supported except for “red”", "no supporting evidence: the sources do not say “red”.]"),
        (
            0.0,
            "cites S4, which is not among the sources",
            "no supporting evidence: it cites S4, which is not among the sources.]",
        ),
    ],
)
def test_a_remark_has_one_colon_and_one_full_stop_and_does_not_contradict_itself(
    p_no: float, reason: str, remark: str
) -> None:
    assert f"{remark} It is old." in add_remarks(report(replace(verdict(0.01, p_no), reason=reason)))
