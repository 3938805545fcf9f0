"""Resolve citations to sources, and find citations of sources that do not exist."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import PurePath

from groundwire._loop import check_cancelled
from groundwire.types import Claim, Source

_NUMBER = re.compile(r"\^?0*(\d{1,6})$")
_SAID = re.compile(r"turn \d+")  # what the user said before is no document that an answer counts
_COUNTED = re.compile(r"[sS]?\d+$")
# A label is followed by a sentence, on its line or the next; in "S1 - Standard" it is a product's name.
_LABELLED = re.compile(
    r"^\W{0,4}(S\d{1,3})(?:\](?=[\s*_])|(?:\W{0,2}:|[ \t]+[-–—])"
    r"(?=[*_]{0,2}[ \t]*$|(?:[ \t*_]+[^\s*_]+){3}|[ \t*_][^\n]{1,40}[.!?](?:\s|\Z)))",
    re.M,
)
_PART = re.compile(
    r"^\W{0,4}(?:passage|document|doc|source|excerpt|snippet|chunk|context|article|text|result)\s*#?\s*(\d{1,6})\b",
    re.M | re.I,
)


class CitedSources:
    """Resolves citations against the sources of a check.

    A citation is an id, an id in another case, or a file's name, in this order. A bare number is a position
    counted from 1, unless the ids themselves are numbers (S0, S1, … or 0, 1, …). If one source contains
    numbered parts (lines that begin with "passage 2:", "S2:" or "[S2]"), their numbers refer to that source;
    but not if other sources are called S0, S1, …, because a text could then pose as another source.
    """

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = sources
        self._ids = {source.id for source in sources}
        self._names: dict[str, str] = {}
        for source in sources:
            for name in (source.id.casefold(), *_origins(source)):
                self._names.setdefault(name, source.id)
        self._counted = any(_COUNTED.match(source.id) for source in sources)

    def resolve(self, citation: str) -> str | None:
        """The id of the cited source, or None."""
        if citation in self._ids:
            return citation
        wanted = citation.strip().casefold()
        number = _NUMBER.match(wanted)
        return self._names.get(wanted) or (self._numbered(int(number[1])) if number else self._part_of(wanted.upper()))

    def _numbered(self, number: int) -> str | None:
        holder = self._part_of(number)
        if holder is not None or self._counted:
            return holder
        given = [source.id for source in self._sources if not _SAID.fullmatch(source.id)]
        return given[number - 1] if 1 <= number <= len(given) else None

    def _part_of(self, label: str | int) -> str | None:
        """The only source with a part of this label: "S2: …", "passage 2"."""
        holders = self._parts.get(label, set())
        return next(iter(holders)) if len(holders) == 1 else None

    @cached_property
    def _parts(self) -> Mapping[str | int, set[str]]:
        found: dict[str | int, set[str]] = defaultdict(set)
        if self._counted and len(self._sources) > 1:
            return found
        for source in self._sources:
            check_cancelled()
            for label in _LABELLED.finditer(source.text):
                found[label[1]].add(source.id)
            for part in _PART.finditer(source.text):
                found[int(part[1])].add(source.id)
        return found


class _SameObject:
    """A cache key that compares sources by identity: comparing texts would take longer than the lookup."""

    __slots__ = ("sources",)

    def __init__(self, sources: tuple[Source, ...]) -> None:
        self.sources = sources

    def __hash__(self) -> int:
        return id(self.sources)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _SameObject) and other.sources is self.sources


@lru_cache(maxsize=4)
def _prepared(key: _SameObject) -> CitedSources:
    return CitedSources(key.sources)


def resolve(citation: str, sources: Sequence[Source]) -> str | None:
    """The id of the cited source, or None; see `CitedSources`.

    >>> both = [Source("guide", "…", "guide.pdf"), Source("law", "…", "acts/law.md")]
    >>> [resolve(name, both) for name in ("LAW", "law.md", "1", "3", "S7")]
    ['law', 'law', 'guide', None, None]
    """
    # A tuple is immutable, so the lookup prepared for an earlier claim is still valid.
    found = _prepared(_SameObject(sources)) if isinstance(sources, tuple) else CitedSources(sources)
    return found.resolve(citation)


def _origins(source: Source) -> tuple[str, ...]:
    path = PurePath(source.origin)
    return (path.name.casefold(), path.stem.casefold()) if source.origin else ()


def phantoms(claim: Claim, sources: Sequence[Source]) -> tuple[str, ...]:
    """The citations of a claim without a source, as written."""
    return tuple(cited for cited in dict.fromkeys(claim.citations) if resolve(cited, sources) is None)


def cited_ids(citations: Iterable[str], sources: Sequence[Source]) -> tuple[str, ...]:
    """The ids of the cited sources, without duplicates."""
    found = (resolve(citation, sources) for citation in citations)
    return tuple(dict.fromkeys(source for source in found if source is not None))
