"""Do two utterances speak of the same matter, and do their values agree?

An utterance is a clause taken apart into its values (weekdays, dates, clock times, numbers with their units)
and its frame: the content words that are left, without words of saying and arranging. Similarity is the mean
of two shares, with word forms compared softly: of the smaller frame that the larger one holds, and of both
together (Dice); where subject and predicate agree, it is at least .6 and the rest by the Dice share. It is 0
where the subjects differ on both sides ("the basic plan", "the premium plan").
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice

from groundwire.detectors.context import DetectionContext, segment_response
from groundwire.detectors.logic import CATEGORIES
from groundwire.detectors.temporal import lives_across
from groundwire.openie.parser import triples
from groundwire.openie.tense import CLAUSE_EDGE
from groundwire.text import dates, numbers
from groundwire.text.lexicon import NEGATIONS, word_set
from groundwire.text.names import names, same_name
from groundwire.text.tokens import similarity as alike
from groundwire.text.tokens import words
from groundwire.types import ContradictionType, Flag, HallucinationType, Query, Segment, Triple

_SAYING = word_set(
    """
    mention say said tell told note remind confirm book schedule plan set arrange take place hold held happen
    go let know just sure ok okay please thank thanks also yes make move change reschedule switch actually
    instead correction sorry mean meant earlier previously currently now remember recall get put do will
    great perfect fine good noted done understood right expect total
    """
)
_PRONOUN_SUBJECTS = word_set("i you we it they he she this that there let us")
_SOFT, _AGREED = 0.8, 0.6
CATEGORY = "category"
_MIN_WORDS = 2
_LONGEST = 2000


@dataclass(frozen=True, slots=True)
class UtteranceValue:
    """A value at text[start:end] of its utterance. `kind` tells what it can be compared with."""

    kind: str
    text: str
    start: int
    end: int
    choice: int = 0
    """Which of the possible ones: a weekday, a side of a category's axis."""
    date: dates.PartialDate | None = None
    number: numbers.Number | None = None


@dataclass(frozen=True, slots=True)
class Utterance:
    """A clause: `text` as it stands at `start` of its turn or response."""

    text: str
    start: int
    frame: frozenset[str]
    values: tuple[UtteranceValue, ...]
    claims: tuple[Triple, ...]
    turn: int = 0
    binding: bool = True
    """Whether it establishes something; a question or a request only makes its values possible."""


def utterances(
    text: str, offset: int = 0, *, turn: int = 0, binding: bool = True, by_user: bool = False
) -> Iterator[Utterance]:
    """The clauses of a sentence that stands at `offset`. What a user calls "my" an answer calls "your"."""
    if len(text) > _LONGEST:
        return
    begin = 0
    cuts = [match.start() for match in CLAUSE_EDGE.finditer(text) if _parts(text, match)]
    for cut in (*cuts, len(text)):
        piece = text[begin:cut]
        left = len(piece) - len(piece.lstrip(" ,;:.–—"))
        if len(piece.split()) >= _MIN_WORDS:
            clause = piece[left:].rstrip()
            claims = tuple(triples(clause))
            found = (*_values(clause), *_named(clause, by_user), *_categories(clause, claims))
            yield Utterance(
                clause, offset + begin + left, _frame(clause, found), found, claims, turn, binding
            )
        begin = cut


def _parts(text: str, match: re.Match[str]) -> bool:
    """Whether this edge is one: not the point of a figure or of an abbreviation."""
    rest = text[match.end() :]
    return bool(rest.strip(" .!?)\"”'’")) and not (match[0] in ".:" and rest[:1].strip())


def _values(text: str) -> Iterator[UtteranceValue]:
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
            if shown.count(".") == 1:  # the sentence's own point, not that of "a.m."
                shown = shown.removesuffix(".")
            yield UtteranceValue(kind, shown, number.start, number.start + len(shown), number=number)


def _counted(text: str, end: int) -> str:
    """What a bare number counts: the content word behind it."""
    following = words(text[end : end + 40])
    return next((word.norm for word in following[:2] if not word.is_stop), "")


def _frame(text: str, values: Sequence[UtteranceValue]) -> frozenset[str]:
    return frozenset(
        word.norm
        for word in words(text)
        if not word.is_stop
        and word.text.lower() not in _SAYING
        and word.norm not in _SAYING
        and word.text.lower() not in NEGATIONS
        and not any(value.start <= word.start < value.end for value in values)
    )


def similarity(a: Utterance, b: Utterance) -> float:
    """0 to 1; see the head of this file.

    >>> one, two = *utterances("I'll book the meeting for Monday."), *utterances("The meeting is on Friday.")
    >>> similarity(one, two)
    1.0
    """
    if a.frame.isdisjoint(b.frame) or _other_subject(a, b):
        return 0.0
    mine, theirs = _held(a.frame, b.frame), _held(b.frame, a.frame)
    smaller = mine if len(a.frame) <= len(b.frame) else theirs
    contained = smaller / min(len(a.frame), len(b.frame))
    shared = (mine + theirs) / (len(a.frame) + len(b.frame))
    lexical = (contained + shared) / 2
    return max(lexical, _AGREED + (1 - _AGREED) * shared) if _same_matter(a, b) else lexical


def _same_matter(a: Utterance, b: Utterance) -> bool:
    """Whether they say the same kind of thing of the same subject: "The engine is quiet", "… is loud"."""
    mine, theirs = _matters(a), _matters(b)
    return bool(mine & theirs)


def _matters(utterance: Utterance) -> set[tuple[frozenset[str], str]]:
    return {(subject, claim.predicate) for claim in utterance.claims if (subject := _content(claim.subject))}


def nested(a: Utterance, b: Utterance) -> bool:
    """Whether one of them says nothing that the other does not speak of as well."""
    return _held(a.frame, b.frame) == len(a.frame) or _held(b.frame, a.frame) == len(b.frame)


@lru_cache(maxsize=8192)
def _held(frame: frozenset[str], other: frozenset[str]) -> float:
    """How many words of the frame the other has, near misses in part."""
    best = (max((alike(word, theirs) for theirs in other), default=0.0) for word in frame)
    return sum(1.0 if score >= _SOFT else 0.0 for score in best)


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
    """Its content words; remembered, since every clause is compared with every other."""
    return frozenset(word.norm for word in words(text) if not word.is_stop)


def conflict(a: Utterance, b: Utterance) -> tuple[UtteranceValue, UtteranceValue] | None:
    """The values of one kind, one in each, that cannot both be meant."""
    for mine, theirs in _paired(a, b):
        if not agree(mine, theirs):
            return mine, theirs
    return None


def agrees(a: Utterance, b: Utterance) -> bool:
    """Whether they share a value of some kind."""
    return any(agree(mine, theirs) for mine, theirs in _paired(a, b))


def _paired(a: Utterance, b: Utterance) -> Iterator[tuple[UtteranceValue, UtteranceValue]]:
    """Values that are the only one of their kind in both."""
    for kind in {value.kind for value in a.values} & {value.kind for value in b.values} - {"count "}:
        mine = [value for value in a.values if value.kind == kind]
        theirs = [value for value in b.values if value.kind == kind]
        if len(mine) == 1 and len(theirs) == 1:
            yield mine[0], theirs[0]


def agree(a: UtteranceValue, b: UtteranceValue) -> bool:
    """Also where the two leave each other open: "in March" and "on 5 March", "about 50" and "52"."""
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


def _named(text: str, by_user: bool) -> Iterator[UtteranceValue]:
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
    """ "is open": a side of an axis, where nothing else is said of it."""
    for claim in claims:
        start, end = claim.object_span
        if claim.predicate == "be" and not claim.denied and text[start:end].lower() in CATEGORIES:
            axis, side = CATEGORIES[text[start:end].lower()]
            yield UtteranceValue(f"{CATEGORY} {axis}", text[start:end], start, end, choice=side)


# Contradictions with what was said earlier in the conversation.
#
# Catches: another value for the same matter ("Monday", then "Friday"), a statement and its denial, categories
# that exclude each other, ends before beginnings; and, where a verifier can be asked, whatever it takes for
# denied by the earlier statement.
# Misses: what was said more than ten turns ago, matters spoken of in quite different words, other languages.
# What the user corrects or asks to change is superseded: the latest statement counts.
# Costs: comparisons with the clauses of ten turns; one batch of queries where a verifier is there.

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
class _HistoryConflict:
    """A contradiction: `said` is the clause of the response, `prior` the one it goes against."""

    said: Utterance
    prior: Utterance
    type: ContradictionType
    confidence: float
    similarity: float
    value: UtteranceValue | None = None
    correction: str = ""


async def detect_history_contradictions(view: DetectionContext) -> list[Flag]:
    """At most one flag a clause, against the latest statement that it contradicts."""
    priors = list(islice(_established(view), _CLAUSES))
    if not priors:
        return []
    found: list[_HistoryConflict] = []
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


def _established(view: DetectionContext) -> Iterator[Utterance]:
    """Latest first. "Make it Friday" takes over the matter of the latest clause with such a value."""
    made: list[Utterance] = []
    for turn in view.dialogue.turns[-_TURNS:]:
        if turn.role.lower() not in _SPEAKERS:
            continue
        for piece in segment_response(turn.text, view.now):
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
) -> tuple[_HistoryConflict | None, list[tuple[Utterance, Utterance, float]]]:
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


def _by_rule(said: Utterance, prior: Utterance, share: float) -> _HistoryConflict | None:
    values = conflict(said, prior)
    if values and nested(said, prior):
        if not values[0].kind.startswith(CATEGORY):
            kind = ContradictionType.INCOMPATIBLE_VALUES
            return _HistoryConflict(said, prior, kind, _BY_VALUE, share, values[0], values[1].text)
        if _kinds(said) == _kinds(prior):  # not "open", and "closed on Mondays"
            kind = ContradictionType.LOGICAL_IMPOSSIBILITY
            return _HistoryConflict(said, prior, kind, _BY_CATEGORY, share, values[0], values[1].text)
    for mine in said.claims:
        for theirs in prior.claims:
            if _words_of(mine.subject) != _words_of(theirs.subject) or mine.predicate != theirs.predicate:
                continue
            if mine.denied != theirs.denied and _words_of(mine.object) == _words_of(theirs.object):
                return _HistoryConflict(said, prior, ContradictionType.DIRECT_NEGATION, _BY_NEGATION, share)
    return None


def _kinds(utterance: Utterance) -> set[str]:
    return {value.kind for value in utterance.values}


def _words_of(text: str) -> frozenset[str]:
    return frozenset(word.norm for word in words(text) if not word.is_stop)


async def _asked(
    view: DetectionContext, pairs: Sequence[tuple[Utterance, Utterance, float]]
) -> list[_HistoryConflict]:
    """The verifier reads the earlier clause as context. What it cannot judge contradicts nothing."""
    if view.verifier is None or not pairs:
        return []
    queries = [Query(said.text, prior.text) for said, prior, _ in pairs]
    estimates = await view.verifier.estimate(queries)
    return [
        _HistoryConflict(said, prior, ContradictionType.LOGICAL_IMPOSSIBILITY, estimate.p_no, share)
        for (said, prior, share), estimate in zip(pairs, estimates, strict=True)
        if estimate.error is None and estimate.p_no >= CONTRADICTS and estimate.p_no > estimate.p_yes
    ]


def _out_of_order(view: DetectionContext) -> Iterator[Flag]:
    """ "It started in 2021", then "It ended in 2019"."""
    for turn in view.dialogue.turns[-_TURNS:]:
        if turn.role.lower() not in _SPEAKERS:
            continue
        for earlier in segment_response(turn.text, view.now):
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


def _flag(found: _HistoryConflict) -> Flag:
    said, prior, value = found.said, found.prior, found.value
    fix = (said.start + value.start, said.start + value.end) if value else None
    evidence = f"Earlier: '{prior.text}' (Turn {prior.turn})"
    return Flag(
        HallucinationType.CONTRADICTS_PRIOR, said.start, said.start + len(said.text), said.text,
        found.confidence * found.similarity, "This contradicts a previous statement", evidence,
        found.correction, fix, "Earlier conversation", found.type, (("history_match", evidence),),
        prior=prior.text, turn=prior.turn,
    )  # fmt: skip
