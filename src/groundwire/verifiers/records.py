"""What a sentence says about a record (opening hours, yes/no attributes, ratings), checked by rule.

Words of a wrong sentence all occur in the record; only reading the value tells right from wrong.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from groundwire.text.lexicon import word_set
from groundwire.verifiers.passages import DAYS, Passage

_GENERIC = word_set(
    """
    attributes attribute restaurants restaurant business good for info has is the of
    """
)
_ALIASES = {
    "reservations": r"reserv\w*|book(?:ing|ings| a table)", "wi fi": r"wi-?\s?fi|internet",
    "take out": r"take-?\s?out|take-?\s?away|to-go|carry-?out",
    "outdoor seating": r"outdoor (?:seat|din|area|space)\w*|patio|outdoors|outside seating",
    "groups": r"groups?|large part(?:y|ies)", "music": r"(?:live )?music|\bdj\b", "parking": r"parking",
    "street": r"street parking|(?-i:street)(?! vendor| food| taco)", "garage": r"(?:parking )?garage",
    "lot": r"(?:parking |private )?lot(?! of)",
    "valet": r"valet",
    "validated": r"validated", "ambience": r"ambi[ae]nce|atmosphere|vibe", "delivery": r"deliver\w*",
}  # fmt: skip
_NEGATION = re.compile(
    r"\b(?:no|not|n't|without|lacks?|lacking|neither|nor|never|none|unavailable|cannot|doesn't|isn't"
    r"|don't|aren't|didn't)\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[,;.]|\bbut\b|\bhowever\b|\balthough\b|\bwhile\b|\bthough\b")
_STRONG = re.compile(
    r"[;.]|\bbut\b|\bhowever\b|\balthough\b|\bwhile\b|\bthough\b|\band (?:is|are|has|it|offers|does)\b"
)
_DENIED_AFTER = re.compile(r"\s*(?:\w+\s)?(?:is|are)\s*(?:not|unavailable|n't)\b|\s*unavailable\b", re.IGNORECASE)
_CLAUSE_LENGTH = 1000  # characters; no list in a sentence is longer
_IN_LIST = re.compile(r"\b(?:or|nor)\b")
_VERB = re.compile(r"\b(?:is|are|has|offers|provides|accepts|takes)\b")
_CLOCK = r"(\d{1,2})(?::(\d{1,2}))?\s?([ap]\.?m\.?)?"
_RANGE = re.compile(rf"(?<![\d.$:]){_CLOCK}\s?(?:-|–|—|to|until|till|through|and)\s?{_CLOCK}(?![\d%:])", re.IGNORECASE)
_NOON = re.compile(r"\b(noon|midnight)\b", re.IGNORECASE)
_DAY_NAMES = "|".join(f"{day}|{day[:3]}" for day in DAYS)
_DAY_RUN = re.compile(rf"\b({_DAY_NAMES})s?\b(?:\s?(-|–|to|through|thru|until)\s?({_DAY_NAMES})s?\b)?", re.IGNORECASE)
_SIDE = re.compile(r"\b(?:while|whereas|but)\b|;")
_WHOLE_WEEK = re.compile(r"\b(?:daily|every ?day|seven days|7 days|all week|each day)\b", re.IGNORECASE)
_DAYS_A_WEEK = re.compile(r"\b(one|two|three|four|five|six|seven|[1-7]) days (?:a|per) week", re.IGNORECASE)
_CLOSED = re.compile(rf"\bclosed\s(?:on\s)?((?:(?:{_DAY_NAMES})s?(?:,?\s(?:and\s)?|\b))+)", re.IGNORECASE)
_STARS = re.compile(
    r"(\d(?:\.\d)?)\s?(?:-|out of (?:5|five)(?:\.0)?\s?)?\s?stars?\b"
    r"|(\d(?:\.\d)?)(?:/5| out of (?:5|five)\b)",
    re.IGNORECASE,
)
_REVIEWER = re.compile(r"\b(?:review(?:er|ers)?|customers?|gave|visitor|guest)\b", re.IGNORECASE)
_COUNTS = dict(zip(["one", "two", "three", "four", "five", "six", "seven"], range(1, 8), strict=True))


@dataclass(slots=True)
class Findings:
    """How many statements of a sentence the record bears out, contradicts, or leaves open."""

    borne_out: int = 0
    contradicted: int = 0
    open: int = 0
    hours_ok: int = 0
    hours_wrong: int = 0
    stars_ok: int = 0
    stars_wrong: int = 0
    ranges: list[tuple[int, int]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class BusinessRecord:
    """The parts of a structured context that rules can read."""

    flags: tuple[tuple[str, re.Pattern[str], str], ...]
    hours: dict[int, tuple[int, int]]
    has_hours: bool
    stars: tuple[float, ...]
    given: tuple[float, ...]
    prose: str

    @property
    def is_empty(self) -> bool:
        return not (self.flags or self.has_hours or self.stars)


def read_record(found: Sequence[Passage]) -> BusinessRecord:
    """Collect flags, hours and ratings from the passages of a context."""
    flags: list[tuple[str, re.Pattern[str], str]] = []
    hours: dict[int, tuple[int, int]] = {}
    stars: list[float] = []
    given: list[float] = []
    prose: list[str] = []
    has_hours = False
    for passage in found:
        if not passage.values:
            prose.append(passage.text.lower())
        for key, value in passage.values:
            if key in DAYS:
                has_hours = True
                times = _minutes(value.replace(" to ", "-"))
                if times:
                    hours[DAYS.index(key)] = times
            elif re.search(r"\b(?:stars|rating)\b", key):
                (given if "review" in key else stars).extend(_floats(value))
            else:
                flags.extend(_flag(key, value))
    return BusinessRecord(tuple(flags), hours, has_hours, tuple(stars), tuple(given), " ".join(prose))


def _floats(value: str) -> list[float]:
    try:
        return [float(value)]
    except ValueError:
        return []


def _flag(key: str, value: str) -> Iterator[tuple[str, re.Pattern[str], str]]:
    if value not in ("yes", "no", "not stated", "free", "paid", "none"):
        return
    own = " ".join(word for word in key.split() if word not in _GENERIC)
    if not own:
        return
    pattern = next((pattern for name, pattern in _ALIASES.items() if own.endswith(name)), re.escape(own))
    yield own, re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE), value


def _minutes(text: str) -> tuple[int, int] | None:
    match = _RANGE.search(text)
    return _range_minutes(match) if match else None


def _range_minutes(match: re.Match[str]) -> tuple[int, int]:
    h1, m1, half1, h2, m2, half2 = match.groups()
    start, end = _clock(h1, m1, half1), _clock(h2, m2, half2)
    if not half1 and half2 and end > start + 720 and half2.lower().startswith("p") and int(h1) <= int(h2):
        start += 720
    return start % 1440, end % 1440


def _clock(hour: str, minute: str | None, half: str | None) -> int:
    h = int(hour)
    if half:
        h = h % 12 + (12 if half.lower().startswith("p") and h <= 12 else 0)
    return h * 60 + int(minute or 0)


def check(claim: str, record: BusinessRecord) -> Findings:
    """Everything the rules can say about one sentence."""
    found = Findings()
    if record.is_empty:
        return found
    _check_flags(claim, record, found)
    if record.has_hours:
        _check_hours(claim, record, found)
    if record.stars:
        _check_stars(claim, record, found)
    return found


def _check_flags(claim: str, record: BusinessRecord, found: Findings) -> None:
    for name, pattern, value in record.flags:
        for match in pattern.finditer(claim):
            said = not _negated(claim, match.start(), match.end())
            if value == "not stated":
                if name not in record.prose:
                    found.open += 1
                    found.ranges.append(match.span())
            elif (value in ("no", "none")) is said:
                if not (said and name in record.prose):
                    found.contradicted += 1
                    found.ranges.append(match.span())
            else:
                found.borne_out += 1


def _negated(claim: str, start: int, end: int) -> bool:
    before = _CLAUSE.split(claim[max(0, start - 60) : start])[-1]
    rest = _STRONG.split(claim[start : start + _CLAUSE_LENGTH], maxsplit=1)[0]
    if _IN_LIST.search(before + rest):
        # "offers no X, Y or Z": the negation before the list holds for all of it
        before = _STRONG.split(claim[max(0, start - 100) : start])[-1]
        tail = before[_last_negation(before) :].split(None, 1)[1:]
        before = before if _NEGATION.search(before) and not _VERB.search(" ".join(tail)) else ""
    after = _CLAUSE.split(claim[end : end + 30])[0]
    return bool(_NEGATION.search(before) or _DENIED_AFTER.match(after))


def _last_negation(text: str) -> int:
    return max((match.end() for match in _NEGATION.finditer(text)), default=0)


def _days(text: str) -> set[int]:
    days: set[int] = set()
    if _WHOLE_WEEK.search(text):
        days.update(range(7))
    lower = text.lower()
    if re.search(r"\bweekdays?\b", lower):
        days.update(range(5))
    if re.search(r"\bweekends?\b", lower):
        days.update((5, 6))
    for match in _DAY_RUN.finditer(text):
        first = _day(match.group(1))
        last = _day(match.group(3)) if match.group(3) else first
        days.update(range(first, last + 1) if first <= last else [*range(first, 7), *range(last + 1)])
    return days


def _day(name: str) -> int:
    return next(i for i, day in enumerate(DAYS) if day.lower().startswith(name.lower()[:3]))


def _check_hours(claim: str, record: BusinessRecord, found: Findings) -> None:
    text = _NOON.sub(lambda m: "12:00 pm" if m.group(1).lower() == "noon" else "12:00 am", claim)
    matches = [m for m in _RANGE.finditer(text) if _is_clock(m)]
    edges = [0, *(m.end() for m in matches), len(text)]
    leading = _days(text[: matches[0].start()]) if matches else set()
    for i, match in enumerate(matches):
        before, after = text[edges[i] : match.start()], text[match.end() : _next(matches, i, len(text))]
        # "9 to 5 on Monday and 9 to 3 on Friday": once the days follow their hours they keep doing so
        trailing = i > 0 and not leading and _days(after)
        days = trailing or _days(_SIDE.split(before)[-1]) or _days(before) or _days(after)
        wanted = _range_minutes(match)
        right = (
            all(_same(record.hours.get(day), wanted) for day in days)
            if days
            else any(_same(times, wanted) for times in record.hours.values())
        )
        found.hours_ok += right
        found.hours_wrong += not right
        if not right:
            found.ranges.append((min(match.start(), len(claim)), min(match.end(), len(claim))))
    counted = _DAYS_A_WEEK.search(text)
    if counted:
        said = _COUNTS.get(counted.group(1).lower()) or int(counted.group(1))
        found.hours_ok += said == len(record.hours)
        found.hours_wrong += said != len(record.hours)
    closed = _CLOSED.search(text)
    if closed:
        wrong = any(_is_open(record.hours.get(day)) for day in _days(closed.group(1)))
        found.hours_ok += not wrong
        found.hours_wrong += wrong


def _next(matches: list[re.Match[str]], i: int, end: int) -> int:
    return matches[i + 1].start() if i + 1 < len(matches) else end


def _is_clock(match: re.Match[str]) -> bool:
    """A pair of numbers is a time range only with a colon or am/pm, or in the company of days."""
    h1, m1, half1, h2, m2, half2 = match.groups()
    return int(h1) <= 24 and int(h2) <= 24 and bool(m1 or m2 or half1 or half2)


def _is_open(times: tuple[int, int] | None) -> bool:
    return times is not None and times != (0, 0)


def _same(times: tuple[int, int] | None, wanted: tuple[int, int]) -> bool:
    if times is None:
        return False
    # a sentence may write 5 to 9 for 17:00 to 21:00, a record 7:00 to 10:30 for a bar that closes at night
    opens, closes = (abs(a - b) for a, b in zip(times, wanted, strict=True))
    return (opens == 0 or (opens == 720 and wanted[0] < 720)) and closes in (0, 720)


def _check_stars(claim: str, record: BusinessRecord, found: Findings) -> None:
    allowed = (*record.stars, *record.given) if _REVIEWER.search(claim) else record.stars
    for match in _STARS.finditer(claim):
        value = float(match.group(1) or match.group(2))
        right = value in allowed or f"{value:g} star" in record.prose
        found.stars_ok += right
        found.stars_wrong += not right
        if not right:
            found.ranges.append(match.span())
