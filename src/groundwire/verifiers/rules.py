"""Rules that settle what a network reads badly. One table: a rule lives here as long as its measurement pays.

`groundwire bench rules` prints, for each rule and data set, how often it speaks, how often it is right, the base
rate, the verdicts that it sets right and wrong, and its time. A rule moves an estimate by its measured precision.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from groundwire.text.lexicon import expressions
from groundwire.text.structure import evidence_removed, pieces
from groundwire.text.tokens import language_hint
from groundwire.types import Estimate, Query, Verifier

RuleLabel = Literal["supported", "contradicted", "open"]
"""`open`: the evidence was read to the end, and decides the claim neither way."""

MAX_CLAIM_CHARS = 4000
"""Longer claims are not sentences, and the time to read them by rules has no bound."""

MIN_VERBATIM_WORDS = 3
"""Shorter claims may stand in a source by chance."""

(_STATES_RULES,) = expressions("logic", "states_rules")


@dataclass(frozen=True, slots=True)
class RuleResult:
    label: RuleLabel
    reason: str


@dataclass(frozen=True, slots=True)
class Rule:
    """`precision` is measured on `support` rows of data that was not written for the rule."""

    name: str
    detect: Callable[[Query], RuleResult | None]
    precision: float
    support: int
    languages: frozenset[str]


def _logic(query: Query) -> RuleResult | None:
    if not _STATES_RULES.search(query.context):
        return None
    # Imported here: most evidence states no rules, and needs no theorem prover.
    from groundwire.verifiers.logic.prover import follows

    return follows(query.claim, [piece.text for piece in pieces(query.context)])


def _verbatim(query: Query) -> RuleResult | None:
    """A sentence of the evidence, word for word. The rules that it may state come first."""
    claim = words_of(query.claim)
    if len(claim) < MIN_VERBATIM_WORDS or query.claim.strip().rstrip(".!").lower() not in query.context.lower():
        return None
    if any(words_of(piece.text) == claim for piece in pieces(query.context)):
        return RuleResult("supported", "a source says it word for word")
    return None


def words_of(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


_STATES_DAYS = re.compile(
    r"\b(?:daily|every day|(?:mon|tues|wednes|thurs|fri|satur|sun|week)(?:days?|ends?)?)\b", re.IGNORECASE
)


def _hours(query: Query) -> RuleResult | None:
    if not (_STATES_DAYS.search(query.claim) and _STATES_DAYS.search(query.context)):
        return None
    # Imported here: few claims state the hours of a week.
    from groundwire.verifiers.schedule import states_hours

    stated = (piece.text for piece in pieces(query.context) if _STATES_DAYS.search(piece.text))
    if states_hours(query.claim, query.context, stated):
        return RuleResult("supported", "the hours are those of the source, day by day")
    return None


def _count(query: Query) -> RuleResult | None:
    if not re.search(r", .+ and ", query.context):
        return None
    # Imported here: few sources list anything that a claim counts.
    from groundwire.verifiers.counting import counted

    found = counted(query.claim, (piece.text for piece in pieces(query.context)))
    if found is None:
        return None
    stated, things = found
    label: RuleLabel = "supported" if stated == len(things) else "contradicted"
    return RuleResult(label, f"the source lists {len(things)}: {', '.join(things)}")


RULES = (
    Rule("logic", _logic, 0.99, 461, frozenset({"en"})),
    Rule("verbatim", _verbatim, 0.96, 160, frozenset({"en"})),
    Rule("hours", _hours, 0.98, 196, frozenset({"en"})),
    # Right on all 308 of 30,000 drawn items (benchmarks.procedural) on which it speaks, half of them supported. Claims
    # that only count are rare elsewhere: it speaks on none of 82,000 of cards and RAGTruth.
    Rule("count", _count, 0.95, 308, frozenset({"en"})),
)
"""In the order of their priority: the first that speaks decides."""


class RuleVerifier:
    """Any verifier, with its estimates moved by the first rule that applies to the claim."""

    def __init__(self, inner: Verifier, rules: Sequence[Rule] = RULES) -> None:
        self._inner = inner
        self._rules = rules

    async def estimate(self, queries: Sequence[Query]) -> list[Estimate]:
        estimates = await self._inner.estimate(queries)
        return [self._apply(query, found) for query, found in zip(queries, estimates, strict=True)]

    def _apply(self, query: Query, found: Estimate) -> Estimate:
        if found.error:
            return found
        for rule in self._rules:
            result = detect(rule, query)
            if result is not None:
                return moved(found, rule.precision, result)
        return found


def detect(rule: Rule, query: Query) -> RuleResult | None:
    """The result of a rule; None where evidence was taken out, or the claim is in another language."""
    if len(query.claim) > MAX_CLAIM_CHARS or evidence_removed(query.context):
        return None
    return rule.detect(query) if language_hint(query.claim) in rule.languages else None


def moved(estimate: Estimate, precision: float, result: RuleResult) -> Estimate:
    """The estimate with `precision` of its probability moved to what the rule says."""
    left = 1.0 - precision
    yes, no, unsure = left * estimate.p_yes, left * estimate.p_no, left * estimate.p_unsure
    if result.label == "supported":
        yes += precision
    elif result.label == "contradicted":
        no += precision
    else:
        unsure += precision
    spans = () if result.label == "supported" else estimate.spans
    return replace(
        estimate, p_yes=yes, p_no=no, p_unsure=unsure, low=yes, high=yes, reason=result.reason, spans=spans, speaks=True
    )
