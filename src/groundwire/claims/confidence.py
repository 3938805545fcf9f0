"""The confidence an answer expresses for a claim.

A stated figure takes precedence ("90 % sure", "confidence: 0.7"), then the strongest hedge by this table,
then the configured target.

| words | confidence |
|---|---|
| certainly, definitely, undoubtedly, without a doubt | 0.99 |
| almost certainly, surely | 0.95 |
| very likely, most likely, in all likelihood | 0.9 |
| probably, likely | 0.8 |
| presumably, apparently, seems to, appears to | 0.75 |
| might, may well, may have been, could have been | 0.6 |
| possibly, perhaps, maybe, it is possible that | 0.5 |

"90 % of users", "a 95 % confidence interval", "a 30 % chance of rain", "more likely to" and "appears in" are
statements about the world, not about the speaker's confidence. "May" and "can" express permission or
possibility and are part of the claim.
"""

from __future__ import annotations

import re

_NUMBER = r"(?P<number>\d{1,3}(?:[.,]\d{1,4})?)"
_PERCENT = r"\s?(?:%|percent\b|per\s?cent\b|אחוזים|אחוז)"
_DIGIT = re.compile(r"\d")
_FIGURE = rf"{_NUMBER}(?P<percent>{_PERCENT})?"
_SHARE = rf"{_NUMBER}{_PERCENT}"
_SURE = r"(?:sure|certain|confident|positive)"
_I_AM = r"(?:i(?:['’]m| am)|we(?:['’]re| are))"
_ABOUT = r"(?:about |around |roughly |at least )?"
_CONFIDENCE = r"(?:confidence|certainty)(?:\s+(?:level|score|rating))?"
_CONFIDENCE_HE = r"(?:רמת\s+)?(?:ביטחון|בטחון|ודאות|וודאות)"
_SURE_HE = r"(?:בטוחה?|משוכנעת?)"
_STATISTICS = r"(?!\s+(?:interval|level|limit|bound|region|band|ci\b))"
_MOODS = "".join(rf"(?<!{whose} )" for whose in ("consumer", "business", "investor", "public", "market"))


def _patterns(*patterns: str) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern, re.IGNORECASE) for pattern in patterns)


_STATED = _patterns(
    rf"{_SHARE}\s+{_SURE}\b",
    rf"{_SHARE}\s+(?:confidence|certainty)\b{_STATISTICS}",
    rf"\b{_SURE}\s+(?:to|at|with)\s+{_ABOUT}{_SHARE}",
    rf"{_MOODS}\b{_CONFIDENCE}\s*(?:is\s+|of\s+|at\s+|[:=≈~]\s*){_ABOUT}{_FIGURE}",
    rf"{_SURE_HE}\s+ב-?\s?{_SHARE}",
    rf"{_SHARE}\s+(?:{_SURE_HE}|{_CONFIDENCE_HE})",
    rf"{_CONFIDENCE_HE}\s*(?:של\s+|[:=]\s*){_FIGURE}",
)

# Matched in this order and removed, so that "almost certainly" does not also match as "certainly".
_INFERRED = tuple(
    (re.compile(pattern, re.IGNORECASE), value)
    for pattern, value in (
        (r"\balmost certain(?:ly)?\b|\bsurely\b|\bכמעט בוודאות\b", 0.95),
        (
            r"\b(?:very|highly|quite|extremely|most) likely\b(?! to\b)|\bmost probably\b"
            r"|\bin all likelihood\b|\bקרוב לוודאי\b|\bסביר מאוד\b",
            0.9,
        ),
        (
            r"\bcertainly\b|\bdefinitely\b|\bundoubtedly\b|\bwithout (?:a |any )?doubt\b"
            r"|\bthere is no doubt\b|\bבוודאות\b|\bללא ספק\b|\bבהחלט\b",
            0.99,
        ),
        (
            r"\bprobabl[ey]\b|(?<!more )(?<!less )(?<!as )(?<!equally )(?<!most )(?<!how )(?<!very )"
            r"(?<!highly )(?<!quite )(?<!extremely )\blikely\b|\bI (?:think|believe|assume|suspect|guess)\b"
            r"|\bכנראה\b|\bככל הנראה\b|\bסביר להניח\b",
            0.8,
        ),
        (
            r"\bpresumably\b|\bapparently\b|\bseem(?:s|ed)?\b|\bappear(?:s|ed)? to\b"
            r"|\bנראה ש|\bלכאורה\b",
            0.75,
        ),
        (
            r"\bmight\b(?! of\b)|\bmay (?:well|have been)\b|\bcould (?:well|have been)\b"
            r"|\bעשוי(?:ה|ים|ות)?\b|\bעלול(?:ה|ים|ות)?\b",
            0.6,
        ),
        (
            r"\bpossibly\b|\bperhaps\b|\bmaybe\b|\bit (?:is|'s) possible that\b|\bit could be that\b"
            r"|\bאולי\b|\bייתכן\b|\bיתכן\b",
            0.5,
        ),
    )
)

_LEADS = _patterns(
    rf"{_I_AM} {_ABOUT}{_SHARE}\s+{_SURE}(?:,|\s+that)?\s+(?=\S)",
    rf"{_I_AM} {_SURE} (?:to|at|with) {_ABOUT}{_SHARE}(?:,|\s+that)?\s+(?=\S)",
    rf"with (?:a )?{_ABOUT}{_SHARE}\s+(?:confidence|certainty),?\s+(?=\S)",
    rf"{_CONFIDENCE}\s*[:=]?\s*{_FIGURE}\s*[,;:.–—-]\s+(?=\S)",
    rf"אני {_SURE_HE} ב-?\s?{_SHARE}\s+(?:כי\s+|ש-?)(?=\S)",
)
_TAILS = _patterns(
    rf"[,;]?\s*[(\[]\s*(?:with\s+)?(?:my\s+)?{_CONFIDENCE}\s*(?:is|of|[:=≈~])?\s*{_FIGURE}\s*[)\]]\s*(?=[.!]?\s*\Z)",
    rf"[,;]?\s*[(\[]\s*{_SHARE}\s+(?:sure|certain|confident|confidence|certainty)\s*[)\]]\s*(?=[.!]?\s*\Z)",
    rf"[,;]?\s*[(\[]\s*{_CONFIDENCE_HE}\s*[:=]?\s*{_FIGURE}\s*[)\]]\s*(?=[.!]?\s*\Z)",
)
_ONLY = _patterns(
    rf"\W*(?:my\s+|overall\s+)?(?:{_CONFIDENCE}|{_CONFIDENCE_HE})\s*(?:is\s+|of\s+|[:=≈~]\s*){_FIGURE}\W*"
)


def stated(text: str) -> float | None:
    """The confidence a text states as a figure, or None.

    >>> stated("I am 90 % sure that it is so."), stated("90 % of users agree."), stated("Confidence: 0.0")
    (0.9, None, 0.0)
    """
    for pattern in _STATED if _DIGIT.search(text) else ():
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
    """The confidence expressed by words of doubt or certainty, or None; the weakest counts."""
    found: list[float] = []
    rest = text
    for pattern, value in _INFERRED:
        rest, count = pattern.subn(" ", rest)
        if count:
            found.append(value)
    return min(found, default=None)


def confidence(text: str, target: float) -> float:
    """The stated confidence, else the inferred one, else `target`."""
    value = stated(text)
    if value is None:
        value = inferred(text)
    return target if value is None else value


def content(text: str) -> tuple[int, int]:
    """The range of the claim itself, without "I am 90 % sure that …" and "… (confidence: 0.7)"."""
    start, end = 0, len(text)
    if not _DIGIT.search(text):
        return start, end
    for pattern in _LEADS:
        match = pattern.match(text)
        if match:
            start = match.end()
            break
    tails = (pattern.search(text, max(start, end - 80)) for pattern in _TAILS)
    return start, next((tail.start() for tail in tails if tail), end)


def is_only_confidence(text: str) -> bool:
    """True if a sentence only states a confidence: "Confidence: 80 %"."""
    return len(text) < 80 and bool(_DIGIT.search(text)) and any(pattern.fullmatch(text) for pattern in _ONLY)
