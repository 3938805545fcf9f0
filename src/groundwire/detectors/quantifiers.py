"""What is said of all, against exceptions to it: within a sentence and across."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from groundwire.detectors.exclusive import OPPOSED_VERBS
from groundwire.detectors.flagging import logical_flag
from groundwire.detectors.statements import QUOTED, SHIFTS, Statement, statements
from groundwire.detectors.view import View
from groundwire.text.tokens import normalise
from groundwire.types import Flag, HallucinationType, Segment

_WHY = "Universal and existential claims conflict"
_BE = r"(?:were|was|are|is|did|do|does|have|has|had)"
_EXCEPT_ITSELF = re.compile(
    r"\b(?:all|every|each|everyone|everybody|everything|none|nobody|no)\b[^.;!?]*?,?\s+"
    r"(?:except(?:ing)?(?:\s+for)?|apart from|other than|but for|save)\s+(?:for\s+)?(?:the\s+)?"
    r"(?:[\w-]+\s+){0,2}?(?:that|who|which|ones that|those that|those who)\s+"
    rf"(?:{_BE}n['’]t|{_BE}\s+not|{_BE})(?=\s*(?:[.!;]|$))",
    re.IGNORECASE,
)
_WHAT = r"(?:\s+of)?(?:\s+the)?\s+(?P<noun>[a-z]+)\s+"
_DOES = r"(?:have\s+|has\s+)?(?P<verb>[a-z]+ed|won|lost)"
_UNIVERSAL = re.compile(rf"^\W*(?:all|every|each){_WHAT}{_DOES}\s*[.!,;]", re.IGNORECASE)
_NONE = re.compile(rf"^\W*(?:none|not one|no){_WHAT}{_DOES}\s*[.!,;]", re.IGNORECASE)
_SOME = re.compile(
    r"(?:^|[,;]\s*(?:but|and|although|though)?\s*)\W*"
    r"(?:some|several|one|two|three|four|five|six|seven|eight|nine|ten|many|a few|few|\d+)"
    rf"{_WHAT}(?:(?P<not>did not|didn['’]t)\s+(?P<base>[a-z]+)|{_DOES})\s*(?:[.!,;]|$)",
    re.IGNORECASE,
)
_SOME_DO = re.compile(_SOME.pattern.removesuffix(r"\s*(?:[.!,;]|$)") + r"\b", re.IGNORECASE)
_LONGEST = 1000
_UNIVERSALS, _EXISTS = ("all", "every", "each", "both"), ("", "some", "several", "many", "few", "most")


def quantifier_conflicts(view: View, confidence: float) -> Iterator[Flag]:
    plain = [
        s for s in view.segments if s.assertive and len(s.text) <= _LONGEST and not QUOTED.search(s.text)
    ]
    for segment in plain:
        for match in _EXCEPT_ITSELF.finditer(segment.text):
            yield logical_flag(
                segment, match.start(), match.end(), confidence, _WHY, "An exception to 'all' is stated"
            )
    pairs = [
        *_by_verb([s for s in plain if not SHIFTS.search(s.text)]),
        *_by_claim(list(statements(view.segments))),
    ]
    for one, two in pairs:
        yield _across(view, one, two, confidence)


def _by_verb(segments: Sequence[Segment]) -> Iterator[tuple[Segment, Segment]]:
    """Verbs without an object: "All tests passed. Two tests failed." """
    for i, one in enumerate(segments):
        whole, none = _UNIVERSAL.match(one.text), _NONE.match(one.text)
        if not whole and not none:
            continue
        for two in segments[i : i + 6]:
            for part in _SOME.finditer(two.text):
                if whole and _denies(whole, part):
                    yield one, two
            if none and any(_affirms(none, part) for part in _SOME_DO.finditer(two.text)):
                yield one, two
            other = _NONE.match(two.text)
            if whole and other and _key(whole) == _key(other):
                yield one, two


def _key(match: re.Match[str]) -> tuple[str, str]:
    return normalise(match["noun"].lower()), normalise(match["verb"].lower())


def _denies(whole: re.Match[str], part: re.Match[str]) -> bool:
    noun, verb = _key(whole)
    if normalise(part["noun"].lower()) != noun:
        return False
    if part["not"]:
        return normalise(part["base"].lower()) == verb
    return normalise(part["verb"].lower()) in OPPOSED_VERBS.get(verb, ())


def _affirms(none: re.Match[str], part: re.Match[str]) -> bool:
    return not part["not"] and _key(none) == (
        normalise(part["noun"].lower()),
        normalise(part["verb"].lower()),
    )


def _across(view: View, one: Segment, two: Segment, confidence: float) -> Flag:
    kind = HallucinationType.LOGICAL_INCONSISTENCY
    content = view.response[one.start : two.end]
    evidence = "" if one is two else f"'{one.text}' vs '{two.text}'"
    return Flag(kind, one.start, two.end, content, confidence, suggestion=_WHY, evidence=evidence)


def _by_claim(found: list[Statement]) -> Iterator[tuple[Segment, Segment]]:
    """ "All items were shipped. None of the items were shipped."; "Three items were not shipped." """
    for i, a in enumerate(found):
        for b in found[i + 1 : i + 40]:
            if _same_matter(a, b) and (_conflict(a, b) or _conflict(b, a)):
                yield a.segment, b.segment


def _same_matter(a: Statement, b: Statement) -> bool:
    return (a.subject, a.predicate, a.object, a.frame) == (b.subject, b.predicate, b.object, b.frame)


def _conflict(a: Statement, b: Statement) -> bool:
    if a.claim.denied:
        return False
    if a.claim.quantifier in _UNIVERSALS:
        denied = b.claim.denied and b.claim.quantifier in _EXISTS
        return denied or (b.claim.quantifier == "no" and not b.claim.denied)
    return a.claim.quantifier == "no" and b.claim.quantifier in _EXISTS[1:] and not b.claim.denied
