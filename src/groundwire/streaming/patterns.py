"""What a pattern is: a name, what it looks for, how risky and how sure a find is."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from groundwire.claims.citations import Mark, resolve
from groundwire.claims.decompose import has_verb
from groundwire.streaming.state import (
    HANDLE,
    JOINT,
    NAME_IN_CODE,
    PART,
    URL,
    Said,
    Seen,
    address,
    handle,
    label,
)
from groundwire.text.dates import MONTHS
from groundwire.text.lexicon import NEGATIONS, word_set
from groundwire.text.names import Name
from groundwire.text.numbers import Number
from groundwire.text.tokens import PRONOUN, Word
from groundwire.types.claims import Risk
from groundwire.verifiers.lexical.tables import OPPOSITES


@dataclass(frozen=True, slots=True)
class Hit:
    """Where a pattern shows in a sentence. `key` tells the same find again: it is reported once a stream."""

    start: int
    end: int
    note: str
    key: str = ""


@dataclass(frozen=True, slots=True)
class Pattern:
    """`find` looks at one sentence, `confidence` says how sure a hit is (0 to 1).

    `needs_sources`: says nothing where there are none to compare with. `in_code`: looks into code, too.
    """

    name: str
    catches: str
    misses: str
    risk: Risk
    find: Callable[[Seen], Iterable[Hit]]
    confidence: Callable[[Seen, Hit], float]
    needs_sources: bool = False
    in_code: bool = False

    def applies(self, seen: Seen) -> bool:
        return (seen.known.sourced or not self.needs_sources) and (self.in_code or not seen.past.in_code)


# Patterns of values: statistics from nowhere, numbers too exact, dates and names that no source holds.

_UP_TO_NINE = r"\d+|one|two|three|four|five|six|seven|eight|nine"
_SHARE = re.compile(
    r"(?<![\d.])\d+(?:\.\d+)?(?:\s?%|\s(?:percent|per cent|percentage points)\b|\sאחוז)"
    rf"|(?<![\w.])(?:{_UP_TO_NINE}) (?:out of|in) (?:every )?(?:{_UP_TO_NINE}|ten|twenty|hundred)\b"
    r"(?! (?:years|days|hours|minutes))"
    r"|\b(?:\d+(?:\.\d+)?|two|three|four|five|ten)(?:x|[ -]times|[ -]fold) "
    r"(?:more|less|higher|lower|greater|faster|slower|as|likelier)\b",
    re.IGNORECASE,
)
_RATED = re.compile(r"\b(?:rat(?:ed|ing|ings)|stars?|scor(?:e|es|ed))\b", re.IGNORECASE)
_EXACT_DIGITS = 4
_EXACT_PLACES = 2
_VERSION = re.compile(r"(?:\bv(?:ersion)?\.?\s?|\d\.)\Z", re.IGNORECASE)
_COMPUTED = re.compile(
    r"[=×+÷*/]|\b(?:total|sum|average|mean|difference|altogether|combined|equals?|convert)", re.I
)
_MIN_NAME_WORDS = 2
RISING = 3
_MANY = 5


def statistics(seen: Seen) -> Iterator[Hit]:
    """Shares, odds and multiples that no source gives, in a sentence that names no source."""
    strange = seen.strange_numbers
    if not strange or seen.cited or seen.supposed or _RATED.search(seen.text):
        return
    for match in _SHARE.finditer(seen.text):
        inside = [n for n in strange if n.start < match.end() and match.start() < n.end]
        if inside and not (inside[0].unit == "%" and inside[0].value in (0, 100)):
            yield Hit(match.start(), match.end(), f"no source gives {match[0]}", match[0].lower())


def sure_of_statistic(seen: Seen, hit: Hit) -> float:
    exact = "." in seen.text[hit.start : hit.end]
    return 0.6 + 0.1 * exact + 0.1 * seen.known.sourced


def exact_numbers(seen: Seen) -> Iterator[Hit]:
    """Numbers with more digits than anyone would round to, which no source writes."""
    if not seen.strange_numbers or seen.supposed or _COMPUTED.search(seen.text):
        return
    for number in seen.strange_numbers:
        raw = seen.text[number.start : number.end]
        before = seen.text[max(0, number.start - 9) : number.start]
        if _exactness(raw) and raw.count(".") < 2 and number.kind != "time" and not _VERSION.search(before):
            yield Hit(number.start, number.end, f"no source has {raw}", raw)


def _exactness(raw: str) -> int:
    """How many digits more than a rounded number has; 0 for "1,200", "3.5" and "40"."""
    digits = re.sub(r"\D", "", raw)
    places = len((re.search(r"\.(\d+)", raw) or ["", ""])[1])
    whole = len(digits.rstrip("0")) if "." not in raw else len(digits)
    return max(0, whole - _EXACT_DIGITS + 1, places - _EXACT_PLACES + 1 if whole > places else 0)


def sure_of_exactness(seen: Seen, hit: Hit) -> float:
    return min(0.85, 0.55 + 0.1 * _exactness(seen.text[hit.start : hit.end]))


def dates(seen: Seen) -> Iterator[Hit]:
    """Years, months and days that no source holds."""
    for date in seen.strange_dates:
        raw = seen.text[date.start : date.end]
        if not seen.supposed and date.years == 1:
            yield Hit(date.start, date.end, f"no source holds the date {raw}", raw.lower())


def sure_of_date(seen: Seen, hit: Hit) -> float:
    return 0.7 if len(seen.text[hit.start : hit.end]) > len("2020") else 0.6


def names(seen: Seen) -> Iterator[Hit]:
    """Names of two words and more with a word that no source knows."""
    for name in seen.strange_names:
        if sum(bool(PART.match(word)) for word in name.text.split()) >= _MIN_NAME_WORDS:
            yield Hit(name.start, name.end, f"no source names {name.text}", name.text.casefold())


def sure_of_name(seen: Seen, hit: Hit) -> float:
    """Surer the more of its words are new."""
    return 0.4 + 0.3 * seen.newness(Name(seen.text[hit.start : hit.end], hit.start, hit.end))


def rising(seen: Seen) -> Iterator[Hit]:
    """More and more particulars from sentence to sentence, and ever fewer of them in the sources."""
    strange = len(seen.strange_names) + len(seen.strange_dates) + _count(seen.strange_numbers)
    total = len(seen.names) + len(seen.dates) + _count(seen.numbers)
    if seen.cited:
        strange = 0
    if not total and len(seen.text.split()) < 4:
        return  # no sentence to speak of
    seen.past.specifics.append((strange, total))
    window = list(seen.past.specifics)
    counts = [new for new, _ in window]
    climbing = len(window) >= 3 and 0 < counts[-2] < counts[-1] and counts[-3] <= counts[-2]
    if (
        climbing
        and counts[-1] >= RISING
        and sum(counts) >= _MANY
        and sum(counts) * 2 > sum(total for _, total in window)
    ):
        told = " → ".join(map(str, counts[-3:]))
        yield Hit(0, len(seen.text), f"particulars no source holds, sentence by sentence: {told}")


def _count(found: list[Number]) -> int:
    """Counting words ("two of them") are no particulars."""
    return sum(number.value >= 10 or number.unit != "" for number in found)


def sure_of_rise(seen: Seen, _: Hit) -> float:
    return min(0.8, 0.4 + 0.1 * seen.past.specifics[-1][0])


# Patterns of references: citations, addresses, identifiers, calls that nobody gave, and "studies show".

MANY = 3
"""So many different references that nobody gave are no slip any more."""

_SURNAME = r"[^\W\d_a-z][^\W\d_]*(?:[-'’][^\W\d_]+)*"
_YEAR = r"(?:1[89]|20)\d\d[a-z]?"
_PAPER = re.compile(
    rf"\b(?P<one>{_SURNAME})(?P<al>\s+et\s+al\.?|\s+(?:and|&)\s+(?P<two>{_SURNAME}))?,?\s*\((?P<year>{_YEAR})\)"
    rf"|\((?:see\s+|e\.g\.,?\s+|cf\.\s+)?(?P<one2>{_SURNAME})(?P<al2>\s+et\s+al\.?|\s+(?:and|&)\s+(?P<two2>{_SURNAME}))?"
    rf",?\s+(?P<year2>{_YEAR})(?:[;,][^()]{{0,80}})?\)"
)
_NO_AUTHORS = frozenset(MONTHS) | word_set(
    "spring summer autumn fall winter in since until by from early late mid around about circa"
)
_AUTHORITIES = (
    r"stud(?:y|ies)|research(?:ers)?|experts?|scientists?|surveys?|polls?|statistics|analysts?|doctors"
    r"|historians|critics|reports|the (?:data|evidence|science|literature)"
)
_SHOW = (
    r"show(?:s|n|ed)?|suggest(?:s|ed)?|indicate[sd]?|prove[sdn]?|found|find|confirm(?:s|ed)?|agree[sd]?|say"
    r"|demonstrate[sd]?|reveal(?:s|ed)?|believe|claim|estimate[sd]?|recommend"
)
_STUDIES = re.compile(
    rf"\b(?P<who>{_AUTHORITIES})\s+(?:(?:have|has|consistently|often|clearly|widely|generally)\s+)*(?:{_SHOW})\b"
    r"|\baccording to (?:(?:recent|many|some|several|numerous|various|leading|new) )*"
    r"(?P<who2>studies|research|experts|scientists|surveys|reports|statistics|estimates)\b"
    r"|\bit (?:is|has been) (?:widely|well|generally|commonly) "
    r"(?:known|accepted|established|believed|documented|agreed)\b"
    r"|(?P<who3>מחקרים|מומחים|חוקרים|סקרים)\s+(?:רבים\s+|שונים\s+)?"
    r"(?:מראים|הראו|טוענים|מצאו|מצביעים|אומרים|מאמינים)"
    r"|(?:לפי|על פי) (?P<who4>מחקרים|מומחים|סקרים)|ידוע לכל ש",
    re.IGNORECASE,
)
# The pattern is long and most sentences have nothing of it: a look for its words comes first.
_HINTS = (
    *(
        "stud",
        "research",
        "expert",
        "scien",
        "survey",
        "poll",
        "statistics",
        "analyst",
        "doctors",
        "historian",
    ),
    *("critics", "report", "the data", "the evidence", "literature", "estimates", "it is ", "it has been "),
    *("מחקר", "מומחים", "חוקרים", "סקרים", "ידוע"),
)
_TICKED = re.compile(r"`([^`\n]{2,80})`")
_CALL = re.compile(r"[A-Za-z_][\w.]*(?:\.|::)[A-Za-z_]\w*(?=\()|[A-Za-z_]\w*_\w+(?=\()")
_DEFINES = re.compile(
    r"\b(?:def|class|function|func|fn|const|let|var|struct|interface|type|import|from)\s+(\w+)|\b(\w+)\s*=[^=]"
)


def citations(seen: Seen) -> Iterator[Hit]:
    """Marks that name no source there is, and papers by author and year that no source speaks of."""
    if seen.known.sourced:
        for mark in seen.marks:
            lost = [name for name in mark.labels if not _exists(seen, mark, name)]
            if lost:
                raw = seen.text[mark.start : mark.end]
                yield _noted(seen, Hit(mark.start, mark.end, f"there is no source {', '.join(lost)}", raw))
    for match in _PAPER.finditer(seen.text) if "(" in seen.text else ():
        authors = [name for name in match.group("one", "two", "one2", "two2") if name]
        year = match["year"] or match["year2"]
        if authors[0].lower() in _NO_AUTHORS or (
            len(authors) == 1 and not (match["al"] or match["al2"]) and match["year"]
        ):
            continue  # "May (2021)", "Avatar (2009)": a date, or a work with its year
        if not all(map(seen.known.has_word, authors)) or int(year[:4]) not in seen.known.years:
            hit = Hit(
                match.start(), match.end(), f"no source speaks of {match[0].strip('()')}", match[0].casefold()
            )
            yield _noted(seen, hit)


def _exists(seen: Seen, mark: Mark, name: str) -> bool:
    """Whether a label means a source, or something that the sources themselves call so: "passage 2"."""
    if resolve(name, seen.known.ids) in seen.known.ids:
        return True
    raw = seen.text[mark.start : mark.end]
    kind = (re.match(r"[\[(]?\s*([^\W\d_]+?)s?\b[\s#:]", raw) or ["", ""])[1].lower()
    return label(raw) in seen.known.marks or f"{kind}{label(name)}" in seen.known.marks


def sure_of_citation(seen: Seen, hit: Hit) -> float:
    raw = seen.text[hit.start : hit.end]
    if _PAPER.fullmatch(raw):
        return 0.85 if seen.known.sourced else 0.5
    return 0.95


def urls(seen: Seen) -> Iterator[Hit]:
    """Addresses that stand in no source and were not asked about."""
    if "//" not in seen.text and "www." not in seen.text.lower():
        return
    for match in URL.finditer(seen.text):
        url = address(match[0])
        if url not in seen.known.urls and url not in seen.known.hosts and not HANDLE.search(match[0]):
            yield _noted(seen, Hit(match.start(), match.end(), "no source holds this address", url))


def sure_of_url(seen: Seen, hit: Hit) -> float:
    """Less sure where the sources know the host and only the page is new."""
    known = hit.key.partition("/")[0] in seen.known.hosts
    return 0.6 if known else 0.85 if seen.known.sourced else 0.5


def handles(seen: Seen) -> Iterator[Hit]:
    """DOIs, arXiv numbers, PMIDs and ISBNs that stand in no source."""
    if not seen.digits:
        return
    for match in HANDLE.finditer(seen.text):
        if handle(match[0]) not in seen.known.handles:
            yield _noted(
                seen, Hit(match.start(), match.end(), f"no source holds {match[0]}", handle(match[0]))
            )


def sure_of_handle(seen: Seen, _: Hit) -> float:
    return 0.9 if seen.known.sourced else 0.5


def interfaces(seen: Seen) -> Iterator[Hit]:
    """Calls, attributes and options that no source has, where the sources speak of code at all."""
    text, code = seen.text, seen.known.code
    if not code:
        return
    if seen.past.in_code:
        for name in (part for found in _DEFINES.findall(text) for part in found if part):
            seen.past.defined.put(name, None)
        for match in _CALL.finditer(text):
            root = JOINT.split(match[0])[0]
            if root in code and match[0] not in code and root not in seen.past.defined:
                yield from _unknown_call(match[0], match.start(), code)
        return
    for ticked in _TICKED.finditer(text) if "`" in text else ():
        for match in NAME_IN_CODE.finditer(ticked[1]):
            if match[0] not in code:
                yield from _unknown_call(match[0], ticked.start(1) + match.start(), code)


def _unknown_call(name: str, start: int, code: frozenset[str]) -> Iterator[Hit]:
    last = JOINT.split(name)[-1]
    if last not in code:
        yield Hit(start, start + len(name), f"no source has {name}", name)


def sure_of_interface(seen: Seen, hit: Hit) -> float:
    """Surer where the thing itself is known and only this part of it is not."""
    root = JOINT.split(hit.key)[0]
    return 0.7 if root != hit.key and root in seen.known.code else 0.55


def studies(seen: Seen) -> Iterator[Hit]:
    """Authority without a name: "studies show", "experts agree", "it is well known"."""
    lowered = seen.text.lower()
    if not any(hint in lowered for hint in _HINTS) or seen.cited:
        return
    for match in _STUDIES.finditer(seen.text):
        who = next((name for name in match.group("who", "who2", "who3", "who4") if name), "")
        word = who.split()[-1] if who else ""
        named = any(name.end <= match.start() + len(who) and name.start < match.end() for name in seen.names)
        if not (word and seen.known.has_word(word)) and not named:
            yield Hit(match.start(), match.end(), "an authority without a name", match[0].casefold())


def sure_of_studies(seen: Seen, _: Hit) -> float:
    return 0.65 if seen.strange_numbers else 0.5


def fabricated(seen: Seen) -> Iterator[Hit]:
    """One invented reference after the other."""
    if len(seen.past.invented) >= MANY:
        note = f"{MANY} or more references that no source holds"
        yield Hit(0, len(seen.text), note, "fabricated")


def sure_of_fabrication(_: Seen, __: Hit) -> float:
    return 0.95


def _noted(seen: Seen, hit: Hit) -> Hit:
    if seen.known.sourced:
        seen.past.invented.put(hit.key, None)
    return hit


# A stream that says one thing and later another: statements kept by what they speak of.

_CLAUSE = re.compile(r";\s+|,?\s+(?:but|while|whereas|however)\s+|,\s+(?:and|so)\s+|\s+[–—]\s+")
_HEADING = re.compile(r"#{1,6}\s|\*\*[^*]+\*\*:?\Z|[^.!?]{1,60}:\Z")
# Who speaks of another one, of one of several or of an unnamed one speaks of something else each time.
_OTHER = re.compile(
    r"\b(?:another|other|others|one of|some|each|every|several|few|former|latter|first|second|third|next)\b"
    r"|\A\W*(?:an?|one)\b",
    re.IGNORECASE,
)
_OWNED = re.compile(
    r"\b(?:actually|correction|I was wrong|I misspoke|sorry|to be precise|more precisely)\b", re.I
)
_MIN_CHARS = 12
_MIN_WORDS = 2
_MAX_WORDS = 14
_ROUGH = 0.05
_FINE = 0.005


@dataclass(frozen=True, slots=True)
class _Value:
    """The one value of a clause: a number with its unit, or a date as a number."""

    at: float
    unit: str
    room: float
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class _Clause:
    """`about` is what tells statements apart, `turned` whether an odd number of words turns it round."""

    about: tuple[object, ...]
    turned: bool
    value: _Value | None
    start: int
    end: int


def contradictions(seen: Seen) -> Iterator[Hit]:
    """The same words with another value, the same words denied, the opposite word in the same place."""
    if seen.text.endswith("?") or seen.supposed:
        return
    if _HEADING.match(seen.text):
        seen.past.scope = seen.text[:80]
        return
    for start, end in _clauses(seen.text):
        clause = _read(seen, start, end)
        if clause is not None:
            yield from _held_against(seen, clause)


def sure_of_contradiction(seen: Seen, hit: Hit) -> float:
    """Who owns a correction contradicts himself with good reason."""
    return 0.5 if _OWNED.search(seen.text) else 0.8 if hit.key.startswith("value") else 0.75


def _clauses(text: str) -> Iterator[tuple[int, int]]:
    begin = 0
    for match in _CLAUSE.finditer(text):
        yield begin, match.start()
        begin = match.end()
    yield begin, len(text)


def _read(seen: Seen, start: int, end: int) -> _Clause | None:
    """A clause that asserts something of something named; None for any other."""
    text = seen.text[start:end]
    if len(text) < _MIN_CHARS or PRONOUN.match(text) or _OTHER.search(text):
        return None
    if text.isascii() and not has_verb(text):
        return None
    value = _value(seen, start, end)
    inside = [word for word in seen.words if start <= word.start < end]
    content = [w for w in inside if not w.is_stop and not (value and value.start <= w.start < value.end)]
    plain, axes, turned = _taken_apart(inside, content)
    if not plain or not _MIN_WORDS <= len(plain) + len(axes) <= _MAX_WORDS:
        return None
    return _Clause((seen.past.scope, plain, axes, value.unit if value else None), turned, value, start, end)


def _taken_apart(
    inside: Sequence[Word], content: Sequence[Word]
) -> tuple[frozenset[str], frozenset[int], bool]:
    """The words that name, the scales on which the others stand, and whether it is turned round."""
    negations = sum(word.text.lower().replace("’", "'") in NEGATIONS for word in inside)
    sides = [min(OPPOSITES[word.norm]) for word in content if word.norm in OPPOSITES]
    plain = frozenset(
        word.norm for word in content if word.norm not in OPPOSITES and word.text.lower() not in NEGATIONS
    )
    turned = (negations + sum(side for _, side in sides)) % 2 == 1
    return plain, frozenset(axis for axis, _ in sides), turned


def _value(seen: Seen, start: int, end: int) -> _Value | None:
    """The value a clause states, where it states exactly one; a date beside a number only says when."""
    numbers = [n for n in seen.numbers if start <= n.start < end and n.kind != "ordinal" and not n.edge]
    if len(numbers) == 1:
        number = numbers[0]
        loose = _ROUGH if number.bound else _FINE
        room = max(number.step / 2, abs(number.value) * loose)
        return _Value(number.value, number.unit or "#", room, number.start, number.end)
    dates = [d for d in seen.dates if start <= d.start < end and d.year and d.years == 1]
    if len(dates) == 1 and not numbers:
        date = dates[0]
        return _Value(date.year, "year", 0.5, date.start, date.end)
    return None


def _held_against(seen: Seen, clause: _Clause) -> Iterator[Hit]:
    """Compare with what was said of the same, then keep it."""
    said = seen.past.said.get(clause.about)
    now = Said(seen.text[clause.start : clause.end][:160], seen.start + clause.start,
               clause.value.at if clause.value else None, clause.turned)  # fmt: skip
    seen.past.said.put(clause.about, now)
    if said is None:
        return
    other = (
        clause.value is not None
        and said.value is not None
        and (abs(clause.value.at - said.value) > clause.value.room)
    )
    if other and clause.turned == said.turned:
        yield _hit(clause, "value", said)
    elif clause.turned != said.turned and not other:
        yield _hit(clause, "denial", said)


def _hit(clause: _Clause, how: str, said: Said) -> Hit:
    return Hit(clause.start, clause.end, f'earlier: "{said.text}"', f"{how} {said.start}")


# The patterns, as a table: what each catches and misses, its risk, and how sure it is.

PATTERNS: tuple[Pattern, ...] = (
    Pattern(
        "rising_specificity",
        "more and more names, dates and numbers from sentence to sentence that no source holds",
        "inventions spread evenly over the answer, and ones made of the sources' own words",
        Risk.MEDIUM,
        rising,
        sure_of_rise,
    ),
    Pattern(
        "unsourced_statistic",
        "percentages, odds and multiples that no source gives, in a sentence that cites none",
        "a statistic with a number that stands in a source for something else",
        Risk.MEDIUM,
        statistics,
        sure_of_statistic,
    ),
    Pattern(
        "fake_precision",
        "numbers of four digits and more, or with two decimals, that no source writes",
        "exact numbers that follow from others (sums, conversions) are reported as well",
        Risk.MEDIUM,
        exact_numbers,
        sure_of_exactness,
        needs_sources=True,
    ),
    Pattern(
        "invented_date",
        "dates whose year, month or day no source holds",
        "a date put together from a year, a month and a day that stand apart in the sources",
        Risk.MEDIUM,
        dates,
        sure_of_date,
        needs_sources=True,
    ),
    Pattern(
        "invented_name",
        "names of two words and more with a word that no source knows, except names everybody knows",
        "single names, names in scripts without capitals, names mixed from the sources' own",
        Risk.LOW,
        names,
        sure_of_name,
        needs_sources=True,
    ),
    Pattern(
        "invented_citation",
        "marks such as [S9] that name no source there is; (Smith et al., 2021) that no source speaks of",
        "a citation of the wrong source that exists; one author with a year and no more",
        Risk.HIGH,
        citations,
        sure_of_citation,
    ),
    Pattern(
        "invented_url",
        "addresses that stand neither in a source nor in the request",
        "a page that exists but does not say what it is cited for",
        Risk.HIGH,
        urls,
        sure_of_url,
        in_code=True,
    ),
    Pattern(
        "invented_doi",
        "DOIs, arXiv numbers, PMIDs and ISBNs that stand in no source",
        "identifiers of other kinds (patents, case numbers)",
        Risk.HIGH,
        handles,
        sure_of_handle,
    ),
    Pattern(
        "invented_api",
        "calls, attributes and options that no source has, where the sources speak of code",
        "a call that exists with parameters that do not; names the answer defines itself",
        Risk.MEDIUM,
        interfaces,
        sure_of_interface,
        needs_sources=True,
        in_code=True,
    ),
    Pattern(
        "self_contradiction",
        "the same statement with another value, denied, or with the opposite word",
        "contradictions in other words, and ones that take reasoning to see",
        Risk.HIGH,
        contradictions,
        sure_of_contradiction,
    ),
    Pattern(
        "studies_show",
        '"studies show", "experts agree", "it is well known", with nobody named and no source cited',
        "authorities invented by name",
        Risk.LOW,
        studies,
        sure_of_studies,
    ),
    Pattern(
        "fabricated_references",
        "three different citations, addresses or identifiers in one answer that no source holds",
        "a single one",
        Risk.CRITICAL,
        fabricated,
        sure_of_fabrication,
        needs_sources=True,
        in_code=True,
    ),
)
"""In the order in which they look; the last ones build on what the ones before noted."""
