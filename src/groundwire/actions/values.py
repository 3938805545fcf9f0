"""The values in a text that a call and a statement about it must share: numbers, amounts, times, dates, names.

One expression reads JSON, logs and prose alike, in one pass, since results may be long.

>>> [(v.kind, v.key) for v in read('I paid £34.90 to Ana at half past ten on 9 June, reference RB-66.').values]
[('money', 34.9), ('name', 'ana'), ('time', 630), ('date', (6, 9)), ('id', 'rb-66')]
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import NamedTuple

from groundwire.actions.words import NOT_NAMES, lemma
from groundwire.text.dates import MONTHS, WEEKDAYS
from groundwire.text.lexicon import expressions, forms, word_set, word_table
from groundwire.text.tokens import cached, is_stop

_NUMBER_WORDS = {word: float(value) for word, value in forms(word_table("numbers")["values"]["small"]).items()} | {
    "hundred": 100.0, "dozen": 12.0, "both": 2.0, "twice": 2.0,
}  # fmt: skip
# Units, each with its factor: the same quantity may be written in another unit of its row.
_UNITS = [
    {"ms": 0.001, "millisecond": 0.001, "s": 1, "sec": 1, "second": 1, "m": 60, "min": 60, "minute": 60, "h": 3600,
     "hr": 3600, "hour": 3600, "d": 86400, "day": 86400, "week": 604800},
    {"b": 1, "byte": 1, "k": 1e3, "kb": 1e3, "m": 1e6, "mb": 1e6, "g": 1e9, "gb": 1e9, "tb": 1e12, "kib": 1e3,
     "mib": 1e6, "gib": 1e9},
    {"k": 1e3, "thousand": 1e3, "m": 1e6, "mn": 1e6, "million": 1e6, "bn": 1e9, "billion": 1e9},
    {"g": 1, "kg": 1e3, "mg": 0.001, "m": 1, "km": 1e3, "cm": 0.01},
]  # fmt: skip
_CURRENCIES = word_set("eur euro euros gbp usd dollars dollar pounds pound quid chf sek nok dkk jpy yen inr cad aud")
_TOKEN, _VAGUE, _SENTENCE_END = expressions("actions", "token vague sentence_end")


class LedgerValue(NamedTuple):
    """`key` is equal for equal values; `near` are the stems of the words beside a number; `forms` are the numbers
    that the same quantity may be written as elsewhere. `vague`: "about" a number, or a name that may be none,
    since it begins a sentence.
    """

    kind: str
    key: object
    text: str
    start: int
    near: frozenset[str] = frozenset()
    forms: frozenset[float] = frozenset()
    vague: bool = False


@dataclass(frozen=True, slots=True)
class Content:
    """The values of a text, and the stems of its words."""

    values: tuple[LedgerValue, ...]
    stems: frozenset[str]


@cached(4096, 300, longer=16)
def read(text: str) -> Content:
    """The values and words of a text."""
    tokens = [(str(match.lastgroup), match) for match in _TOKEN.finditer(text)]
    stems: set[str] = set()
    found: list[LedgerValue] = []
    for place, (kind, match) in enumerate(tokens):
        if kind == "word":
            stems.update(_stems(match[0]))
        for value in _values(kind, match, text):
            is_counted = value.kind in ("number", "money", "percent")
            found.append(value._replace(near=_beside(tokens, place)) if is_counted else value)
        if kind in ("path", "email", "id", "url", "code", "host"):
            stems.update(stem for part in re.findall(r"[A-Za-z]{3,}", match[0]) for stem in _stems(part))
    return Content(tuple(found), frozenset(stems))


@cached(1 << 14, 60)
def _stems(word: str) -> tuple[str, ...]:
    parts = re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", word) if word.isascii() else [word]
    return tuple(lemma(part) for part in parts if len(part) > 1 and not is_stop(part.lower()))


def _beside(tokens: Sequence[tuple[str, re.Match[str]]], place: int) -> frozenset[str]:
    """The stems of the words beside a number, up to the next mark or number: `"party_size": 4`, "4 guests"."""
    found: set[str] = set()
    for step in (-1, 1):
        for at in range(place + step, place + 7 * step, step):
            kind, match = tokens[at] if 0 <= at < len(tokens) else ("cut", None)
            if match is None or kind == "cut" or (kind in ("number", "time", "iso", "id") and step == 1):
                break
            if kind == "word":
                found.update(_stems(match[0]))
    return frozenset(found)


def _values(kind: str, match: re.Match[str], text: str) -> Iterator[LedgerValue]:
    here, start = match[0].strip(), match.start()
    if kind == "iso":
        year, month, day = int(match["y"]), int(match["mo"]), int(match["d"])
        yield from _date(year, month, day, match["iso"][:10], start)
        if match["th"]:
            yield LedgerValue("time", int(match["th"]) * 60 + int(match["tm"]), f"{match['th']}:{match['tm']}", start)
    elif kind == "numeric":
        first, second, year = (int(part) for part in re.split(r"[./]", here))
        day, month = (first, second) if second <= 12 else (second, first)
        yield from _date(year + 2000 if year < 100 else year, month, day, here, start)
    elif kind == "spoken":
        month = MONTHS[(match["mname"] or match["mname2"]).lower()]
        yield LedgerValue("date", (month, int(match["dd"] or match["dd2"])), here, start)
    elif kind in ("time", "half"):
        yield LedgerValue("time", _minutes(match), here, start)
    elif kind in ("path", "email"):
        yield LedgerValue(kind, here.rstrip("./").lower(), here, start)
    elif kind in ("id", "version", "host"):
        yield LedgerValue("id", here.lower().removeprefix("v") if kind == "version" else here.lower(), here, start)
    elif kind == "number":
        yield from _number(match, text)
    elif kind == "word":
        yield from _word(match, text)


def _date(year: int, month: int, day: int, here: str, start: int) -> Iterator[LedgerValue]:
    if 1 <= month <= 12 and 1 <= day <= 31:
        yield LedgerValue("date", (month, day), here, start)
        try:
            yield LedgerValue("weekday", date(year, month, day).isoweekday(), here, start)
        except ValueError:
            return


def _minutes(match: re.Match[str]) -> int:
    if match["half"]:
        hour = _hour(match["hour3"])
        shift = {"half past": 30, "quarter past": 15}.get(match["past"].lower(), -15)
        return (hour * 60 + shift) % 1440
    if match["hour"] is None and match["hour2"] is None:
        return 720 if match[0].lower() == "noon" else 0
    hour, minute = int(match["hour"] or match["hour2"]), int(match["minute"] or match["minute2"] or 0)
    half = (match["pm"] or match["pm2"] or "").lower()
    hour = hour % 12 + 12 if half == "p" else hour % 12 if half == "a" else hour
    return hour * 60 + minute


def _hour(word: str) -> int:
    return int(word) if word.isdecimal() else int(_NUMBER_WORDS[word.lower()])


def _number(match: re.Match[str], text: str) -> Iterator[LedgerValue]:
    digits = match["digits"]
    raw = float(digits.replace(",", ""))
    unit = (match["unit"] or match["unit2"] or "").strip().lower()
    is_money = bool(match["sign"]) or unit in _CURRENCIES or unit in ("€", "£", "$")
    if not is_money and not unit.strip("°%") and re.fullmatch(r"(?:19|20)\d\d", digits):
        kind = "year"
    else:
        kind = "percent" if unit in ("%", "percent") else "ordinal" if match["ordinal"] else "number"
        kind = "money" if is_money else kind
    vague = bool(_VAGUE.search(text[max(0, match.start() - 20) : match.start()]))
    vague = vague or unit in ("k", "m", "mn", "bn", "thousand", "million", "billion")
    yield LedgerValue(kind, raw, match[0].strip(), match.start(), frozenset(), _forms(raw, unit, kind), vague)


def _forms(raw: float, unit: str, kind: str = "number") -> frozenset[float]:
    found = {raw, round(raw, 1), float(round(raw))} if raw % 1 else {raw}
    if kind == "money":
        found.add(round(raw * 100, 2))
    elif kind == "percent":
        found.add(round(raw / 100, 4))
    for row in _UNITS:
        factor = row.get(unit) or row.get(unit.removesuffix("s"))
        if factor:
            found.update(round(raw * factor / other, 4) for other in (1, *row.values()))
    return frozenset(found)


def _word(match: re.Match[str], text: str) -> Iterator[LedgerValue]:
    word, start = match[0], match.start()
    low = word.lower()
    if low in _NUMBER_WORDS and low not in ("one", "zero"):
        raw = _NUMBER_WORDS[low]
        following = re.match(r"[\s-]+([a-z]+)", text[match.end() : match.end() + 20])
        yield LedgerValue("number", raw, word, start, frozenset(), _forms(raw, following[1] if following else ""))
    elif low in WEEKDAYS and (len(low) > 3 or word[0].isupper()):
        yield LedgerValue("weekday", WEEKDAYS[low], word, start)
    elif _is_name(word):
        first = bool(_SENTENCE_END.search(text[max(0, start - 6) : start])) or (
            start <= 6 and not text[:start].strip(" -*•>#\n")
        )
        yield LedgerValue("name", low.split("'")[0].split("’")[0], word, start, vague=first)


def _is_name(word: str) -> bool:
    is_capitalised = word[0].isupper() and len(word) > 2 and word[1:].islower()
    return is_capitalised and word not in NOT_NAMES and word.lower() not in MONTHS and not is_stop(word.lower())
