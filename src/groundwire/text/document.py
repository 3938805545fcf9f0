"""One reading of a source text: its pieces, what each stands under, and windows of them for a claim.

A window is a few pieces with the heading, record name or speaker they stand under: enough to settle a claim,
short enough for the network to read whole. Each piece is scored by itself, so text elsewhere in the document
does not change a piece's score: unrelated text is read only where it looks more like the claim than the rest.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from groundwire.text.structure import HEADER, TextPiece, pieces
from groundwire.text.tokens import is_stop, terms, words
from groundwire.types import UnitKind

NARROW_WORDS = 28
"""Longest narrow window in words: one or two sentences. Halfway through its training the network had AUROC .73 on
224 calibration claims with windows of 24 words, .68 with 44 and .65 with 80."""

WIDE_WORDS = 110
"""Longest wide window in words, for claims that draw on several places: as much as the network takes with a claim of
40 words. With 72 words its reading of 540 sentences of RAGTruth and silver answers has AUROC .843 and .739, with 110
.856 and .777; on 420 claims of cards both have .794."""

_COVERED = 0.5
"""What a term of the claim still counts for the next place once an earlier place holds it."""

_MIN_JOIN_GAIN = 0.08
"""Share of the claim's weight that a further place of the joined window must hold."""

_PREFIX = 5
_PREFIX_WEIGHT = 0.6
"""Weight of a word that only shares its first five letters ("organiser", "organisation")."""

_NUMBER_WEIGHT = 1.5
_NAME_WEIGHT = 1.3
"""Numbers and names tell more about where a claim comes from than other words."""

_SOURCE_POWER = 4.0
"""How steeply pieces of a source lose weight that holds less of the claim than the best one. On 644 claims of
training cards two unrelated documents change the first window of 24 % (0), 6 % (2 and 4)."""

_TURN = re.compile(
    r"(?:\[?\d{1,2}[:.]\d{2}(?::\d{2})?\]?[ \t]*)?"
    r"[*_]{0,2}(?P<speaker>[^\W\d_][^:\n*]{0,40}?)[*_]{0,2}:[*_]{0,2}\s"
)
"""How a turn of a conversation begins: "Ana: …", "**Ana (support):** …", "[10:02] Ana: …"."""

_MIN_TURNS = 3
_TURN_SHARE = 0.25
"""Turns, and their share of the sentences, from which a source is taken for a conversation."""

_MARKUP = re.compile(r"[*_]{2,}|(?<!\w)[*_](?=\w)|(?<=\w)[*_](?!\w)|`")

_RECORD_NAMES = frozenset({"name", "title", "id", "label", "product", "company"})
_LABEL_WORDS = 14

Rarity = Callable[[str], float]
Held = dict[str, tuple[float, dict[int, float]]]
"""For each term of a claim its weight, and how strongly which pieces hold it."""


@dataclass(frozen=True, slots=True)
class Window:
    """What the network reads beside a claim. `numbers` are the document's pieces in it, in order."""

    text: str
    numbers: tuple[int, ...]
    coverage: float
    """Share of the claim's words, by weight, that the window holds."""


class Document:
    """A text cut into pieces once, with an index over their words."""

    def __init__(self, text: str, *, rendered: bool = True) -> None:
        self.text = text
        self.pieces: list[TextPiece] = pieces(text, rendered=rendered)
        self._source = _sources(text, self.pieces) if rendered else [0] * len(self.pieces)
        self._section, self._lead = _sections(self._source, self.pieces)
        self._words = [len(piece.text.split()) for piece in self.pieces]
        self._postings: dict[str, list[int]] = defaultdict(list)
        for number, piece in enumerate(self.pieces):
            for term in set(terms(f"{self._lead[number]} {piece.text}")):
                self._postings[term].append(number)
        self._prefixes: dict[str, list[str]] = defaultdict(list)
        for term in self._postings:
            if len(term) > _PREFIX and term.isalpha():
                self._prefixes[term[:_PREFIX]].append(term)

    def windows(self, claim: str, rarity: Rarity) -> list[Window]:
        """The windows that could settle a claim: a narrow and a wide one, which is left out where it is the same.

        Each joins the places that together hold most of the claim. A second narrow window around what the
        first leaves out was read, too: without it 4,138 calibration claims have the same log loss (.760).
        """
        if not self.pieces:
            return []
        held = self._held(claim, rarity)
        if sum(self._words) <= NARROW_WORDS:
            return [self._window(range(len(self.pieces)), held)]
        narrow = self._window(self._pack(held, NARROW_WORDS), held)
        wide = self._window(self._wide(held), held)
        return [narrow] if narrow.numbers == wide.numbers else [narrow, wide]

    def _wide(self, held: Held) -> Sequence[int]:
        """The pieces of the wide window: a short source whole, and the best places of all of them."""
        best, _ = self._best(held, {term: weight for term, (weight, _) in held.items()}, set())
        source = self._source[best or 0]
        first, last = bisect_left(self._source, source), bisect_right(self._source, source)
        room = WIDE_WORDS - sum(self._words[first:last])
        return self._pack(held, room, range(first, last)) if room >= 0 else self._pack(held, WIDE_WORDS)

    def _pack(self, held: Held, room: int, given: Iterable[int] = ()) -> list[int]:
        """The places that together hold most of the claim, each with its neighbours, while there is room.

        `given` pieces are in it already.
        """
        wanted = {term: weight for term, (weight, _) in held.items()}
        total = sum(wanted.values())
        chosen = set(given)
        for term, (_, where) in held.items():
            if not chosen.isdisjoint(where):
                wanted[term] *= _COVERED
        while True:
            best, gain = self._best(held, wanted, chosen)
            if best is None or (chosen and (gain < _MIN_JOIN_GAIN * total or self._words[best] > room)):
                return sorted(chosen)
            chosen.add(best)
            room -= self._words[best]
            if room >= NARROW_WORDS:
                room = self._add_neighbours(best, chosen, room)
            for term, (_, where) in held.items():
                if best in where:
                    wanted[term] *= _COVERED

    def _add_neighbours(self, number: int, chosen: set[int], room: int) -> int:
        """Take the pieces next to one, in the same section, while there is room; returns the rest of it."""
        for near in (number - 1, number + 1):
            inside = 0 <= near < len(self.pieces) and self._section[near] == self._section[number]
            if inside and near not in chosen and self._words[near] <= room:
                chosen.add(near)
                room -= self._words[near]
        return room

    def window_around(self, numbers: Sequence[int], budget: int) -> Window:
        """One window of about `budget` words around given pieces, for training."""
        share = max(1, budget // max(1, len(numbers)))
        return self._window(sorted({near for place in numbers for near in self._expand(place, share)}), {})

    def closest_text(self, claim: str, rarity: Rarity, budget: int) -> str:
        """The pieces that share words with a claim, best first up to `budget` words, in document order."""
        scores: dict[int, float] = defaultdict(float)
        for weight, where in self._held(claim, rarity).values():
            for number, strength in where.items():
                scores[number] += weight * strength
        chosen: list[int] = []
        for number in sorted(scores, key=lambda number: (-scores[number], number)):
            budget -= self._words[number]
            if budget < 0 and chosen:
                break
            chosen.append(number)
        return "\n".join(self.pieces[number].text for number in sorted(chosen))

    def closest_pieces(self, claim: str, window: Window, rarity: Rarity) -> list[str]:
        """The pieces of a window, those first that hold most of the claim's words."""
        held = self._held(claim, rarity)

        def score(number: int) -> float:
            return sum(weight * where.get(number, 0.0) for weight, where in held.values())

        return [_MARKUP.sub("", self.pieces[number].text) for number in sorted(window.numbers, key=score, reverse=True)]

    def _held(self, claim: str, rarity: Rarity) -> Held:
        """For each term of the claim its weight, and the pieces that hold it (or a related word)."""
        found: Held = {}
        for term, weight in claim_terms(claim, rarity).items():
            where = dict.fromkeys(self._postings.get(term, ()), 1.0)
            if len(term) > _PREFIX and term.isalpha():
                for other in self._prefixes.get(term[:_PREFIX], ()):
                    for number in self._postings[other]:
                        where.setdefault(number, _PREFIX_WEIGHT)
            found[term] = (weight, where)
        if self._source and self._source[-1] > self._source[0]:
            self._prefer_sources(found)
        return found

    def _prefer_sources(self, held: Held) -> None:
        """Weigh each piece by how much of the claim its source holds: chance words elsewhere count little."""
        covered: dict[int, float] = defaultdict(float)
        for weight, where in held.values():
            for source in {self._source[number] for number in where}:
                covered[source] += weight
        best = max(covered.values(), default=1.0)
        share = {source: (value / best) ** _SOURCE_POWER for source, value in covered.items()}
        for _, where in held.values():
            for number in where:
                where[number] *= share[self._source[number]]

    def _best(self, held: Held, weights: Mapping[str, float], taken: set[int]) -> tuple[int | None, float]:
        """The untaken piece that holds most of what is still wanted; the first one where nothing is held."""
        scores: dict[int, float] = defaultdict(float)
        for term, (_, where) in held.items():
            for number, strength in where.items():
                if number not in taken:
                    scores[number] += weights[term] * strength
        if not scores:
            first = next((number for number in range(len(self.pieces)) if number not in taken), None)
            return (first, 0.0) if not taken else (None, 0.0)
        best = max(scores, key=lambda number: (scores[number], -number))
        return best, scores[best]

    def _expand(self, number: int, budget: int) -> list[int]:
        """Neighbours of a piece within its section, nearest first, as long as the window has room."""
        first = last = number
        room = budget - self._words[number] - len(self._lead[number].split())
        section = self._section[number]
        forward = True
        while True:
            after, before = last + 1, first - 1
            ways = [
                way
                for way in ((after, before) if forward else (before, after))
                if 0 <= way < len(self.pieces) and self._section[way] == section and self._words[way] <= room
            ]
            if not ways:
                return list(range(first, last + 1))
            way = ways[0]
            first, last = min(first, way), max(last, way)
            room -= self._words[way]
            forward = not forward

    def _window(self, numbers: Iterable[int], held: Held) -> Window:
        chosen = tuple(numbers)
        lines: list[str] = []
        lead, last = "", -2
        for number in chosen:
            follows = number == last + 1
            if not follows and lines:
                lines.append("…")
            if self._lead[number] and (not follows or (lead and self._lead[number] != lead)):
                lines.append(_introduce(self._lead[number]))
            lines.append(_MARKUP.sub("", self.pieces[number].text))
            lead, last = self._lead[number], number
        total = sum(weight for weight, _ in held.values())
        inside = set(chosen)
        got = sum(weight for weight, where in held.values() if not inside.isdisjoint(where))
        return Window(" ".join(lines), chosen, got / total if total else 0.0)


def claim_terms(claim: str, rarity: Rarity) -> dict[str, float]:
    """The content words of a claim in comparable form, weighted by how much they tell."""
    found: dict[str, float] = {}
    for position, word in enumerate(words(claim)):
        if is_stop(word.text):
            continue
        weight = rarity(word.text)
        if word.text[0].isdigit():
            weight *= _NUMBER_WEIGHT
        elif position and word.text[0].isupper():
            weight *= _NAME_WEIGHT
        for term in terms(word.text):
            found[term] = max(weight, found.get(term, 0.0))
    return found


def _sources(text: str, found: Sequence[TextPiece]) -> list[int]:
    """For each piece the number of its source in a rendered context."""
    starts = [match.start() for match in HEADER.finditer(text) if _begins_line(text, match.start())]
    return [bisect_right(starts, piece.start) for piece in found]


def _sections(sources: Sequence[int], found: Sequence[TextPiece]) -> tuple[list[int], list[str]]:
    """For each piece the number of its section and what it stands under: a heading, or its record's name.

    A section ends at a heading and where another source begins.
    """
    speakers = _speakers(sources, found)
    section, leads = [], []
    heading, record, current, source = "", "", 0, 0
    for piece, speaker, at in zip(found, speakers, sources, strict=True):
        if at != source:
            source, heading, record, current = at, "", "", current + 1
        if piece.heading:
            heading, record, current = piece.text, "", current + 1
        if piece.kind is UnitKind.LEAF and _names_record(piece):
            record = piece.text
        # Not `piece.under`, which may be a heading of the source before.
        lead = speaker or (heading if piece.under else record if piece.kind is UnitKind.LEAF else heading)
        section.append(current)
        leads.append("" if lead == piece.text else " ".join(lead.split()[:_LABEL_WORDS]))
    return section, leads


def _speakers(sources: Sequence[int], found: Sequence[TextPiece]) -> list[str]:
    """Who says each piece of a conversation, where the piece itself does not say it.

    A source is a conversation if it has several turns and they make up a good part of its sentences: a text
    with some labels ("Weight: 3 kg.") is none.
    """
    turns = [_TURN.match(piece.text) if piece.kind is UnitKind.SENTENCE else None for piece in found]
    sentences = Counter(at for at, piece in zip(sources, found, strict=True) if piece.kind is UnitKind.SENTENCE)
    counted = Counter(at for at, turn in zip(sources, turns, strict=True) if turn)
    talks = {at for at, n in counted.items() if n >= _MIN_TURNS and n >= _TURN_SHARE * sentences[at]}
    speakers, speaker, source = [], "", -1
    for piece, turn, at in zip(found, turns, sources, strict=True):
        if at != source:
            speaker, source = "", at
        if turn:
            speaker = turn["speaker"].strip() if at in talks else ""
        elif piece.heading or piece.kind is not UnitKind.SENTENCE:
            speaker = ""
        speakers.append("" if turn else speaker)
    return speakers


def _introduce(lead: str) -> str:
    plain = _MARKUP.sub("", lead)
    return plain if plain.endswith((".", ":", "?", "!")) else f"{plain}:"


def _begins_line(text: str, at: int) -> bool:
    return at == 0 or text[at - 1] == "\n"


def _names_record(piece: TextPiece) -> bool:
    last = piece.label.rpartition(" ")[2].lower()
    return last in _RECORD_NAMES and len(piece.text.split()) <= _LABEL_WORDS
