"""The whole way through, on one screen.

text ─► claims ─► evidence ─► verifier ─► budget ─► verdict ─► report
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import perf_counter

from groundwire.claims.extract import extract
from groundwire.evidence.cite import phantoms
from groundwire.evidence.gather import Evidence, Gathered
from groundwire.metrics import Metrics, log_verdict
from groundwire.policy.judge import Ballot, judge, needs_recount, phantom
from groundwire.policy.profile import Profile
from groundwire.policy.summary import summarise
from groundwire.policy.vague import is_vague
from groundwire.types import Case, Claim, ClaimKind, ClaimVerification, Estimate, HallucinationReport, Query
from groundwire.verify.backends import Backend


@dataclass(frozen=True, slots=True)
class Bench:
    """Who judges: a backend to ask, a profile to judge by, and someone to take notes."""

    backend: Backend
    profile: Profile
    metrics: Metrics
    log_text: bool = False


async def check(case: Case, bench: Bench) -> HallucinationReport:
    """Judge a whole response."""
    known = [source.id for source in case.sources]
    found = extract(case.response, target=bench.profile.target, known_sources=known)
    claims, skipped = sift(found, bench.profile)
    verdicts = await verify(claims, case, bench)
    return summarise(case, verdicts, skipped, bench.backend.name, bench.profile)


def sift(found: Sequence[Claim], profile: Profile) -> tuple[list[Claim], list[Claim]]:
    """What is verified, and what is only listed: no assertion, too short, or more than the profile allows."""
    worth = [c for c in found if c.kind is ClaimKind.ASSERTION and len(c.text) >= profile.min_chars]
    chosen = worth[: profile.max_claims]
    ids = {claim.id for claim in chosen}
    return chosen, [claim for claim in found if claim.id not in ids]


async def verify(claims: Sequence[Claim], case: Case, bench: Bench) -> list[ClaimVerification]:
    """The verdict on each claim, in order. Phantom citations never reach the model."""
    began = perf_counter()
    evidence = Evidence(case.sources, bench.backend.context_tokens, bench.profile.marker)
    missing = {claim.id: phantoms(claim, case.sources) for claim in claims}
    before = [Claim("", "", 0, 0), *claims]
    gathered = {
        claim.id: evidence.gather(claim, about=previous.text)
        for claim, previous in zip(claims, before, strict=False)
        if not missing[claim.id]
    }
    ballots = await vote(
        [c for c in claims if c.id in gathered], gathered, evidence.bare, case.question, bench
    )
    verdicts = [
        judge(ballots[c.id], bench.profile, vague=is_vague(c.text))
        if c.id in ballots
        else phantom(c, missing[c.id])
        for c in claims
    ]
    record(verdicts, case.id, bench, perf_counter() - began)
    return verdicts


async def vote(
    claims: Sequence[Claim], gathered: dict[str, Gathered], nothing: str, question: str, bench: Bench
) -> dict[str, Ballot]:
    """Ask with and without the evidence; where a cited claim stands either way, ask about its citation."""
    views = [(c, (gathered[c.id].with_text, gathered[c.id].without_text)) for c in claims]
    first = await ask(views, question, bench)
    ballots = {c.id: Ballot(c, gathered[c.id].refs, *first[c.id]) for c in claims}
    again = [c for c in claims if needs_recount(ballots[c.id], bench.profile)]
    views = [(c, (gathered[c.id].cited_text or "", nothing)) for c in again]
    for identity, (cited, bare) in (await ask(views, question, bench)).items():
        elsewhere = gathered[identity].elsewhere
        ballots[identity] = replace(ballots[identity], cited=cited, nothing=bare, elsewhere=elsewhere)
    return ballots


async def ask(
    views: Sequence[tuple[Claim, tuple[str, str]]], question: str, bench: Bench
) -> dict[str, tuple[Estimate, Estimate]]:
    """Two contexts a claim, one call for all of them."""
    queries = [Query(claim.text, context, question) for claim, pair in views for context in pair]
    answers = iter(await bench.backend.verifier.estimate(queries) if queries else [])
    return {claim.id: (next(answers), next(answers)) for claim, _ in views}


def record(verdicts: Sequence[ClaimVerification], response_id: str, bench: Bench, seconds: float) -> None:
    bench.metrics.verdicts(verdicts, bench.backend.name)
    for verdict in verdicts:
        log_verdict(
            verdict,
            backend=bench.backend.name,
            seconds=seconds / len(verdicts),
            response_id=response_id,
            source_text=bench.log_text,
        )
