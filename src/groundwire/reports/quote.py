"""Which piece of a claim's evidence to show where there is room for one."""

from __future__ import annotations

import re

from groundwire.text.tokens import words
from groundwire.types import ClaimVerification, EvidenceRef

_SAYS = re.compile(r"(?:evidence says|the sources say) '?(.+?)'?(?: here|, not .*)?\Z")


def speaking(claim: ClaimVerification) -> EvidenceRef | None:
    """The piece that speaks of the claim: it holds the value its reason names, or most of its words."""
    said = _SAYS.match(claim.reason)
    holding = [ref for ref in claim.evidence if said and said[1].casefold() in ref.text.casefold()]
    own = _content(claim.claim_text)
    return max(holding or claim.evidence, key=lambda ref: len(own & _content(ref.text)), default=None)


def _content(text: str) -> frozenset[str]:
    return frozenset(word.norm for word in words(text) if not word.is_stop)
