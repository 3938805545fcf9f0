"""How sure an answer says it is of a claim.

A stated figure wins ("90 % sure", "confidence: 0.7"); else the strongest hedge counts, by this table; else the
target the user asked for.

| words | confidence |
|---|---|
| certainly, definitely, undoubtedly, without a doubt | 0.99 |
| almost certainly, surely | 0.95 |
| very likely, most likely, in all likelihood | 0.9 |
| probably, likely | 0.8 |
| presumably, apparently, seems to, appears to | 0.75 |
| may, might, could be | 0.6 |
| possibly, perhaps, maybe | 0.5 |

"90 % of users", "a 95 % confidence interval" and "a 30 % chance of rain" say something about the world,
not about the speaker; so do "more likely to", "May 5" and "appears in".
"""

from __future__ import annotations

import re

_NUMBER = r"(?P<number>\d{1,3}(?:[.,]\d{1,4})?)"
_PERCENT = r"\s?(?:%|percent\b|per\s?cent\b|אחוזים|אחוז)"

_SURE = r"(?:sure|certain|confident|positive)"
_STATED = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"{_NUMBER}{_PERCENT}\s+{_SURE}\b",
        rf"{_NUMBER}{_PERCENT}\s+(?:confidence|certainty)\b(?!\s+(?:interval|level|limit|bound|region|band|ci\b|that\s+interval))",
        rf"\b{_SURE}\s+(?:to|at|with)\s+(?:about\s+|around\s+)?{_NUMBER}{_PERCENT}",
        rf"(?<!consumer )(?<!business )(?<!investor )(?<!public )\b(?:confidence|certainty)(?:\s+(?:level|score|rating))?"
        rf"\s*(?:is\s+|of\s+|at\s+|[:=≈~]\s*)(?:about\s+|around\s+)?{_NUMBER}(?P<percent>{_PERCENT})?",
        rf"\bi(?:['’]d| would) (?:say|estimate|put) (?:it )?(?:at |is |with )?{_NUMBER}{_PERCENT}\s+(?:likely|probable)",
        rf"(?:בטוח|בטוחה|משוכנע|משוכנעת)\s+ב-?\s?{_NUMBER}{_PERCENT}",
        rf"{_NUMBER}{_PERCENT}\s+(?:בטוח|בטוחה|ביטחון|בטחון|ודאות|וודאות)",
        rf"(?:ביטחון|בטחון|ודאות|וודאות)\s*(?:של\s+|[:=]\s*){_NUMBER}(?P<percent>{_PERCENT})?",
    )
)

_INFERRED = tuple(
    (re.compile(rf"(?:{pattern})", re.IGNORECASE), value)
    for pattern, value in (
        (r"\balmost certain(?:ly)?\b|\bsurely\b|\bכמעט בוודאות\b", 0.95),
        (r"\b(?:very|highly|quite|extremely) likely\b(?! to\b)|\bmost likely\b(?! to\b)|\bmost probably\b"
         r"|\bin all likelihood\b|\bקרוב לוודאי\b|\bסביר מאוד\b", 0.9),
        (r"\bcertainly\b|\bdefinitely\b|\bundoubtedly\b|\bwithout (?:a |any )?doubt\b|\bthere is no doubt\b|\bבוודאות\b"
         r"|\bללא ספק\b|\bבהחלט\b", 0.99),
        (r"\bprobabl[ey]\b|(?<!more )(?<!less )(?<!as )(?<!equally )(?<!most )(?<!how )(?<!very )(?<!highly )(?<!quite )"
         r"(?<!extremely )(?<!un)\blikely\b|\bכנראה\b|\bככל הנראה\b|\bסביר להניח\b", 0.8),
        (r"\bpresumably\b|\bapparently\b|\bseem(?:s|ed|ingly)?\b|\bappear(?:s|ed)? to\b|\bנראה ש|\bלכאורה\b", 0.75),
        (r"\bmight\b(?! of\b)|\bcould (?:be|have|also be|possibly)\b|\bעשוי(?:ה|ים|ות)?\b|\bעלול(?:ה|ים|ות)?\b", 0.6),
        (r"\bpossibly\b|\bperhaps\b|\bmaybe\b|\bאולי\b|\bייתכן\b|\bיתכן\b", 0.5),
    )
)  # fmt: skip
# Lower case only: "May" is a month; "may not" and a permission read the same.
_MAY = re.compile(r"\bmay\b")
_LEADS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?:and |but )?(?:i(?:['’]m| am)|we(?:['’]re| are)) (?:about |around |roughly |at least )?{_NUMBER}{_PERCENT}"
        rf"\s+{_SURE}(?:,|\s+that)?\s+(?=\S)",
        rf"(?:i(?:['’]m| am)|we(?:['’]re| are)) {_SURE} (?:to|at|with) (?:about |around )?{_NUMBER}{_PERCENT}(?:,|\s+that)?\s+(?=\S)",
        rf"with (?:about |around |roughly |a )?{_NUMBER}{_PERCENT}\s+(?:confidence|certainty),?\s+(?=\S)",
        rf"(?:confidence|certainty)\s*[:=]?\s*{_NUMBER}(?:{_PERCENT})?\s*[,;:.–—-]\s+(?=\S)",
        rf"אני (?:בטוח|בטוחה|משוכנע|משוכנעת) ב-?\s?{_NUMBER}{_PERCENT}\s+(?:כי\s+|ש-?)(?=\S)",
    )
)
_TAIL = re.compile(
    rf"[,;]?\s*[(\[]\s*(?:with\s+)?(?:my\s+)?(?:(?:confidence|certainty)(?:\s+(?:level|score))?\s*(?:is|of|[:=≈~])?\s*"
    rf"{_NUMBER}(?:{_PERCENT})?|(?P<second>\d{{1,3}}(?:[.,]\d{{1,4}})?){_PERCENT}\s+(?:sure|certain|confident|confidence|certainty)"
    rf"|(?:רמת\s+)?(?:ביטחון|בטחון|ודאות|וודאות)\s*[:=]?\s*\d{{1,3}}(?:[.,]\d{{1,4}})?(?:{_PERCENT})?)\s*[)\]]\s*(?=[.!]?\s*\Z)",
    re.IGNORECASE,
)
_ONLY = re.compile(
    rf"\W*(?:my\s+|overall\s+)?(?:(?:confidence|certainty)(?:\s+(?:level|score|rating))?|(?:רמת\s+)?(?:ביטחון|ודאות))\s*"
    rf"(?:is\s+|of\s+|[:=≈~]\s*){_NUMBER}(?:{_PERCENT})?\W*",
    re.IGNORECASE,
)


def stated(text: str) -> float | None:
    """The confidence a text states in figures, if it states one.

    >>> stated("I am 90 % sure that it is so."), stated("90 % of users agree."), stated("Confidence: 0.0")
    (0.9, None, 0.0)
    """
    for pattern in _STATED:
        match = pattern.search(text)
        if match:
            value = _value(match)
            if value is not None:
                return value
    return None


def _value(match: re.Match[str]) -> float | None:
    number = float(match["number"].replace(",", "."))
    if "percent" in match.re.groupindex and not match["percent"]:
        return number if number <= 1.0 else None
    return number / 100 if number <= 100 else None


def inferred(text: str) -> float | None:
    """What its hedges or its certainty say: the weakest word counts, "almost certainly" is not "certainly"."""
    found: list[float] = [0.6] if _MAY.search(text) else []
    rest = text
    for pattern, value in _INFERRED:
        rest, count = pattern.subn(" ", rest)
        if count:
            found.append(value)
    return min(found, default=None)


def confidence(text: str, target: float) -> float:
    """Stated, else inferred, else `target`."""
    value = stated(text)
    if value is None:
        value = inferred(text)
    return target if value is None else value


def content(text: str) -> tuple[int, int]:
    """The part of a sentence that is its claim, without "I am 90 % sure that …" and "… (confidence: 0.7)"."""
    start, end = 0, len(text)
    for pattern in _LEADS:
        match = pattern.match(text)
        if match:
            start = match.end()
            break
    tail = _TAIL.search(text, max(start, end - 80))
    return start, tail.start() if tail else end


def is_only_confidence(text: str) -> bool:
    """Whether a sentence says nothing else: "Confidence: 80 %"."""
    return bool(_ONLY.fullmatch(text))
