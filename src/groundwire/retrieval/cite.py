"""Which source a citation means, and which citations mean none."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import PurePath

from groundwire.types import Claim, Source

_NUMBER = re.compile(r"\^?0*(\d{1,6})$")
_COUNTED = re.compile(r"[sS]?\d+$")
# Behind a label stands a sentence, now or on the next line: "S1 - Standard" is what something is called.
_LABELLED = re.compile(
    r"^\W{0,4}(S\d{1,3})(?:\](?=[\s*_])|(?:\W{0,2}:|[ \t]+[-–—])"
    r"(?=[*_]{0,2}[ \t]*$|(?:[ \t*_]+[^\s*_]+){3}|[ \t*_][^\n]{1,40}[.!?](?:\s|\Z)))",
    re.M,
)
_PART = re.compile(
    r"^\W{0,4}(?:passage|document|doc|source|excerpt|snippet|chunk|context|article|text|result)\s*#?\s*(\d{1,6})\b",
    re.M | re.I,
)


def resolve(citation: str, sources: Sequence[Source]) -> str | None:
    """The id of the source that a citation means, or None.

    An id wins, then the same id in another case, then the file's name. A bare number is a position, counted
    from 1 as readers count, where the sources have names of their own; whoever calls sources S0, S1, … or
    0, 1, … has said what their numbers are. Where one source holds numbered parts (lines that begin with
    "passage 2:", "S2:" or "[S2]"), their numbers mean that source.

    >>> both = [Source("guide", "…", "guide.pdf"), Source("law", "…", "acts/law.md")]
    >>> [resolve(name, both) for name in ("LAW", "law.md", "1", "3", "S7")]
    ['law', 'law', 'guide', None, None]
    """
    wanted = citation.strip().casefold()
    for source in sources:
        if source.id == citation:
            return source.id
    for source in sources:
        if source.id.casefold() == wanted or wanted in _origins(source):
            return source.id
    number = _NUMBER.match(wanted)
    return _numbered(int(number[1]), sources) if number else _labelled(wanted.upper(), sources)


def _labelled(label: str, sources: Sequence[Source]) -> str | None:
    """The one source that presents a part of itself under this very label: "S2: …"."""
    holders = (
        [source.id for source in sources if label in _labels(source.text)] if _COUNTED.match(label) else []
    )
    return holders[0] if len(holders) == 1 else None


@lru_cache(maxsize=64)
def _labels(text: str) -> frozenset[str]:
    return frozenset(found[1] for found in _LABELLED.finditer(text))


def _numbered(number: int, sources: Sequence[Source]) -> str | None:
    holders = [source.id for source in sources if number in _parts(source.text)]
    if len(holders) == 1:
        return holders[0]
    if any(_COUNTED.match(source.id) for source in sources):
        return None
    return sources[number - 1].id if 1 <= number <= len(sources) else None


@lru_cache(maxsize=64)
def _parts(text: str) -> frozenset[int]:
    """The numbers under which a text presents parts of itself, as retrieval prompts do."""
    return frozenset(int(found[1]) for found in _PART.finditer(text))


def _origins(source: Source) -> tuple[str, ...]:
    path = PurePath(source.origin)
    return (path.name.casefold(), path.stem.casefold()) if source.origin else ()


def phantoms(claim: Claim, sources: Sequence[Source]) -> tuple[str, ...]:
    """The citations of a claim that no source answers to, as they were written."""
    return tuple(cited for cited in dict.fromkeys(claim.citations) if resolve(cited, sources) is None)


def cited_ids(citations: Iterable[str], sources: Sequence[Source]) -> tuple[str, ...]:
    """The ids of the sources that these citations mean, each once."""
    found = (resolve(citation, sources) for citation in citations)
    return tuple(dict.fromkeys(source for source in found if source is not None))
