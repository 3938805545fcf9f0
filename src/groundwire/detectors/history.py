"""Detector for contradictions with earlier turns of the conversation.

Catches: another value for the same matter ("Monday", then "Friday"), a statement and its negation, mutually
exclusive categories, ends before beginnings; with a verifier, also what it judges contradicted by the earlier
statement.
Misses: statements more than ten turns ago, matters described in quite different words, other languages.
Values that the user corrects or asks to change are superseded: the latest statement counts.
Cost: comparisons with the clauses of ten turns; one batch of queries if there is a verifier.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice, product

from groundwire.detectors.context import SPEAKERS, USERS, DetectionContext, segment_response
from groundwire.detectors.statements import (
    CATEGORY,
    RELATED,
    StatedValue,
    Utterance,
    agrees,
    conflict,
    nested,
    similarity,
    utterances,
)
from groundwire.detectors.temporal import lives_across
from groundwire.text.lexicon import expressions
from groundwire.text.tokens import content_words
from groundwire.types import ContradictionType, Flag, HallucinationType, Query

CONTRADICTS = 0.6
"""P(no) from which the verifier's answer counts as a contradiction."""
# Confidence per kind of contradiction, before it is multiplied by the similarity.
_BY_VALUE, _BY_NEGATION, _BY_CATEGORY, _BY_ORDER = 0.9, 0.95, 0.8, 0.8
_MAX_TURNS = 10  # earlier turns that are compared
_MAX_QUERIES, _QUERIES_PER_CLAUSE = 24, 2  # verifier queries per response and per clause
_MAX_CLAUSES = 300  # on either side, so that the comparison stays bounded
_REVISES, _REQUESTS = expressions("detect_history", "revises requests")
_PRONOUN = re.compile(r"\W*(?:it|he|she|they)\b", re.IGNORECASE)


async def detect_history_contradictions(context: DetectionContext) -> list[Flag]:
    """Flag each clause at most once, against the latest statement it contradicts."""
    priors = list(islice(_established(context), _MAX_CLAUSES))
    if not priors:
        return []
    flags: list[Flag] = []
    undecided: list[tuple[Utterance, Utterance, float]] = []
    stated = (s for s in context.segments if s.assertive and not _REVISES.search(s.text))  # without announced changes
    for clause in islice((u for piece in stated for u in utterances(piece.text, piece.start)), _MAX_CLAUSES):
        contradiction, ask = _compare_with_history(clause, priors)
        if contradiction:
            flags.append(contradiction)
        else:
            undecided += ask
    flags += await _ask_verifier(context, undecided[:_MAX_QUERIES])
    flags += _out_of_order(context)
    return sorted({(f.start, f.end): f for f in reversed(flags)}.values(), key=lambda flag: flag.start)


def _established(context: DetectionContext) -> Iterator[Utterance]:
    """Earlier clauses, latest first. "Make it Friday" inherits the frame of the clause it revises."""
    made: list[Utterance] = []
    for turn in context.dialogue.turns[-_MAX_TURNS:]:
        if turn.role.lower() not in SPEAKERS:
            continue
        for piece in segment_response(turn.text, context.now):
            by_user = turn.role.lower() in USERS
            asks = by_user and _REQUESTS.search(piece.text)
            if not piece.assertive and not asks:
                continue
            firm = piece.assertive or (bool(asks) and not piece.text.rstrip().endswith("?"))
            for clause in utterances(piece.text, turn=turn.id, binding=firm, by_user=by_user):
                bare = not clause.frame and clause.values
                revised = next((u for u in reversed(made) if _kinds(clause) & _kinds(u)), None) if bare else None
                made.append(replace(clause, frame=revised.frame) if revised else clause)
    yield from reversed(made)


def _compare_with_history(
    clause: Utterance, priors: Sequence[Utterance]
) -> tuple[Flag | None, list[tuple[Utterance, Utterance, float]]]:
    """The contradiction found by rule, or else the pairs to ask the verifier about."""
    ask: list[tuple[Utterance, Utterance, float]] = []
    for prior in priors:
        share = similarity(clause, prior)
        if share < RELATED:
            continue
        if agrees(clause, prior) and not conflict(clause, prior):
            return None, []
        found = _by_rule(clause, prior, share) if prior.binding else None
        if found:
            return found, []
        if prior.binding and len(ask) < _QUERIES_PER_CLAUSE:
            ask.append((clause, prior, share))
    return None, ask


def _by_rule(clause: Utterance, prior: Utterance, share: float) -> Flag | None:
    values = conflict(clause, prior)
    if values and nested(clause, prior):
        if not values[0].kind.startswith(CATEGORY):
            return _flag(clause, prior, ContradictionType.INCOMPATIBLE_VALUES, _BY_VALUE * share, values)
        if _kinds(clause) == _kinds(prior):  # "open" and "closed on Mondays" are compatible
            return _flag(clause, prior, ContradictionType.LOGICAL_IMPOSSIBILITY, _BY_CATEGORY * share, values)
    for mine, theirs in product(clause.claims, prior.claims):
        same = content_words(mine.subject) == content_words(theirs.subject) and mine.predicate == theirs.predicate
        if same and mine.denied != theirs.denied and content_words(mine.object) == content_words(theirs.object):
            return _flag(clause, prior, ContradictionType.DIRECT_NEGATION, _BY_NEGATION * share)
    return None


def _kinds(utterance: Utterance) -> set[str]:
    return {value.kind for value in utterance.values}


async def _ask_verifier(context: DetectionContext, pairs: Sequence[tuple[Utterance, Utterance, float]]) -> list[Flag]:
    """Ask the verifier with the earlier clause as context; failed queries count as no contradiction."""
    if context.verifier is None or not pairs:
        return []
    queries = [Query(clause.text, prior.text) for clause, prior, _ in pairs]
    estimates = await context.verifier.estimate(queries)
    return [
        _flag(clause, prior, ContradictionType.LOGICAL_IMPOSSIBILITY, estimate.p_no * share)
        for (clause, prior, share), estimate in zip(pairs, estimates, strict=True)
        if estimate.error is None and estimate.p_no >= CONTRADICTS and estimate.p_no > estimate.p_yes
    ]


def _out_of_order(context: DetectionContext) -> Iterator[Flag]:
    """ "It started in 2021", then "It ended in 2019"."""
    for turn in context.dialogue.turns[-_MAX_TURNS:]:
        if turn.role.lower() not in SPEAKERS:
            continue
        for earlier in segment_response(turn.text, context.now):
            for later in context.segments:
                if _PRONOUN.match(later.text):
                    continue  # a pronoun cannot be resolved reliably across turns
                for flag in lives_across((earlier, later), _BY_ORDER):
                    yield replace(
                        flag, type=HallucinationType.CONTRADICTS_PRIOR, source="Earlier conversation",
                        evidence=f"Earlier: '{earlier.text}' (Turn {turn.id})",
                        contradiction=ContradictionType.TEMPORAL_IMPOSSIBILITY,
                        prior=earlier.text, turn=turn.id,
                    )  # fmt: skip


def _flag(
    clause: Utterance,
    prior: Utterance,
    kind: ContradictionType,
    confidence: float,
    values: tuple[StatedValue, StatedValue] | None = None,
) -> Flag:
    """Flag a clause that contradicts an earlier one, by its value and the earlier value if they differ."""
    fix = (clause.start + values[0].start, clause.start + values[0].end) if values else None
    evidence = f"Earlier: '{prior.text}' (Turn {prior.turn})"
    return Flag(
        HallucinationType.CONTRADICTS_PRIOR, clause.start, clause.start + len(clause.text), clause.text, confidence,
        "This contradicts a previous statement", evidence, values[1].text if values else "", fix,
        "Earlier conversation", kind, (("history_match", evidence),), prior=prior.text, turn=prior.turn,
    )  # fmt: skip
