"""What a tool call does: its groups of actions, its words and values, whether it failed or is unfinished.

The ledger holds the calls of a trace and what links them: records of one result that name what another call acts on.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

from groundwire.actions.values import Content, LedgerValue, read
from groundwire.actions.words import (
    AMBIGUOUS,
    LIGHT_TOOLS,
    MAKING,
    SHELL_GROUPS,
    SHOWN,
    TOOL_GROUPS,
    any_groups,
    lemma,
    pattern,
)
from groundwire.text.lexicon import expressions
from groundwire.types import CallRecord

_MAX_SHARED = 8  # records that name a value: one that more of them name identifies none
_MAX_PAIRS = 60  # numbers of a trace whose sums and differences are computed
_RUNS = frozenset(("test", "build", "lint", "types"))
_FILE_TOOL, _SHELL_TOOL, _PROGRAM, _ANY_TOOL, _WRITING_METHOD, _SQL_WORD = expressions(
    "actions", "file_tool shell_tool program any_tool writing_method sql_word"
)
_PATH, _NO_PATH, _WIDE, _FREE_KEY, _PERSON_KEY = expressions("actions", "path no_path wide free_key person_key")
_SLOT = re.compile(r"#?[A-Za-z][\w.'-]*(?:[ _-][A-Za-z][\w.'-]*){0,2}|\S+@\S+")
_SQL_GROUPS = {
    "SELECT": ("read", "search"), "INSERT": ("create", "edit", "save"), "UPDATE": ("change", "edit"),
    "DELETE": ("remove",), "DROP": ("remove",), "TRUNCATE": ("remove",), "CREATE": ("create", "edit"),
    "ALTER": ("change", "create", "edit", "remove"),
}  # fmt: skip
_ACTION_KEYS = ("action", "operation", "op", "command", "state", "type", "event")
_READING_COMMAND = pattern("reading_command")
_ERROR_START = pattern("error_start")
_ERROR_LINE = pattern("error_line")
_BAD_STATUS = pattern("bad_status")
_FAILED_RUN = pattern("failed_run", re.RegexFlag(0))


@dataclass(frozen=True)
class LedgerCall:
    """A call with what the comparison needs of it. Not slotted: the properties are computed once."""

    record: CallRecord
    place: int = 0

    @cached_property
    def text(self) -> str:
        return f"{self.record.name} {self.record.arguments}".replace("\\n", "\n").replace('\\"', '"')

    @cached_property
    def result(self) -> str:
        """The result, with the line breaks that are escaped in JSON."""
        return self.record.result.replace("\\n", "\n")

    @cached_property
    def all_text(self) -> str:
        return f"{self.text}\n{self.result}"

    @cached_property
    def given(self) -> Content:
        """The words and values of the name and the arguments."""
        return Content(read(self.text.removeprefix(self.record.name)).values, read(self.text).stems)

    @cached_property
    def content(self) -> Content:
        """The words and values of the arguments and the result."""
        told = read(self.result)
        return Content((*self.given.values, *told.values), self.given.stems | told.stems | set(self.name_words))

    @cached_property
    def low(self) -> str:
        return self.all_text.lower()

    def covers(self, stem: str) -> bool:
        """True if the call has the word, or a longer one that contains it: `journalctl` has journal."""
        return stem in self.content.stems or (len(stem) > 3 and stem in self.low)

    @cached_property
    def data(self) -> object:
        return parsed(self.record.arguments)

    @cached_property
    def counts(self) -> frozenset[float]:
        """The lengths of lists and the sums of their columns, the number of lines and of files."""
        return frozenset(_counted(self))

    @cached_property
    def fields(self) -> Mapping[str, Any]:
        """The arguments by name; empty if they are no object."""
        return self.data if isinstance(self.data, dict) else {}

    @cached_property
    def values(self) -> list[str]:
        """The strings and numbers of the arguments."""
        return list(_scalars(self.data))

    @cached_property
    def people(self) -> list[str]:
        """The arguments that say whom the call is for."""
        named = [v for key, v in self.fields.items() if _PERSON_KEY.search(key) and not _FREE_KEY.search(key)]
        texts = [one for v in named for one in (v if isinstance(v, list) else [v]) if isinstance(one, str)]
        return [one for one in texts if _SLOT.fullmatch(one) and not re.search(r"\d", one)]

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
        if _SHELL_TOOL.fullmatch(self.short_name) or _PROGRAM.fullmatch(self.short_name):
            return True
        lines = (self.fields.get(key) for key in ("command", "cmd", "shell"))
        return not _FILE_TOOL.fullmatch(self.short_name) and any(
            isinstance(line, str) and " " in line for line in lines
        )

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
        result = self.result
        if self.record.failed is not None:
            return self.record.failed
        starts_bad = _ERROR_START.match(result.lstrip(" \t\n\"'{[<*"))
        if self.is_shell or self.groups & _RUNS:
            return bool(_ERROR_LINE.search(result) if self.commands else starts_bad)
        return bool(starts_bad or (not self.is_reading and _BAD_STATUS.search(result)))

    @property
    def failed_run(self) -> re.Match[str] | None:
        """Where the result of a test, build or linter says that it failed."""
        return _FAILED_RUN.search(self.result) or (re.match("", self.result) if self.failed else None)

    def quote(self) -> str:
        """The failure in one line."""
        bad = _ERROR_LINE.search(self.result)
        return f"the call failed: {self.line(bad.start() if bad else 0)}"

    def line(self, at: int) -> str:
        """The line of the result around a place, shortened."""
        text = self.result
        begin = max(text.rfind("\n", 0, at) + 1, at - 60)
        line = " ".join(text[begin:].split("\n", 1)[0].split())
        return line if len(line) <= 160 else f"{line[:159]}…"


def parsed(text: str) -> object:
    """The JSON in a text, which may follow a few words: `200 OK {"id": 3}`."""
    start = re.search(r"[\[{]", text[:200])
    try:
        return json.JSONDecoder().raw_decode(text, start.start())[0] if start else None
    except (ValueError, RecursionError):
        return None


def _scalars(data: object) -> list[str]:
    if isinstance(data, dict):
        return [found for value in data.values() for found in _scalars(value)]
    if isinstance(data, list):
        return [found for value in data for found in _scalars(value)]
    return [str(data)] if isinstance(data, str | int | float) and not isinstance(data, bool) else []


def paths(text: str) -> list[str]:
    """The file paths in a text."""
    plain = re.sub(r"https?://\S+|[\w.+-]+@[\w.-]+", " ", text)
    found = (match[0].rstrip("/.") for match in _PATH.finditer(plain))
    return [path for path in dict.fromkeys(found) if path and not _NO_PATH.fullmatch(path)]


def has_path(call: LedgerCall, path: str) -> bool:
    """True if a call names the file, or changes many files without naming any."""
    text = call.text if call.is_reading else call.all_text
    wide = call.is_shell and _WIDE.search(call.text) and not paths(call.text)
    return path.rsplit("/", 1)[-1] in text or bool(wide)


def _counted(call: LedgerCall) -> Iterator[float]:
    told = parsed(call.record.result)
    yield from _lengths(call.data)
    yield from _lengths(told)
    if told is None:
        lines = [line for line in call.result.splitlines() if line.strip()]
        yield float(len(lines))
        yield float(call.result.count(", ") + 1)


def _lengths(data: object) -> Iterator[float]:
    if isinstance(data, list):
        yield float(len(data))
        rows = [row for row in data if isinstance(row, dict)]
        for key in {key for row in rows for key in row}:
            column = [row[key] for row in rows if key in row]
            if all(isinstance(cell, int | float) for cell in column):
                yield float(round(sum(column), 2))
            else:
                yield from map(float, Counter(map(str, column)).values())
    for value in data.values() if isinstance(data, dict) else data if isinstance(data, list) else ():
        yield from _lengths(value)


class Ledger:
    """All calls before a message. The cost of building it is linear in their text."""

    def __init__(self, records: Sequence[CallRecord]) -> None:
        self.calls = [LedgerCall(record, place) for place, record in enumerate(records)]

    @cached_property
    def records(self) -> list[Content]:
        """The objects and lines of all results, and the calls whose result is a single one."""
        texts = [part for call in self.calls for part in _parts(call)]
        return [read(text) for text in texts if text.strip()]

    @cached_property
    def _places(self) -> dict[object, list[Content]]:
        found: dict[object, list[Content]] = defaultdict(list)
        for record in self.records:
            for key in {value.key for value in record.values if _identifies(value)}:
                found[key].append(record)
        return found

    @cached_property
    def linked(self) -> list[Content]:
        """By call: what other results say of the things that it names."""
        return [self._links(call) for call in self.calls]

    def _links(self, call: LedgerCall) -> Content:
        keys = {value.key for value in call.given.values if _identifies(value)}
        near = [self._places[key] for key in keys if len(self._places[key]) <= _MAX_SHARED]
        found = list({id(record): record for records in near for record in records}.values())
        values = tuple(value for record in found for value in record.values)
        return Content(values, frozenset().union(*(record.stems for record in found)))

    @cached_property
    def counts(self) -> frozenset[float]:
        """Numbers that nobody wrote, but anybody can count or compute."""
        found: set[float] = {float(len(self.calls))}
        names = Counter(call.record.name for call in self.calls)
        fine = Counter(call.record.name for call in self.calls if not call.failed)
        found.update(map(float, (*names.values(), *fine.values())))
        for call in self.calls:
            found |= call.counts
        return frozenset(found | self._computed)

    @cached_property
    def numbers(self) -> frozenset[float]:
        """Every number of the trace in every form."""
        return frozenset(form for call in self.calls for value in call.content.values for form in value.forms)

    @cached_property
    def _computed(self) -> set[float]:
        raw = {float(v.key) for call in self.calls for v in call.content.values if isinstance(v.key, int | float)}
        if len(raw) > _MAX_PAIRS:
            return set()
        pairs = list(combinations(raw, 2))
        found = {round(a + b, 2) for a, b in pairs} | {round(abs(a - b), 2) for a, b in pairs}
        return found | {float(round(100 * min(p) / max(p))) for p in pairs if max(p)}

    @cached_property
    def keys(self) -> frozenset[tuple[str, object]]:
        """The kind and key of every value of the trace."""
        return frozenset((value.kind, value.key) for call in self.calls for value in call.content.values)

    @cached_property
    def weights(self) -> dict[str, float]:
        """How rare a stem is among the calls."""
        seen = Counter(stem for call in self.calls for stem in call.content.stems)
        return {stem: 0.3 + math.log((1 + len(self.calls)) / count) for stem, count in seen.items()}


def _identifies(value: LedgerValue) -> bool:
    return value.kind in ("id", "email", "path") or (value.kind == "number" and float(str(value.key)) >= 10)


def _parts(call: LedgerCall) -> Iterator[str]:
    result = call.result
    yield from re.split(r"\}|\n", result)
    if result.count("{") <= 1 and "\n" not in result.strip():
        yield call.all_text  # a single thing that the call made or showed
