"""Coherence of an answer with facts, with the conversation and with itself.

The detectors find contradictions; this module rates their severity and adds the drift between turns: claims
that are weakened (moving goalposts) and terms that change their meaning. The strength of a claim is measured
on three scales (quantity, frequency, certainty), which are tables of English and Hebrew words from strong to
weak in text/data/drift.toml.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from math import sqrt

from groundwire.config import DetectorsConfig
from groundwire.detectors.context import USERS, segment_response
from groundwire.detectors.registry import detect
from groundwire.detectors.statements import RELATED, StatedValue, Utterance, nested, similarity, utterances
from groundwire.openie.tense import verb_groups
from groundwire.text import dates, numbers
from groundwire.text.lexicon import expressions, grammar, word_table
from groundwire.text.sentences import sentences
from groundwire.text.tokens import content_words, normalise, words
from groundwire.types import (
    Case,
    ContradictionType,
    Detection,
    HallucinationType,
    KnowledgeBase,
    Source,
    Tense,
    Turn,
    Verifier,
)
from groundwire.types.stream import Coherence, Contradiction, Drift

SCALES: dict[str, list[tuple[int, str]]] = word_table("drift")["scales"]
"""Words by rank, the strongest first."""
NARROWING, OWNED, _NO_MODAL, _SUBORDINATE, _UNTIL, _REDEFINES, _SPELLED, _SPELLED_AFTER = expressions(
    "drift", "narrowing owned no_modal subordinate until redefines spelled spelled_after"
)
_DEFINITIONS = tuple(re.compile(pattern, re.IGNORECASE) for pattern in grammar("drift")["definitions"])
BARE = {"quantity": None, "frequency": None, "certainty": 4}
"""Rank without a scale word: quantity and frequency are open, but a plain statement is certain."""
_CONDITION_CHARS = 40  # a condition must follow the clause within this distance
_NAMES = {"quantity": "fewer", "frequency": "less often", "certainty": "less certain"}


@dataclass(frozen=True, slots=True)
class Strength:
    """The rank of a text on each scale (None: not stated) and the condition that narrows it."""

    ranks: dict[str, int | None]
    narrowed: str = ""


_PATTERNS = {
    name: [(rank, re.compile(rf"(?<![\w-])[והבלמשכ]?(?:{words})(?![\w-])", re.IGNORECASE)) for rank, words in rows]
    for name, rows in SCALES.items()
}


def strength(text: str, rest: str = "") -> Strength:
    """The strength of a clause; `rest` is the remainder of its sentence, which may narrow it.

    >>> strength("Most users may get it only if they pay.").ranks
    {'quantity': 3, 'frequency': None, 'certainty': 1}
    """
    ranks: dict[str, int | None] = {}
    for scale, rows in _PATTERNS.items():
        found, left = [], _NO_MODAL.sub(" ", text)
        for rank, pattern in sorted(rows, key=lambda row: row[0] != 3):  # "nearly all" before "all"
            if pattern.search(left):
                found.append(rank)
                left = pattern.sub(" ", left)
        ranks[scale] = min(found, default=BARE[scale])  # the weakest word counts: "may always", "nearly all"
    narrowed = NARROWING.search(text + rest[:_CONDITION_CHARS])
    return Strength(ranks, narrowed[0].strip() if narrowed else "")


def weakened(before: Strength, now: Strength) -> str:
    """How the second is weaker than the first; "" if it is not."""
    for scale, was in before.ranks.items():
        became = now.ranks[scale]
        if was is not None and became is not None and became < was and not (was - became < 2 and scale == "certainty"):
            return _NAMES[scale]
    return "narrowed" if now.narrowed and not before.narrowed else ""


def without_scales(text: str) -> str:
    """The text without scale words: what it is about."""
    for rows in _PATTERNS.values():
        for _, pattern in rows:
            text = pattern.sub(" ", text)
    return text


# Moving goalposts: an earlier claim of the assistant is repeated weaker, narrower, or with another date,
# bound or number. Explicit corrections and changes that the user asked for are not reported. Misses claims in
# quite different words.

_TURNS, _CLAUSES = 20, 300  # how far back to look; bounds the pairwise comparison
_WORDS = 2  # content words that two clauses must share
_MOMENT = datetime(2000, 1, 1)
_IGNORED_ROLES = frozenset({"system", "tool", "function", "developer"})
_SEVERITY = {
    "fewer": 0.6, "less often": 0.5, "less certain": 0.5, "narrowed": 0.5,
    "later": 0.7, "another date": 0.6, "lower bar": 0.7, "another number": 0.6,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _RatedClause:
    """A clause and its strength; `turn` is None for the new content."""

    clause: Utterance
    strength: Strength
    turn: int | None
    by_user: bool = False


def goalposts(new_content: str, history: Sequence[Turn]) -> tuple[Contradiction, ...]:
    """Earlier claims that the new content weakens without saying so, in text order."""
    before: list[_RatedClause] = []
    for turn in history[-_TURNS:]:
        by_user = turn.role.lower() in USERS
        for piece in segment_response(turn.text, _MOMENT) if turn.role.lower() not in _IGNORED_ROLES else ():
            if piece.assertive or by_user:
                before += _clauses(piece.text, piece.start, turn.id, by_user=by_user)
    before = before[-_CLAUSES:]
    claims = [clause for clause in before if not clause.by_user]
    if not claims:
        return ()
    allowed = [clause for clause in before if clause.by_user]
    new = islice(_unowned(new_content), _CLAUSES)
    return tuple(moved for clause in new if (moved := _moved(clause, claims, allowed)) is not None)


def _unowned(text: str) -> Iterator[_RatedClause]:
    """Clauses of the new content, without explicit corrections and the sentences that follow them."""
    owned = False
    for piece in segment_response(text, _MOMENT):
        if OWNED.search(piece.text):
            owned = True
        elif piece.assertive and not owned:
            yield from _clauses(piece.text, piece.start, None)
        else:
            owned = False


def _clauses(text: str, offset: int, turn: int | None, *, by_user: bool = False) -> Iterator[_RatedClause]:
    for clause in utterances(text, offset):
        if _SUBORDINATE.match(clause.text):
            continue  # a subordinate clause claims nothing by itself
        bare = {normalise(word) for word in re.findall(r"[^\W\d_]+", without_scales(clause.text))}
        frame = frozenset(word for word in clause.frame if word in bare and word not in _IGNORED_WORDS)
        claims = tuple(replace(c, subject=without_scales(c.subject).strip()) for c in clause.claims)
        rest = text[clause.start - offset + len(clause.text) :]
        strong = strength(clause.text, rest)
        yield _RatedClause(replace(clause, frame=frame, claims=claims), strong, turn, by_user)


_IGNORED_WORDS = frozenset(
    {*(normalise(name) for name in dates.MONTHS), "q1", "q2", "q3", "q4", "least", "end", "early", "late"}
    | {normalise(word) for word in ("provided", "except", "excluding", "unless", "condition", "subject")}
)


def _moved(new: _RatedClause, claims: Sequence[_RatedClause], allowed: Sequence[_RatedClause]) -> Contradiction | None:
    """Compare with the latest claim about the same matter, unless the user asked for the change."""
    for prior in reversed(claims):
        if not _same_matter(new.clause, prior.clause):
            continue
        how = _how(new, prior)
        if not how:
            return None
        for user in allowed:  # who may have stated the matter already as the new content does
            near = similarity(user.clause, new.clause) >= RELATED / 2 and (user.turn or 0) > (prior.turn or 0)
            if near and not _how(new, user) and _how(user, prior):
                return None
        own = new.clause
        return Contradiction(
            own.text, prior.clause.text, _SEVERITY[how], own.start, own.start + len(own.text),
            prior.turn, how, "assistant",
        )  # fmt: skip
    return None


def _same_matter(one: Utterance, other: Utterance) -> bool:
    """True if one clause is contained in the other and they share enough words or a measured value."""
    mine, theirs = _figure(one), _figure(other)
    measured = mine is not None and theirs is not None and mine.kind == theirs.kind
    enough = min(len(one.frame), len(other.frame)) >= _WORDS or measured
    return enough and nested(one, other) and similarity(one, other) >= RELATED


def _how(new: _RatedClause, prior: _RatedClause) -> str:
    """How the new clause differs from the prior one: by a date, a figure or its strength; "" if it does not."""
    later, mine, theirs = "", _when(new.clause.text), _when(prior.clause.text)
    if mine is not None and theirs is not None and mine != theirs:
        same_year = mine[0] == theirs[0] or not (mine[0] and theirs[0])
        if not same_year or (mine[1] != theirs[1] and mine[1] and theirs[1]):
            after = mine[1] > theirs[1] if same_year else mine > theirs
            later = "later" if after else "another date"
    groups = (group for one in (new, prior) for group in verb_groups(one.clause.text)) if later else ()
    if any(group.tense is Tense.PAST for group in groups):
        return ""  # two past dates are two facts, not a change
    return later or _bar(new, prior) or weakened(prior.strength, new.strength)


def _when(text: str) -> tuple[int, int] | None:
    """Year (0 if not given) and month; a quarter counts as its last month."""
    for match in _UNTIL.finditer(text):
        name = (match["when"] or match["he"] or "").lower()
        month = int(name[1]) * 3 if re.fullmatch(r"q[1-4]", name) else dates.MONTHS.get(name)
        if month:
            return int(match["year"] or 0), month
    for date in dates.dates(text):
        if date.year:
            return date.year, date.month or 0
    return None


def _bar(new: _RatedClause, prior: _RatedClause) -> str:
    """ "lower bar" if the new figure promises less, "another number" if it only differs."""
    mine, theirs = _figure(new.clause), _figure(prior.clause)
    if mine is None or theirs is None or mine.kind != theirs.kind or not (mine.number and theirs.number):
        return ""
    was, became = theirs.number, mine.number
    bounded = became.bound in ("over", "under") and was.bound == became.bound
    if became.value == was.value or (numbers.compare(became, was) != "conflict" and not bounded):
        return ""
    at_most = was.bound == "under"
    return "lower bar" if (became.value > was.value) == at_most else "another number"


def _figure(clause: Utterance) -> StatedValue | None:
    """The single measured figure of a clause."""
    found = [value for value in clause.values if value.number and value.kind not in ("count ", "clock")]
    return found[0] if len(found) == 1 else None


# Semantic drift: a term that was defined, spelled out or used in one sense and now in another.
#
# Catches changed definitions ("by X we mean …", "X stands for …"), abbreviations with two expansions, and
# words whose neighbours changed. Misses words used once or twice: neighbours are counted, there are no
# embeddings.

SAME_DEFINITION = 0.5
"""Dice overlap of two definitions from which they are the same."""
_DIFFERENT_USE, _CONSISTENT_USE, _MIN_USES = 0.08, 0.2, 3  # cosine between, cosine within, sentences
_DRIFT_TURNS, _SENTENCE_CHARS = 40, 400


def drifts(new_content: str, history: Sequence[Turn]) -> tuple[Drift, ...]:
    """Terms that changed their meaning: by definition first, then by neighbours; each term once."""
    before = [turn.text for turn in history[-_DRIFT_TURNS:]]
    if not before:
        return ()
    found: dict[str, Drift] = {}
    for drift in (*_redefined(new_content, before), *_shifted_use(new_content, before)):
        found.setdefault(drift.term.casefold(), drift)
    return tuple(found.values())


def _redefined(new_content: str, before: Iterable[str]) -> Iterator[Drift]:
    known = {_key(term): what for text in before for term, what in _definitions(text)}
    for term, what in _definitions(new_content, owned=False):
        earlier = known.get(_key(term))
        if earlier is None:
            continue
        one, other = content_words(earlier), content_words(what)
        alike = 2 * len(one & other) / (len(one) + len(other)) if one or other else 1.0
        figures = [{(n.value, n.unit) for n in numbers.numbers(text)} for text in (earlier, what)]
        if alike < SAME_DEFINITION or figures[0] != figures[1]:
            yield Drift(term, earlier, what, round(alike, 3))


def _definitions(text: str, *, owned: bool = True) -> Iterator[tuple[str, str]]:
    """Terms with their definitions; without explicit redefinitions unless `owned`."""
    for span in sentences(text):
        sentence = text[span.start : span.end][:_SENTENCE_CHARS]
        if not owned and (OWNED.search(sentence) or _REDEFINES.search(sentence)):
            continue
        for match in (match for pattern in _DEFINITIONS for match in pattern.finditer(sentence)):
            yield match["term"].strip(" '"), match["what"].strip()
        for match in (match for pattern in (_SPELLED, _SPELLED_AFTER) for match in pattern.finditer(sentence)):
            parts = re.split(r"[ -]", match["long"])[-len(match["short"]) :]
            if "".join(part[0] for part in parts).upper() == match["short"]:  # their initials spell it
                yield match["short"], " ".join(parts)


def _key(term: str) -> str:
    return " ".join(word.norm for word in words(term) if not word.is_stop) or term.casefold()


def _shifted_use(new_content: str, before: Sequence[str]) -> Iterator[Drift]:
    """Terms with different neighbours before and now, both of them consistent."""
    if OWNED.search(new_content) or _REDEFINES.search(new_content):
        return
    mine, theirs = _neighbours([new_content]), _neighbours(before)
    for term in sorted(mine.keys() & theirs.keys()):
        now, then = mine[term], theirs[term]
        if min(len(now), len(then)) < _MIN_USES or min(_within(now), _within(then)) < _CONSISTENT_USE:
            continue
        alike = _cosine(sum(now, Counter()), sum(then, Counter()))
        if alike < _DIFFERENT_USE:
            common = [", ".join(word for word, _ in sum(u, Counter()).most_common(4)) for u in (then, now)]
            yield Drift(term, f"{term} with {common[0]}", f"{term} with {common[1]}", round(alike, 3))


def _neighbours(texts: Iterable[str]) -> Mapping[str, list[Counter[str]]]:
    """For each content word, one counter of neighbouring words per sentence."""
    found: defaultdict[str, list[Counter[str]]] = defaultdict(list)
    for text in texts:
        for span in sentences(text):
            around = Counter(w.norm for w in words(text[span.start : span.end][:_SENTENCE_CHARS]) if not w.is_stop)
            for term in around:
                if len(term) > 2 and term.isalpha():
                    found[term].append(Counter({w: n for w, n in around.items() if w != term}))
    return found


def _within(uses: Sequence[Counter[str]]) -> float:
    """Mean similarity of a use to the others."""
    total = sum(uses, Counter[str]())
    return sum(_cosine(use, total - use) for use in uses) / len(uses)


def _cosine(one: Mapping[str, int], other: Mapping[str, int]) -> float:
    shared = sum(n * other[word] for word, n in one.items() if word in other)
    size = sqrt(sum(n * n for n in one.values())) * sqrt(sum(n * n for n in other.values()))
    return shared / size if size else 0.0


# Coherence as a whole: what the detectors found, rated, with goalposts and drifts.

FACT, ANSWER = "fact", "answer"
_AGAINST_FACTS = (HallucinationType.CONTRADICTS_FACT, HallucinationType.WRONG_ATTRIBUTE)
_WITHIN = (HallucinationType.LOGICAL_INCONSISTENCY, HallucinationType.TEMPORAL_ERROR)
# How serious each kind of contradiction is. A negation leaves no other reading, a logical clash may.
_KIND_WEIGHT = {
    ContradictionType.DIRECT_NEGATION: 1.0,
    ContradictionType.INCOMPATIBLE_VALUES: 0.95,
    ContradictionType.TEMPORAL_IMPOSSIBILITY: 0.85,
    ContradictionType.LOGICAL_IMPOSSIBILITY: 0.75,
}
_OTHER_KIND_WEIGHT = 0.9  # the detector did not name the kind
# How much the contradicted statement counts, by who established it.
_AUTHORITY = {FACT: 1.0, "user": 0.9, "assistant": 0.8, ANSWER: 0.7}
_OTHER_AUTHORITY = 0.8  # tools and other speakers
_FACT_SENTENCES = 200  # bounds the pairwise comparison


async def validate_coherence(
    new_content: str,
    history: Sequence[Turn] = (),
    *,
    facts: Sequence[Source] = (),
    kb: KnowledgeBase | None = None,
    now: datetime | None = None,
    verifier: Verifier | None = None,
) -> Coherence:
    """Compare new content with the conversation, with facts (sources, a knowledge base) and with itself.

    The optional `verifier` decides pairs of statements that the detectors' rules leave open.
    """
    case = Case(new_content, (), history=tuple(history), kb=kb, now=now)
    found = await detect(case, DetectorsConfig(), verifier)
    about = content_words(new_content)  # the fact sentences that share a word with it, as one earlier turn
    statements = (source.text[span.start : span.end] for source in facts for span in sentences(source.text))
    near = [text for text in statements if about & content_words(text)]
    by_facts = None
    if near:
        stated = (Turn(0, "assistant", "\n\n".join(near[:_FACT_SENTENCES])),)
        by_facts = await detect(Case(new_content, (), history=stated, now=now), verifier=verifier)
    return coherence_of(new_content, history, found, by_facts)


def coherence_of(
    new_content: str, history: Sequence[Turn], found: Detection | None, by_facts: Detection | None = None
) -> Coherence:
    """As `validate_coherence`, from existing detections on the conversation and on the facts."""
    moved = goalposts(new_content, history)
    against = [*_against(found, history), *(_against(by_facts, None) if by_facts else ())]
    remaining = [c for c in against if not any(c.turn == g.turn and c.start < g.end and g.start < c.end for g in moved)]
    order = sorted(dict.fromkeys(remaining), key=lambda c: (c.start, -c.severity))
    return Coherence(tuple(order), drifts(new_content, history), moved)


def severity(kind: ContradictionType | None, established_by: str, confidence: float) -> float:
    """Severity of a contradiction from its kind, the authority it contradicts, and its confidence.

    >>> severity(ContradictionType.DIRECT_NEGATION, "fact", 1.0)
    1.0
    >>> severity(ContradictionType.LOGICAL_IMPOSSIBILITY, "assistant", 0.5)
    0.3
    """
    weight = _KIND_WEIGHT[kind] if kind else _OTHER_KIND_WEIGHT
    return round(weight * _AUTHORITY.get(established_by, _OTHER_AUTHORITY) * confidence, 4)


def _against(found: Detection | None, history: Sequence[Turn] | None) -> Iterator[Contradiction]:
    """The contradictions in a detection. With `history` None, the earlier turn consisted of facts."""
    roles = {turn.id: turn.role for turn in history or ()}
    for flag in found.flags if found else ():
        if flag.type is HallucinationType.CONTRADICTS_PRIOR:
            by = FACT if history is None else roles.get(flag.turn or 0, "")
        elif history is not None and flag.type in (*_AGAINST_FACTS, *_WITHIN):
            by = FACT if flag.type in _AGAINST_FACTS else ANSWER
        else:
            continue
        yield Contradiction(
            claim=flag.content,
            contradicts=flag.prior or flag.evidence or flag.suggestion,
            severity=severity(flag.contradiction, by, flag.confidence),
            start=flag.start,
            end=flag.end,
            turn=flag.turn or None,
            kind=flag.contradiction.value if flag.contradiction else flag.type.value,
            established_by=by,
        )
