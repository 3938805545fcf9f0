"""Weekly hours of a claim against those of its evidence: "Monday to Friday from 8 AM to 5 PM" is computed, not guessed.

A network reads "17:0-21:0" and "5 PM to 9 PM" as different tokens, and a window seldom holds a whole week. Days and
times are read here in any notation, spread over the days they are said of, and compared day by day.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_ALL = frozenset(range(7))
# Many who speak of weekdays and weekends count Friday among neither.
_SETS = {"weekday": frozenset(range(4)), "weekend": frozenset((5, 6))}
_NIGHT = 24 * 60

MIN_LISTED = 4
"""Days that the evidence must list before one that it leaves out counts as closed."""

_DAY = r"(?:(?:mon|fri|sun)(?:day)?|tue(?:s(?:day)?)?|wed(?:nesday)?|thu(?:r(?:s(?:day)?)?)?|sat(?:urday)?)s?\b\.?"
_TIME = r"(?:\d{1,2}[:.h]\d{1,2}(?:\s?[ap]\.?m\b\.?)?|\d{1,2}\s?[ap]\.?m\b\.?|noon\b|midnight\b)"
_LOOSE = rf"(?:{_TIME}|\d{{1,2}}(?![\d:.]))"
_TO = r"\s*(?:-|–|—|\bto\b|\buntil\b|\btill\b|\bthrough\b|\bthru\b|\band\b)\s*"
_TOKEN = re.compile(
    rf"(?P<days>(?P<first>\b{_DAY})\s*(?:-|–|—|\bto\b|\bthrough\b|\bthru\b|\buntil\b)\s*(?P<last>\b{_DAY}))"
    rf"|(?P<day>\b{_DAY})"
    r"|(?P<all>\bdaily\b|\bevery day\b|\beach day\b|\b(?:seven|7) days\b|\ball week\b)|\b(?P<set>weekday|weekend)s?\b"
    rf"|(?P<span>(?P<start>(?:{_TIME}|(?<![\d:.])\d{{1,2}}(?=\s*(?:-|–|to\b)\s*{_TIME}))){_TO}(?P<end>{_LOOSE}))"
    rf"|(?P<role>\buntil\b|\btill\b|\bclos(?:e|es|ing)\b|\bopens?\b(?=\s+at)|\bopening\b|\bstart(?:s|ing)?\b|\bfrom\b)"
    rf"|(?P<time>{_TIME})|(?P<closed>\bclosed\b)",
    re.IGNORECASE,
)
_ENDS = ("until", "till", "close", "closes", "closing")
_ABOUT_HOURS = re.compile(
    r"open|operat|hour|time|business|establish|restaurant|bar$|cafe|coffee|shop|store|spa$|salon|place|location|venue|compan"
    r"|servic|serv|extend|short|long|later|earl|vari|vary|regular|week|remain|rest$|other|days?$|clos|avail|run|start"
    r"|schedul|late$|slight|follow|its$|they$|the$|and$|with$|from$|for$|are$|has$|have$|which$|that$|this$|while$|also$"
    r"|both$|each$|between$|per$|until$"
)
"""How words begin that say nothing but that hours follow."""


@dataclass(frozen=True, slots=True)
class Hours:
    """Opening and closing time in minutes, each with the readings it allows ("5" may be 5:00 or 17:00).

    None: not said. `closed` days have neither.
    """

    start: frozenset[int] | None = None
    end: frozenset[int] | None = None
    closed: bool = False

    def agrees(self, other: Hours) -> bool:
        """Whether nothing that is said on one side is denied by the other."""
        if self.closed or other.closed:
            return self.closed == other.closed
        pairs = ((self.start, other.start), (self.end, other.end))
        return all(mine is None or theirs is None or bool(mine & theirs) for mine, theirs in pairs)


Week = dict[int, Hours]


def read_weeks(text: str) -> list[Week]:
    """The hours of each day that a sentence or a record states, in one or two readings.

    Hours may be said of the days before them ("Monday to Friday 9-5, Saturday 10-2") or behind them ("9-5 Monday to
    Friday, 10-2 on Saturday"); a sentence that mixes both is read in both ways.

    >>> read_weeks("Sundays from 2 PM to midnight, closed on Mondays")[0]
    {6: Hours(start=frozenset({840}), end=frozenset({0}), closed=False), 0: Hours(start=None, end=None, closed=True)}
    """
    items = list(_items(text))
    found: list[Week] = []
    for days_first in (True, False):
        week: Week = {}
        days: frozenset[int] = frozenset()
        hours: Hours | None = None
        for item in items:
            if isinstance(item, dict):
                week |= item
                continue
            if isinstance(item, Hours):
                hours = item
            else:
                days = item
            if hours is not None and days and isinstance(item, Hours) == days_first:
                week |= {day: _refined(week.get(day), hours) for day in days}
        if week and week not in found:
            found.append(week)
    return found


def _refined(general: Hours | None, special: Hours) -> Hours:
    """Hours of "daily from 9 to 5, Fridays until 7": what the second leaves open stays as the first said."""
    if general is None or general.closed or special.closed:
        return special
    return replace(special, start=special.start or general.start, end=special.end or general.end)


def _items(text: str) -> Iterator[frozenset[int] | Hours | Week]:
    """Sets of days and hours in the order of the text; neighbouring days are one set."""
    days: frozenset[int] = frozenset()
    role, last_end, closing = "", 0, False
    for match in _TOKEN.finditer(text):
        between = text[last_end : match.start()].strip(" ,&/(").lower()
        last_end = match.end()
        found = _days(match)
        if found:
            if days and between not in ("", "and", "on", "and on", "as well as", "or"):
                yield dict.fromkeys(days, Hours(closed=True)) if closing else days
                days, closing = frozenset(), False
            elif closing and not days and between not in ("", "on", "every"):
                yield Hours(closed=True)
                closing = False
            days |= found
            continue
        if match["role"]:
            role = match["role"].lower()
            continue
        if days:
            yield dict.fromkeys(days, Hours(closed=True)) if closing else days
            days, closing = frozenset(), False
        if match["closed"]:
            closing = True
        elif match["span"]:
            yield Hours(_minutes(match["start"]), _minutes(match["end"]))
        elif role:
            times = _minutes(match["time"])
            yield Hours(end=times) if role in _ENDS else Hours(start=times)
    if days:
        yield dict.fromkeys(days, Hours(closed=True)) if closing else days
    elif closing:
        yield Hours(closed=True)


def _days(match: re.Match[str]) -> frozenset[int]:
    if match["all"]:
        return _ALL
    if match["set"]:
        return _SETS[match["set"].lower()]
    if match["day"]:
        return frozenset((_number(match["day"]),))
    if not match["days"]:
        return frozenset()
    first, last = _number(match["first"]), _number(match["last"])
    return frozenset(day % 7 for day in range(first, last + 1 if last >= first else last + 8))


def _number(name: str) -> int:
    return next(i for i, day in enumerate(DAYS) if day[:3].lower() == name[:3].lower())


def _minutes(text: str) -> frozenset[int]:
    """The minutes of the day that a time may mean."""
    plain = text.lower().replace(" ", "").replace(".m", "m").rstrip(".")
    if plain in ("noon", "midnight"):
        return frozenset((12 * 60 if plain == "noon" else 0,))
    hour, _, minute = re.sub(r"[^\d:.h]", "", plain).replace("h", ":").replace(".", ":").partition(":")
    value = int(hour) * 60 + int(minute or 0)
    if plain.endswith("m"):
        value = value % (12 * 60) + (12 * 60 if "p" in plain else 0)
        return frozenset((value,))
    return frozenset((value % _NIGHT,)) if minute else frozenset((value % _NIGHT, (value + 12 * 60) % _NIGHT))


def week_of(pieces: Iterable[str]) -> Week:
    """The one week that the pieces of a text state together; empty if they state several, or none."""
    week: Week = {}
    for piece in pieces:
        for day, hours in next(iter(read_weeks(piece)), {}).items():
            if day in week and week[day] != hours:
                return {}
            week[day] = hours
    return week


def same_hours(claim: Week, evidence: Week) -> bool:
    """Whether the evidence gives the hours of each day of the claim.

    A day that it leaves out of an otherwise full week is closed. One whose opening is its closing time ("0:0-0:0")
    stands for closed as well as for always open.
    """
    left_out = Hours(closed=True) if len(evidence) >= MIN_LISTED else None
    for day, hours in claim.items():
        given = evidence.get(day, left_out)
        if given is None:
            return False
        undecided = given.start is not None and given.start == given.end
        if not undecided and not hours.agrees(given):
            return False
    return True


def states_hours(claim: str, context: str, pieces: Iterable[str]) -> bool:
    """Whether a claim states weekly hours, those of the evidence, and nothing that the context lacks.

    >>> record = ["hours Monday: 8:0-17:0", "hours Tuesday: 8:0-17:0"]
    >>> states_hours("It is open on Mondays and Tuesdays from 8 AM to 5 PM.", " ".join(record), record)
    True
    >>> states_hours("It is open on Mondays from 9 AM to 5 PM.", " ".join(record), record)
    False
    """
    weeks = read_weeks(claim)
    if not weeks or not only_hours(claim, context):
        return False
    evidence = week_of(pieces)
    return bool(evidence) and any(same_hours(week, evidence) for week in weeks)


def only_hours(claim: str, context: str) -> bool:
    """Whether a claim states hours and nothing that the context lacks."""
    known = set(re.findall(r"[^\W\d_]+", context.lower()))
    rest = re.findall(r"[^\W\d_]{3,}", _TOKEN.sub(" ", claim).lower())
    return all(word in known or _ABOUT_HOURS.match(word) for word in rest)
