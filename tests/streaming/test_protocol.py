"""The table of risks and actions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from groundwire.config import RealTimeConfig
from groundwire.streaming.protocol import LEVELS, assess, guidance, is_clear_contradiction, speaks_of, stops, wordings
from groundwire.types import Claim, ClaimVerification, EvidenceRef, GapType, Risk, Status
from groundwire.types.stream import Coherence, Contradiction, StreamWarning
from groundwire.verdicts.judge import unchecked


def verdict(status: Status = Status.ENTAILED, at: int = 0, **more: Any) -> ClaimVerification:
    flagged = status in (Status.CONTRADICTED, Status.NOT_IN_CONTEXT)
    given = {"status": status, "is_flagged": flagged, "certain": True, "p1": 0.02 if flagged else 0.97, **more}
    return replace(unchecked(Claim(f"c{at}", f"claim {at}", at, at + 10), ""), **given)


SAYS = (EvidenceRef("S0", 0, 5, "The claim is 1987."),)
WRONG = verdict(Status.CONTRADICTED, gap_type=GapType.CONTRADICTED, reason="evidence says 1987", evidence=SAYS)


@pytest.mark.parametrize(
    ("found", "kind", "risk"),
    [
        (verdict(Status.UNCHECKED, p1=None), "unchecked", Risk.LOW),
        (verdict(Status.UNVERIFIABLE), "vague", Risk.LOW),
        (verdict(Status.NOT_IN_CONTEXT, gap_type=GapType.UNSUPPORTED), "unsupported", Risk.MEDIUM),
        (verdict(Status.NOT_IN_CONTEXT, gap_type=GapType.PARTIAL_SUPPORT), "partial_support", Risk.MEDIUM),
        (verdict(Status.NOT_IN_CONTEXT, gap_type=GapType.OVER_EXTRAPOLATION), "over_extrapolation", Risk.MEDIUM),
        (verdict(Status.NOT_IN_CONTEXT, gap_type=GapType.PHANTOM_CITATION, p1=None), "phantom_citation", Risk.MEDIUM),
        (replace(WRONG, p1=0.4), "doubtful", Risk.MEDIUM),
        (replace(WRONG, certain=False), "doubtful", Risk.MEDIUM),
        (WRONG, "contradicted", Risk.HIGH),
    ],
)  # fmt: skip
def test_each_verdict_has_its_level(found: ClaimVerification, kind: str, risk: Risk) -> None:
    supported = [verdict(at=20), verdict(at=40)]
    made = assess([*supported, found])
    assert [(point.kind, point.risk) for point in made.points] == [(kind, risk)]
    assert made.risk is risk
    assert LEVELS[kind] is risk


def test_what_is_supported_is_no_weak_point() -> None:
    assert assess([verdict(), verdict(at=20)]).points == ()
    assert assess([]).risk is Risk.LOW


def test_most_of_an_answer_contradicted_is_critical() -> None:
    second = replace(WRONG, start=20, end=30)
    assert assess([WRONG, second, verdict(at=40)]).risk is Risk.CRITICAL
    assert assess([WRONG, second, *(verdict(at=40 + n) for n in range(3))]).risk is Risk.HIGH
    assert assess([WRONG]).risk is Risk.HIGH


def test_lack_of_support_never_stops_anything() -> None:
    lacking = [
        verdict(Status.NOT_IN_CONTEXT, at=10 * n, gap_type=gap, p1=0.0)
        for n, gap in enumerate((GapType.UNSUPPORTED, GapType.PHANTOM_CITATION, GapType.OVER_EXTRAPOLATION))
    ]
    found = assess(lacking * 10)
    assert found.failing == ()
    assert not stops(found.risk, RealTimeConfig())
    assert not any(is_clear_contradiction(v, 0.0) for v in lacking)


def test_no_answer_is_stopped_for_an_unsure_contradiction() -> None:
    assert is_clear_contradiction(WRONG, 0.85)
    assert not is_clear_contradiction(replace(WRONG, p1=0.16), 0.85)
    assert not is_clear_contradiction(replace(WRONG, is_flagged=False), 0.85)
    assert not is_clear_contradiction(replace(WRONG, p1=None), 0.85)
    assert not is_clear_contradiction(replace(WRONG, evidence=()), 0.85)


@pytest.mark.parametrize(
    ("claim", "evidence", "same"),
    [
        ("The Quartz Resort rents out 31 bicycles.", "name: Quartz Resort; price per night: 676", False),
        ("Hartley Rangers won the cup in 1999.", "Hartley Rangers was founded in 1931.", False),
        ("The quota queue was rewritten in 2010.", "name: quota queue; last release: 15 January 1962", False),
        ("Rowan Holdings holds 79.1% of its assets in gold.", "Rowan Holdings operating margin: 73.4%", False),
        ("Erebia Pulsar was named after Selma Whitlock.", "Erebia Pulsar name: Erebia Pulsar", False),
        ("The Quartz Resort has 31 rooms.", "name: Quartz Resort; number of rooms: 60", True),
        ("Hartley Rangers was founded in 1999.", "Hartley Rangers was founded in 1931.", True),
        ("The season of Foxton Mariners ended with 68 points.", "Foxton Mariners, points: 77", True),
        ("Paris is in Germany.", "Paris is in France.", True),
    ],
)
def test_only_evidence_of_the_very_matter_stops_an_answer(claim: str, evidence: str, same: bool) -> None:
    assert speaks_of(claim, (evidence,)) is same


def warning(risk: Risk, confidence: float, at: int = 0) -> StreamWarning:
    return StreamWarning("unsourced_statistic", at, at + 5, "40 %", confidence, risk)


def test_a_warning_is_worth_what_it_says_where_it_is_sure() -> None:
    assert assess([], [warning(Risk.CRITICAL, 0.95)]).risk is Risk.CRITICAL
    assert assess([], [warning(Risk.CRITICAL, 0.5)]).risk is Risk.MEDIUM
    assert assess([], [warning(Risk.LOW, 0.95)]).risk is Risk.LOW


def test_a_warning_about_what_a_source_carries_is_answered() -> None:
    assert assess([verdict()], [warning(Risk.MEDIUM, 0.9)]).points == ()
    assert assess([verdict(Status.UNCHECKED, p1=None)], [warning(Risk.MEDIUM, 0.9)]).risk is Risk.MEDIUM


def test_a_supported_sentence_with_an_invented_reference_is_still_at_risk() -> None:
    invented = replace(warning(Risk.HIGH, 0.9), pattern="invented_url")
    assert assess([verdict()], [invented]).risk is Risk.HIGH


def test_contradicting_what_was_established_counts_by_its_severity() -> None:
    grave = Contradiction("It is on Friday.", "It is on Monday.", 0.86, 0, 16, 1, "IncompatibleValues", "user")
    assert assess([], coherence=Coherence((grave,))).risk is Risk.HIGH
    assert assess([], coherence=Coherence((replace(grave, severity=0.6),))).risk is Risk.MEDIUM
    moved = replace(grave, kind="later")
    assert assess([], coherence=Coherence(goalposts=(moved,))).risk is Risk.MEDIUM


def test_levels_are_configurable() -> None:
    calm = RealTimeConfig(low="none", medium="mark", high="rephrase", critical="reformulate")
    assert not stops(Risk.HIGH, calm)
    assert stops(Risk.CRITICAL, calm)
    assert wordings(calm) == {Risk.LOW: "none", Risk.MEDIUM: "mark", Risk.HIGH: "rephrase", Risk.CRITICAL: "rephrase"}
    assert not stops(Risk.MEDIUM, RealTimeConfig(medium="discard"))


def test_guidance_names_what_is_wrong_and_what_the_source_says() -> None:
    said = guidance(assess([WRONG]).failing)
    assert "“claim 0”: evidence says 1987. The source S0 says: The claim is 1987." in said


@pytest.mark.parametrize(
    ("reason", "quote"),
    [
        ("evidence says 2.1 million", "It has 2.1 million inhabitants."),
        ("the sources say 2.1 million here", "It has 2.1 million inhabitants."),
        ("the evidence speaks against “9.7 million”", "It has 2.1 million inhabitants."),
        ("evidence says Paris", "Paris is the capital."),
    ],
)
def test_the_evidence_that_says_otherwise_is_quoted(reason: str, quote: str) -> None:
    texts = ("Paris is the capital.", "It has 2.1 million inhabitants.", "It is old.")
    found = replace(
        WRONG,
        claim_text="It has 9.7 million inhabitants.",
        evidence=tuple(EvidenceRef("S0", n, n + 1, text) for n, text in enumerate(texts)),
        reason=reason,
    )
    (point,) = assess([found, verdict(at=20)]).points
    assert (point.quote, point.source) == (quote, "S0")
