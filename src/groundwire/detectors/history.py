"""Contradictions with what was said earlier in the conversation.

Catches: another value for the same matter ("Monday", then "Friday"), a statement and its denial, categories
that exclude each other, ends before beginnings; and, where a verifier can be asked, whatever it takes for
denied by the earlier statement.
Misses: what was said more than ten turns ago, matters spoken of in quite different words, other languages.
What the user corrects or asks to change is superseded: the latest statement counts.
Costs: comparisons with the clauses of ten turns; one batch of queries where a verifier is there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from groundwire.detectors.relate import (
    CATEGORY,
    Utterance,
    Value,
    agrees,
    conflict,
    nested,
    similarity,
    utterances,
)  # fmt: skip
from groundwire.detectors.segments import segment
from groundwire.detectors.temporal import lives_across
from groundwire.detectors.view import View
from groundwire.text.tokens import words
from groundwire.types import ContradictionType, Flag, HallucinationType, Query, Segment

RELATED, CONTRADICTS = 0.7, 0.6
_BY_VALUE, _BY_NEGATION, _BY_CATEGORY, _BY_ORDER = 0.9, 0.95, 0.8, 0.8
_TURNS, _QUERIES, _PER_CLAIM, _CLAUSES = 10, 24, 2, 300
_SPEAKERS = frozenset({"user", "assistant", "human", "ai", "bot", "agent", "customer", "model"})
_USERS = frozenset({"user", "human", "customer"})
_REVISES = re.compile(
    r"\b(?:moved|changed|rescheduled|switched|updated|revised|corrected|postponed|brought forward|instead|"
    r"correction|sorry|apolog\w+|actually|I was wrong|mistaken|new|no longer|now|again|rather than|"
    r"not \w+day|if|would|could|might|(?-i:may)|another|next|other|alternatively|also)\b",
    re.IGNORECASE,
)
_PRONOUN = re.compile(r"\W*(?:it|he|she|they)\b", re.IGNORECASE)
_REQUESTS = re.compile(
    r"\b(?:actually|make (?:it|that)|move|change|switch|reschedule|instead|let['’]?s|can we|could (?:we|you)|"
    r"how about|what about|I meant|correction|prefer|rather|no,|update)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class _Found:
    """A contradiction: `said` is the clause of the response, `prior` the one it goes against."""

    said: Utterance
    prior: Utterance
    type: ContradictionType
    confidence: float
    similarity: float
    value: Value | None = None
    correction: str = ""


async def detect_history_contradictions(view: View) -> list[Flag]:
    """At most one flag a clause, against the latest statement that it contradicts."""
    priors = list(islice(_established(view), _CLAUSES))
    if not priors:
        return []
    found: list[_Found] = []
    open_: list[tuple[Utterance, Utterance, float]] = []
    for said in islice((said for piece in view.segments for said in _said(piece)), _CLAUSES):
        contradiction, ask = _against(said, priors)
        if contradiction:
            found.append(contradiction)
        else:
            open_ += ask
    found += await _asked(view, open_[:_QUERIES])
    flags = [_flag(item) for item in found] + list(_out_of_order(view))
    return sorted({(f.start, f.end): f for f in reversed(flags)}.values(), key=lambda flag: flag.start)


def _said(piece: Segment) -> Iterator[Utterance]:
    """The clauses of a sentence that claim something and do not announce a change."""
    if piece.assertive and not _REVISES.search(piece.text):
        yield from utterances(piece.text, piece.start)


def _established(view: View) -> Iterator[Utterance]:
    """Latest first. "Make it Friday" takes over the matter of the latest clause with such a value."""
    made: list[Utterance] = []
    for turn in view.dialogue.turns[-_TURNS:]:
        if turn.role.lower() not in _SPEAKERS:
            continue
        for piece in segment(turn.text, view.now):
            by_user = turn.role.lower() in _USERS
            asks = by_user and _REQUESTS.search(piece.text)
            if not piece.assertive and not asks:
                continue
            firm = piece.assertive or (bool(asks) and not piece.text.rstrip().endswith("?"))
            for said in utterances(piece.text, turn=turn.id, binding=firm, by_user=by_user):
                made.append(_inheriting(said, made))
    yield from reversed(made)


def _inheriting(said: Utterance, before: Sequence[Utterance]) -> Utterance:
    if said.frame or not said.values:
        return said
    for earlier in reversed(before):
        if _kinds(said) & _kinds(earlier):
            return replace(said, frame=earlier.frame)
    return said


def _against(
    said: Utterance, priors: Sequence[Utterance]
) -> tuple[_Found | None, list[tuple[Utterance, Utterance, float]]]:
    """What it contradicts by rule, else the pairs a verifier may be asked about."""
    ask: list[tuple[Utterance, Utterance, float]] = []
    for prior in priors:
        share = similarity(said, prior)
        if share < RELATED:
            continue
        if agrees(said, prior) and not conflict(said, prior):
            return None, []
        found = _by_rule(said, prior, share) if prior.binding else None
        if found:
            return found, []
        if prior.binding and len(ask) < _PER_CLAIM:
            ask.append((said, prior, share))
    return None, ask


def _by_rule(said: Utterance, prior: Utterance, share: float) -> _Found | None:
    values = conflict(said, prior)
    if values and nested(said, prior):
        if not values[0].kind.startswith(CATEGORY):
            kind = ContradictionType.INCOMPATIBLE_VALUES
            return _Found(said, prior, kind, _BY_VALUE, share, values[0], values[1].text)
        if _kinds(said) == _kinds(prior):  # not "open", and "closed on Mondays"
            kind = ContradictionType.LOGICAL_IMPOSSIBILITY
            return _Found(said, prior, kind, _BY_CATEGORY, share, values[0], values[1].text)
    for mine in said.claims:
        for theirs in prior.claims:
            if _content(mine.subject) != _content(theirs.subject) or mine.predicate != theirs.predicate:
                continue
            if mine.denied != theirs.denied and _content(mine.object) == _content(theirs.object):
                return _Found(said, prior, ContradictionType.DIRECT_NEGATION, _BY_NEGATION, share)
    return None


def _kinds(utterance: Utterance) -> set[str]:
    return {value.kind for value in utterance.values}


def _content(text: str) -> frozenset[str]:
    return frozenset(word.norm for word in words(text) if not word.is_stop)


async def _asked(view: View, pairs: Sequence[tuple[Utterance, Utterance, float]]) -> list[_Found]:
    """The verifier reads the earlier clause as context. What it cannot judge contradicts nothing."""
    if view.verifier is None or not pairs:
        return []
    queries = [Query(said.text, prior.text) for said, prior, _ in pairs]
    estimates = await view.verifier.estimate(queries)
    return [
        _Found(said, prior, ContradictionType.LOGICAL_IMPOSSIBILITY, estimate.p_no, share)
        for (said, prior, share), estimate in zip(pairs, estimates, strict=True)
        if estimate.error is None and estimate.p_no >= CONTRADICTS and estimate.p_no > estimate.p_yes
    ]


def _out_of_order(view: View) -> Iterator[Flag]:
    """ "It started in 2021", then "It ended in 2019"."""
    for turn in view.dialogue.turns[-_TURNS:]:
        if turn.role.lower() not in _SPEAKERS:
            continue
        for earlier in segment(turn.text, view.now):
            for later in view.segments:
                if _PRONOUN.match(later.text):
                    continue  # whom a pronoun means across turns is a guess
                for flag in lives_across((earlier, later), _BY_ORDER):
                    yield replace(
                        flag, type=HallucinationType.CONTRADICTS_PRIOR, source="Earlier conversation",
                        evidence=f"Earlier: '{earlier.text}' (Turn {turn.id})",
                        contradiction=ContradictionType.TEMPORAL_IMPOSSIBILITY,
                        prior=earlier.text, turn=turn.id,
                    )  # fmt: skip


def _flag(found: _Found) -> Flag:
    said, prior, value = found.said, found.prior, found.value
    fix = (said.start + value.start, said.start + value.end) if value else None
    evidence = f"Earlier: '{prior.text}' (Turn {prior.turn})"
    return Flag(
        HallucinationType.CONTRADICTS_PRIOR, said.start, said.start + len(said.text), said.text,
        found.confidence * found.similarity, "This contradicts a previous statement", evidence,
        found.correction, fix, "Earlier conversation", found.type, (("history_match", evidence),),
        prior=prior.text, turn=prior.turn,
    )  # fmt: skip
