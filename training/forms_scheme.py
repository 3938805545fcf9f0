"""Facts made from schemes: what the source says, how a claim reports it, what in it can be made wrong.

A scheme is a few lines of text: `a: …` is what a speaker says (lists have none), `= …` are the claims, `! …`
the slots that may change; ` | ` parts wordings. `time` changed contradicts, `place/n` leaves the claim
neutral, `b/x` not entailed, `item<>item2` swaps two, `date2<date` takes the other's value.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from training.forms_words import Value, another, draw, same_currency, say
from training.pairs import CONTRADICTED, NEUTRAL, NOT_ENTAILED

SLOT = re.compile(r"\{(\w+)(?:\.(\w+))?\}")
_START = re.compile(r"(^|[.?!] )([a-z])")
PEOPLE = frozenset("abc")
_TARGETS = {"": CONTRADICTED, "n": NEUTRAL, "x": NOT_ENTAILED}
_MENDED = ("time", "day", "date", "money", "count", "days")
MENDS = (
    " No wait, {new}.",
    " Sorry, I mean {new}.",
    " Actually, make that {new}.",
    " Correction: {new}, not {old}.",
    " Hold on, I misread that: {new}.",
    " Scratch that, {new}.",
    " I was wrong about {old}, it is {new}.",
)


@dataclass(frozen=True, slots=True)
class Scheme:
    """`turns`: per line the speaker ('' in lists) and its wordings; `vary`: slot, what it takes, target."""

    turns: tuple[tuple[str, tuple[str, ...]], ...]
    claims: tuple[str, ...]
    vary: tuple[tuple[str, str, int], ...]

    def optional(self) -> set[str]:
        """Slots that some wording of the source leaves out: a claim that fills them may have made them up."""
        sure = {slot for _, options in self.turns for slot in set.intersection(*map(slots_of, options))}
        return set().union(*map(slots_of, self.claims)) - sure - PEOPLE


@dataclass(frozen=True, slots=True)
class Fact:
    """One instance: its values and the lines that tell it."""

    scheme: Scheme
    values: Mapping[str, Value]
    lines: tuple[tuple[str, str], ...]
    known: frozenset[str]
    old: Mapping[str, Value] = field(default_factory=dict)

    def told(self) -> tuple[str, str]:
        return "", self.lines[-1][1]


@dataclass(frozen=True, slots=True)
class Document:
    """Facts in order; `render` writes the lines of some of them as one text."""

    facts: Sequence[Fact]
    people: Sequence[str]
    render: Callable[[Sequence[Fact]], str]
    leads: Sequence[str]
    dodges: Sequence[str] = ()

    def text(self) -> str:
        return self.render(self.facts)

    def leads_of(self, number: int) -> Sequence[str]:
        """What a statement begins with; where no speaker is named, once in a sentence is enough."""
        return self.leads if not number or self.dodges else ("",)

    def without(self, gone: Fact, rng: random.Random) -> str:
        asks = len(gone.lines) > 1 and gone.lines[0][1].endswith("?")
        if self.dodges and asks and rng.random() < 0.6:
            speaker = gone.lines[-1][0]
            lines = (*gone.lines[:-1], (speaker, rng.choice(self.dodges)))
            left = [replace(gone, lines=lines) if fact is gone else fact for fact in self.facts]
        else:
            left = [fact for fact in self.facts if fact is not gone]
        return self.render(left)


def slots_of(template: str) -> set[str]:
    return {hit[1] for hit in SLOT.finditer(template)}


def schemes(text: str) -> list[Scheme]:
    """All schemes of a table; an empty line stands between two."""
    return [_scheme(block.strip().splitlines()) for block in re.split(r"\n\s*\n", text.strip())]


def _scheme(lines: Sequence[str]) -> Scheme:
    turns: list[tuple[str, tuple[str, ...]]] = []
    claims: list[str] = []
    vary: list[tuple[str, str, int]] = []
    for line in (raw.strip() for raw in lines):
        if line.startswith("= "):
            claims.extend(line[2:].split(" | "))
        elif line.startswith("! "):
            vary.extend(_change(item) for item in line[2:].split())
        else:
            speaker, mark, said = line.partition(": ") if re.match(r"[abc]: ", line) else ("", "", line)
            turns.append((speaker if mark else "", tuple(said.split(" | "))))
    return Scheme(tuple(turns), tuple(claims), tuple(vary))


def _change(item: str) -> tuple[str, str, int]:
    what, _, mark = item.partition("/")
    if "<" in what:
        slot, _, other = what.partition("<")
        return slot, "<" + other, _TARGETS[mark]
    return what, "", _TARGETS[mark]


def kind_of(slot: str) -> str:
    return "person" if slot in ("a", "b", "c") else slot.rstrip("0123456789")


def written(
    template: str, values: Mapping[str, Value], rng: random.Random, claim: bool
) -> tuple[str, dict[str, list[tuple[int, int]]]]:
    """The template with its slots filled, and where each of them stands."""
    where: dict[str, list[tuple[int, int]]] = {}
    text, at = "", 0
    for hit in SLOT.finditer(template):
        text += template[at : hit.start()]
        said = say(kind_of(hit[1]), values[hit[1]], rng, hit[2] or ("claim" if claim else "source"))
        where.setdefault(hit[1], []).append((len(text), len(text) + len(said)))
        text, at = text + said, hit.end()
    return text + template[at:], where


def fact_of(scheme: Scheme, people: Sequence[str], used: set[Value], rng: random.Random) -> Fact:
    """Values that no other fact of the document has where there are enough of them."""
    chosen = rng.sample(list(people), min(3, len(people)))
    values: dict[str, Value] = dict(zip("abc", chosen, strict=False))
    wordings = [rng.choice(options) for _, options in scheme.turns]
    for slot in dict.fromkeys(hit[1] for text in (*wordings, *scheme.claims) for hit in SLOT.finditer(text)):
        if slot in values:
            continue
        value = _fresh(kind_of(slot), used, rng)
        used.add(value)
        values[slot] = value
    _in_order(values)
    lines = []
    old: dict[str, Value] = {}
    for number, ((speaker, _), wording) in enumerate(zip(scheme.turns, wordings, strict=True)):
        said = written(wording, values, rng, False)[0]
        if speaker and number == len(wordings) - 1 and rng.random() < 0.2:
            said, old = _mended(wording, values, rng) or (said, old)
        lines.append((str(values[speaker]) if speaker else "", _sentences(said)))
    known = frozenset(slot for wording in wordings for slot in slots_of(wording))
    return Fact(scheme, values, tuple(lines), known, old)


def _in_order(values: dict[str, Value]) -> None:
    """What opens closes later; members, offers and former prices are lower."""
    if "time2" in values:
        first, last = sorted((int(str(values["time"])), int(str(values["time2"]))))
        values["time"], values["time2"] = first, last if last > first else first + 60
    if "money2" in values:
        low, high = sorted((values["money"], values["money2"]))
        values["money2"], values["money"] = low, high


def _fresh(kind: str, used: set[Value], rng: random.Random) -> Value:
    value = draw(kind, rng)
    for _ in range(6):
        if value not in used:
            break
        value = draw(kind, rng)
    # a source keeps to one currency
    old = next((one for one in used if isinstance(one, tuple) and one[1] in ("$", "£", "€")), None)
    return same_currency(value, old) if old and kind in ("money", "small") else value


def _mended(
    wording: str, values: Mapping[str, Value], rng: random.Random
) -> tuple[str, dict[str, Value]] | None:
    """Somebody corrects what they have just said: the last word counts."""
    slots = [hit[1] for hit in SLOT.finditer(wording) if kind_of(hit[1]) in _MENDED]
    if len(slots) != 1:
        return None
    kind = kind_of(slots[0])
    old = {slots[0]: another(kind, values[slots[0]], (), rng)}
    first = written(wording, {**values, **old}, rng, False)[0]
    shown = (say(kind, value, rng, "source") for value in (values[slots[0]], old[slots[0]]))
    return first + rng.choice(MENDS).format(**dict(zip(("new", "old"), shown, strict=True))), old


def _sentences(text: str) -> str:
    return _START.sub(lambda hit: hit[1] + hit[2].upper(), text)
