"""Each source's share of a claim drawn from several: what is lost when that source alone is taken away.

    p1 = .97 with S1 and S3        without S1: .10, so S1's share is KL(.97 ‖ .10) = 3.0 bits
                                   without S3: .95, so S3's share is KL(.97 ‖ .95) = 0.0 bits

It takes one more estimate per source. By itself it is therefore measured only where an estimate costs no
request and no source has the claim's words alone; `shares` measures it wherever evidence comes from several.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from groundwire.budget import observed_bits
from groundwire.retrieval.gather import Gathered, cited_ids, without_source
from groundwire.types import Claim, ClaimVerification, Estimate, Source, SourceShare, Status
from groundwire.verdicts.profile import Profile
from groundwire.verdicts.reasons import word_share

MAX_SOURCES = 5
"""Sources of a claim that are taken away, best first: few claims need more, and each costs an estimate."""
_STATED_SHARE = 0.8
"""Share of the claim's content words from which one source counts as saying it; as in `verdicts/judge.py`."""

View = tuple[Claim, str]


def contexts_without(
    claim: Claim,
    verdict: ClaimVerification,
    found: Gathered,
    sources: Sequence[Source],
    marker: str,
    *,
    free: bool,
    every: bool,
) -> dict[tuple[str, str], View]:
    """The contexts to ask a supported claim's shares with, by claim and source; none if it has no shares."""
    names = list(cited_ids(verdict.citations, sources) or dict.fromkeys(ref.source for ref in found.refs))
    wanted = every or (free and not _stated_by_one(claim.text, found))
    if verdict.status is not Status.ENTAILED or len(names) < 2 or not wanted:
        return {}
    # p1 was asked with the cited sources alone where an estimate costs a request (`pipeline.score_claims`).
    text = found.with_text if free else found.cited_text or found.with_text
    taken = [source.id for source in sources if source.id in names[:MAX_SOURCES]]
    return {(claim.id, name): (claim, without_source(text, name, marker)) for name in taken}


def _stated_by_one(claim: str, found: Gathered) -> bool:
    texts: dict[str, str] = {}
    for ref in found.refs:
        texts[ref.source] = f"{texts.get(ref.source, '')} {ref.text}"
    return any(word_share(claim, text) >= _STATED_SHARE for text in texts.values())


def with_shares(
    verdict: ClaimVerification, estimates: Mapping[tuple[str, str], Estimate], profile: Profile
) -> ClaimVerification:
    """The verdict with the shares of its sources; without them if one could not be measured."""
    own = {source: found for (claim, source), found in estimates.items() if claim == verdict.claim_id}
    if not own or verdict.p1 is None or any(found.error for found in own.values()):
        return verdict
    floor = profile.floor(verdict.confidence)
    shares = tuple(
        SourceShare(source, found.p_yes, observed_bits(verdict.p1, found.p_yes), found.p_yes < floor)
        for source, found in own.items()
    )
    needed = [share.source for share in shares if share.needed]
    reason = f"{verdict.reason}; needs {_together(needed)}" if len(needed) > 1 else verdict.reason
    return replace(verdict, shares=shares, reason=reason)


def _together(names: Sequence[str]) -> str:
    """
    >>> _together(["S1", "S3"]), _together(["S1", "S2", "S3"])
    ('both S1 and S3', 'S1, S2 and S3 together')
    """
    *others, last = names
    both = f"{', '.join(others)} and {last}"
    return f"both {both}" if len(names) == 2 else f"{both} together"
