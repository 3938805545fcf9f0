"""What each source adds to a claim that is drawn from several."""

from __future__ import annotations

import asyncio
from typing import Any

import jsonschema
import pytest

from groundwire import check
from groundwire.config import Config
from groundwire.engine import Groundwire
from groundwire.errors import BackendTimeout
from groundwire.metrics import Metrics
from groundwire.pipeline import CheckContext
from groundwire.pipeline import check as run_check
from groundwire.reports.html import to_html
from groundwire.reports.json import report_from, report_object
from groundwire.reports.plaintext import reason_line, shares_line
from groundwire.reports.schema import report_schema
from groundwire.types import Case, ClaimVerification, HallucinationReport, Query, Source, Status
from groundwire.verdicts.judge import Profile
from groundwire.verifiers.backends import Backend
from groundwire.verifiers.fake import FakeVerifier
from groundwire.verifiers.wrappers import SafeVerifier

BIRTH = "Anna Petrova was born in Lyon."
MEDAL = "Anna won a medal in Graz in 2019."
SOURCES = (Source("S1", BIRTH), Source("S2", "The weather was mild."), Source("S3", MEDAL))
ANSWER = "Anna, a native of Lyon, won her medal in Graz"
PROFILE = Profile("default", 2.0, 0.95)


def both(query: Query) -> tuple[float, float]:
    """Support a claim only where the birth and the medal can be read."""
    found = (BIRTH in query.context) + (MEDAL in query.context)
    return ((0.05, 0.05), (0.2, 0.05), (0.97, 0.01))[found]


def either(query: Query) -> tuple[float, float]:
    return (0.97, 0.01) if BIRTH in query.context or MEDAL in query.context else (0.05, 0.05)


async def judged(
    fake: FakeVerifier, answer: str = f"{ANSWER} [S1][S3].", *, free: bool = True, shares: bool = False
) -> HallucinationReport:
    backend = Backend(SafeVerifier(fake, "fake"), "fake", "fake", 100_000, 2.0, requests=not free, name="fake")
    return await run_check(Case(answer, SOURCES), CheckContext(backend, PROFILE, Metrics(), shares=shares))


def shares(claim: ClaimVerification) -> dict[str, tuple[float, bool]]:
    return {share.source: (round(share.bits, 1), share.needed) for share in claim.shares}


@pytest.mark.parametrize("citations", [" [S1][S3]", ""])
async def test_a_claim_that_two_sources_support_together_needs_both(citations: str) -> None:
    (claim,) = (await judged(FakeVerifier(both), f"{ANSWER}{citations}.")).claims
    assert claim.status is Status.ENTAILED
    assert shares(claim) == {"S1": (2.1, True), "S3": (2.1, True)}
    assert claim.reason == "supported by the sources; needs both S1 and S3"


async def test_a_source_is_taken_away_alone_and_the_others_stay() -> None:
    fake = FakeVerifier(both)
    await judged(fake)
    without_first, without_last = (query.context for query in fake.calls[-1])
    assert without_first == f"[S1] [EVIDENCE REMOVED]\n\n[S2] The weather was mild.\n\n[S3] {MEDAL}"
    assert without_last == f"[S1] {BIRTH}\n\n[S2] The weather was mild.\n\n[S3] [EVIDENCE REMOVED]"


async def test_sources_that_say_the_same_are_worth_nothing_alone_and_neither_is_needed() -> None:
    (claim,) = (await judged(FakeVerifier(either))).claims
    assert shares(claim) == {"S1": (0.0, False), "S3": (0.0, False)}
    assert claim.reason == "supported by the sources"


async def test_a_claim_that_one_source_states_costs_no_further_estimates() -> None:
    fake = FakeVerifier()
    (claim,) = (await judged(fake, "Anna won a medal in Graz in 2019.")).claims
    assert (claim.status, claim.shares, fake.queries) == (Status.ENTAILED, (), 2)


async def test_an_unsupported_claim_has_no_shares() -> None:
    fake = FakeVerifier(lambda _: (0.1, 0.1))
    (claim,) = (await judged(fake, shares=True)).claims
    assert (claim.is_flagged, claim.shares) == (True, ())


async def test_with_a_paid_backend_shares_are_measured_on_request_only() -> None:
    fake = FakeVerifier(both)
    (claim,) = (await judged(fake, free=False)).claims
    assert (claim.shares, fake.queries) == ((), 2)
    (claim,) = (await judged(fake, free=False, shares=True)).claims
    assert shares(claim) == {"S1": (2.1, True), "S3": (2.1, True)}
    assert "The weather" not in fake.calls[-1][0].context  # p1 was asked with the cited sources alone


async def test_a_share_that_could_not_be_measured_leaves_the_verdict_as_it_is() -> None:
    fake = FakeVerifier(both, failing=[None, BackendTimeout("late")])
    (claim,) = (await judged(fake)).claims
    assert (claim.status, claim.shares, claim.reason) == (Status.ENTAILED, (), "supported by the sources")


async def test_shares_are_in_the_json_the_schema_and_the_html_and_can_be_read_back() -> None:
    report = await judged(FakeVerifier(both))
    data: dict[str, Any] = report_object(report)
    assert data["claims"][0]["shares"] == [
        {"source": "S1", "p_without": 0.2, "bits": 2.0675, "needed": True},
        {"source": "S3", "p_without": 0.2, "bits": 2.0675, "needed": True},
    ]
    jsonschema.validate(data, report_schema())
    assert shares(report_from(data, report.response).claims[0]) == shares(report.claims[0])
    assert reason_line(report.claims[0]) == "needs both S1 and S3"
    assert shares_line(report.claims[0]) in to_html(report)
    assert shares_line(report.claims[0]) == "lost without each source: S1 2.1 bits, S3 2.1 bits"


def test_the_embedded_verifier_loses_what_only_one_source_says() -> None:
    """Each source is a sentence of the claim, word by word."""
    sources = {"S1": "Lyon lies in France.", "S2": "Graz lies in Austria."}
    report = check("Lyon lies in France. Graz lies in Austria [S1][S2].", sources, shares=True)
    found = {share.source: share for share in report.claims[-1].shares}
    assert found["S2"].bits > 1.0 > found["S1"].bits
    assert (found["S2"].needed, found["S1"].needed) == (True, False)


def test_a_setting_measures_the_shares_of_every_check() -> None:
    engine = Groundwire(Config.load(overrides={"shares": True}), backend="fake")
    report = asyncio.run(engine.check(f"{MEDAL[:-1]} [S0][S1].", [BIRTH, MEDAL]))
    assert [share.source for share in report.claims[0].shares] == ["S0", "S1"]
