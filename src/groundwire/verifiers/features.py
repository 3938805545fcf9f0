"""What can be counted about a claim and its context: the symbolic half of the embedded verifier.

Training and run time both call `Reader.features`; the order of `NAMES` is the order of the columns.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import cached_property
from heapq import nlargest
from itertools import islice, pairwise

from groundwire.text.lexicon import word_set
from groundwire.text.numbers import Number, compare
from groundwire.text.tokens import Word
from groundwire.verifiers.memo import bag, numbers, words
from groundwire.verifiers.passages import Passage, passages
from groundwire.verifiers.records import BusinessRecord, Findings, check, read_record
from groundwire.verifiers.select import Selector, joined

NEAR_WORDS = 64
_MOST_NUMBERS = 200  # each is compared with all of the context
_COMPARED = 600  # words in order; nobody writes such a sentence, and comparing grows with the square
"""How many words of evidence a claim is read against closely."""

NAMES = (
    "words", "new", "new_share", "new_rare", "new_rare_max", "new_near", "new_near_rare", "pairs_new",
    "pairs_near", "best_cover", "second_cover", "cover_gap", "names", "names_new", "names_new_near",
    "numbers", "numbers_new", "numbers_near_new", "numbers_near_conflict", "negated",
    "negation_differs", "opposites", "comparatives_new", "hedges", "praise_new", "scope_new",
    "longest_copy", "order", "structured", "flags_ok", "flags_wrong", "flags_open", "hours_ok",
    "hours_wrong", "stars_ok", "stars_wrong", "spell_new", "near_share",
)  # fmt: skip

_NEGATION = re.compile(r"\b(?:no|not|never|none|neither|nor|without|cannot|nothing|nobody)\b|n't\b", re.IGNORECASE)
_COMPARATIVE = word_set(
    """
    more less fewer higher lower larger smaller greater better worse longer shorter older younger
    earlier later most least highest lowest largest smallest best worst first last only always never
    all every none both
    """
)
_HEDGES = re.compile(
    r"\b(?:may|might|could|likely|possibly|appears?|seems?|suggest\w*|overall|in summary|in conclusion)\b",
    re.IGNORECASE,
)
_PRAISE = word_set(
    """
    popular cozy renowned famous beloved excellent exceptional perfect ideal great charming friendly
    welcoming delicious unique vibrant memorable convenient high-quality known wide variety
    extensive prominent
    """
)
_SCOPE = word_set(
    """
    because due therefore thus so which while making resulting leading cause reason order
    """
)
_PAIRS = """
more:less higher:lower increase:decrease rise:fall above:below before:after early:late
first:last large:small big:small high:low best:worst most:least always:never all:none win:lose
success:failure open:close start:end begin:finish north:south east:west male:female man:woman
young:old new:old good:bad positive:negative strong:weak fast:slow long:short hot:cold rich:poor
public:private legal:illegal guilty:innocent alive:dead accept:reject allow:ban support:oppose
agree:refuse approve:reject safe:dangerous friendly:rude clean:dirty love:hate common:rare
include:exclude with:without inside:outside indoor:outdoor buy:sell gain:loss profit:loss
true:false likely:unlikely able:unable day:night praise:criticize free:paid
"""
_OPPOSITES = {a: b for a, _, b in (pair.partition(":") for pair in _PAIRS.split())}
_OPPOSITE = {**_OPPOSITES, **{b: a for a, b in _OPPOSITES.items()}}
# "approx." and "5 p.m." go on behind their stop; a longer word with a stop behind it is the end of it
_FULL_STOP = re.compile(r"(?<![^\W\d_])(?!approx\b)[a-z]{3,}[.!?]$", re.IGNORECASE)
_LAST_WORD = 24
_UNKNOWN_RANK = 1.0
_DEGREES = ("deg", "K")  # the only units that are compared with one another


class Rarity:
    """How rare a word is, 0 to 1, read off a word-piece vocabulary that is sorted by frequency."""

    def __init__(self, vocabulary: Mapping[str, int]) -> None:
        self._rank = vocabulary
        self._top = math.log(max(3, len(vocabulary)))

    def __call__(self, word: str) -> float:
        rank = self._rank.get(word.lower())
        return _UNKNOWN_RANK if rank is None else math.log(max(2, rank - 990)) / self._top


class NumberIndex:
    """The numbers of a text by what they measure: a claim's number is compared with few of them."""

    def __init__(self, found: Sequence[Number]) -> None:
        self._exact = {(n.value, n.unit, n.kind == "ordinal") for n in found}
        self._by_unit: dict[str, list[Number]] = {}
        for number in found:
            self._by_unit.setdefault(number.unit, []).append(number)

    def know(self, number: Number) -> bool:
        """Does the text bear the number out, or leave it open?"""
        if (number.value, number.unit, number.kind == "ordinal") in self._exact:
            return True
        units = _DEGREES if number.unit in _DEGREES else (number.unit,)
        return any(
            compare(number, other) in ("same", "compatible") for unit in units for other in self._by_unit.get(unit, ())
        )


class Reader:
    """One context, prepared once and then asked about many claims.

    What is left of a context without a claim's evidence is asked about that claim alone, and mostly by
    `near_cover` alone: so everything else waits until it is wanted.
    """

    def __init__(self, context: str, rarity: Rarity) -> None:
        self.passages = passages(context)
        self.selector = Selector(self.passages)
        self.rarity = rarity
        # no word goes beyond its passage: the words of the context are those of its passages
        self.bags = [bag(passage.text) for passage in self.passages]

    @cached_property
    def text(self) -> str:
        return joined(self.passages)

    @cached_property
    def size(self) -> int:
        return max(1, len(self.text.split()))

    @cached_property
    def norms(self) -> frozenset[str]:
        return frozenset().union(*(held.norms for held in self.bags))

    @cached_property
    def lower(self) -> frozenset[str]:
        return frozenset().union(*(held.lower for held in self.bags))

    @cached_property
    def pairs(self) -> frozenset[tuple[str, str]]:
        between = pairwise(held.content for held in self.bags if held.content)
        return frozenset((a[-1], b[0]) for a, b in between).union(*(held.pairs for held in self.bags))

    @cached_property
    def figures(self) -> NumberIndex:
        return NumberIndex([number for part in _parts(self.passages) for number in numbers(part)])

    @cached_property
    def record(self) -> BusinessRecord:
        return read_record(self.passages)

    @cached_property
    def structured(self) -> float:
        return sum(bool(passage.values) for passage in self.passages) / max(1, len(self.passages))

    def near_cover(self, claim: str, near: str) -> float:
        """The share of the claim's words, by rarity, that `near` holds, as the features have it."""
        best, _, held = _Row(claim, near, self).covers()
        return best + (held - best)

    def features(self, claim: str, near: str | None = None) -> list[float]:
        """One row, in the order of `NAMES`; `near` is the evidence for the claim, if it is chosen already."""
        if near is None:
            near = self.selector.evidence(claim, NEAR_WORDS)
        row = _Row(claim, near, self)
        values = row.values()
        values["near_share"] = min(1.0, len(near.split()) / self.size)
        return [values[name] for name in NAMES]


class _Row:
    def __init__(self, claim: str, near: str, reader: Reader) -> None:
        self.claim, self.near, self.reader = claim, near, reader
        self.all = words(claim)
        self.content = [word for word in self.all if not word.is_stop]
        self.near_words = words(near)
        self.near_norms = {word.norm for word in self.near_words}

    def values(self) -> dict[str, float]:
        return self._lexical() | self._cover() | self._names() | self._numbers() | self._logic() | self._record()

    def _lexical(self) -> dict[str, float]:
        reader, content = self.reader, self.content
        total = max(1, len(content))
        new = [word for word in content if word.norm not in reader.norms]
        new_near = [word for word in content if word.norm not in self.near_norms]
        rare = [reader.rarity(word.text) for word in new]
        weight = sum(reader.rarity(word.text) for word in content) or 1.0
        claim_pairs = _pairs(self.all)
        near_pairs = _pairs(self.near_words)
        return {
            "words": float(len(self.all)),
            "new": float(len(new)),
            "new_share": len(new) / total,
            "new_rare": sum(rare) / weight,
            "new_rare_max": max(rare, default=0.0),
            "new_near": len(new_near) / total,
            "new_near_rare": sum(reader.rarity(word.text) for word in new_near) / weight,
            "pairs_new": len(claim_pairs - reader.pairs) / max(1, len(claim_pairs)),
            "pairs_near": len(claim_pairs - near_pairs) / max(1, len(claim_pairs)),
            "spell_new": float(sum(word.text.lower() not in reader.lower for word in new)) / total,
        }

    def covers(self) -> tuple[float, float, float]:
        """The shares of the claim's words that the best passage holds, the second best, and the evidence."""
        wanted = {word.norm: self.reader.rarity(word.text) for word in self.content}
        total = sum(wanted.values()) or 1.0
        speaking = (held.norms for held in self.reader.bags if not held.norms.isdisjoint(wanted))
        best, second, *_ = *nlargest(2, (_held(wanted, norms) / total for norms in speaking)), 0.0, 0.0
        return best, second, _held(wanted, self.near_norms) / total

    def _cover(self) -> dict[str, float]:
        best, second, near = self.covers()
        mine, theirs = ([w.norm for w in found[:_COMPARED]] for found in (self.all, self.near_words))
        run, order = _copied(mine, theirs)
        return {
            "best_cover": best, "second_cover": second, "cover_gap": near - best,
            "longest_copy": run / max(1, len(self.all)), "order": order,
        }  # fmt: skip

    def _names(self) -> dict[str, float]:
        capital = [word for i, word in enumerate(self.content) if _is_name(word, i)]
        return {
            "names": float(len(capital)),
            "names_new": float(sum(word.norm not in self.reader.norms for word in capital)),
            "names_new_near": float(sum(word.norm not in self.near_norms for word in capital)),
        }

    def _numbers(self) -> dict[str, float]:
        found = (number for number in numbers(self.claim) if number.kind != "ordinal" or number.value > 3)
        claimed = list(islice(found, _MOST_NUMBERS))
        near = numbers(self.near)
        missing = [number for number in claimed if not self.reader.figures.know(number)]
        here = NumberIndex(near)
        missing_near = [number for number in claimed if not here.know(number)]
        conflict = [number for number in missing_near if any(compare(number, other) == "conflict" for other in near)]
        return {
            "numbers": float(len(claimed)), "numbers_new": float(len(missing)),
            "numbers_near_new": float(len(missing_near)), "numbers_near_conflict": float(len(conflict)),
        }  # fmt: skip

    def _logic(self) -> dict[str, float]:
        negated = len(_NEGATION.findall(self.claim))
        against = len(_NEGATION.findall(self.near))
        opposites = sum(
            _OPPOSITE.get(word.text.lower(), _OPPOSITE.get(word.norm, "\0")) in self.near_norms
            for word in self.all if word.norm not in self.near_norms
        )  # fmt: skip
        fresh = [word.text.lower() for word in self.all if word.norm not in self.near_norms]
        return {
            "negated": float(negated), "negation_differs": float((negated > 0) != (against > 0)),
            "opposites": float(opposites),
            "comparatives_new": float(sum(word in _COMPARATIVE for word in fresh)),
            "hedges": float(len(_HEDGES.findall(self.claim))),
            "praise_new": float(sum(word in _PRAISE for word in fresh)),
            "scope_new": float(sum(word in _SCOPE for word in fresh)),
        }  # fmt: skip

    def _record(self) -> dict[str, float]:
        found: Findings = check(self.claim, self.reader.record)
        return {
            "structured": self.reader.structured, "flags_ok": float(found.borne_out),
            "flags_wrong": float(found.contradicted), "flags_open": float(found.open),
            "hours_ok": float(found.hours_ok), "hours_wrong": float(found.hours_wrong),
            "stars_ok": float(found.stars_ok), "stars_wrong": float(found.stars_wrong),
        }  # fmt: skip


def _parts(pieces: Sequence[Passage]) -> Iterator[str]:
    """The text of a context cut where no number, unit or "about" reaches across: most parts are known."""
    part: list[Passage] = []
    for piece in pieces:
        part.append(piece)
        if _FULL_STOP.search(piece.text[-_LAST_WORD:]):
            yield joined(part)
            part = []
    if part:
        yield joined(part)


def _held(wanted: Mapping[str, float], norms: Set[str]) -> float:
    return sum(weight for norm, weight in wanted.items() if norm in norms)


def _pairs(found: Sequence[Word]) -> set[tuple[str, str]]:
    """Neighbouring content words."""
    kept = [word.norm for word in found if not word.is_stop]
    return set(pairwise(kept))


def _is_name(word: Word, number: int) -> bool:
    """The first word of a sentence has a capital anyway: it is a name only if it has more than one."""
    if not word.text[:1].isupper() or (number == 0 and len(word.text) == 1):
        return False
    return word.start > 0 or not word.text[1:].islower()


def _copied(claim: Sequence[str], near: Sequence[str]) -> tuple[int, float]:
    """Longest run of words copied from the evidence, and the share of shared neighbours kept in order."""
    places: dict[str, list[int]] = {}
    for i, norm in enumerate(near):
        places.setdefault(norm, []).append(i)
    best = 0
    runs: dict[int, int] = {}
    kept = shared = 0
    last = -1
    for norm in claim:
        fresh = {}
        for place in places.get(norm, ()):
            fresh[place] = runs.get(place - 1, 0) + 1
            best = max(best, fresh[place])
        runs = fresh
        if norm in places:
            shared += 1
            after = next((place for place in places[norm] if place > last), None)
            if after is not None:
                kept, last = kept + 1, after
    return best, kept / shared if shared else 0.0
