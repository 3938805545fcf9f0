"""What begins must not have ended before: the order of times within a sentence and of lives across two."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from groundwire.detectors.flagging import temporal_flag
from groundwire.openie.tense import VerbGroup, verb_groups
from groundwire.text.lexicon import word_set
from groundwire.text.numbers import numbers
from groundwire.types import Flag, Segment, TimeExpression, TimeRelation

# What begins | what ends it. A verb may stand in several rows.
_PAIRS: tuple[tuple[frozenset[str], frozenset[str]], ...] = tuple(
    (word_set(first), word_set(last))
    for first, last in (
        (
            "started began begun commenced start begin",
            "ended finished completed concluded stopped end finish",
        ),
        ("opened inaugurated open", "closed shuttered demolished close"),
        ("founded established created formed incorporated", "dissolved disbanded abolished closed bankrupt"),
        ("launched introduced released", "discontinued retired withdrawn cancelled canceled"),
        ("born", "died killed assassinated executed die"),
        ("hired joined appointed elected", "fired resigned retired left quit dismissed"),
        ("married", "divorced separated"),
        ("enrolled", "graduated"),
        ("built constructed", "demolished destroyed razed"),
        ("signed", "expired terminated"),
    )
)
_BORN = _PAIRS[4]
_LONGEST = 2000
_LINKS = re.compile(
    r"\s*,?\s*(?:\b(?:and|but|then|before|later|finally|eventually|it|he|she|they|was|were|had|also|,)\b[\s,]*)*",
    re.IGNORECASE,
)
_AGAIN = re.compile(
    r"\b(?:re-?open|again|first|second|another|previous|predecessor|former|original|new|each|both)", re.I
)
_CHANGED = re.compile(
    r"\b(?:mov|chang|revis|brought forward|shift|push|back to|differ|compar|versus|gap|reverse|descend"
    r"|countdown|down|rang)\w*",
    re.IGNORECASE,
)
_LEADS_OFF = re.compile(r"\b(?:and|or|of|the day|another|more|plan|schedul)|\w+ed\b", re.IGNORECASE)
_JOINS = re.compile(r"\s+(?:to|and|until|till|through)\s+(?:early |late |mid-?)?|\s?[–—]\s?|-", re.IGNORECASE)
_ERA = re.compile(r"\b(?:BC|BCE|B\.C)")
_ENDED = (
    r"(?P<ended>completed|finished|ended|closed|concluded|died|graduated|dissolved|cancelled|canceled|expired"
    r"|demolished|retired)"
)
_BEGUN = (
    r"(?P<begun>started|began|begun|opened|launched|founded|born|established|enrolled|signed|created|built"
    r"|hired|commenced)"
)
_SAME = r"(?:it|he|she|they)(?:\s+(?:had|was|were|had been|ever|even|has|has been))*"
_SELF_BEFORE = re.compile(
    rf"\b{_ENDED}\b[\w\s]{{0,20}}?,?\s+before\s+{_SAME}\s+{_BEGUN}\b(?=\s*(?:[.,;!?)]|$|in\b|on\b|at\b))",
    re.I,
)
_SELF_AFTER = re.compile(
    rf"\b{_BEGUN}\b[\w\s]{{0,20}}?,?\s+(?:only\s+)?after\s+{_SAME}\s+{_ENDED}\b(?=\s*(?:[.,;!?)]|$|in\b|on\b|at\b))",
    re.I,
)
_BUILT_BEFORE = re.compile(
    r"\b(?:building|bridge|house|tower|road|stadium|tunnel|plant|school|hospital|museum|church|dam|factory)\s+"
    r"(?:was|were|had been)\s+(?P<ended>completed|finished)\s+before\s+(?:its\s+|the\s+)?"
    r"(?:construction|building work|work)\s+(?:had\s+|was\s+)?(?P<begun>began|begun|started)\b"
    r"(?=\s*(?:[.,;!?)]|$))",
    re.IGNORECASE,
)
_THEN = re.compile(
    r"\s*,?\s*(?:\w+\s+(?:day|week|month|year|decade)s?\s+|(?:shortly|just|long|well|right|immediately) )?"
    r"(?P<which>before|after)\s+(?P<rest>[^,;.]{0,60})",
    re.IGNORECASE,
)


_CLOCK = r"\d{1,2}(?::[0-5]\d)?\s?(?P<{0}>[ap])\.?m\b\.?"
_HOURS = re.compile(
    rf"\b(?:starts?|begins?|opens?|started|began|opened)\s+at\s+(?P<first>{_CLOCK.replace('{0}', 'half')})"
    r"\s*(?:,|,?\s*(?:and|but))\s*(?:it\s+)?(?:then\s+)?"
    r"(?:ends?|finish(?:es)?|closes?|concludes?|ended|finished|closed|concluded)\s+at\s+"
    rf"(?P<last>{_CLOCK.replace('{0}', 'half2')})(?!\s*(?:the\s+)?(?:next|following|tomorrow|\w+day))",
    re.IGNORECASE,
)


def _hours(segment: Segment, confidence: float) -> Iterator[Flag]:
    """ "It starts at 3 pm and ends at 2 pm"; from the evening into the morning is a night."""
    for match in _HOURS.finditer(segment.text):
        first, last = numbers(match["first"]), numbers(match["last"])
        if not first or not last or match["half"].lower() != match["half2"].lower():
            continue
        if first[0].value > last[0].value:
            start, end = segment.start + match.start(), segment.start + match.end()
            why = f"{match['first']} is after {match['last']}"
            yield temporal_flag(segment, start, end, confidence, "Temporal ordering is inconsistent", why)


def disorders(segments: Sequence[Segment], confidence: float) -> Iterator[Flag]:
    for segment in segments:
        if segment.assertive and len(segment.text) <= _LONGEST:
            yield from _before_itself(segment, confidence)
            yield from _hours(segment, confidence)
            if len(segment.times) > 1 and not _ERA.search(segment.text):
                yield from _ranges(segment, confidence)
                yield from _before_after(segment, confidence)
                yield from _lives(segment, confidence)
    yield from lives_across(segments, confidence)


def _before_itself(segment: Segment, confidence: float) -> Iterator[Flag]:
    """ "The project was completed before it started": no date needed."""
    for pattern in (_SELF_BEFORE, _SELF_AFTER, _BUILT_BEFORE):
        for match in pattern.finditer(segment.text):
            if any(
                match["begun"].lower() in first and match["ended"].lower() in last for first, last in _WIDE
            ):
                start = segment.start + match.start()
                yield temporal_flag(
                    segment, start, segment.start + match.end(), confidence,
                    "Temporal ordering is inconsistent", "Nothing ends before it begins",
                )  # fmt: skip


_GENERIC = word_set("started began begun opened launched commenced created founded established")
_GENERIC_END = word_set("completed finished ended closed concluded dissolved cancelled canceled")
_WIDE = (*_PAIRS, (_GENERIC, _GENERIC_END), (word_set("built"), word_set("completed finished closed")))


def _ranges(segment: Segment, confidence: float) -> Iterator[Flag]:
    """ "from 2021 to 2019", "between 2021 and 2019", "2021–2019"."""
    for a, b in pairwise(segment.times):
        if (a.relation, b.relation) != (TimeRelation.START, TimeRelation.END) or not _after(a, b):
            continue
        between = segment.text[a.end - segment.start : b.start - segment.start]
        before = segment.text[max(0, a.start - segment.start - 60) : a.start - segment.start]
        joined = _JOINS.fullmatch(between)
        if joined and not _CHANGED.search(before + between):
            yield _out_of_order(segment, a, b, confidence)


def _after(a: TimeExpression, b: TimeExpression) -> bool:
    """Whether all of `a` lies behind all of `b`, both being years that are written."""
    return bool(a.year and b.year and a.first and b.last and a.first > b.last)


def _out_of_order(segment: Segment, a: TimeExpression, b: TimeExpression, confidence: float) -> Flag:
    start, end = min(a.start, b.start), max(a.end, b.end)
    return temporal_flag(
        segment, start, end, confidence, "Temporal ordering is inconsistent", f"{a.text} is after {b.text}"
    )


def _before_after(segment: Segment, confidence: float) -> Iterator[Flag]:
    """ "in 2018, three years after the 2020 election": `before` and `after` that the dates deny."""
    for a, b in pairwise(segment.times):
        at = a.end - segment.start
        match = _THEN.match(segment.text, at, b.start - segment.start)
        if not match or match.end() != b.start - segment.start or "," in match["rest"]:
            continue
        early, late = (a, b) if match["which"].lower() == "before" else (b, a)
        if _after(early, late) and not _LEADS_OFF.search(match["rest"]):
            yield _out_of_order(segment, early, late, confidence)


def _dated(segment: Segment) -> list[tuple[VerbGroup, TimeExpression]]:
    """Verbs with the time that follows them within a few words."""
    groups = [group for group in verb_groups(segment.text) if group.finite or group.verb == "born"]
    found = []
    for time in segment.times:
        at = time.start - segment.start
        before = [group for group in groups if group.end <= at]
        if before and len(segment.text[before[-1].end : at].split()) <= 8:
            found.append((before[-1], time))
    return found


def _lives(segment: Segment, confidence: float) -> Iterator[Flag]:
    """ "It opened in 2020 and closed in 2018", said of one subject."""
    dated = _dated(segment)
    for (begins, first), (ends, last) in pairwise(dated):
        between = segment.text[first.end - segment.start : ends.start]
        same = _LINKS.fullmatch(between) is not None and "after" not in between
        paired = any(begins.verb in starts and ends.verb in stops for starts, stops in _PAIRS)
        if same and paired and _after(first, last) and not _AGAIN.search(segment.text):
            yield _out_of_order(segment, first, last, confidence)
        elif same and (ends.verb in _BORN[0] and begins.verb in _BORN[1]) and _after(last, first):
            yield _out_of_order(segment, last, first, confidence)


_SUBJECT = re.compile(
    r"\s*((?:the\s+)?[\w'’.-]+(?:\s+[\w'’.-]+){0,4}?)\s+(?:was|were|is|had|has|\w+ed|began|died)\b", re.I
)


def lives_across(segments: Sequence[Segment], confidence: float) -> Iterator[Flag]:
    """Of one subject in two sentences: "The café opened in 2020. It closed in 2018." """
    for one, two in pairwise(segments):
        if not (one.assertive and two.assertive and one.times and two.times):
            continue
        if not _same_subject(one.text, two.text) or _AGAIN.search(one.text + two.text):
            continue
        for begins, first in _dated(one)[:1]:
            for ends, last in _dated(two)[:1]:
                paired = any(begins.verb in starts and ends.verb in stops for starts, stops in _PAIRS)
                if paired and _after(first, last):
                    yield temporal_flag(
                        two, two.start, two.end, confidence,
                        "Temporal ordering is inconsistent", f"{first.text} is after {last.text}",
                    )  # fmt: skip


def _same_subject(one: str, two: str) -> bool:
    if re.match(r"\s*(?:it|he|she|they)\b", two, re.IGNORECASE):
        return True
    a, b = _SUBJECT.match(one), _SUBJECT.match(two)
    return bool(a and b and a[1].casefold() == b[1].casefold())
