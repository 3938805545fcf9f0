"""What a tool call does: its groups of actions, whether it failed, and where a statement has other values."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from itertools import pairwise
from typing import Any

from groundwire.actions.statements import ActionStatement
from groundwire.actions.words import (
    AMBIGUOUS,
    LIGHT_TOOLS,
    MAKING,
    NOT_NAMES,
    OBJECTS,
    SHELL_GROUPS,
    SHOWN,
    TOOL_GROUPS,
    any_groups,
    content_words,
    lemma,
    pattern,
)
from groundwire.text.dates import MONTHS, WEEKDAYS, PartialDate, compare, dates, weekdays
from groundwire.text.lexicon import expressions
from groundwire.text.numbers import numbers
from groundwire.text.tokens import is_stop
from groundwire.types import CallRecord

_RUNS = frozenset(("test", "build", "lint", "types"))
_FILE_TOOL, _SHELL_TOOL, _PROGRAM, _ANY_TOOL, _WRITING_METHOD, _SQL_WORD = expressions(
    "actions", "file_tool shell_tool program any_tool writing_method sql_word"
)
_PATH, _NO_PATH, _WIDE, _EMAIL, _ID, _NAME, _PERSON, _PERSON_KEY = expressions(
    "actions", "path no_path wide email id name person person_key"
)
(_QUANTITY_KEY,) = expressions("actions", "quantity_key")
_SQL_GROUPS = {
    "SELECT": ("read", "search"), "INSERT": ("create", "edit", "save"), "UPDATE": ("change", "edit"),
    "DELETE": ("remove",), "DROP": ("remove",), "TRUNCATE": ("remove",), "CREATE": ("create", "edit"),
    "ALTER": ("change", "create", "edit", "remove"),
}  # fmt: skip
_ACTION_KEYS = ("action", "operation", "op", "command", "state", "type", "event")
_READING_COMMAND = pattern("reading_command")
_ERROR_START = pattern("error_start")
ERROR_LINE = pattern("error_line")
_BAD_STATUS = pattern("bad_status")
FAILED_RUN = pattern("failed_run", re.RegexFlag(0))


@dataclass(frozen=True)
class LedgerCall:
    """A call with what the comparison needs of it. Not slotted: the properties are computed once."""

    record: CallRecord

    @cached_property
    def text(self) -> str:
        return f"{self.record.name} {self.record.arguments}".replace("\\n", "\n").replace('\\"', '"')

    @cached_property
    def all_text(self) -> str:
        return f"{self.text}\n{self.record.result}"

    @cached_property
    def data(self) -> object:
        try:
            return json.loads(self.record.arguments)
        except (ValueError, RecursionError):
            return None

    @cached_property
    def fields(self) -> Mapping[str, Any]:
        """The arguments by name; empty if they are no object."""
        return self.data if isinstance(self.data, dict) else {}

    @cached_property
    def values(self) -> list[str]:
        """The strings and numbers of the arguments."""
        return list(_scalars(self.data))

    @cached_property
    def short_name(self) -> str:
        """The name without its server: `mcp__github__create_issue`, `functions.bash`."""
        return re.split(r"__|\.|/|:", self.record.name)[-1]

    @cached_property
    def name_words(self) -> list[str]:
        spaced = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", self.record.name)
        return [lemma(word) for word in re.findall(r"[A-Za-z]+", spaced) if not word.endswith("ings")]

    @cached_property
    def is_file_tool(self) -> bool:
        """A tool that writes files; some show them too, by `"command": "view"`."""
        shows = self.fields.get("command") in ("view", "read", "open")
        return bool(_FILE_TOOL.fullmatch(self.short_name)) and not shows

    @cached_property
    def is_shell(self) -> bool:
        return bool(_SHELL_TOOL.fullmatch(self.short_name) or _PROGRAM.fullmatch(self.short_name))

    @cached_property
    def commands(self) -> list[str]:
        """The parts of a shell line that do more than read; `cat deploy.sh` deploys nothing."""
        line = " ".join(self.values) or self.record.arguments
        line = re.sub(r"^(?:bash|sh|zsh) -l?c ", "", line)
        if _PROGRAM.fullmatch(self.short_name):
            line = f"{self.short_name} {line.removeprefix(self.short_name)}"
        parts = (part.strip() for part in re.split(r"&&|;|\|\|?|\n", line))
        writes = re.compile(r"(?<![<>&\d-])>(?!&|\s*/dev/null)")
        return [part for part in parts if part and (writes.search(part) or not _READING_COMMAND.match(part))]

    @cached_property
    def command_words(self) -> set[str]:
        return {lemma(word) for word in re.findall(r"[A-Za-z]{2,}", " ".join(self.commands))}

    @cached_property
    def _sql(self) -> str:
        found = _SQL_WORD.search(self.record.arguments)
        is_database = re.search(r"sql|query|database|db", self.record.name, re.IGNORECASE)
        return found[1].upper() if found and is_database else ""

    @cached_property
    def verbs(self) -> list[str]:
        """The words of the name that say what the tool does."""
        known = [word for word in self.name_words if word in TOOL_GROUPS]
        found = [word for word in known if word not in AMBIGUOUS]
        found = found if any(word not in LIGHT_TOOLS for word in found) else known
        actions = [lemma(value) for key in _ACTION_KEYS if isinstance(value := self.fields.get(key), str)]
        return [*found, *(word for word in actions if word in TOOL_GROUPS)]

    @cached_property
    def groups(self) -> frozenset[str]:
        if self.is_file_tool:
            return frozenset(("edit", "save", "create"))
        if self.is_shell:
            line = " && ".join(self.commands)
            found = {group for group, shell in SHELL_GROUPS.items() if shell.search(line)}
            return frozenset(found | {"run", "read"})
        if self._sql:
            return frozenset((*_SQL_GROUPS[self._sql], "run"))
        if _FILE_TOOL.fullmatch(self.short_name):
            return frozenset(("read",))
        found = set(any_groups(self.verbs, TOOL_GROUPS))
        can_do_all = _ANY_TOOL.search(self.record.name) and not self._is_named_reading
        if can_do_all or _WRITING_METHOD.search(self.record.arguments):
            found |= {"any", "run", "read"}
        return frozenset(found)

    @property
    def _is_named_reading(self) -> bool:
        """`list_users`, and names of things without a verb: `deploy_history`, `clinic_slots`."""
        groups = [TOOL_GROUPS[word] for word in self.verbs]
        if groups and all(group & {"read", "search", "web"} for group in groups):
            return True
        if not self.name_words or any(word in MAKING for word in self.name_words):
            return False
        plural = re.search(r"[a-z]{3}(?<!s)s$", self.short_name) and AMBIGUOUS.issuperset(self.verbs)
        return self.name_words[-1] in SHOWN or bool(plural)

    @cached_property
    def is_reading(self) -> bool:
        """True if it changes nothing; a tool without a known verb may do anything."""
        if self.is_file_tool:
            return False
        if self.is_shell:
            return not self.commands
        if self._sql:
            return self._sql == "SELECT"
        return self.groups == {"read"} or (self._is_named_reading and "any" not in self.groups)

    @cached_property
    def failed(self) -> bool:
        result = self.record.result
        if self.record.failed is not None:
            return self.record.failed
        starts_bad = _ERROR_START.match(result.lstrip(" \t\n\"'{[<*"))
        if self.is_shell or self.groups & _RUNS:
            return bool(ERROR_LINE.search(result) if self.commands else starts_bad)
        return bool(starts_bad or (not self.is_reading and _BAD_STATUS.search(result)))

    @property
    def failed_run(self) -> re.Match[str] | None:
        """Where the result of a test, build or linter says that it failed."""
        return FAILED_RUN.search(self.record.result) or (re.match("", self.record.result) if self.failed else None)

    def quote(self) -> str:
        """The failure in one line."""
        bad = ERROR_LINE.search(self.record.result)
        return f"the call failed: {self.line(bad.start() if bad else 0)}"

    def line(self, at: int) -> str:
        """The line of the result around a place, shortened."""
        text = self.record.result
        begin = max(text.rfind("\n", 0, at) + 1, at - 60)
        line = " ".join(text[begin:].split("\n", 1)[0].split())
        return line if len(line) <= 160 else f"{line[:159]}…"


def _scalars(data: object) -> list[str]:
    if isinstance(data, dict):
        return [found for value in data.values() for found in _scalars(value)]
    if isinstance(data, list):
        return [found for value in data for found in _scalars(value)]
    return [str(data)] if isinstance(data, str | int | float) and not isinstance(data, bool) else []


# Values of a statement that the call has otherwise: identifiers, times, dates, amounts, numbers, names.

_NAMED_GROUPS = frozenset(("send", "pay", "create", "change", "remove"))
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


def difference(statement: ActionStatement, call: LedgerCall, calls: Sequence[LedgerCall], request: str) -> str:
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
    for match in re.finditer(r"\b([a-z]{3,}) ([A-Z]{0,2}\d+)\b", said):  # room 12, priority P1
        noun, number = match.groups()
        if is_stop(noun) or _in_date(said, match.start(2)):
            continue
        there = re.findall(rf"\b{noun}\W{{1,4}}([A-Z]{{0,2}}\d+)\b", call.text, re.IGNORECASE)
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
    about = content_words(said)
    there = {
        float(value)
        for key, value in call.fields.items()
        if (_QUANTITY_KEY.search(key) or content_words(key) & about) and re.fullmatch(r"\d+(?:\.\d+)?", str(value))
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
    people = [str(v) for key, v in call.fields.items() if _PERSON_KEY.search(key)]
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
