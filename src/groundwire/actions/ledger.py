"""The calls of a trace with what links them: records of one result that name what another call acts on."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import combinations

from groundwire.actions.calls import LedgerCall
from groundwire.actions.values import Content, LedgerValue, read
from groundwire.types import CallRecord

_MAX_SHARED = 8  # records that name a value: one that more of them name identifies none
_FIELD = re.compile(r'"(\w{2,24})": ?"([A-Za-z][\w .-]{1,30})"')
_MAX_PAIRS = 60  # numbers of a trace whose sums and differences are computed


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
    def _linked(self) -> list[Content]:
        return [self._links(call) for call in self.calls]

    def _links(self, call: LedgerCall) -> Content:
        keys = {value.key for value in call.given.values if _identifies(value)}
        near = [self._places[key] for key in keys if len(self._places[key]) <= _MAX_SHARED]
        found = list({id(record): record for records in near for record in records}.values())
        values = tuple(value for record in found for value in record.values)
        return Content(values, frozenset().union(*(record.stems for record in found)))

    def about(self, text: str) -> frozenset[str]:
        """The words of a value, and of the records that name it."""
        content = read(text)
        records = [record for value in content.values for record in self._places.get(value.key, ())]
        return content.stems.union(*(record.stems for record in records if len(records) <= _MAX_SHARED))

    def linked(self, place: int) -> Content:
        """What other results say of the things that a call names."""
        return self._linked[place]

    @cached_property
    def by_key(self) -> dict[str, set[str]]:
        """The short texts that calls and results have under one key."""
        found: dict[str, set[str]] = defaultdict(set)
        for call in self.calls:
            for match in _FIELD.finditer(call.all_text):
                found[match[1].lower()].add(match[2].lower())
        return found

    @cached_property
    def counts(self) -> frozenset[float]:
        """Numbers that are not written in a result but can be counted in it or computed from it."""
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
