"""An answer taken apart: what is verified, what is only listed, and where its claims are looked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

from groundwire.claims.extract import extract
from groundwire.claims.llm import extract_with
from groundwire.claims.steps import steps_as_claims
from groundwire.court import Court
from groundwire.types import Case, Claim, ClaimKind, Source
from groundwire.verdicts.profile import Profile
from groundwire.verifiers.mapping import map_evidence

Choose = Callable[[Sequence[Claim]], Sequence[Claim]]
"""Which of a response's claims are worth verifying."""


async def read(case: Case, court: Court) -> list[Claim]:
    """The answer taken apart, by rules or by a model whose reading holds against the text."""
    known = names_of(case.sources)
    if court.extractor is None:
        found = extract(case.response, target=court.profile.target, known_sources=known)
    else:
        found = await extract_with(
            court.extractor, case.response, target=court.profile.target, known_sources=known
        )
    return steps_as_claims(found, asked=bool(case.question))


def names_of(sources: Sequence[Source]) -> list[str]:
    """What an answer may cite sources by: their ids, and the files they came from."""
    files = (PurePath(source.origin).name for source in sources if PurePath(source.origin).suffix)
    return list(dict.fromkeys((*(source.id for source in sources), *files)))


@dataclass(frozen=True, slots=True)
class Sifted:
    """`chosen` is verified, `skipped` only listed; `surplus` should be verified and is too much."""

    chosen: list[Claim]
    skipped: list[Claim]
    surplus: list[Claim]


def sift(found: Sequence[Claim], profile: Profile) -> Sifted:
    """Skipped is what asserts nothing or is too short. The profile `rag` looks at its first claims only and
    lists the others; for any other a claim beyond the limit is one that could not be checked.
    """
    worth = [c for c in found if c.kind is ClaimKind.ASSERTION and len(c.text) >= profile.min_chars]
    chosen, rest = worth[: profile.max_claims], worth[profile.max_claims :]
    surplus = [] if profile.name == "rag" else rest
    ids = {claim.id for claim in (*chosen, *surplus)}
    return Sifted(chosen, [claim for claim in found if claim.id not in ids], surplus)


def narrowed(sifted: Sifted, choose: Choose | None) -> Sifted:
    """Only what someone chose is verified; what was not chosen is listed."""
    if choose is None:
        return sifted
    chosen = list(choose([*sifted.chosen, *sifted.surplus]))
    ids = {claim.id for claim in chosen}
    left = [claim for claim in (*sifted.chosen, *sifted.surplus) if claim.id not in ids]
    return Sifted(chosen, sorted([*sifted.skipped, *left], key=lambda claim: claim.start), [])


async def assign(claims: Sequence[Claim], case: Case, court: Court) -> Sequence[Claim]:
    """Where a model maps claims to sources, what cites nothing is looked for in the sources it names."""
    if court.mapper is None:
        return claims
    named = await map_evidence(court.mapper, [claim.text for claim in claims], case.sources)
    return [c if c.citations else replace(c, citations=tuple(n)) for c, n in zip(claims, named, strict=True)]
