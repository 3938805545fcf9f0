"""Numbers written in words, English and Hebrew: 'twenty-two', 'two hundred thousand', 'עשרים ושניים'."""

from __future__ import annotations

import re
from collections.abc import Iterator

from groundwire.text.lexicon import forms, word_set


def _valued(table: str) -> dict[str, float]:
    """`value: word word; …`; a word may use _ for a space."""
    return {word.replace("_", " "): float(value) for word, value in forms(table).items()}


_SMALL = _valued(
    """
    0: zero; 1: one; 2: two; 3: three; 4: four; 5: five; 6: six; 7: seven; 8: eight; 9: nine; 10: ten;
    11: eleven; 12: twelve; 13: thirteen; 14: fourteen; 15: fifteen; 16: sixteen; 17: seventeen;
    18: eighteen; 19: nineteen; 20: twenty; 30: thirty; 40: forty fourty; 50: fifty; 60: sixty;
    70: seventy; 80: eighty; 90: ninety
    """
)
_BIG = _valued("100: hundred; 1e3: thousand; 1e6: million; 1e9: billion; 1e12: trillion; 12: dozen")
_PART = _valued(
    """
    .5: half; .66667: two-thirds two_thirds; .75: three-quarters three_quarters;
    .33333: one_third one-third a_third;
    .25: a_quarter one_quarter one-quarter; .2: a_fifth one_fifth one-fifth; .1: a_tenth one-tenth
    """
)
_ORDINAL = _valued(
    """
    1: first; 2: second; 3: third; 4: fourth; 5: fifth; 6: sixth; 7: seventh; 8: eighth; 9: ninth; 10: tenth;
    11: eleventh; 12: twelfth; 13: thirteenth; 14: fourteenth; 15: fifteenth; 16: sixteenth; 17: seventeenth;
    18: eighteenth; 19: nineteenth; 20: twentieth
    """
)
_HE_SMALL = _valued(
    """
    2: שניים שתיים שני שתי שנים; 3: שלוש שלושה שלושת שלש; 4: ארבע ארבעה ארבעת; 5: חמש חמישה חמשת חמשה;
    6: שש שישה ששת ששה; 7: שבע שבעה שבעת; 8: שמונה שמונת; 9: תשע תשעה תשעת; 10: עשר עשרה עשרת;
    11: אחת-עשרה; 12: שתים-עשרה; 20: עשרים; 30: שלושים; 40: ארבעים; 50: חמישים; 60: שישים ששים; 70: שבעים;
    80: שמונים; 90: תשעים; 100: מאה; 200: מאתיים; 1000: אלף; 2000: אלפיים
    """
)
_HE_BIG = _valued("100: מאות; 1e3: אלף אלפים; 1e6: מיליון מליון; 1e9: מיליארד")
_HE_PART = _valued(".5: חצי מחצית; .25: רבע; .33333: שליש; .66667: שני_שלישים")
_HE_ORDINAL = _valued(
    """
    1: ראשון ראשונה; 2: שנייה שניה; 3: שלישי שלישית; 4: רביעי רביעית; 5: חמישי חמישית; 6: שישי שישית;
    7: שביעי שביעית; 8: שמיני שמינית; 9: תשיעי תשיעית; 10: עשירי עשירית
    """
)

_TENS = {word: value for word, value in _SMALL.items() if value >= 20}
_VALUES = _SMALL | _HE_SMALL
_SCALES = _BIG | _HE_BIG
_PARTS = _PART | _HE_PART
_ORDINAL_VALUES = _ORDINAL | _HE_ORDINAL


def _any(words: dict[str, float]) -> str:
    return "|".join(sorted((re.escape(w) for w in words), key=len, reverse=True))


_ATOM = rf"(?:{_any(_VALUES | _SCALES)})"
_NUMBER = re.compile(
    rf"(?<![\w-])(?:(?P<part>[והבלמשכ]?(?:{_any(_PARTS)})(?!(?<=\ba \w{{5}}) (?!of\b)))"
    rf"|(?P<ordinal>(?:(?:{_any(_TENS)})-)?ה?(?:{_any(_ORDINAL_VALUES)}))"
    rf"|(?P<words>(?:(?:a|an)\s)?[והבלמשכ]?{_ATOM}(?:(?:-|\s(?:and\s)?)ו?{_ATOM})*))(?![\w-]|['’]\w)",
    re.IGNORECASE,
)
_SPLIT = re.compile(r"[\s-]+")
# Alone these are pronouns, articles or adverbs far more often than numbers.
_NOT_ALONE = word_set(
    """
    one zero hundred thousand million billion trillion dozen second first אלף מיליון מליון מיליארד מאות אלפים
    שנים שני עשרה ראשון שנייה שניה שבע שישי
    """
)
_ORDINAL_CUE = re.compile(
    r"(?:\bthe|\bits|\bhis|\bher|\btheir|\bin|\bcame|\bfinished|\branked|\bplaced)\s$", re.IGNORECASE
)


def find(text: str) -> Iterator[tuple[float, int, int, bool]]:
    """(value, start, end, is ordinal) of each number in words."""
    for match in _NUMBER.finditer(text):
        start, end, alone = match.start(), match.end(), match[0].lower() in _NOT_ALONE
        if match["part"]:
            yield _part(match["part"].lower()), start, end, False
        elif match["ordinal"]:
            if not alone or _ORDINAL_CUE.search(text[max(0, start - 12) : start]):
                yield _ordinal(match["ordinal"].lower()), start, end, True
        elif not alone and (value := _value(match["words"].lower())) is not None:
            yield value, start, end, False


def _part(word: str) -> float:
    return _PARTS.get(word) or _PARTS[word[1:]]


def _ordinal(text: str) -> float:
    tens, _, last = text.rpartition("-")
    last = last if last in _ORDINAL_VALUES else last.removeprefix("ה")
    return _VALUES.get(tens, 0.0) + _ORDINAL_VALUES[last]


def _value(text: str) -> float | None:
    """Sum of groups: 'two hundred five thousand' = (2 × 100 + 5) × 1000. None: not one number."""
    total = group = 0.0
    for raw in _SPLIT.split(text):
        word = raw if raw in _VALUES or raw in _SCALES else raw[1:]
        if raw in ("a", "an", "and"):
            continue
        if word in _SCALES and (group or word not in _VALUES):
            scale = _SCALES[word]
            group = max(group, 1.0) * scale
            if scale >= 1e3:
                total, group = total + group, 0.0
        elif word in _VALUES:
            value = _VALUES[word]
            if group and value >= (
                group % 100 or 100
            ):  # 'nineteen eighty', 'five six': two numbers, not a sum
                return None
            group += value
    return total + group


def step(value: float) -> float:
    """The place to which a number in words is exact: three million to a million, twenty-two to one."""
    result = 1.0
    while value and result < 1e12 and value % (result * 10) == 0 and result * 10 <= value:
        result *= 10
    return result if result >= 1e3 else 0.01 if 0 < value < 1 else 1.0
