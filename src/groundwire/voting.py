"""What the verifier says of each claim: with its evidence, without it, and about its citation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from groundwire.court import Court
from groundwire.retrieval.gather import Gathered
from groundwire.types import Claim, Estimate, Query
from groundwire.verdicts.judge import Ballot, needs_recount


async def vote(
    claims: Sequence[Claim], gathered: dict[str, Gathered], nothing: str, question: str, court: Court
) -> dict[str, Ballot]:
    """Ask with and without the evidence; where a cited claim stands either way, ask about its citation."""
    views = [(c, (gathered[c.id].with_text, gathered[c.id].without_text)) for c in claims]
    first = await ask(views, question, court)
    ballots = {
        c.id: Ballot(c, gathered[c.id].refs, *first[c.id], elsewhere=gathered[c.id].elsewhere) for c in claims
    }
    free = court.backend.free
    again = [c for c in claims if needs_recount(ballots[c.id], court.profile, free=free)]
    views = [(c, (gathered[c.id].cited_text or "", nothing)) for c in again]
    for identity, (cited, bare) in (await ask(views, question, court)).items():
        ballots[identity] = replace(ballots[identity], cited=cited, nothing=bare)
    return ballots


async def ask(
    views: Sequence[tuple[Claim, tuple[str, str]]], question: str, court: Court
) -> dict[str, tuple[Estimate, Estimate]]:
    """Two contexts a claim, one call for all of them."""
    queries = [Query(claim.text, context, question) for claim, pair in views for context in pair]
    answers = iter(await court.backend.verifier.estimate(queries) if queries else [])
    return {claim.id: (next(answers), next(answers)) for claim, _ in views}
