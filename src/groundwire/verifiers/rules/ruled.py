"""Rules that correct an estimate where reading settles the claim: counts, bound values, quotations, logic."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from groundwire.text.structure import MARKERS
from groundwire.types import Estimate, Query, Span, Verifier
from groundwire.verifiers.rules.binding import bindings, misattributed, replaced
from groundwire.verifiers.rules.calendar import calendar
from groundwire.verifiers.rules.counting import counts
from groundwire.verifiers.rules.finding import RuleResult
from groundwire.verifiers.rules.quoting import quotations
from groundwire.verifiers.rules.speakers import misquoted, reports
from groundwire.verifiers.rules.statements import told

_MAX_CLAIM_CHARS = 4000
"""Longer claims are not sentences, and the cost of reading them by rules has no bound."""

_STATES_RULES = re.compile(
    r"\b(?:if|when(?:ever)?|unless|every(?:one|body)?|any(?:one|body)?|some(?:one|body)?|no(?:body| one)?|all"
    r"|each|only|whoever|implies|means that|are|is an? |or|either|must)\b",
    re.IGNORECASE,
)
"""Words without which no sentence is a rule or a general statement."""


def rule_results(query: Query) -> list[RuleResult]:
    """What the rules say about a claim in its context; nothing where evidence was taken out."""
    if len(query.claim) > _MAX_CLAIM_CHARS or any(marker in query.context for marker in MARKERS):
        return []
    known = told(query.context)
    if _STATES_RULES.search(query.context):
        # Imported here: most evidence states no rules, and needs no theorem prover.
        from groundwire.verifiers.logic.prover import follows

        followed = follows(query.claim, known.statements)
        if followed is not None:
            return [followed]  # inference reads every word; the other rules look at single ones
    others_said = list(misquoted(query.claim, query.context))
    if others_said:
        return others_said
    counted = list(counts(query.claim, known.listings, known.statements))
    places = {(ruling.start, ruling.end) for ruling in counted}
    bound = [r for r in bindings(query.claim, known.statements) if (r.start, r.end) not in places]
    others = (misattributed,) if not bound else ()
    if not bound and not reports(query.claim, query.context):  # "Ana Reed: Hello." has the look of a cell
        others = (replaced, *others)
    elsewhere = [rule(query.claim, known.statements) for rule in others]
    found = [*counted, *bound, *(r for r in elsewhere if r), *quotations(query.claim, known.statements)]
    return found or list(calendar(query.claim, known.statements))


def apply_rule_results(estimate: Estimate, found: Sequence[RuleResult]) -> Estimate:
    """Move what the rules say to no; where nothing speaks against the claim, to unsure or else to yes."""
    for side, move in (("no", _short), ("open", _short), ("yes", _borne_out)):
        taken = [ruling for ruling in found if ruling.side == side]
        if taken:
            return move(estimate, taken)
    return estimate


def _borne_out(estimate: Estimate, found: Sequence[RuleResult]) -> Estimate:
    keep = 1.0 - max(ruling.weight for ruling in found)
    yes = 1.0 - keep * (1.0 - estimate.p_yes)
    return replace(estimate, p_yes=yes, p_no=keep * estimate.p_no, p_unsure=keep * estimate.p_unsure, low=yes, high=yes)


def _short(estimate: Estimate, found: Sequence[RuleResult]) -> Estimate:
    """Not borne out: denied, or left open."""
    strongest = max(found, key=lambda ruling: ruling.weight)
    left = 1.0
    for ruling in found:
        left *= 1.0 - ruling.weight
    yes, no, unsure = left * estimate.p_yes, left * estimate.p_no, left * estimate.p_unsure
    marks = [Span(ruling.start, ruling.end, ruling.weight) for ruling in found]
    kept = [span for span in estimate.spans if not any(_overlap(span, mark) for mark in marks)]
    return replace(
        estimate,
        p_yes=yes,
        p_no=1.0 - yes - unsure if strongest.denies else no,
        p_unsure=unsure if strongest.denies else 1.0 - yes - no,
        low=yes,
        high=yes,
        reason=strongest.reason,
        spans=tuple(sorted([*kept, *marks], key=lambda span: span.start)),
        speaks=True,
    )


def _overlap(a: Span, b: Span) -> bool:
    return a.start < b.end and b.start < a.end


class RuleVerifier:
    """Any verifier, its estimates set right by the rules."""

    def __init__(self, inner: Verifier) -> None:
        self._inner = inner

    async def estimate(self, queries: Sequence[Query]) -> list[Estimate]:
        estimates = await self._inner.estimate(queries)
        return [
            found if found.error else apply_rule_results(found, rule_results(query))
            for query, found in zip(queries, estimates, strict=True)
        ]
