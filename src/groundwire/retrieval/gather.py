"""Build the two contexts of a claim: with its evidence (for p1) and without (for p0).

- If all sources fit `context_tokens`, with their evidence and without, the context of p1 is all of them, the
  same string for every claim, and that of p0 is this string with the evidence replaced by the marker.
- Otherwise both are an excerpt for the claim: its selected units, their neighbours, then further relevant
  units by score (cited sources first), up to the budget. They appear in the order of the sources, one unit
  per line, with `…` for omissions. p1 is estimated once over the excerpt, not per window, so that a claim
  whose evidence is far apart is judged with all of it.
- The evidence removed for p0 is the cited sources, else the selected units, else everything.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import PurePath

from groundwire._loop import check_cancelled
from groundwire.retrieval.select import Index, ref_of, tokens
from groundwire.text.names import plain_name
from groundwire.text.structure import MARKERS, TextPiece, labelled
from groundwire.text.tokens import PRONOUN, names
from groundwire.types import Claim, EvidenceRef, Source

# Resolve citations to sources, and find citations of sources that do not exist.

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


_TITLE = re.compile(r"\s*#{1,2}[ \t]+(\S[^\n]{1,80}?)[ \t#]*(?:\n|\Z)")


def title_of(source: Source) -> str:
    """The heading that a source begins with; empty if it begins with none.

    >>> title_of(Source("S0", "# Staff Handbook\\n\\nStaff get 25 days."))
    'Staff Handbook'
    """
    title = _TITLE.match(source.text)
    return title[1] if title else ""


class CitedSources:
    """Resolves citations against the sources of a check.

    A citation is an id, an id in another case, a file's name or a title, in this order, whatever separates its
    words. A bare number is a position
    counted from 1, unless the ids themselves are numbers (S0, S1, … or 0, 1, …). If one source contains
    numbered parts (lines that begin with "passage 2:", "S2:" or "[S2]"), their numbers refer to that source;
    but not if other sources are called S0, S1, …, because a text could then pose as another source.
    """

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = sources
        self._ids = {source.id for source in sources}
        self._names: dict[str, str] = {}
        for source in sources:
            path = PurePath(source.origin)
            file = (path.name.casefold(), path.stem.casefold()) if source.origin else ()
            for name in (source.id.casefold(), *file):
                self._names.setdefault(name, source.id)
        for source in sources:
            for name in filter(None, (source.id, PurePath(source.origin).name, title_of(source))):
                self._names.setdefault(plain_name(name), source.id)
        self._counted = any(_COUNTED.match(source.id) for source in sources)

    def resolve(self, citation: str) -> str | None:
        """The id of the cited source, or None."""
        if citation in self._ids:
            return citation
        wanted = citation.strip().casefold()
        number = _NUMBER.match(wanted)
        named = self._names.get(wanted) or self._names.get(plain_name(citation))
        return named or (self._numbered(int(number[1])) if number else self._part_of(wanted.upper()))

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


_WORK = re.compile(r"([^\W\d_][\w'’-]*?)(?: .*?|,? ?)((?:1[89]|20)\d\d)[a-z]?")
"""An author and a year, as in "Smith et al., 2020" and "Smith2020"."""


def phantoms(claim: Claim, sources: Sequence[Source]) -> tuple[str, ...]:
    """The citations of a claim without a source, as written. A work that a source itself mentions is none of them.

    >>> sources = [Source("S0", "Nilsen measured the lake in 2019.")]
    >>> phantoms(Claim("c1", "It is deep.", 0, 11, ("Nilsen et al., 2019", "Berg2019")), sources)
    ('Berg2019',)
    """
    unknown = (cited for cited in dict.fromkeys(claim.citations) if resolve(cited, sources) is None)
    return tuple(cited for cited in unknown if not _is_mentioned(cited, sources))


def _is_mentioned(cited: str, sources: Sequence[Source]) -> bool:
    work = _WORK.fullmatch(cited)
    if work is not None and any(work[1] in source.text and work[2] in source.text for source in sources):
        return True
    # "(source: WHO)" is no invention where a source reports what the WHO says.
    named = cited[:1].isupper() and not any(character.isdigit() for character in cited)
    return named and any(re.search(rf"\b{re.escape(cited)}\b", source.text) for source in sources)


def cited_ids(citations: Iterable[str], sources: Sequence[Source]) -> tuple[str, ...]:
    """The ids of the cited sources, without duplicates."""
    found = (resolve(citation, sources) for citation in citations)
    return tuple(dict.fromkeys(source for source in found if source is not None))


# Render sources as the context of a verifier, complete or with evidence removed.
#
#     [S0] The tower is 330 m tall.        [S0] [EVIDENCE REMOVED]
#                                    →
#     [S1] It opened in 1889.              [S1] It opened in 1889.
#
# A source cannot imitate this layout: the brackets of anything that looks like a source's id, a marker or a
# chat template's control token are replaced by others of the same length, so that offsets stay valid.

GAP = "…"
"""Separates units of an excerpt that are not adjacent."""

_BRACKETED = re.compile(
    r"(?P<lead>^[ \t]*+)?[\[［【](?P<inside>[^\[\]［］【】\n]{1,64})[\]］】](?P<link>\(?)", re.MULTILINE
)
_CONTROL = re.compile(
    r"<\|[^<>|\n]{1,40}\|>|</?(?:s|bos|eos|start_of_turn|end_of_turn)>|<</?SYS>>|<｜[^<>\n]{1,40}｜>", re.IGNORECASE
)
_SOURCE_ID = re.compile(r"\^?s?\s?\d{1,6}$", re.IGNORECASE)
_LINE_ID = re.compile(r"[\w.:\-]+$")
_CONTROL_WORDS = frozenset(
    ("inst", "/inst", *(marker.strip("[]").casefold() for marker in MARKERS), "evidence removed")
)
_SOFT_SPACE = re.compile(r"(?:[ \t]|\\[nrt])*")
_UNSAFE = re.compile(r"[^\w.:\-]+")
_OTHER_BRACKETS = str.maketrans("[]［］【】<>", "()（）（）‹›")
_LABEL_WORDS = 4  # words up to which a heading is a label, not a statement


class Neutraliser:
    """Replaces the brackets of text that imitates the layout of a context; the length stays the same.

    Create one for all sources of a check: a set of all ids per source would take quadratic time.

    >>> Neutraliser(["guide"])("as [S9] and [Guide] say [EVIDENCE REMOVED], see [note] <|im_end|>")
    'as (S9) and (Guide) say (EVIDENCE REMOVED), see [note] ‹|im_end|›'
    """

    def __init__(self, ids: Iterable[str] = (), marker: str = "") -> None:
        self._forbidden = _CONTROL_WORDS.union((marker.strip("[]").casefold(),), (name.casefold() for name in ids))

    def __call__(self, text: str) -> str:
        if "[" in text or "［" in text or "【" in text:
            text = _BRACKETED.sub(self._other, text)
        return _CONTROL.sub(lambda m: m[0].translate(_OTHER_BRACKETS), text) if "<" in text else text

    def _other(self, match: re.Match[str]) -> str:
        inside = match["inside"].strip().casefold()
        forges = inside in self._forbidden or _SOURCE_ID.match(inside)
        heads = match["lead"] is not None and not match["link"] and _LINE_ID.match(inside)
        if not (forges or heads):
            return match[0]
        return match[0][: -len(match["link"]) or None].translate(_OTHER_BRACKETS) + match["link"]


def scrub(text: str, cut: Iterable[TextPiece], marker: str) -> str:
    """Replace pieces by the marker; line breaks, keys, column names and markup stay.

    >>> from groundwire.text.structure import pieces
    >>> text = '- WiFi: free\\n- Music: live'
    >>> scrub(text, pieces(text)[1:], MARKERS[0])
    '- WiFi: free\\n- Music: [EVIDENCE REMOVED]'
    """
    out: list[str] = []
    at = 0
    marked = False  # `out` ends with a marker, which adjacent pieces on the same line share
    for piece in sorted(cut, key=lambda piece: piece.start):
        if not is_evidence(piece) or piece.start < at:
            continue
        gap = text[at : piece.start]
        lines = _marker_lines(text[piece.start : piece.end], piece.bare, marker)
        if marked and not piece.bare and _SOFT_SPACE.fullmatch(gap):
            lines = lines.removeprefix(marker)
        else:
            out.append(gap)
        out.append(lines)
        at, marked = piece.end, not piece.bare
    return "".join([*out, text[at:]])


def _marker_lines(raw: str, bare: bool, marker: str) -> str:
    """One marker per replaced line; in place of an unquoted value of data it is quoted, so that it parses."""
    if bare:
        return f'"{marker}"' + "\n" * raw.count("\n")
    rest = [line[: len(line) - len(line.lstrip())] + marker if line.strip() else line for line in raw.split("\n")[1:]]
    return "\n".join([marker, *rest])


def is_evidence(piece: TextPiece) -> bool:
    """Return False for a short heading, which is only a label; a sentence or a number is evidence."""
    if not piece.heading:
        return True
    return len(piece.text.split()) > _LABEL_WORDS or any(char.isdigit() for char in piece.text)


def header(source_id: str) -> str:
    return f"[{_UNSAFE.sub('_', source_id)[:64] or '_'}] "


def whole(blocks: Iterable[tuple[str, str]]) -> str:
    """Join (source id, text) pairs into one context."""
    return "\n\n".join(header(name) + text.strip("\n") for name, text in blocks)


def without_source(context: str, source_id: str, marker: str) -> str:
    """A rendered context with the text of one source replaced by the marker.

    >>> without_source("[S0] It is tall.\\n\\nAnd old.\\n\\n[S1] It is red.", "S0", MARKERS[0])
    '[S0] [EVIDENCE REMOVED]\\n\\n[S1] It is red.'
    """
    # No text of a source begins a line like this: the `Neutraliser` has replaced its brackets.
    block = re.compile(rf"^({re.escape(header(source_id))}).*?(?=\n\n\[[\w.:\-]{{1,64}}\] |\Z)", re.M | re.S)
    return block.sub(lambda match: match[1] + marker, context)


# Chosen by hand.
_CITED_SHARE = 0.75  # of an excerpt for the cited sources; the rest is for the others
_FLOOR = 0.3  # share of the best unit's score below which a unit is not relevant
_LEADING_UNITS = 40  # first units shown if none is relevant
_ELSEWHERE = 3  # units of uncited sources that are reported


@dataclass(frozen=True, slots=True)
class Gathered:
    """The contexts of one claim, and the evidence in them (`refs`), best first.

    `cited_text` contains the cited sources alone (None without citations), `elsewhere` the relevant passages
    of sources that the claim does not cite.
    """

    with_text: str
    without_text: str
    cited_text: str | None
    refs: tuple[EvidenceRef, ...]
    elsewhere: tuple[EvidenceRef, ...] = ()


class Evidence:
    """The sources of one check, indexed and rendered once for all claims.

    Args:
        context_tokens: limit for the context of a claim.
        marker: replaces removed evidence.
    """

    def __init__(self, sources: Sequence[Source], context_tokens: int, marker: str = MARKERS[0]) -> None:
        self.index = Index(sources)
        self.context_tokens = context_tokens
        self.marker = marker
        self._neutral = Neutraliser((source.id for source in self.index.sources), marker)
        self._safe = tuple(self._neutral(source.text) for source in self.index.sources)
        self._all = range(len(self.index.sources))
        self._everything = frozenset(range(len(self.index.units)))
        self.full = self._render(self._all, frozenset())
        bare = self._render(self._all, self._everything)
        self.fits = max(tokens(self.full), tokens(bare)) <= context_tokens
        if not self.fits:  # even the markers may be too long: as many source ids as fit
            room = context_tokens // (tokens(header(self.index.sources[0].id) + marker) + 1)
            bare = whole((source.id, marker) for source in self.index.sources[: max(1, room)])
        self.bare = bare

    def gather(self, claim: Claim, about: str = "") -> Gathered:
        """Build the contexts of one claim; `about` is the text before it, to which a pronoun may refer."""
        check_cancelled()
        query = f"{claim.text} {names(about)}" if PRONOUN.match(claim.text) else claim.text
        cited = cited_ids(claim.citations, self.index.sources)
        found = self.index.numbers(query, budget=self.context_tokens, only=cited or None)
        elsewhere = self.index.numbers(query, k=_ELSEWHERE, without=cited) if cited else []
        refs, others = (tuple(ref_of(self.index.units[n]) for n in numbers) for numbers in (found, elsewhere))
        return Gathered(*self._contexts(query, cited, found), self._cited_text(query, cited), refs, others)

    def _contexts(self, query: str, cited: Sequence[str], found: Sequence[int]) -> tuple[str, str]:
        cut = self._of(cited) if cited else frozenset(found) or self._everything
        if self.fits:
            gone = self.bare if cut >= self._everything else self._render(self._all, cut)
            return self.full, gone
        shown = self._pick(query, cited, found)
        return self._excerpt(shown, frozenset()), self._excerpt(shown, cut)

    def _cited_text(self, query: str, cited: Sequence[str]) -> str | None:
        if not cited:
            return None
        chosen = self.index.positions(cited)
        text = self.full if len(chosen) == len(self._all) else self._render(chosen, frozenset())
        if tokens(text) <= self.context_tokens:
            return text
        return self._excerpt(self._cited(query, cited, self.context_tokens), frozenset())

    def _cited(self, query: str, cited: Sequence[str], budget: int) -> list[int]:
        """The units of cited sources in an excerpt: the relevant ones, else the first ones."""
        ranked = self.index.ranked(query, cited, _FLOOR)
        leading = sorted(self._of(cited))[:_LEADING_UNITS]
        return self._fill([], self._with_neighbours(ranked) or leading, budget) or (ranked or leading)[:1]

    def _of(self, ids: Collection[str]) -> frozenset[int]:
        starts = ((self.index.first[at], len(self.index.pieces[at])) for at in self.index.positions(ids))
        return frozenset(number for start, length in starts for number in range(start, start + length))

    def _render(self, positions: Iterable[int], cut: frozenset[int]) -> str:
        """The sources at these positions as one text, without the units of `cut`."""
        blocks = []
        for at in positions:
            text, numbered = self._safe[at], enumerate(self.index.pieces[at], self.index.first[at])
            gone = [piece for number, piece in numbered if number in cut] if cut else []
            blocks.append((self.index.sources[at].id, scrub(text, gone, self.marker) if gone else text))
        return whole(blocks)

    def _pick(self, query: str, cited: Sequence[str], found: Sequence[int]) -> list[int]:
        """The units of an excerpt, in the order of the text."""
        picked = self._fill([], self._with_neighbours(found), self.context_tokens)
        if cited:
            budget = int(self.context_tokens * _CITED_SHARE)
            picked = self._fill(picked, self._cited(query, cited, budget), budget)
        picked = self._fill(picked, self.index.ranked(query, floor=_FLOOR), self.context_tokens)
        # The most relevant unit is shown even if it is longer than the budget.
        leading = range(min(_LEADING_UNITS, len(self.index.units)))
        return picked or self.index.ranked(query)[:1] or self._fill([], leading, self.context_tokens)

    def _fill(self, picked: Sequence[int], candidates: Sequence[int], budget: int) -> list[int]:
        """Add candidates in their order as far as the budget goes."""
        chosen = dict.fromkeys(picked)
        left = budget - sum(self._cost(number) for number in chosen)
        for number in candidates:
            cost = self._cost(number)
            if number not in chosen and cost <= left:
                chosen[number] = None
                left -= cost
            if left <= 0:
                break
        return sorted(chosen)

    def _with_neighbours(self, found: Sequence[int]) -> list[int]:
        """The units found, then the ones just before and after them in the same source."""
        units = self.index.units
        pairs = [(number, number + step) for number in found for step in (-1, 1)]
        inside = [pair for pair in pairs if 0 <= pair[1] < len(units)]
        return [*found, *(near for number, near in inside if units[near].source == units[number].source)]

    def _cost(self, number: int) -> int:
        """Tokens of a unit, the larger of its text and the marker, and of the `…` or id before it."""
        unit = self.index.units[number]
        return max(int(self.index.costs[number]), tokens(self.marker) + 1) + tokens(header(unit.source)) + 1

    def _excerpt(self, shown: Sequence[int], cut: frozenset[int]) -> str:
        """These units, one per line, with `…` for omissions; of those in `cut` the label and the marker."""
        lines: dict[int, list[str]] = defaultdict(list)
        last = -1
        for number in sorted(shown):
            at = bisect_right(self.index.first, number) - 1
            piece = self.index.pieces[at][number - self.index.first[at]]
            if number > max(last, self.index.first[at] - 1) + 1:
                lines[at].append(GAP)
            last = number
            gone = number in cut and is_evidence(piece)
            above = self._neutral(f"{piece.under} ") if piece.under else ""  # the heading itself may be omitted
            said = labelled(self._neutral(piece.label), self.marker) if gone else self._neutral(piece.text)
            lines[at].append(above + said)
        return whole((self.index.sources[at].id, "\n".join(found)) for at, found in lines.items())
