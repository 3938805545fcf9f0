"""Patterns of references: citations, addresses, identifiers, calls that nobody gave, and "studies show"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from groundwire.claims.citations import Mark, resolve
from groundwire.streaming.pattern import Hit
from groundwire.streaming.state import HANDLE, JOINT, NAME_IN_CODE, URL, Seen, address, handle, label
from groundwire.text.dates import MONTHS
from groundwire.text.lexicon import word_set

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
