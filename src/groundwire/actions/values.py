"""Values of a statement that the call has otherwise: identifiers, times, dates, amounts, numbers, names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date
from itertools import pairwise

from groundwire.actions.calls import LedgerCall
from groundwire.actions.statements import ActionStatement
from groundwire.actions.words import NOT_NAMES, OBJECTS, content_words, lemma
from groundwire.text.dates import MONTHS, WEEKDAYS, PartialDate, compare, dates, weekdays
from groundwire.text.numbers import numbers
from groundwire.text.tokens import is_stop

_PATH = re.compile(
    r"(?<![\w@])(?:[\w.~-]*/)*[\w-]+\.(?!com\b|org\b|io\b|net\b)[A-Za-z][A-Za-z0-9]{0,6}\b(?!\()"
    r"|(?<![\w/:])(?:[\w.~-]+/)+[\w.-]*"
)
_NO_PATH = re.compile(
    r"\d[\d./]*|(?:and|or|he|she|yes|no|on|off|read|write|true|his|her|client|server|input|output|I|pass|fail)/\w+|e\.g|i\.e"
    r"|\w+\.js(?=$)(?<=Node\.js|Next\.js)",
    re.IGNORECASE,
)
_WIDE = re.compile(
    r"[*?]|\bxargs\b|\bfind\b|-exec|\bfor \w+ in\b|codemod|--fix|\bfmt\b"
    r"|git (?:checkout|revert|stash|reset|merge|pull|apply)"
    r"|black|prettier|ruff|-A\b|-am?\b|patch\b|\s\.(?:\s|$)"
)
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+\.[\w.]*\w")
_ID = re.compile(
    r"#([\w-]*\w)|\b([A-Z]{1,6}-\d+|[A-Z]{1,3}\d{3,})\b"
    r"|(?i:\b(?:order|ticket|issue|invoice|booking|case|pr|pull request|room|flight|account|user)"
    r"\s+(?:number\s+|no\.?\s*)?)#?([A-Z]{0,3}\d[\w-]*\d)\b"
)
_NAME = re.compile(r"(?<![.!?]\s)(?<![`/\w.#-])\b[A-Z][a-z]{2,}\b(?![`/.]\w|-)")
_NAMED_GROUPS = frozenset(("send", "pay", "create", "change", "remove"))
_PERSON = re.compile(r"[A-Z][a-z]+(?: [A-Z][a-z'.-]+)*|[a-z]{2,12}|[UC]\w{6,}|[\w-]*\d[\w-]*")
_PERSON_KEY = re.compile(
    r"to|cc|user|assign|review|owner|member|attend|recipient|payee|contact|employee|customer|name|email|invite|group|title",
    re.I,
)
_QUANTITY_KEY = re.compile(
    r"amount|price|total|party|size|people|guests?|seats?|quantity|qty|count|passengers?|adults|tickets?|nights|copies|rooms|number|persons|percent"
    r"|discount|days|minutes|duration|hours|degrees|temp|level|volume|brightness|target|replicas|limit",
    re.IGNORECASE,
)
_SWITCHES = frozenset(("on", "off", "true", "false", "open", "closed"))


def paths(text: str) -> list[str]:
    """The file paths in a text."""
    plain = re.sub(r"https?://\S+|[\w.+-]+@[\w.-]+", " ", text)
    found = (match[0].rstrip("/.") for match in _PATH.finditer(plain))
    return [path for path in dict.fromkeys(found) if path and not _NO_PATH.fullmatch(path)]


def has_path(call: LedgerCall, path: str) -> bool:
    """True if a call names the file, or changes many files without naming any."""
    text = call.text if call.is_reading else call.all_text
    parts = re.findall(r"[A-Za-z]{3,}", path.rsplit("/", 1)[-1])
    if call.commands and not paths(call.text) and parts and all(part in text for part in parts):
        return True  # `poetry lock` writes poetry.lock
    wide = call.is_shell and _WIDE.search(call.text) and not paths(call.text)
    return path.rsplit("/", 1)[-1] in text or bool(wide)


def difference(
    statement: ActionStatement, call: LedgerCall, calls: Sequence[LedgerCall], request: str
) -> str:
    """A value of the statement that the call has otherwise; empty if there is none."""
    if call.is_file_tool or (call.is_shell and not statement.groups & {"deploy", "send"}):
        return ""
    said, given = statement.rest, call.all_text
    checks = (
        _identifier(said, call, calls),
        _time(said, given),
        _date(said, given),
        _amount(said, given),
        _quantity(said, call),
        _name(statement, call, calls),
        _modifier(statement, call, request),
    )
    return next(filter(None, checks), "")


def _is_linked(word: str, call: LedgerCall, calls: Sequence[LedgerCall]) -> bool:
    """True if a record names both the word and a value of the call, as a directory of people does."""
    values = [value.lower() for value in call.values if len(value) < 80]
    return any(
        word in record and any(re.search(rf"(?<!\w){re.escape(value)}(?!\w)", record) for value in values)
        for record in _records(call, calls)
    )


def _records(call: LedgerCall, calls: Sequence[LedgerCall]) -> Iterator[str]:
    for other in calls:
        if other is not call:
            yield from re.split(r"\}|\n|;", other.record.result.lower())
            if other.record.result.count("{") <= 1:  # a single thing that the call made
                yield other.all_text.lower()


def _identifier(said: str, call: LedgerCall, calls: Sequence[LedgerCall]) -> str:
    ids = (next(filter(None, match.groups())) for match in _ID.finditer(said))
    for match in re.finditer(r"\b([a-z]{3,}) (\d+)\b", said):
        noun, number = match.groups()
        if is_stop(noun) or _in_date(said, match.start(2)):
            continue
        there = re.findall(rf"\b{noun}\W{{1,4}}(\d+)\b", call.text, re.IGNORECASE)
        if there and number not in there:
            return f"the call names {noun} {there[0]}, not {number}"
    for wanted in (*_EMAIL.findall(said), *ids):
        bare = wanted.lower()
        here = re.search(rf"(?<![\w-]){re.escape(bare)}(?![\w-])", call.all_text.lower())
        if not here and not _is_linked(bare, call, calls):
            return f"the call does not name {wanted}"
    return ""


def _time(said: str, given: str) -> str:
    if re.search(r"\d\dZ|[+-]\d\d:\d\d\"", given):
        return ""  # another time zone
    wanted = [n.value for n in numbers(said) if n.unit == "clock"]
    times = [n.value for n in numbers(given.replace("T", " T ")) if n.unit == "clock"]
    if not wanted or not times or wanted[0] in times:
        return ""
    half_open = not re.search(r"\d\s?[ap]\.?m", said, re.IGNORECASE) and (wanted[0] + 720) % 1440 in times
    return "" if half_open else f"the call says {_clock(times[0])}, not {_clock(wanted[0])}"


def _clock(minutes: float) -> str:
    return f"{int(minutes) // 60:02d}:{int(minutes) % 60:02d}"


def _date(said: str, given: str) -> str:
    there = [d for d in dates(given) if d.day and d.month]
    wanted = [d for d in dates(said) if d.day]
    if wanted and there and all(compare(wanted[0], other) == "conflict" for other in there):
        return f"the call says {_iso(there[0])}"
    days, named = weekdays(said), [day for day, _, _ in weekdays(given)]
    real = [date(d.year, d.month, d.day).isoweekday() for d in there if d.year]
    if days and real and days[0][0] not in (*real, *named):
        return f"{_iso(there[0])}, the call's date, is another weekday"
    return ""


def _iso(found: PartialDate) -> str:
    return f"{found.year:04d}-{found.month:02d}-{found.day:02d}"


def _amount(said: str, given: str) -> str:
    wanted = [n.value for n in numbers(said) if n.kind == "currency"]
    there = {float(v) for v in re.findall(r"(?<![\w.-])\d+(?:\.\d+)?(?![\w-])", given.replace(",", " "))}
    there |= {n.value for n in numbers(given)}
    missing = wanted and there and wanted[0] not in there and wanted[0] * 100 not in there
    return f"the call does not say {wanted[0]:g}" if missing else ""


def _quantity(said: str, call: LedgerCall) -> str:
    given = call.data if isinstance(call.data, dict) else {}
    about = content_words(said)
    there = {
        float(value)
        for key, value in given.items()
        if (_QUANTITY_KEY.search(key) or content_words(key) & about)
        and re.fullmatch(r"\d+(?:\.\d+)?", str(value))
    }
    wanted = [
        _bare(said[n.start : n.end], n.value)
        for n in numbers(said)
        if n.unit != "clock" and n.kind != "currency" and not _in_date(said, n.start)
    ]
    text = re.sub(r"\d{4}-\d\d-\d\d\S*", " ", call.all_text)
    known = any(re.search(rf"(?<![\w.]){value:g}(?![\w.])", text) for value in wanted)
    return f"the call says {min(there):g}, not {wanted[0]:g}" if there and wanted and not known else ""


def _bare(text: str, value: float) -> float:
    """The number as written: 45 of "45 minutes", seven of "seven days", whose values are in seconds."""
    digits = re.match(r"\d+(?:\.\d+)?(?![\d,])", text)
    word = numbers(text.split(maxsplit=1)[0]) if not digits else []
    return float(digits[0]) if digits else word[0].value if word else value


def _in_date(text: str, at: int) -> bool:
    return any(d.start <= at < d.end for d in dates(text)) or text[max(0, at - 1) : at] in ("#", "-")


def _name(statement: ActionStatement, call: LedgerCall, calls: Sequence[LedgerCall]) -> str:
    """A person or place that the statement names and the call does not, though it names another."""
    if not statement.groups & _NAMED_GROUPS:
        return ""
    later = statement.rest.strip().partition(" ")[2] if statement.passive else statement.rest
    found = (name for name in _NAME.findall(f" x {later}") if name not in NOT_NAMES)
    names = [name.lower() for name in found if name.lower() not in MONTHS and name.lower() not in WEEKDAYS]
    text = call.all_text.lower()
    if not names or any(name.rstrip("s") in text for name in names):
        return ""
    given = call.data if isinstance(call.data, dict) else {}
    people = [str(v) for key, v in given.items() if _PERSON_KEY.search(key)]
    outward = statement.groups & {"send", "pay", "assign"}
    values = [
        value
        for value in call.values
        if _EMAIL.fullmatch(value)
        or (value in people and _PERSON.fullmatch(value))
        or (outward and re.fullmatch(r"[A-Z][a-z]+(?: [A-Z][a-z'.-]+)?", value))
    ]
    linked = any(_is_linked(name, call, calls) for name in names)
    if not values and not linked:
        values = _other_record(names, call, calls)
    return f"the call was made for {values[0]}, not {names[0].capitalize()}" if values and not linked else ""


def _other_record(names: Sequence[str], call: LedgerCall, calls: Sequence[LedgerCall]) -> list[str]:
    """The values of the call that a list shows in one record, where the name is in another."""
    records = [r for r in _records(call, calls) if r.count("{") <= 1]
    named = [record for record in records if any(name in record for name in names)]
    pattern = "|".join(rf"(?<!\w){re.escape(value.lower())}(?!\w)" for value in call.values)
    shown = [value for value in call.values if any(value.lower() in r for r in records if r not in named)]
    return shown if named and pattern and not any(re.search(pattern, r) for r in named) else []


def _modifier(statement: ActionStatement, call: LedgerCall, request: str) -> str:
    """ "the bedroom lights", asked for and stated, where the call names the kitchen."""
    asked = content_words(request)
    words = re.findall(r"[A-Za-z']+", statement.object)
    pairs = ((lemma(one), lemma(next_one)) for one, next_one in pairwise(words))
    mine = {one for one, next_one in pairs if next_one in OBJECTS and one not in OBJECTS}
    mine = {word for word in mine if word in asked and not is_stop(word)}
    if not mine or mine & (content_words(call.all_text) | set(call.name_words)):
        return ""
    plain = re.compile(r"[A-Za-z][a-z]+(?:[ _-][a-z]+)?")
    values = [value for value in call.values if plain.fullmatch(value) and value.lower() not in _SWITCHES]
    other = [value for value in values if (own := content_words(value) - set(OBJECTS)) and not own & asked]
    return f"the call was made for {other[0]}, not {min(mine)}" if other else ""
