"""The whole way through, on one screen.

text ─► claims ─► evidence ─► verifier ─► budget ─► verdict ─► report
"""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter

from groundwire.court import Court
from groundwire.reading import Choose, assign, narrowed, read, sift
from groundwire.retrieval.cite import phantoms
from groundwire.types import Case, Claim, ClaimVerification, HallucinationReport
from groundwire.verdicts.judge import judge, phantom, unchecked
from groundwire.verdicts.merge import knowing, with_detection
from groundwire.verdicts.risk import settle
from groundwire.verdicts.summary import summarise
from groundwire.verdicts.vague import is_vague
from groundwire.voting import vote

TOO_MANY = "error: more claims than limits.max_claims allows"


async def check(case: Case, court: Court, choose: Choose | None = None) -> HallucinationReport:
    """Judge a whole response, or those of its claims that `choose` picks."""
    detection = await court.detect(case) if case.kb or case.history else None
    case = knowing(case, detection)
    sifted = narrowed(sift(await read(case, court), court.profile), choose)
    verdicts = await verify(sifted.chosen, case, court) if case.sources else []
    verdicts += [unchecked(claim, TOO_MANY) for claim in sifted.surplus if case.sources]
    report = summarise(case, verdicts, sifted.skipped, court.backend.name, court.profile)
    return with_detection(report, detection) if detection else report


async def verify(claims: Sequence[Claim], case: Case, court: Court) -> list[ClaimVerification]:
    """The verdict on each claim, in order, as the response as a whole settles them."""
    began = perf_counter()
    verdicts = settle(await weigh(claims, case, court), court.profile.risk_threshold)
    court.record(verdicts, case.id, perf_counter() - began)
    return verdicts


async def weigh(
    claims: Sequence[Claim], case: Case, court: Court, before: str = ""
) -> list[ClaimVerification]:
    """Each claim judged by itself, `before` being the one before the first. Phantom citations never reach
    the model.
    """
    evidence = court.evidence(case.sources)
    missing = {claim.id: phantoms(claim, case.sources) for claim in claims}
    about = [before, *(claim.text for claim in claims)]
    mapped = await assign(claims, case, court)
    gathered = {
        claim.id: evidence.gather(claim, about=previous)
        for claim, previous in zip(mapped, about, strict=False)
        if not missing[claim.id]
    }
    ballots = await vote(
        [c for c in claims if c.id in gathered], gathered, evidence.bare, case.question, court
    )
    return [
        judge(ballots[c.id], court.profile, vague=is_vague(c.text, answers=bool(case.question)))
        if c.id in ballots
        else phantom(c, missing[c.id])
        for c in claims
    ]
