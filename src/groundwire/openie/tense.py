"""The verb groups of an English text and their tenses, by the form of the words.

Catches auxiliaries with what follows them ("was launched", "will launch", "has been"), regular and common
irregular past forms, and non-finite forms, which carry no tense but govern what stands behind them.
Misses: forms that look like nouns ("costs", "plans"), inverted word order, other languages.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from groundwire.text.lexicon import word_set
from groundwire.types import Tense


class VerbGroup(NamedTuple):
    """`verb` is the last word of the group, lowered: the one that says what happens."""

    start: int
    end: int
    tense: Tense
    verb: str
    passive: bool = False
    finite: bool = True


_ADVERB = (
    r"(?:not|n['’]t|also|already|just|now|still|then|later|only|first|finally|never|always|even|soon"
    r"|(?!only)\w+ly)"
)
_SKIP = rf"(?:\s+{_ADVERB}){{0,3}}"
_PARTICIPLE = (
    r"(?:\w+ed|born|built|bought|brought|begun|broken|chosen|done|drawn|driven|fallen|felt|found|given|gone|"
    r"grown|had|held|hit|kept|known|laid|led|left|lost|made|met|opened|paid|put|read|run|said|seen|sent|set|"
    r"shown|shut|sold|spent|split|stood|taken|taught|told|thought|won|written|become|come|risen|cut|been)"
)
_PAST_FORMS = word_set(
    """
    became began bought brought built came chose died drew drove fell felt found fought gave got grew held
    hit kept knew laid led left lost made met opened paid ran rose said sat saw sent shut sold spent spoke
    stood took taught told thought threw went won wrote
    """
)
_PRESENT_FORMS = word_set(
    """
    becomes begins belongs closes comes contains costs ends expires exists features gives goes happens
    holds includes lasts lies lives makes matures means needs occurs offers opens owns provides reaches
    remains requires returns runs says sells serves shows stands starts takes tells uses wants weighs works
    """
)
_NOT_PAST = word_set(
    """
    need seed feed speed breed weed deed bleed exceed succeed proceed indeed red bed shed sled led united
    hundred kindred sacred naked wicked rugged ragged aged beloved limited based ted fred ahmed mohammed
    embed reed greed freed unprecedented detailed advanced skilled dedicated talented related
    """
)
_BE_PAST, _BE = r"(?:was|were|wasn['’]t|weren['’]t)", r"(?:is|are|am|isn['’]t|aren['’]t)"
_SHORT_BE = r"(?<=\w)['’](?:re|m)\b"
_SET_TO = (
    r"(?:going|set|due|scheduled|slated|expected|planned|projected|likely|about|poised|bound|forecast) to"
)
_MODAL = r"(?:would|could|might|may|should|must|can|cannot|can['’]t|couldn['’]t|wouldn['’]t|shouldn['’]t)"
_BEING = rf"(?:\s+have)?(?:\s+be(?:en)?)?{_SKIP}(?:\s+\w+)?"
_DOING = rf"\s+(?:{_PARTICIPLE}|\w+ing)\b"
_FORMS: tuple[tuple[str, Tense], ...] = (
    (rf"(?:\b(?:will|shall|won['’]t)\b|(?<=\w)['’]ll\b){_SKIP}{_BEING}", Tense.FUTURE),
    (rf"(?:\b{_BE}\b|{_SHORT_BE}){_SKIP}\s+{_SET_TO}(?:\s+be)?(?:\s+\w+)?", Tense.FUTURE),
    (rf"(?<!\bin )(?<!\bof )\b{_MODAL}\b(?!\s\d){_SKIP}{_BEING}", Tense.NONE),
    (rf"\b{_BE_PAST}\b{_SKIP}(?:\s+being)?{_SKIP}(?:{_DOING})?", Tense.PAST),
    (
        rf"(?:\b(?:has|have|hasn['’]t|haven['’]t)|(?<=\w)['’]ve)\b{_SKIP}(?:\s+been)?{_SKIP}{_DOING}",
        Tense.PAST,
    ),
    (rf"\b(?:had|hadn['’]t)\b{_SKIP}(?:\s+been)?{_SKIP}(?:{_DOING})?", Tense.PAST),
    (rf"\b(?:did|didn['’]t)\b{_SKIP}(?:\s+\w+)?", Tense.PAST),
    (rf"(?:\b{_BE}\b|{_SHORT_BE}){_SKIP}(?:\s+being)?{_SKIP}(?:{_DOING})?", Tense.PRESENT),
    (rf"\b(?:has|have|do|does|don['’]t|doesn['’]t|hasn['’]t|haven['’]t)\b{_SKIP}", Tense.PRESENT),
)
_AUXILIARY = tuple((re.compile(pattern, re.IGNORECASE), tense) for pattern, tense in _FORMS)
_INFINITIVE = re.compile(r"\bto\s+(?:be\s+|have\s+(?:been\s+)?)?(?!the\b|a\b|an\b|its\b|his\b|her\b)[a-z]+\b")
_GERUND = re.compile(r"\b[a-z]{2,}ing\b")
_SINGLE = re.compile(r"\b[a-z]+(?:ed|s)\b|\b(?:" + "|".join(sorted(_PAST_FORMS)) + r")\b")
_NOUN_BEFORE = re.compile(r"\b(?:the|a|an|its|his|her|their|our|my|your|of|no|this|that|very|most)\s+$", re.I)
_NO_GERUND = word_set(
    """
    during morning evening spring thing something nothing anything everything king ring string wing
    according including following regarding concerning meeting building ceiling wedding training funding
    """
)
_NEW_CLAUSE = re.compile(
    r"[,;:.()–—]|\b(?:and|but|or|that|when|while|because|before|after|who|which|as|if|than|since)\b"
)
_BE_ONLY = word_set("is are am was were be been being re m not")


def verb_groups(text: str) -> list[VerbGroup]:
    """In order and without overlaps.

    >>> [(g.verb, g.tense.value) for g in verb_groups("It was launched, has been sold and will close.")]
    [('launched', 'past'), ('sold', 'past'), ('close', 'future')]
    """
    taken = bytearray(len(text))
    found: list[VerbGroup] = []
    for pattern, tense in _AUXILIARY:
        for match in pattern.finditer(text):
            _take(found, taken, _group(match, tense))
    for match in _INFINITIVE.finditer(text):
        verb = match[0].split()[-1]
        _take(found, taken, VerbGroup(match.start(), match.end(), Tense.NONE, verb, finite=False))
    for match in _GERUND.finditer(text):
        if match[0] not in _NO_GERUND and not _is_noun(text, match.start()):
            _take(found, taken, VerbGroup(match.start(), match.end(), Tense.NONE, match[0], finite=False))
    for match in _SINGLE.finditer(text):
        if (told := _single(text, match)) is not None:
            _take(found, taken, VerbGroup(match.start(), match.end(), told, match[0]))
    return _without_participles(text, sorted(found))


def _is_noun(text: str, start: int) -> bool:
    """Whether an article or the like stands before it."""
    return bool(_NOUN_BEFORE.search(text[max(0, start - 12) : start]))


def _take(found: list[VerbGroup], taken: bytearray, group: VerbGroup) -> None:
    if not any(taken[group.start : group.end]):
        taken[group.start : group.end] = b"\1" * (group.end - group.start)
        found.append(group)


def _group(match: re.Match[str], tense: Tense) -> VerbGroup:
    words = re.findall(r"[a-z]+", match[0].lower())
    verb = words[-1] if words else ""
    be = any(word in _BE_ONLY for word in words[:-1])
    passive = be and not verb.endswith("ing") and verb not in _BE_ONLY
    end = match.start() + len(match[0].rstrip())
    return VerbGroup(match.start(), end, tense, verb, passive)


def _single(text: str, match: re.Match[str]) -> Tense | None:
    word = match[0]
    if word in _PRESENT_FORMS:
        return None if _is_noun(text, match.start()) else Tense.PRESENT
    past = word in _PAST_FORMS or (word.endswith("ed") and len(word) > 4 and word not in _NOT_PAST)
    if not past or _is_noun(text, match.start()):
        return None
    return Tense.PAST


def _without_participles(text: str, groups: list[VerbGroup]) -> list[VerbGroup]:
    """A bare past form before the finite verb of its clause is none: "The cars sold in 2040 will be …"."""
    result = list(groups)
    for i, group in enumerate(groups):
        if group.tense is not Tense.PAST or " " in text[group.start : group.end]:
            continue
        for later in groups[i + 1 :]:
            between = text[group.end : later.start]
            if _NEW_CLAUSE.search(between):
                break
            if later.finite:
                result[i] = group._replace(tense=Tense.NONE, finite=False)
                break
    return result


CLAUSE_EDGE = re.compile(
    r"[.;:!?()\n–—]|,\s+(?:and|but|which|who|where|while|when|so|yet|because|although|though|whereas)\b"
    r"|\b(?:that|which|who|because|although|though|while|whereas|when|if|unless|but|before|after|until|since)\s+(?=(?:\w+\s+){1,4}?(?:was|were|is|are|will|would|had|has|have|did|\w+ed)\b)"
    r"|\band\s+(?=(?:the|it|he|she|they|we|its|his|her|their|this|that|[A-Z]\w+)\s)"
)  # fmt: skip


def clause_around(text: str, start: int, end: int) -> tuple[int, int]:
    """Where the clause that holds text[start:end] begins and ends."""
    left, right = 0, len(text)
    for match in CLAUSE_EDGE.finditer(text):
        if match.start() < start and match.end() <= start:
            left = match.end()
        elif match.start() >= end:
            right = match.start()
            break
    return left, right


def governing(text: str, groups: list[VerbGroup], start: int, end: int) -> VerbGroup | None:
    """The verb group that goes with text[start:end]: the nearest before it in its clause, else after."""
    left, right = clause_around(text, start, end)
    inside = [group for group in groups if left <= group.start and group.end <= right]
    before = [group for group in inside if group.end <= start]
    after = [group for group in inside if group.start >= end]
    return before[-1] if before else next((group for group in after if group.finite), None)
