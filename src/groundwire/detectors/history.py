"""Detector for contradictions with earlier turns of the conversation.

An utterance is a clause split into its values (weekdays, dates, clock times, numbers with units) and its
frame: the remaining content words, without verbs of saying and arranging. The similarity of two utterances
is the mean of the share of the smaller frame contained in the larger one and the Dice overlap; if subject
and predicate agree it is at least 0.6. It is 0 if the subjects differ on both sides ("the basic plan", "the
premium plan").

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
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice

from groundwire.detectors.context import SPEAKERS, DetectionContext, segment_response
from groundwire.detectors.temporal import lives_across
from groundwire.openie.parser import triples
from groundwire.openie.tense import CLAUSE_EDGE
from groundwire.text import dates, numbers
from groundwire.text.lexicon import EXCLUSIVE, NEGATIONS, word_set
from groundwire.text.names import names, same_name
from groundwire.text.tokens import similarity as alike
from groundwire.text.tokens import words
from groundwire.types import ContradictionType, Flag, HallucinationType, Query, Segment, Triple

_SPEECH_AND_SCHEDULING = word_set(
    """
    mention say said tell told note remind confirm book schedule plan set arrange take place hold held happen
    go let know just sure ok okay please thank thanks also yes make move change reschedule switch actually
    instead correction sorry mean meant earlier previously currently now remember recall get put do will
    great perfect fine good noted done understood right expect total
    """
)
_PRONOUN_SUBJECTS = word_set("i you we it they he she this that there let us")
_SAME_WORD = 0.8  # character-bigram similarity from which two word forms count as the same word
_SAME_MATTER = 0.6  # least similarity of clauses that share subject and predicate
CATEGORY = "category"
_MIN_WORDS = 2  # shorter clauses carry no statement
_MAX_CHARS = 2000  # longer "sentences" are lists, code or noise


@dataclass(frozen=True, slots=True)
class UtteranceValue:
    """A value at `text[start:end]` of its utterance; only values of the same `kind` are compared."""

    kind: str
    text: str
    start: int
    end: int
    choice: int = 0
    """The weekday number, or the side of a pair of opposites."""
    date: dates.PartialDate | None = None
    number: numbers.Number | None = None


@dataclass(frozen=True, slots=True)
class Utterance:
    """A clause; `start` is its offset in the turn or response."""

    text: str
    start: int
    frame: frozenset[str]
    values: tuple[UtteranceValue, ...]
    claims: tuple[Triple, ...]
    turn: int = 0
    binding: bool = True
    """False for questions and requests, which establish nothing but make their values acceptable."""


def utterances(
    text: str, offset: int = 0, *, turn: int = 0, binding: bool = True, by_user: bool = False
) -> Iterator[Utterance]:
    """Split a sentence at `offset` into clauses. The user's "my" corresponds to the assistant's "your"."""
    for start, clause in clauses(text):
        claims = tuple(triples(clause))
        found = (*stated_values(clause), *_named_value(clause, by_user), *_categories(clause, claims))
        yield Utterance(clause, offset + start, _frame(clause, found), found, claims, turn, binding)


def clauses(text: str) -> Iterator[tuple[int, str]]:
    """The clauses of a sentence with their offsets."""
    if len(text) > _MAX_CHARS:
        return
    begin = 0
    cuts = [match.start() for match in CLAUSE_EDGE.finditer(text) if _parts(text, match)]
    for cut in (*cuts, len(text)):
        piece = text[begin:cut]
        left = len(piece) - len(piece.lstrip(" ,;:.–—"))
        if len(piece.split()) >= _MIN_WORDS:
            yield begin + left, piece[left:].rstrip()
        begin = cut


def _parts(text: str, match: re.Match[str]) -> bool:
    """True unless the mark belongs to a number or an abbreviation."""
    rest = text[match.end() :]
    return bool(rest.strip(" .!?)\"”'’")) and not (match[0] in ".:" and rest[:1].strip())


def stated_values(text: str) -> Iterator[UtteranceValue]:
    """The weekdays, dates and numbers of a clause."""
    taken: list[tuple[int, int]] = []
    for weekday, start, end in dates.weekdays(text):
        taken.append((start, end))
        yield UtteranceValue("weekday", text[start:end], start, end, choice=weekday)
    for date in dates.dates(text):
        taken.append((date.start, date.end))
        yield UtteranceValue("date", text[date.start : date.end], date.start, date.end, date=date)
    for number in numbers.numbers(text):
        if number.kind != "ordinal" and all(number.end <= a or b <= number.start for a, b in taken):
            kind = number.unit or f"count {_counted(text, number.end)}"
            shown = text[number.start : number.end]
            if shown.count(".") == 1:  # the full stop of the sentence, not of "a.m."
                shown = shown.removesuffix(".")
            yield UtteranceValue(kind, shown, number.start, number.start + len(shown), number=number)


def _counted(text: str, end: int) -> str:
    """The content word after a bare number, which says what is counted."""
    following = words(text[end : end + 40])
    return next((word.norm for word in following[:2] if not word.is_stop), "")


def _frame(text: str, values: Sequence[UtteranceValue]) -> frozenset[str]:
    return frozenset(
        word.norm
        for word in words(text)
        if not word.is_stop
        and word.text.lower() not in _SPEECH_AND_SCHEDULING
        and word.norm not in _SPEECH_AND_SCHEDULING
        and word.text.lower() not in NEGATIONS
        and not any(value.start <= word.start < value.end for value in values)
    )


def similarity(a: Utterance, b: Utterance) -> float:
    """Similarity of two utterances, 0 to 1; see the module docstring.

    >>> one, two = *utterances("I'll book the meeting for Monday."), *utterances("The meeting is on Friday.")
    >>> similarity(one, two)
    1.0
    """
    if a.frame.isdisjoint(b.frame) or _other_subject(a, b):
        return 0.0
    mine, theirs = _count_shared(a.frame, b.frame), _count_shared(b.frame, a.frame)
    smaller = mine if len(a.frame) <= len(b.frame) else theirs
    contained = smaller / min(len(a.frame), len(b.frame))
    shared = (mine + theirs) / (len(a.frame) + len(b.frame))
    lexical = (contained + shared) / 2
    return max(lexical, _SAME_MATTER + (1 - _SAME_MATTER) * shared) if _same_matter(a, b) else lexical


def _same_matter(a: Utterance, b: Utterance) -> bool:
    """True if they share subject and predicate: "The engine is quiet", "The engine is loud"."""
    mine, theirs = _subject_predicates(a), _subject_predicates(b)
    return bool(mine & theirs)


def _subject_predicates(utterance: Utterance) -> set[tuple[frozenset[str], str]]:
    return {(subject, claim.predicate) for claim in utterance.claims if (subject := _content(claim.subject))}


def nested(a: Utterance, b: Utterance) -> bool:
    """True if the words of one frame are all contained in the other."""
    return _count_shared(a.frame, b.frame) == len(a.frame) or _count_shared(b.frame, a.frame) == len(b.frame)


@lru_cache(maxsize=8192)
def _count_shared(frame: frozenset[str], other: frozenset[str]) -> int:
    """How many words of a frame occur in the other one."""
    best = (max((alike(word, theirs) for theirs in other), default=0.0) for word in frame)
    return sum(score >= _SAME_WORD for score in best)


def _other_subject(a: Utterance, b: Utterance) -> bool:
    mine, theirs = _subjects(a), _subjects(b)
    if not mine or not theirs:
        return False
    return bool(mine - theirs - b.frame) and bool(theirs - mine - a.frame)


def _subjects(utterance: Utterance) -> frozenset[str]:
    return frozenset(
        word
        for claim in utterance.claims
        if claim.subject.lower() not in _PRONOUN_SUBJECTS
        for word in _content(claim.subject)
    )


@lru_cache(maxsize=8192)
def _content(text: str) -> frozenset[str]:
    """Content words; cached, since every clause is compared with every other."""
    return frozenset(word.norm for word in words(text) if not word.is_stop)


def conflict(a: Utterance, b: Utterance) -> tuple[UtteranceValue, UtteranceValue] | None:
    """The first pair of values of the same kind that cannot both be true."""
    for mine, theirs in _paired(a, b):
        if not agree(mine, theirs):
            return mine, theirs
    return None


def agrees(a: Utterance, b: Utterance) -> bool:
    """True if they agree on a value of some kind."""
    return any(agree(mine, theirs) for mine, theirs in _paired(a, b))


def _paired(a: Utterance, b: Utterance) -> Iterator[tuple[UtteranceValue, UtteranceValue]]:
    """Pairs of values, each the only one of its kind in its utterance."""
    for kind in {value.kind for value in a.values} & {value.kind for value in b.values} - {"count "}:
        mine = [value for value in a.values if value.kind == kind]
        theirs = [value for value in b.values if value.kind == kind]
        if len(mine) == 1 and len(theirs) == 1:
            yield mine[0], theirs[0]


def agree(a: UtteranceValue, b: UtteranceValue) -> bool:
    """True for equal and for compatible values: "in March" and "on 5 March", "about 50" and "52"."""
    if a.date and b.date:
        return dates.compare(a.date, b.date) != "conflict"
    if a.number and b.number:
        bounded = a.number.bound or b.number.bound or a.number.edge or b.number.edge
        return bool(bounded) or numbers.compare(a.number, b.number) != "conflict"
    return same_name(a.text, b.text) if a.kind.startswith("name") else a.choice == b.choice


_OWNER = re.compile(r"\b(?:my|your)\b", re.IGNORECASE)
_IS_NAMED = re.compile(
    r"(?P<what>[\w' ’-]{3,60}?)\s+(?:is|was|will be|is called|is named)\s+(?P<who>[^,.;]{2,50}?)"
    r"(?=\s*(?:[,.;!]|$)|\s+(?:and|but)\s+(?:I|we|you|he|she|it|they|my|your|the)\b)"
)


def _named_value(text: str, by_user: bool) -> Iterator[UtteranceValue]:
    """ "Your account manager is Anna Lee": a name as the value of what it names."""
    match = _IS_NAMED.match(text)
    if not match or any(name.sure for name in names("of " + match["what"])):
        return
    who = match["who"].strip()
    found = names("of " + who)
    if len(found) == 1 and found[0].text == who:
        what = " ".join(word.norm for word in words(match["what"]) if not word.is_stop)
        owner = _OWNER.search(match["what"])
        whose = "" if not owner else "user " if (owner[0].lower() == "my") == by_user else "assistant "
        yield UtteranceValue(f"name {whose}{what}", who, match.start("who"), match.start("who") + len(who))


def _categories(text: str, claims: Sequence[Triple]) -> Iterator[UtteranceValue]:
    """ "is open": a category with an opposite, if it is the whole object."""
    for claim in claims:
        start, end = claim.object_span
        if claim.predicate == "be" and not claim.denied and text[start:end].lower() in EXCLUSIVE:
            axis, side = EXCLUSIVE[text[start:end].lower()]
            yield UtteranceValue(f"{CATEGORY} {axis}", text[start:end], start, end, choice=side)


RELATED = 0.7
"""Similarity from which two clauses are about the same matter."""
CONTRADICTS = 0.6
"""P(no) from which the verifier's answer counts as a contradiction."""
# Confidence per kind of contradiction, before it is multiplied by the similarity.
_BY_VALUE, _BY_NEGATION, _BY_CATEGORY, _BY_ORDER = 0.9, 0.95, 0.8, 0.8
_MAX_TURNS = 10  # earlier turns that are compared
_MAX_QUERIES, _QUERIES_PER_CLAUSE = 24, 2  # verifier queries per response and per clause
_MAX_CLAUSES = 300  # on either side, so that the comparison stays bounded
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
class _HistoryConflict:
    """A clause of the response (`said`) that contradicts an earlier one (`prior`)."""

    clause: Utterance
    prior: Utterance
    type: ContradictionType
    confidence: float
    similarity: float
    value: UtteranceValue | None = None
    correction: str = ""


async def detect_history_contradictions(context: DetectionContext) -> list[Flag]:
    """Flag each clause at most once, against the latest statement it contradicts."""
    priors = list(islice(_established(context), _MAX_CLAUSES))
    if not priors:
        return []
    found: list[_HistoryConflict] = []
    undecided: list[tuple[Utterance, Utterance, float]] = []
    for clause in islice((clause for piece in context.segments for clause in _asserted_clauses(piece)), _MAX_CLAUSES):
        contradiction, ask = _compare_with_history(clause, priors)
        if contradiction:
            found.append(contradiction)
        else:
            undecided += ask
    found += await _ask_verifier(context, undecided[:_MAX_QUERIES])
    flags = [_flag(item) for item in found] + list(_out_of_order(context))
    return sorted({(f.start, f.end): f for f in reversed(flags)}.values(), key=lambda flag: flag.start)


def _asserted_clauses(piece: Segment) -> Iterator[Utterance]:
    """The clauses of an assertive sentence, unless it announces a change."""
    if piece.assertive and not _REVISES.search(piece.text):
        yield from utterances(piece.text, piece.start)


def _established(context: DetectionContext) -> Iterator[Utterance]:
    """Earlier clauses, latest first. "Make it Friday" inherits the frame of the clause it revises."""
    made: list[Utterance] = []
    for turn in context.dialogue.turns[-_MAX_TURNS:]:
        if turn.role.lower() not in SPEAKERS:
            continue
        for piece in segment_response(turn.text, context.now):
            by_user = turn.role.lower() in _USERS
            asks = by_user and _REQUESTS.search(piece.text)
            if not piece.assertive and not asks:
                continue
            firm = piece.assertive or (bool(asks) and not piece.text.rstrip().endswith("?"))
            for clause in utterances(piece.text, turn=turn.id, binding=firm, by_user=by_user):
                made.append(_with_inherited_frame(clause, made))
    yield from reversed(made)


def _with_inherited_frame(clause: Utterance, before: Sequence[Utterance]) -> Utterance:
    if clause.frame or not clause.values:
        return clause
    for earlier in reversed(before):
        if _kinds(clause) & _kinds(earlier):
            return replace(clause, frame=earlier.frame)
    return clause


def _compare_with_history(
    clause: Utterance, priors: Sequence[Utterance]
) -> tuple[_HistoryConflict | None, list[tuple[Utterance, Utterance, float]]]:
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


def _by_rule(clause: Utterance, prior: Utterance, share: float) -> _HistoryConflict | None:
    values = conflict(clause, prior)
    if values and nested(clause, prior):
        if not values[0].kind.startswith(CATEGORY):
            kind = ContradictionType.INCOMPATIBLE_VALUES
            return _HistoryConflict(clause, prior, kind, _BY_VALUE, share, values[0], values[1].text)
        if _kinds(clause) == _kinds(prior):  # "open" and "closed on Mondays" are compatible
            kind = ContradictionType.LOGICAL_IMPOSSIBILITY
            return _HistoryConflict(clause, prior, kind, _BY_CATEGORY, share, values[0], values[1].text)
    for mine in clause.claims:
        for theirs in prior.claims:
            if _words_of(mine.subject) != _words_of(theirs.subject) or mine.predicate != theirs.predicate:
                continue
            if mine.denied != theirs.denied and _words_of(mine.object) == _words_of(theirs.object):
                return _HistoryConflict(clause, prior, ContradictionType.DIRECT_NEGATION, _BY_NEGATION, share)
    return None


def _kinds(utterance: Utterance) -> set[str]:
    return {value.kind for value in utterance.values}


def _words_of(text: str) -> frozenset[str]:
    return frozenset(word.norm for word in words(text) if not word.is_stop)


async def _ask_verifier(
    context: DetectionContext, pairs: Sequence[tuple[Utterance, Utterance, float]]
) -> list[_HistoryConflict]:
    """Ask the verifier with the earlier clause as context; failed queries count as no contradiction."""
    if context.verifier is None or not pairs:
        return []
    queries = [Query(clause.text, prior.text) for clause, prior, _ in pairs]
    estimates = await context.verifier.estimate(queries)
    return [
        _HistoryConflict(clause, prior, ContradictionType.LOGICAL_IMPOSSIBILITY, estimate.p_no, share)
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


def _flag(found: _HistoryConflict) -> Flag:
    clause, prior, value = found.clause, found.prior, found.value
    fix = (clause.start + value.start, clause.start + value.end) if value else None
    evidence = f"Earlier: '{prior.text}' (Turn {prior.turn})"
    return Flag(
        HallucinationType.CONTRADICTS_PRIOR, clause.start, clause.start + len(clause.text), clause.text,
        found.confidence * found.similarity, "This contradicts a previous statement", evidence,
        found.correction, fix, "Earlier conversation", found.type, (("history_match", evidence),),
        prior=prior.text, turn=prior.turn,
    )  # fmt: skip
