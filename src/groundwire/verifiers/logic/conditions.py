"""Facts and general rules of plain English, each as *where all of this holds, one of that does*.

Conditionals of every make ("if … then", "unless", "only if", "all", "no", "whoever", "is equivalent to") are
rewritten to the one form *if a, then b*, and both sides of it read as clauses.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product

from groundwire.verifiers.logic.clauses import ANYONE, EVERYONE, PEOPLE, PREPOSITIONS, UNREAD, Literal, Said, said

_LONGEST = 400
_STOP = re.compile(r"(?<=[.!])\s+")  # what goes on in small letters may not have been cut apart
_SOMEONE_IS = re.compile(r"\bat least one (?:person|people)\b")
_VICE_VERSA = re.compile(r",? and vice versa$")
_READABLE = re.compile(r"[^\W_][\w\s,'’-]*")


@dataclass(frozen=True, slots=True)
class Implication:
    """Where all of `body` holds, one of `head` does. A fact has no body."""

    body: tuple[Literal, ...]
    head: tuple[Literal, ...]

    @property
    def parts(self) -> tuple[Literal, ...]:
        return self.body + self.head


@dataclass(frozen=True, slots=True)
class _Form:
    """A make of sentence, and what it is rewritten to; `deny` is the side whose opposite is meant."""

    pattern: re.Pattern[str]
    a: str
    b: str
    both: bool
    deny: str


def _form(pattern: str, a: str = r"\g<a>", b: str = r"\g<b>", *, both: bool = False, deny: str = "") -> _Form:
    return _Form(re.compile(pattern, re.IGNORECASE), a, b, both, deny)


_WHEN = r"(?:if|when|whenever|as long as|so long as|provided that)"
_ONE = (
    r"(?:whoever|(?:(?:some|any|every)(?:one|body|thing)|people|those|(?:an?|any|every|each) (?:person|thing)"
    r"|all (?:people|persons|things|those|individuals)) (?:who|that))"
)
_EACH = r"(?:all|any|every|each)"
_NO_ONE = r"(?:no one|nobody|nothing|no (?:person|people|things?)) (?:who|that)"
_DOES = r"(?:(?:is|are|has|have|can|cannot|must|does|do|isn't|aren't|doesn't|don't)\b)"
_GETS = r"(?:[a-z-]+(?<![sui])s\b)"
_KIND = r"(?P<kind>(?:[\w-]+ ){0,2}?[\w-]+)"
_KINDS = r"(?P<kind>(?:[\w-]+ ){0,2}?(?:[\w-]+(?<![sui])s|people|children|men|women))"
_SOMEONE, _IS_KIND, _HE = r"someone \g<a>", r"someone is \g<kind>", r"he \g<b>"
_ONE_OF = r"a \g<kind> \g<a>"
_FORMS = (
    _form(r"(?P<a>.+?),? if and only if (?P<b>.+)", both=True),
    _form(rf"{_WHEN} (?P<a>.+?),? then (?P<b>.+)"),
    _form(rf"{_WHEN} (?P<a>[^,]+), (?P<b>.+)"),
    _form(r"unless (?P<a>[^,]+), (?P<b>.+)", deny="a"),
    _form(r"it can be concluded that (?P<b>.+) once knowing that (?P<a>.+)"),
    _form(r"it follows from (?P<a>.+) that (?P<b>.+)"),
    _form(r"(?P<a>.+) (?:implies|imply|means|mean) being (?P<b>.+)", b=r"he is \g<b>"),
    _form(r"(?:the fact that )?(?P<a>.+) (?:implies|imply|means|mean) that (?P<b>.+)"),
    _form(r"(?P<a>.+) (?:is|are) equivalent to being (?P<b>.+)", b=r"he is \g<b>", both=True),
    _form(r"(?P<a>.+) (?:is|are) equivalent to (?P<b>.+)", both=True),
    _form(r"(?P<a>.+?),? only if (?P<b>.+)"),
    _form(r"(?P<b>.+?),? unless (?P<a>.+)", deny="a"),
    _form(rf"(?P<b>.+?),? {_WHEN} (?P<a>.+)"),
    _form(rf"{_ONE} (?P<a>{_DOES}.+?) (?P<b>{_DOES}.+)", _SOMEONE, _HE),
    _form(rf"{_ONE} (?P<a>{_DOES}.+?) (?P<b>{_GETS}.*)", _SOMEONE, _HE),
    _form(rf"{_NO_ONE} (?P<a>{_DOES}.+?) (?P<b>{_DOES}.+)", _SOMEONE, _HE, deny="b"),
    _form(rf"{_EACH} {_KIND} (?:who|that) (?P<a>{_DOES}.+?) (?P<b>{_DOES}.+)", _ONE_OF, _HE),
    _form(rf"{_KINDS} (?:who|that) (?P<a>{_DOES}.+?) (?P<b>{_DOES}.+)", _ONE_OF, _HE),
    _form(rf"(?:{_EACH} )?(?P<kind>(?:not )?[\w-]+) (?:people|persons?|things?) (?P<b>.+)", _IS_KIND, _HE),
    _form(rf"all (?:the )?{_KIND} (?P<b>{_DOES}.+)", _IS_KIND, _HE),
    _form(rf"{_KINDS} (?P<b>(?:are(?! \w+ing\b)|have|do|aren't|don't)\b.+)", _IS_KIND, _HE),
    _form(rf"all (?:the )?{_KINDS} (?P<b>.+)", _IS_KIND, _HE),
    _form(rf"no {_KIND} (?P<b>(?:{_DOES}|{_GETS}).+)", _IS_KIND, _HE, deny="b"),
    _form(rf"only {_KINDS} (?P<a>.+)", _SOMEONE, r"he is \g<kind>"),
    _form(rf"(?:every|each|any) {_KIND} (?P<b>{_DOES}.+)", _IS_KIND, _HE),
    _form(rf"(?:every|each|any) {_KIND} (?P<b>{_GETS}.*)", _IS_KIND, _HE),
    _form(rf"an? {_KIND} (?P<b>is (?:an?|always|never) .+)", _IS_KIND, _HE),
)  # fmt: skip
_PLURAL = _form(rf"{_KINDS} (?P<b>[a-z]+(?<!ed)(?<!ing)(?<!s)(?: .+)?)", _IS_KIND, _HE)
"""Tried last, since "Ana gets tea" can be read that way too."""
_A_KIND = re.compile(
    rf"(?:there is )?(?:an?|any) ((?:[\w-]+ ){{0,2}}?[\w-]+) (?:who\b|that\b|{_DOES}|{_GETS})", re.IGNORECASE
)
_ANEW = re.compile(r"(?:there (?:is|are) )?(?:some|any)(?:one|body|thing)\b", re.IGNORECASE)
_NUMBERS = frozenset({"two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "other"})
_NO_KIND = UNREAD - {"not"} | PEOPLE | PREPOSITIONS | {"the", "a", "an"} | _NUMBERS


@lru_cache(maxsize=4096)
def read(sentence: str) -> tuple[Implication, ...]:
    """What a sentence states, or nothing where it is not understood to the last word.

    >>> read("All members get a discount.")
    (Implication(body=(Literal(subject='?', predicate='is member', holds=True),), \
head=(Literal(subject='?', predicate='get discount', holds=True),)),)
    """
    if len(sentence) > _LONGEST:
        return ()
    every = [_read(" ".join(part.split())) for part in _STOP.split(sentence.strip())]
    return tuple(rule for rules in every for rule in rules) if all(every) else ()


def _read(sentence: str) -> tuple[Implication, ...]:
    whole = _SOMEONE_IS.sub("someone", sentence.rstrip(".!").replace("’", "'").replace(" ,", ","))
    text = _VICE_VERSA.sub("", whole)
    if not _READABLE.fullmatch(text):
        return ()
    for form in _FORMS:
        if match := _matched(form, text):
            return tuple(_conditional(form, match, both=form.both or text != whole))
    found = said(text) if text == whole else None
    if found is None:
        match = _matched(_PLURAL, text)
        return tuple(_conditional(_PLURAL, match, both=text != whole)) if match else ()
    return tuple(_rules(Said(()), found)) if ANYONE not in found.subjects else ()


def _matched(form: _Form, text: str) -> re.Match[str] | None:
    match = form.pattern.fullmatch(text)
    kind = match.groupdict().get("kind", "") if match else ""
    return None if _NO_KIND.intersection(kind.lower().split()) else match


def literals(sentence: str) -> tuple[Literal, ...]:
    """All that a plain sentence says of named things; nothing where it says more or else."""
    rules = read(sentence)
    plain = all(not rule.body and len(rule.head) == 1 and rule.head[0].subject != ANYONE for rule in rules)
    return tuple(rule.head[0] for rule in rules) if plain else ()


def _conditional(form: _Form, match: re.Match[str], *, both: bool) -> Iterator[Implication]:
    """Pronouns mean whoever the side that comes first in the sentence speaks of."""
    order = sorted((side for side in ("a", "b") if side in match.groupdict()), key=match.start)
    turned = order == ["b", "a"]
    texts = [match.expand(form.a), match.expand(form.b)]
    first = said(texts[turned])
    second = said(_he(texts[turned], texts[not turned]), _meant(first)) if first else None
    if first is None or second is None or _another(first, second, texts[not turned]):
        return
    a, b = (second, first) if turned else (first, second)
    if form.deny and (EVERYONE in a.subjects | b.subjects or (_meant(a) == ANYONE != _meant(b))):
        return  # the opposite of "everyone is" is not "no one is", nor that of "one is" that one is not
    a, b = a.opposite() if form.deny == "a" else a, b.opposite() if form.deny == "b" else b
    yield from _rules(a, b)
    if both:
        yield from _rules(b, a)


def _another(first: Said, second: Said, text: str) -> bool:
    """Whether both sides bring in one of their own: "a contract … if a party …" is not said of one thing."""
    anew = not set(second.given) <= set(first.given) or _ANEW.match(text)
    return ANYONE in first.subjects and bool(anew)


def _he(first: str, second: str) -> str:
    """With *he* for "the pump" behind "a pump"."""
    kind = _A_KIND.match(first)
    return re.sub(rf"\b(?:the|that|this) {re.escape(kind[1])}\b", "he", second) if kind else second


def _meant(first: Said) -> str:
    subjects = first.subjects
    if ANYONE in subjects:
        return ANYONE
    return subjects.pop() if len(subjects) == 1 else ""


def _rules(a: Said, b: Said) -> Iterator[Implication]:
    if ANYONE in b.subjects and ANYONE not in a.subjects and not b.given:
        return  # that there is one says nothing of any that has a name
    if EVERYONE in b.subjects:
        if ANYONE in a.subjects:
            return
        b = replace(b, parts=tuple(_anyone(part) for part in b.parts))
    if EVERYONE in a.subjects and not a.all:
        names = "/".join(f"{part.holds} {part.predicate}" for part in a.parts)
        either = Literal(ANYONE, names.replace(" ", "_"))  # one word, as no sentence has it
        yield from (Implication((_anyone(part),), (either,)) for part in a.parts)
        a = Said((replace(either, subject=EVERYONE),))
    given = a.given + b.given
    bodies = [given + a.parts] if a.all else [(*given, part) for part in a.parts]
    heads = [(part,) for part in b.parts] if b.all else [b.parts]
    yield from (Implication(body, head) for body, head in product(bodies, heads))


def _anyone(part: Literal) -> Literal:
    return replace(part, subject=ANYONE) if part.subject == EVERYONE else part
