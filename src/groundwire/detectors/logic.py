"""Detector for logical inconsistencies: statements of one response that cannot all be true.

Two clauses are compared only if everything but the point at issue is the same; another time, place, part,
condition or owner makes them two statements about two things. A template is a clause without its quantity
("all tests"), negation and the values after its verb; the words that remain must be equal in order.

Catches: a statement and its negation, one attribute with two values, mutually exclusive categories, "all"
against "not all", parts that do not make up their total.
Misses: contradictions that need world knowledge, other words, or more than two sentences.
Cost: comparisons of the clauses in pairs.

>>> def read(text): return next(templates(text))
>>> exclusion(read("All tests pass."), read("No test passes."))
<Exclusion.QUANTITY: 'quantity'>
>>> exclusion(read("Acme has 40 employees."), read("Acme has 50 employees."))
<Exclusion.VALUE: 'value'>
>>> exclusion(read("Acme has 40 employees."), read("Acme has 50 customers."))
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations, pairwise

from groundwire.detectors.context import DetectionContext, make_flag
from groundwire.detectors.statements import StatedValue, agree, clauses, named_value, stated_values
from groundwire.openie.lexicon import BE, DO, HAVE, Form, Tag, Token, tokens, verb_forms
from groundwire.text.lexicon import CATEGORIES, EXCLUSIVE, OPPOSED_VERBS, expressions, word_sets, word_table
from groundwire.text.numbers import numbers
from groundwire.text.tokens import normalise
from groundwire.types import Flag, HallucinationType, Segment, Triple

_SHIFTS, _EXCEPT_ITSELF, _BOTH, _IS_BOTH, _FURTHER, _HEADING, _LABEL, _SHARE, _NOT_SHARE, _SUM = expressions(
    "detect_logic", "shifts except_itself both is_both further heading label share not_share sum"
)
"""`_SHIFTS`: words that restrict a statement to a time, place, condition or possibility."""
_TABLES = word_table("detect_logic")["tables"]
_SINGLE = frozenset(
    (verb if verb == "is" else normalise(verb), word)
    for verb, _, word in (row.partition(",") for row in _TABLES["single"].split())
)
_SINGLE_MONTHS = frozenset({(normalise("held"), "in"), (normalise("place"), "in")})  # in several years, perhaps
_RECURRING = frozenset(map(normalise, _TABLES["recurring"].split()))
_QUOTED = re.compile(r"[\"“”«»]")
_NAME = re.compile(r"\s[A-Z]")
_CONTRADICT = "These statements contradict each other"
_QUANTITIES_CONFLICT = "Universal and existential claims conflict"
NEGATION, INCOMPATIBLE, EXCLUSIVE_CATEGORIES, QUANTIFIERS = 0.95, 0.85, 0.80, 0.85
"""Confidence per kind of contradiction."""
_MAX_TEMPLATES = 100  # clauses compared in pairs
_MAX_CHARS = 1000  # longer "sentences" are lists, code or noise
_MAX_TOKENS = 25  # longer clauses never recur word for word
_MIN_WORDS = 2  # words that identify a statement
_LEADS, _SKIPPED, _PLACING, _PERSONAL, _UNCLEAR = word_sets("detect_logic", "leads skipped placing personal unclear")
_SAME_FORM = {"are": "is", "were": "was", "have": "has"}
_QUANTITIES = {"every": "all every each both", "none": "no none", "some": "some several many most few one"}
_OPPOSED = {normalise(verb): frozenset(map(normalise, opposites)) for verb, opposites in OPPOSED_VERBS.items()}
_NOUNS = (Tag.WORD, Tag.NAME, Tag.NUMBER, Tag.POSSESSIVE)
_PROPERTY = "property"


class Exclusion(StrEnum):
    QUANTITY = "quantity"
    NEGATION = "negation"
    VALUE = "value"
    PROPERTY = "property"


_RATED = {
    Exclusion.QUANTITY: (QUANTIFIERS, _QUANTITIES_CONFLICT),
    Exclusion.NEGATION: (NEGATION, _CONTRADICT),
    Exclusion.VALUE: (INCOMPATIBLE, _CONTRADICT),
    Exclusion.PROPERTY: (EXCLUSIVE_CATEGORIES, _CONTRADICT),
}


@dataclass(frozen=True, slots=True)
class Template:
    """A clause at `start` of the response; `quantity` is "every", "none", "some" or ""."""

    start: int
    text: str
    words: tuple[str, ...]
    quantity: str
    denied: bool
    values: tuple[StatedValue, ...]
    standing: bool
    """True for a state; a past event may have happened several times."""

    @property
    def never(self) -> bool:
        return self.denied and " never " in self.text


async def detect_logical_inconsistencies(context: DetectionContext) -> list[Flag]:
    """Flags in text order."""
    stated = [s for s in context.segments if s.assertive and not _QUOTED.search(s.text)]
    flags = [flag for segment in stated for flag in _within(segment)] + list(_between(context, stated))
    return sorted(dict.fromkeys(flags), key=lambda flag: (flag.start, -flag.confidence))


def _flag(segment: Segment, start: int, end: int, confidence: float, suggestion: str, evidence: str) -> Flag:
    kind = HallucinationType.LOGICAL_INCONSISTENCY
    return make_flag(kind, segment, (segment.start + start, segment.start + end), confidence, suggestion, evidence)


def _within(segment: Segment) -> Iterator[Flag]:
    """Sentences that contradict themselves."""
    text = segment.text[:_MAX_CHARS]
    for match in _BOTH.finditer(text):  # "both running and not running"
        if not re.search(r"\b(?:whether|if|or|never|cannot|can['’]t|paradox)\b", text, re.IGNORECASE):
            start = _subject_start(segment, match.start())
            yield _flag(segment, start, match.end(), NEGATION, _CONTRADICT, "Direct logical negation")
    for match in _IS_BOTH.finditer(text) if not _SHIFTS.search(text) else ():  # "is married and a bachelor"
        one, two = CATEGORIES.get(match[1].lower()), CATEGORIES.get(match[2].lower())
        if one and two and one[0] == two[0] and one[1] != two[1]:
            why = f"{match[1]} and {match[2]} are mutually exclusive categories"
            start = _subject_start(segment, match.start())
            yield _flag(segment, start, match.end(2), EXCLUSIVE_CATEGORIES, _CONTRADICT, why)
    for match in _EXCEPT_ITSELF.finditer(text):  # "All items were shipped, except for the 3 that weren't"
        why = "An exception to 'all' is stated"
        yield _flag(segment, *match.span(), QUANTIFIERS, _QUANTITIES_CONFLICT, why)
    yield from _wrong_sums(segment, text)


def _subject_start(segment: Segment, at: int) -> int:
    spans = [claim.subject_span[0] - segment.start for claim in segment.claims]
    return max((start for start in spans if 0 <= start < at), default=at)


def _wrong_sums(segment: Segment, text: str) -> Iterator[Flag]:
    """ "3 of 2 people", "10 items: 4 red and 5 blue"."""
    for match in _SHARE.finditer(text):
        part, total = _value(match["part"]), _value(match["total"])
        year = 1000 <= total <= 2199 and len(match["total"]) == 4
        if part > total > 0 and not year and not _NOT_SHARE.search(text[: match.start()]):
            why = f"{match['part']} is more than {match['total']}"
            yield _flag(segment, *match.span(), INCOMPATIBLE, "A part is larger than its whole", why)
    for match in _SUM.finditer(text):
        total, found = _value(match["total"] or match["total2"]), numbers(match["parts"])
        parts = [n.value for n in found]
        plain = all(n.kind == "number" and n.value == int(n.value) and not (n.unit or n.bound or n.edge) for n in found)
        if plain and len(parts) > 1 and sum(parts) != total:
            why = f"{' + '.join(f'{part:,.10g}' for part in parts)} = {sum(parts):,.10g}, not {total:,.10g}"
            yield _flag(segment, *match.span(), INCOMPATIBLE, "The parts do not make up the total", why)


def _value(text: str) -> float:
    found = numbers(text)
    return found[0].value if found else 0.0


def _between(context: DetectionContext, stated: Sequence[Segment]) -> Iterator[Flag]:
    """Compare every two clauses that are the same but for one point."""
    found = [
        template
        for segment in stated
        if not _SHIFTS.search(segment.text)
        for template in templates(segment.text, segment.start, segment.claims)
    ][:_MAX_TEMPLATES]
    headings = [(match.start(), match[0].strip()) for match in _HEADING.finditer(context.response)]
    for a, b in combinations(found, 2):
        how = exclusion(a, b)
        one, two = (_scope(context.response, headings, t.start) for t in (a, b)) if how else (("", ""), ("", ""))
        if how and one[0] == two[0] and not (one[1] and two[1] and one[1] != two[1]):
            confidence, why = _RATED[how]
            kind, end = HallucinationType.LOGICAL_INCONSISTENCY, b.start + len(b.text)
            evidence = f"'{a.text}' vs '{b.text}'"
            yield Flag(kind, a.start, end, context.response[a.start : end], confidence, why, evidence)


def _scope(response: str, headings: list[tuple[int, str]], at: int) -> tuple[str, str]:
    """The label ("Winter:") and the heading above an offset; under different ones it is about other things."""
    label = _LABEL.search(response[max(0, at - 60) : at].rpartition("\n")[2])
    before = bisect_left(headings, (at, ""))
    heading = headings[before - 1][1] if before else ""
    return label[1].strip("-*_• \t").lower() if label else "", heading


def templates(text: str, offset: int = 0, claims: Sequence[Triple] = ()) -> Iterator[Template]:
    """The clauses of a sentence that state something about a definite subject.

    `claims` are its triples, in which pronouns have been resolved.
    """
    subjects: set[tuple[str, ...]] = set()
    for start, clause in clauses(text):
        parts = [token for token in tokens(clause) if token.tag is not Tag.STOP]
        while parts and parts[0].low in _LEADS:
            parts = parts[1:]
        quantity, parts = _quantified(parts)
        if not parts or len(parts) > _MAX_TOKENS or _FURTHER.search(clause) or clause.startswith("("):
            continue
        if quantity or parts[0].low not in _UNCLEAR:
            resolved = _antecedent(parts[0], offset + start, claims, subjects)
            made = _template(offset + start, clause, quantity, parts, resolved)
            if len(made.words) >= _MIN_WORDS:
                yield made
            verb = _verb(parts)
            if parts[0].low not in _PERSONAL and verb:
                subjects.add(tuple(_form(t) for t in parts if t.end <= verb.start and t.low not in _SKIPPED))


def _template(start: int, text: str, quantity: str, parts: Sequence[Token], resolved: tuple[str, ...]) -> Template:
    verb = _verb(parts)
    values = tuple(value for value in _values(text, parts) if verb and value.start >= verb.end)
    rest = [token for token in parts if not any(value.start <= token.start < value.end for value in values)]
    words = tuple(_form(token) for token in rest if token.low not in _SKIPPED and token.tag is not Tag.NOT)
    denied = any(token.tag is Tag.NOT or token.low.endswith("n't") for token in parts)
    words = (*resolved, *words[1:]) if resolved else words
    return Template(start, text, words, quantity, denied, values, _is_standing(verb, parts))


def _antecedent(first: Token, start: int, claims: Sequence[Triple], subjects: set[tuple[str, ...]]) -> tuple[str, ...]:
    """The words of the name that a pronoun at the beginning means, if only one is possible."""
    if first.low not in _PERSONAL:
        return ()
    for claim in claims:
        if claim.subject_span[0] == start + first.start and claim.subject.lower() != first.low:
            return tuple(_form(token) for token in tokens(claim.subject) if token.low not in _SKIPPED)
    return next(iter(subjects)) if len(subjects) == 1 else ()


def _quantified(parts: list[Token]) -> tuple[str, list[Token]]:
    """The quantity at the beginning of a clause, and the clause without it."""
    first = parts[0].low if parts else ""
    if first in ("a", "not") and len(parts) > 1 and parts[1].low in ("few", "one"):
        return "some" if first == "a" else "none", parts[2:]
    kind = next((name for name, members in _QUANTITIES.items() if first in members.split()), "")
    if not kind and parts and parts[0].tag is Tag.NUMBER:
        kind = "some"
    return kind, parts[1:] if kind else parts


def _verb(parts: Sequence[Token]) -> Token | None:
    """The first verb; after an article or quantity, what looks like one is a noun ("tests")."""
    for before, token in pairwise(parts):
        noun = before.tag in (Tag.WORD, Tag.NAME, Tag.PRONOUN, Tag.ADVERB, Tag.NUMBER, Tag.VERB)
        if token.tag is Tag.AUX or (token.tag is Tag.VERB and noun):
            return token
    return None


def _is_standing(verb: Token | None, parts: Sequence[Token]) -> bool:
    if verb is None:
        return False
    if verb.low in DO:
        return not verb.low.startswith("did")
    if verb.low not in BE | HAVE:
        forms = {form for _, form in verb_forms(verb.low)}
        return Form.THIRD in forms or (Form.BASE in forms and Form.PAST not in forms)
    following = next((token for token in parts if token.start > verb.end), None)
    participle = following is not None and following.tag is Tag.VERB and following.low not in EXCLUSIVE
    return verb.low in ("is", "are", "isn't", "aren't") or not participle


def _values(text: str, parts: Sequence[Token]) -> Iterator[StatedValue]:
    for value in stated_values(text):
        before = [token for token in parts if token.end <= value.start]
        clock = value.kind == "clock"
        # a number may identify something instead: "at 5 Main Street", "on page 5"
        measures = before and before[-1].tag not in _NOUNS and before[-1].low not in _PLACING
        if not value.number or clock or (measures and not _NAME.match(text, value.end)):
            yield value
    yield from named_value(text)
    said = [token for token in parts if token.tag not in (Tag.NOT, Tag.ADVERB)]
    if len(said) > 2 and parts[-1].low in EXCLUSIVE and said[-2].low in BE:
        axis, side = EXCLUSIVE[parts[-1].low]
        yield StatedValue(f"{_PROPERTY} {axis}", parts[-1].text, parts[-1].start, parts[-1].end, choice=side)


def _form(token: Token) -> str:
    low = token.low.removesuffix("n't")
    return _SAME_FORM.get(low, low) if token.tag is Tag.AUX else normalise(low)


def exclusion(a: Template, b: Template) -> Exclusion | None:
    """How two clauses exclude each other; None if they do not."""
    for one, other in ((a, b), (b, a)):
        if _quantities_exclude(one, other):
            return Exclusion.QUANTITY
        if one.never and not other.denied and not other.quantity and other.words[: len(one.words)] == one.words:
            return Exclusion.NEGATION  # "is never closed" and "is closed on Sundays"
    if a.words != b.words or [v.kind for v in a.values] != [v.kind for v in b.values]:
        return None
    differing = [x for x, y in zip(a.values, b.values, strict=True) if not agree(x, y)]
    standing = a.standing or b.standing  # "pass" alone is not recognised as a verb, "do not pass" is
    if not differing and not a.quantity + b.quantity and a.denied != b.denied and standing:
        return Exclusion.NEGATION
    if a.quantity != b.quantity or a.denied or b.denied or len(differing) != 1:
        return None
    return _value_exclusion(a, b, differing[0])


def _value_exclusion(a: Template, b: Template, value: StatedValue) -> Exclusion | None:
    """Another date or time excludes only where a thing has one: "founded in", but not "won in"."""
    if value.kind in ("date", "weekday", "clock"):
        verb, word = a.words[-2:] if a.words[-1] != "is" else ("is", "is")
        months = all(v.date and not v.date.year for t in (a, b) for v in t.values if v.kind == "date")
        single = (verb, word) in _SINGLE or (value.date and months and (verb, word) in _SINGLE_MONTHS)
        return Exclusion.VALUE if single and _RECURRING.isdisjoint(a.words) else None
    if not (a.standing and b.standing):
        return None
    if value.number or value.kind.startswith("name"):
        return Exclusion.VALUE
    return Exclusion.PROPERTY if value.kind.startswith(_PROPERTY) else None


def _quantities_exclude(a: Template, b: Template) -> bool:
    """ "All tests passed" and "Two tests failed"; "No pump worked" and "One pump worked all night"."""
    if a.denied or a.quantity not in ("every", "none"):
        return False
    if len(a.values) != len(b.values) or not all(map(agree, a.values, b.values)):
        return False
    if a.quantity == "none":
        return b.quantity == "some" and not b.denied and b.words[: len(a.words)] == a.words
    if b.quantity == "none" and not b.denied:
        return a.words == b.words
    differing = [(x, y) for x, y in zip(a.words, b.words, strict=False) if x != y]
    one_verb = len(a.words) == len(b.words) and len(differing) == 1
    opposed = one_verb and differing[0][1] in _OPPOSED.get(differing[0][0], ())
    return b.denied != opposed and (b.quantity in ("", "some") or not b.denied) and (opposed or a.words == b.words)
