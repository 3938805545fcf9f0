"""The verifier for languages other than English: plain rules over shared words, figures and negation.

The embedded network reads English only. In other languages words decide where they can, and elsewhere the estimate
says that they do not (`undecided`). `python -m benchmarks.languages` measures every rule; the shares below are of the
1,999 pairs of HebNLI's validation set, a third of each label.

    words      nearly all words of the claim stand in one sentence, most in the same order       → supported
    roles      the Hebrew object marker shows agent and object exchanged                         → contradicted
    fact       the sentence closest to the claim has another number or date                      → contradicted
    negation   the same clause, negated on one side only                                         → contradicted
    silence    no sentence has many of the claim's words                                         → not supported
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from heapq import nlargest
from itertools import pairwise, takewhile
from typing import Literal, NamedTuple

from groundwire.text import dates as date_reader
from groundwire.text import numbers as number_reader
from groundwire.text.dates import MONTHS, PartialDate
from groundwire.text.lexicon import FOREIGN_FUNCTION_WORDS, NEGATIONS, word_set, word_table
from groundwire.text.numbers import Number
from groundwire.text.structure import MARKERS, pieces
from groundwire.text.tokens import TextCache, Word, cached, is_stop, language_hint, normalise, similarity, words
from groundwire.types import Estimate, Query, Span

NEAREST = 6
"""Sentences that a claim is compared with, those that share most words with it."""
MAX_COMPARED = 64
"""Facts and unknown words of a claim that are looked for; no sentence has more, and the time is bounded by it."""

_SETTLED, _SETTLED_PAIRS, _FIGURE_PAIRS = 0.9, 0.6, 0.5
"""Share of the claim's words in one sentence, and of its pairs of neighbours, from which it is supported: 48 of 56."""
_DENIED = 0.8
"""Share of the claim's words in one sentence from which a negation on one side decides: 16 of 22."""
_FEW = 0.6
"""Share of the claim's words in one sentence under which the sources do not say it: 1,067 of 1,399."""
_SPEAKS = 0.34
"""Share of the claim's words in the nearest sentences from which the context is about its topic: a third."""
_OFF_TOPIC = 0.2
"""Share under which the reason is "not mentioned" instead of a list of most of the claim's words."""
_ON_TOPIC = 0.5
"""Share of the claim's words in one sentence from which a negation or an opposite in it is about the same thing."""

_VERBATIM = (0.95, 0.02)  # P(yes), P(no); 19 of 19 are entailed
_SHARED = (0.83, 0.05)
_DIFFERENT = (0.15, 0.75)  # 38 of 52 are contradictions
_OPPOSED = (0.3, 0.6)  # an antonym, or a negation in a sentence with fewer words in common; 39 of 59
_NOTHING = (0.05, 0.02)  # no word is shared, or there is no evidence: the prior of the embedded verifier
_NO_SHARE = 0.3  # of what is left of P(yes), where nothing but the number of shared words is known

_ALIKE = 0.62  # string similarity from which two words are forms of one
_MIN_ALIKE = 4  # letters; shorter words resemble too many others
_FACT_WINDOW = 34  # characters on both sides of a number that tell what it is about: some five words
_MIN_STRENGTH = 0.45  # mean share of words in common, in the sentence and beside the number, of a conflict
_SAME_CLAUSE, _BOTH_WAYS = 0.6, 0.3  # share of a clause's words in another that says the same, and the reverse
_CLOSEST = 0.9  # clauses with at least this share of the best overlap are compared
_NAME_WORDS = 3  # words of a name before a Hebrew verb or behind the object marker
_JOIN_GAP = 14  # characters up to which two marked spans are joined: about two words
_MIN_MARKED = 2  # unknown words from which a run is marked; a single one is often a synonym

UNDECIDED = "shared words do not settle this; the embedded model reads English only"
_SOURCE = re.compile(r"\n\n(?=\[[\w.:\-]{1,64}\][ \t])")
_MARKER = re.compile("|".join(map(re.escape, MARKERS)))
_CLAUSE_END = re.compile(r"[.,;:!?()\n—–]|--")
_CLAUSE_WORDS = word_set("but while because although whereas which who if unless that אבל אך כי אם למרות")
_NEGATIONS = NEGATIONS | word_set("nicht kein keine keinen pas jamais non não nunca nie niet geen ikke inte")
_NEUTRAL_AFTER_NOT = frozenset({"only", "just", "merely", "רק"})
_OBJECT_MARKER = "את"

Rule = Literal["words", "silence", "roles", "negation", "fact"]


@lru_cache(maxsize=1)
def antonyms() -> dict[str, frozenset[tuple[int, int]]]:
    """Normalised word → its (row, side) pairs in the table of antonyms. Short English words have comparatives, too."""
    found: dict[str, set[tuple[int, int]]] = {}
    for row, line in enumerate(word_table("words")["antonyms"].strip().splitlines()):
        for side, listed in enumerate(line.split("/")):
            for word in listed.split():
                forms = (word, word.removesuffix("e") + "er") if word.isascii() and len(word) <= 5 else (word,)
                for form in forms:
                    found.setdefault(normalise(form), set()).add((row, side))
    return {norm: frozenset(sides) for norm, sides in found.items()}


def is_content(word: Word) -> bool:
    lowered = word.text.lower()
    return not (
        word.text[0].isdigit() or is_stop(word.text) or lowered in _NEGATIONS or lowered in FOREIGN_FUNCTION_WORDS
    )


@cached(1 << 13, 300)
def content_norms(text: str) -> frozenset[str]:
    """The normal forms of a text's words but function words, negations and numbers."""
    return frozenset(word.norm for word in words(text) if is_content(word))


class Clause(NamedTuple):
    """The content words of one clause, whether it is negated, and the words next to its negation."""

    content: frozenset[str]
    negated: bool
    denied: frozenset[str]


@dataclass(frozen=True, slots=True)
class Sentence:
    """A claim, or a sentence or row of the context; `content` are the words outside numbers and dates."""

    text: str
    words: tuple[Word, ...]
    content: tuple[Word, ...]
    numbers: tuple[Number, ...]
    dates: tuple[PartialDate, ...]
    clauses: tuple[Clause, ...]

    def around(self, fact: Number | PartialDate) -> frozenset[str]:
        """The content words next to a number or date: what it is about."""
        first, last = fact.start - _FACT_WINDOW, fact.end + _FACT_WINDOW
        begin = bisect_right(self.content, first - 1, key=lambda word: word.end)
        return frozenset(word.norm for word in takewhile(lambda word: word.start <= last, self.content[begin:]))


@cached(1 << 12, 300, longer=16)
def analyse(text: str) -> Sentence:
    tokens = tuple(words(text))
    found_dates = tuple(date_reader.dates(text))
    taken = bytearray(len(text))  # 1 inside a date or number
    for date in found_dates:
        taken[date.start : date.end] = b"\1" * (date.end - date.start)
    found = tuple(n for n in number_reader.numbers(text) if taken.find(1, n.start, n.end) < 0)
    for number in found:
        taken[number.start : number.end] = b"\1" * (number.end - number.start)
    content = tuple(word for word in tokens if is_content(word) and taken.find(1, word.start, word.end) < 0)
    return Sentence(text, tokens, content, found, found_dates, tuple(_clauses(text, tokens)))


def _read_context(context: str) -> tuple[tuple[str, frozenset[str]], ...]:
    """The sentences and rows of a rendered context, each with its content words; rows begin with their heading."""
    texts = (
        _MARKER.sub(" ", f"{piece.under} {piece.text}" if piece.under else piece.text)
        for source in _SOURCE.split(context)
        for piece in pieces(source)
    )
    return tuple((text, content_norms(text)) for text in dict.fromkeys(texts) if text.strip())


_CONTEXTS, _CONTEXT_CHARS = 8, 2_000_000
context_sentences = TextCache(_read_context, _CONTEXTS, _CONTEXT_CHARS)


def _clauses(text: str, tokens: Sequence[Word]) -> Iterator[Clause]:
    """Split at punctuation and conjunctions; 'label: no' is one negated clause."""
    begin = 0
    for i, token in enumerate(tokens):
        cut = token.text.lower() in _CLAUSE_WORDS or _CLAUSE_END.search(
            text, tokens[i - 1].end if i else 0, token.start
        )
        if cut and i > begin and not (i == len(tokens) - 1 and _is_denial(tokens, i)):
            yield _clause(tokens, begin, i)
            begin = i
    yield _clause(tokens, begin, len(tokens))


def _clause(tokens: Sequence[Word], begin: int, end: int) -> Clause:
    content = [(i, tokens[i].norm) for i in range(begin, end) if is_content(tokens[i])]
    denials = [i for i in range(begin, end) if _is_denial(tokens, i)]
    behind = (bisect_right(content, at, key=lambda word: word[0]) for at in denials)
    denied = {norm for first in behind for _, norm in content[first : first + 2]}
    if denials and denials[-1] == end - 1:
        denied.update(norm for _, norm in content)
    return Clause(frozenset(norm for _, norm in content), len(denials) % 2 == 1, frozenset(denied))


def _is_denial(tokens: Sequence[Word], i: int) -> bool:
    """Return True for 'not', 'never' and the like, but not for 'not only'."""
    if tokens[i].text.lower().replace("’", "'") not in _NEGATIONS:
        return False
    return i + 1 >= len(tokens) or tokens[i + 1].text.lower() not in _NEUTRAL_AFTER_NOT


@dataclass(frozen=True, slots=True)
class MissingFact:
    """A number or date of the claim that the evidence replaces by `instead`, or does not have at all ("")."""

    start: int
    end: int
    instead: str


@dataclass(frozen=True, slots=True)
class LexicalMatch:
    """A claim compared with a context.

    `evidence` is the number of sentences in the context. `best` is the share of the claim's content words in the
    closest sentence, `covered` in the nearest ones, where forms of a word count. `negated` says that the evidence
    negates the claim (True) or the reverse (False).
    """

    claim: Sentence
    evidence: int
    near: tuple[Sentence, ...]
    best: float
    covered: float
    unknown: tuple[Word, ...]
    in_order: float
    verbatim: bool
    facts: tuple[MissingFact, ...]
    negated: bool | None
    opposite: tuple[Word, str] | None
    exchanged: bool

    @property
    def rule(self) -> Rule | None:
        """The rule that decides the claim; None where words do not."""
        if self.exchanged:
            return "roles"
        if any(fact.instead for fact in self.facts):
            return "fact"
        if self.negated is not None:
            return "negation" if self.best >= _DENIED else None
        # A figure that the evidence has, too, makes up for another order of the words around it.
        figures = bool(self.claim.numbers or self.claim.dates) and not self.facts
        in_order = self.in_order >= (_FIGURE_PAIRS if figures else _SETTLED_PAIRS)
        if self.verbatim or (self.best >= _SETTLED and in_order and not self.opposite):
            return "words"
        return "silence" if self.best < _FEW else None

    @property
    def probabilities(self) -> tuple[float, float]:
        """P(yes) and P(no), as often as the rule was right; without a rule a curve over the share of words."""
        if self.rule in ("roles", "fact", "negation"):
            return _DIFFERENT
        if self.rule == "words":
            return _VERBATIM if self.verbatim else _SHARED
        if self.negated is not None or self.opposite:
            return _OPPOSED
        if not self.near:
            return _NOTHING
        # Where a quarter of the words is known at most, 50 of 310 are entailed; beyond, a curve fits the entailed share
        # of every tenth.
        yes = 0.16 if self.covered <= 0.25 else 0.12 + 0.2 * self.covered + 0.5 * self.covered**2
        return yes, _NO_SHARE * (1.0 - yes)


def compare(claim_text: str, context: str) -> LexicalMatch:
    claim = analyse(claim_text)
    wanted = frozenset(word.norm for word in claim.content)
    hits = [(len(wanted & content), -i, text) for i, (text, content) in enumerate(context_sentences(context))]
    near = [(analyse(text), count) for count, _, text in nlargest(NEAREST, hits) if count]
    on_topic = [sentence for sentence, count in near if count >= _ON_TOPIC * len(wanted)]
    sentences = tuple(sentence for sentence, _ in near)
    known = frozenset(word.norm for sentence in sentences for word in sentence.words)
    unknown = _unknown(claim, known)
    missing = {word.norm for word in unknown}
    norms = [word.norm for word in claim.words]
    order = {text: iter([word.norm for word in text.words]) for text in sentences}
    return LexicalMatch(
        claim=claim,
        evidence=len(hits),
        near=sentences,
        best=near[0][1] / len(wanted) if near else 0.0,
        covered=1.0 - len(missing) / len(wanted) if wanted and near else 0.0,
        unknown=unknown,
        in_order=_in_order(claim, sentences),
        verbatim=bool(norms) and any(all(norm in rest for norm in norms) for rest in order.values()),
        facts=tuple(_facts(claim, [(sentence, count / len(wanted)) for sentence, count in near])),
        negated=_negated(claim, on_topic),
        opposite=_opposite(claim, on_topic[0], known) if on_topic else None,
        exchanged=any(_exchanged(claim, sentence) for sentence in sentences),
    )


def _unknown(claim: Sentence, known: frozenset[str]) -> tuple[Word, ...]:
    """The claim's content words without a form of them among the known words."""
    candidates = sorted(norm for norm in known if len(norm) >= _MIN_ALIKE)
    missing = list(dict.fromkeys(word.norm for word in claim.content if word.norm not in known))
    found = {
        norm
        for norm in missing[:MAX_COMPARED]
        if len(norm) >= _MIN_ALIKE
        and any(norm[:2] == other[:2] and similarity(norm, other) >= _ALIKE for other in candidates)
    }
    return tuple(word for word in claim.content if word.norm not in known and word.norm not in found)


def _in_order(claim: Sentence, near: Sequence[Sentence]) -> float:
    """Share of the claim's neighbouring content words that are neighbours, or nearly, in a near sentence too."""
    wanted = list(pairwise(word.norm for word in claim.content))
    if not wanted:
        return float(bool(near))
    pairs: set[tuple[str, str]] = set()
    for sentence in near:
        norms = [word.norm for word in sentence.content]
        pairs.update(pairwise(norms))
        pairs.update(zip(norms, norms[2:], strict=False))
    return sum(pair in pairs for pair in wanted) / len(wanted)


def _facts(claim: Sentence, near: Sequence[tuple[Sentence, float]]) -> Iterator[MissingFact]:
    """The claim's numbers and dates that no near sentence has, each with the value that the closest has instead."""
    for number in claim.numbers[:MAX_COMPARED]:
        if not any(_has_number(number, sentence) for sentence, _ in near):
            yield MissingFact(number.start, number.end, _instead(claim, number, near))
    for date in claim.dates[:MAX_COMPARED]:
        if not any(_has_date(date, sentence) for sentence, _ in near):
            yield MissingFact(date.start, date.end, _instead(claim, date, near))


def _has_number(number: Number, sentence: Sentence) -> bool:
    if number.kind == "number" and not number.unit and any(date.year == number.value for date in sentence.dates):
        return True
    if any(number_reader.compare(number, other) in ("same", "compatible") for other in sentence.numbers):
        return True
    return not number.edge and any(
        low.edge == "low" and high.edge == "high" and number_reader.in_range(number, low, high)
        for low, high in pairwise(sentence.numbers)
    )


def _has_date(date: PartialDate, sentence: Sentence) -> bool:
    if any(date_reader.compare(date, other) in ("same", "compatible") for other in sentence.dates):
        return True
    if date.month and not date.year and not date.day:
        return any(MONTHS.get(word.text.lower()) == date.month for word in sentence.words)
    bare_year = not date.month and date.years == 1
    return bare_year and any(number.value == date.year and not number.unit for number in sentence.numbers)


def _instead(claim: Sentence, fact: Number | PartialDate, near: Sequence[tuple[Sentence, float]]) -> str:
    """Another value of the same unit in a sentence about the same thing; "" if there is none."""
    around = claim.around(fact)
    best, instead = 0.0, ""
    for sentence, overlap in near:
        for other in _rivals(fact, sentence):
            shared = len(around & sentence.around(other))
            strength = (overlap + (shared / len(around) if around else overlap)) / 2
            if strength > best and strength >= _MIN_STRENGTH and (shared or overlap >= _FEW):
                best, instead = strength, sentence.text[other.start : other.end]
    return instead


def _rivals(fact: Number | PartialDate, sentence: Sentence) -> Iterator[Number | PartialDate]:
    if isinstance(fact, PartialDate):
        yield from (other for other in sentence.dates if date_reader.compare(fact, other) == "conflict")
        return
    for other in sentence.numbers:
        ends_differ = fact.edge and other.edge and fact.edge != other.edge  # of ranges
        if number_reader.compare(fact, other) == "conflict" and not ends_differ:
            yield other


def _negated(claim: Sentence, near: Sequence[Sentence]) -> bool | None:
    """True if the evidence negates the claim, False if the claim negates the evidence, None if neither.

    Compared clause by clause: a negation in another clause of a long sentence is irrelevant.
    """
    theirs = list(dict.fromkeys(clause for sentence in near for clause in sentence.clauses if clause.content))
    for clause in dict.fromkeys(claim.clauses[:MAX_COMPARED]):
        shares = [_share_of(clause, other) for other in theirs]
        best = max(shares, default=0.0)
        if best < _SAME_CLAUSE or len(clause.content) < 2:
            continue
        closest = [other for other, share in zip(theirs, shares, strict=True) if share >= _CLOSEST * best]
        if all(
            clause.negated != other.negated and (clause.denied | other.denied) & clause.content & other.content
            for other in closest
        ):
            return closest[0].negated
    return None


def _share_of(clause: Clause, other: Clause) -> float:
    """The share of the clause's words in the other; 0 if they are too few of the other's."""
    common = len(clause.content & other.content)
    return common / len(clause.content) if common and common >= _BOTH_WAYS * len(other.content) else 0.0


def _opposite(claim: Sentence, sentence: Sentence, known: frozenset[str]) -> tuple[Word, str] | None:
    """A word of the claim that no near sentence has while the closest has its antonym."""
    table, mine = antonyms(), {word.norm for word in claim.words}
    sides = {place: word.text for word in sentence.words if word.norm not in mine for place in table.get(word.norm, ())}
    for word in claim.words:
        for row, side in table.get(word.norm, ()) if word.norm not in known else ():
            if (row, 1 - side) in sides and (row, side) not in sides:
                return word, sides[row, 1 - side]
    return None


def _exchanged(claim: Sentence, sentence: Sentence) -> bool:
    theirs = list(_roles(sentence))
    for agent, verb, thing in _roles(claim):
        same = [(x, y) for x, v, y in theirs if v == verb]
        if any(x & agent and y & thing for x, y in same) or agent & thing:
            continue
        if any(x & thing and y & agent for x, y in same):
            return True
    return False


def _roles(sentence: Sentence) -> Iterator[tuple[frozenset[str], str, frozenset[str]]]:
    """(agent, verb, object) of Hebrew sentences, which have a marker before the object: agent verb את object."""
    content = {word.start for word in sentence.content}
    for i, word in enumerate(sentence.words):
        if word.text == _OBJECT_MARKER and i >= 2 and sentence.words[i - 1].start in content:
            before, behind = sentence.words[max(0, i - 1 - _NAME_WORDS) : i - 1][::-1], sentence.words[i + 1 :]
            agent, thing = (
                frozenset(w.norm for w in takewhile(lambda w: w.start in content, side[:_NAME_WORDS]))
                for side in (before, behind)
            )
            if agent and thing:
                yield agent, sentence.words[i - 1].norm, thing


class LexicalVerifier:
    """Compares words and figures, in any language. Offline, deterministic, no weights to load.

    Catches: different numbers and dates, negations, exchanged roles in Hebrew, unmentioned content. Misses: paraphrase
    without shared words, another name in an otherwise equal sentence, and inference over several steps.
    """

    async def estimate(self, queries: Sequence[Query]) -> list[Estimate]:
        return [self.judge(query) for query in queries]

    def judge(self, query: Query) -> Estimate:
        """Judge one query synchronously: a few milliseconds of computation."""
        found = compare(query.claim, query.context)
        yes, no = found.probabilities
        method, undecided = f"local/lexical({language_hint(query.claim)})", "" if found.rule else UNDECIDED
        reason, spans, speaks = _reason(found, yes), _spans(found, yes), found.covered >= _SPEAKS
        return Estimate.point(yes, no, method, reason=reason, spans=spans, speaks=speaks, undecided=undecided)


def _reason(found: LexicalMatch, yes: float) -> str:
    """The most important reason for the estimate, in words."""
    if yes >= 0.5:
        return "the evidence says so" if found.best >= _DENIED else "supported by the sources"
    if found.exchanged:
        return "the evidence has the roles the other way round"
    if instead := next((fact.instead.strip() for fact in found.facts if fact.instead), ""):
        return f"evidence says {instead}"
    if found.negated is not None:
        return "negated in the evidence" if found.negated else "negated in the claim, not in the evidence"
    if found.opposite:
        return f"evidence says '{found.opposite[1]}', not '{found.opposite[0].text}'"
    if found.facts:
        return f"'{found.claim.text[found.facts[0].start : found.facts[0].end]}' is not in the sources"
    if found.covered < _OFF_TOPIC:
        return "not mentioned in the sources" if found.evidence else "there is no evidence"
    return "not in the sources: " + ", ".join(f"'{word.text}'" for word in found.unknown[:3]) if found.unknown else ""


def _spans(found: LexicalMatch, yes: float) -> tuple[Span, ...]:
    """The unsupported parts: missing facts, opposites and runs of unknown words, else the whole claim."""
    if yes >= 0.5:
        return ()
    marked = [(fact.start, fact.end, _MIN_MARKED) for fact in found.facts]
    marked += [(found.opposite[0].start, found.opposite[0].end, _MIN_MARKED)] if found.opposite else []
    marked += [(word.start, word.end, 1) for word in found.unknown]
    joined: list[tuple[int, int, int]] = []
    for start, end, weight in sorted(marked):
        if joined and start - joined[-1][1] <= _JOIN_GAP:
            first, last, total = joined[-1]
            joined[-1] = (first, max(last, end), total + weight)
        else:
            joined.append((start, end, weight))
    text, score = found.claim.text, round(1.0 - yes, 4)
    spans = tuple(Span(start, end, score) for start, end, weight in joined if weight >= _MIN_MARKED)
    start, end = len(text) - len(text.lstrip()), len(text.rstrip())
    return spans or ((Span(start, end, score),) if end > start else ())
