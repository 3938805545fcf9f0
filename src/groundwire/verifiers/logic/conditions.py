"""Facts and general rules in plain English, each as *if all of these hold, one of those holds*.

Conditionals of every make ("if … then", "unless", "only if", "all", "no", "whoever", "is equivalent to") are
rewritten to the one form *if a, then b*, and both sides of it read as clauses.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product

from groundwire.text.lexicon import grammar, word_sets
from groundwire.text.tokens import cached

# Clauses of plain English as literals: that a predicate holds of a subject, or does not.
#
# A small closed grammar: a clause with one unknown word is not parsed at all, since a skipped word ("usually",
# "almost", "was") can reverse its meaning.

ANYONE = "?"
"""The subject of a literal that holds for anyone who meets the condition."""
EVERYONE = "*"
"""The subject of a literal that must hold for everyone."""


_MOST_WORDS = 5  # words of a subject; a longer one is most likely parsed wrongly
_MOST_PARTS = 4  # clauses of a sentence, or places of its verb, that are tried
_SHORT = 4  # words of "is a kind thing", or letters of a verb, from which there is something to cut off
PEOPLE, _WHOEVER, _ALL, _NOBODY, _INDEFINITE, _PRONOUNS, _WHO, _BE, _DO, _MODAL, _OTHER_AUX, _LINKING = word_sets(
    "logic", "people whoever everyone nobody indefinite pronouns who be do modal other_auxiliaries linking"
)
_NOT, _PADDING, _NUMBERS, PREPOSITIONS, _JOINTS, _SHADES = word_sets(
    "logic", "negations padding counting prepositions joints shades"
)
"""`_SHADES` change the meaning of what follows; alone after "is" they change nothing."""
_ARTICLES = _INDEFINITE | {"the"}
_AUX = _BE | _DO | _MODAL | _OTHER_AUX
_LINKS = _BE | _DO | _LINKING
_NEITHER = re.compile(r"\b(is|are)(?: always)? neither ([\w-]+) nor ([\w-]+)")
_IRREGULAR = {
    "has": "have", "goes": "go", "does": "do",
    "people": "person", "men": "man", "women": "woman", "children": "child",
}  # fmt: skip
UNREAD = _AUX | _PRONOUNS | _WHOEVER | _ALL | _NOBODY | _PADDING | _NOT | _JOINTS | _SHADES
"""Words that make a clause say more than a plain one, wherever they occur."""
SMALL = UNREAD | PREPOSITIONS | _ARTICLES
"""Words that are neither verbs nor names."""


@dataclass(frozen=True, slots=True)
class Literal:
    subject: str
    predicate: str
    holds: bool = True

    def opposite(self) -> Literal:
        return replace(self, holds=not self.holds)


@dataclass(frozen=True, slots=True)
class Said:
    """Literals that all hold together, or one of which does; of "a pump" it is `given` that it is one."""

    parts: tuple[Literal, ...]
    all: bool = True
    given: tuple[Literal, ...] = ()

    def opposite(self) -> Said:
        return Said(tuple(part.opposite() for part in self.parts), not self.all, self.given)

    @property
    def subjects(self) -> set[str]:
        return {part.subject for part in self.parts}


def said(text: str, meant: str = "") -> Said | None:
    """What clauses with "and" or "or" between them say, with *he* for the person that `meant` names.

    >>> said("Ana is tall and not old")
    Said(parts=(Literal(subject='ana', predicate='is tall', holds=True), \
Literal(subject='ana', predicate='is old', holds=False)), all=True, given=())
    """
    text = re.sub(r"\bbeing\b", "is", re.sub(r"\b(?:his|him|her|their) being\b", "he being", text))
    text = _NEITHER.sub(r"\1 not \2 and not \3", text)
    joints = {word for word in ("and", "or") if f" {word} " in text}
    parts = re.split(r",? (?:and|or) |, ", text)
    if len(joints) > 1 or len(parts) > _MOST_PARTS or ("," in text and not joints):
        return None
    found: list[Literal] = []
    given = _kind_of(_without_there(parts[0].split()))
    for part in parts:
        words = _without_there(part.split())
        clause = [] if not words else _next(words, meant, found[-1]) if found else _clause(words, meant)
        nobody = bool(words) and words[0].lower() in _NOBODY | {"no"}  # "or" would be meant as "and" there
        if not clause or (len(clause) > 1 and "or" in joints) or (nobody and joints):
            return None
        found += clause
        meant = meant or found[0].subject
    return Said(tuple(found), "or" not in joints, tuple(given))


def _without_there(words: list[str]) -> list[str]:
    """ "There is someone who is tall" means "someone who is tall"."""
    there = words[:1] in (["there"], ["There"]) and _BE.intersection(words[1:2]) and _WHO.intersection(words)
    return words[2:] if there else words


def _kind_of(words: Sequence[str]) -> list[Literal]:
    """That "a pump" is a pump."""
    told = words[1 : _verb_at(words)] if words and words[0].lower() in _INDEFINITE else []
    return [] if len(told) == 1 and told[0] in PEOPLE else _of(ANYONE, ["is", *told])


def _next(words: Sequence[str], meant: str, before: Literal) -> list[Literal]:
    """What follows "and": a clause of its own, or another predicate of the same subject."""
    if words[0] in _AUX or (len(words) > 1 and _is_verb(words[0])):
        return _of(before.subject, words)
    subject = words[0][0].isupper() or words[0] in _ARTICLES
    if words[0] in _PRONOUNS or any(word in _AUX or (subject and _is_verb(word)) for word in words[1:]):
        return _clause(words, meant)
    inside = PREPOSITIONS.intersection(before.predicate.split()[:-1]) and words[0] not in PREPOSITIONS
    if inside or words[0][0].isupper() or not before.predicate.startswith("is "):
        return []
    return _of(before.subject, ["is", *words])


def _clause(words: Sequence[str], meant: str) -> list[Literal]:
    """A subject and its predicate."""
    first, second = words[0].lower(), words[1].lower() if len(words) > 1 else ""
    if first in _PRONOUNS:
        return _of(meant, words[1:]) if meant not in ("", EVERYONE) and second not in _WHO else []
    if first in _WHOEVER:
        return _of(ANYONE, words[1:])
    if first in _ALL or (first in {"all", "every", "each"} and second in PEOPLE):
        return _of(EVERYONE, words[1 if first in _ALL else 2 :])
    if first in _NOBODY or (first == "no" and second in PEOPLE):
        denied = _of(EVERYONE, words[1 if first in _NOBODY else 2 :])
        return [literal.opposite() for literal in denied] if len(denied) == 1 else []
    return _named(words)


def _named(words: Sequence[str]) -> list[Literal]:
    """The statements about "the pump", "Ana" or "a pump"."""
    first, at = words[0].lower(), _verb_at(words)
    told = words[1:at] if first in _ARTICLES else words[:at]
    unsure = "'" in " ".join(told) or (PREPOSITIONS.intersection(told) and words[at] not in _AUX)
    unsure = unsure or PREPOSITIONS.intersection(told[:1])  # "the above"
    if not at or not told or unsure or (UNREAD | _ARTICLES).intersection(word.lower() for word in told):
        return []
    if first in _INDEFINITE:
        return _of(ANYONE, words[at:]) if _kind_of(words) or told[0] in PEOPLE else []
    if words[at] in _WHO or (first != "the" and not all(word[0].isupper() for word in told)):
        return []
    return _of(" ".join(words[:at]).lower(), words[at:])


def _verb_at(words: Sequence[str]) -> int:
    """The position of the verb that ends the subject; 0 if there is none."""
    least = 2 if words[0].lower() in _ARTICLES else 1
    places = range(least, min(len(words), least + _MOST_PARTS))
    sure = (at for at in places if words[at] in _AUX or words[at] in _WHO)
    return next(sure, 0) or next((at for at in places if _is_verb(words[at])), 0)


def _is_verb(word: str) -> bool:
    """Whether a word ends like "gets"; plurals do, too."""
    return word.islower() and word.endswith("s") and not word.endswith(("ss", "us", "is", "'s"))


def _of(subject: str, words: Sequence[str]) -> list[Literal]:
    """One predicate, or two of one "who is …"; a red pump is a pump as well."""
    if words and words[0] in _WHO:
        end = next((at for at in range(2, len(words)) if words[at] in _AUX), len(words))
        first, second = _of(subject, words[1:end]), _of(subject, words[end:])
        return first + second if first and (second or end == len(words)) else []
    found = _predicate(subject, [word.lower() for word in words])
    if found is None:
        return []
    kind = _kind(words) if found.holds else ""
    return [found, Literal(subject, f"is {kind}")] if kind else [found]


def _kind(words: Sequence[str]) -> str:
    """The bare noun of "is a …", where there is more to it; but a member of another club is none here."""
    more = len(words) >= _SHORT and words[0] in _BE and words[1] in {"a", "an"} and "of" not in words
    return noun(words[2:]) if more else ""


def noun(words: Sequence[str]) -> str:
    """The head noun: "pump" for "red pump in the cellar"."""
    end = next((at for at, word in enumerate(words) if word in PREPOSITIONS), len(words))
    return lemma(words[end - 1].lower()) if end else ""


def _predicate(subject: str, words: Sequence[str]) -> Literal | None:
    verb, rest, holds = _polarity(words)
    modal = verb if verb in _MODAL else ""
    if modal or (verb in _DO and not holds):
        verb, rest = (rest[0], rest[1:]) if rest else ("", [])
    if modal == "must" and not holds:
        modal, holds = "must not", True  # what must not be is not what need not be
    about = [lemma(word) for word in rest if word not in {"a", "an"}]
    is_verb = bool(about) if verb in _LINKS else bool(verb) and verb not in SMALL
    hedged = len(about) > 1 and about[0].endswith("ly")
    unread = UNREAD - _SHADES if verb in _BE and len(rest) == 1 else UNREAD
    if not is_verb or hedged or len(about) > _MOST_WORDS or unread.intersection(rest):
        return None
    name = "is" if verb in _BE else lemma(verb)
    return Literal(subject, " ".join([modal, name, *about]).strip(), holds)


def _polarity(words: Sequence[str]) -> tuple[str, list[str], bool]:
    """The verb, what follows it, and whether it is affirmed. "Not always" is neither."""
    verb, rest, holds = words[0] if words else "", list(words[1:]), True
    if verb.endswith("n't") or verb == "cannot":
        verb, holds = "can" if verb.startswith("can") else verb.removesuffix("n't"), False
    while rest and verb in _AUX and (rest[0] in _NOT or (holds and rest[0] in _PADDING)):
        holds ^= rest.pop(0) in _NOT
    return verb, rest, holds


def lemma(word: str) -> str:
    """Without the ending of a plural or of a verb, and no more: "annoyed" is not "annoying".

    >>> [lemma(word) for word in ("members", "gets", "passes", "people", "annoyed", "famous")]
    ['member', 'get', 'pass', 'person', 'annoyed', 'famous']
    """
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if word.endswith("ies") and len(word) > _SHORT:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        return word[:-2]
    return word[:-1] if _is_verb(word) and len(word) >= _SHORT else word


_LONGEST = 400
_STOP = re.compile(r"(?<=[.!])\s+")  # what goes on in small letters may not have been cut apart
_SOMEONE_IS = re.compile(r"\bat least one (?:person|people)\b")
_VICE_VERSA = re.compile(r",? and vice versa$")
_READABLE = re.compile(r"[^\W_][\w\s,'’-]*")


@dataclass(frozen=True, slots=True)
class Implication:
    """If all of `body` hold, one of `head` holds. A fact has no body."""

    body: tuple[Literal, ...]
    head: tuple[Literal, ...]

    @property
    def parts(self) -> tuple[Literal, ...]:
        return self.body + self.head


@dataclass(frozen=True, slots=True)
class _Form:
    """A form of sentence and its rewriting; `deny` is the side whose opposite is meant."""

    pattern: re.Pattern[str]
    a: str
    b: str
    both: bool
    deny: str


_DOES, _GETS = (grammar("logic")[name] for name in ("does", "gets"))
*_FORMS, _PLURAL = (
    _Form(re.compile(pattern, re.IGNORECASE), a, b, how == "both", how.removeprefix("deny ") if "deny" in how else "")
    for pattern, a, b, how in grammar("logic")["forms"]
)
_A_KIND = re.compile(
    rf"(?:there is )?(?:an?|any) ((?:[\w-]+ ){{0,2}}?[\w-]+) (?:who\b|that\b|{_DOES}|{_GETS})", re.IGNORECASE
)
_ANEW = re.compile(r"(?:there (?:is|are) )?(?:some|any)(?:one|body|thing)\b", re.IGNORECASE)
_NO_KIND = UNREAD - {"not"} | PEOPLE | PREPOSITIONS | {"the", "a", "an"} | _NUMBERS


@cached(4096, _LONGEST)
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
    """What a plain sentence says about named things; nothing if it says anything else."""
    rules = read(sentence)
    plain = all(not rule.body and len(rule.head) == 1 and rule.head[0].subject != ANYONE for rule in rules)
    return tuple(rule.head[0] for rule in rules) if plain else ()


def _conditional(form: _Form, match: re.Match[str], *, both: bool) -> Iterator[Implication]:
    """Pronouns refer to the subject of the side that comes first in the sentence."""
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
