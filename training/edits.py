"""Small edits of a sentence: some break it (the changed range is the span), some keep its meaning."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from training.pairs import CONTRADICTED, NEUTRAL, NOT_ENTAILED
from training.tables import DAYS, FILLERS, MONTHS, OPPOSITE, ORDINALS, SMALL, SYNONYM, UNITS

_NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?![\w]|\.\d)")
_NAME = re.compile(r"(?<=[a-z,;:] )(?:[A-Z][\w'’.-]*[a-z](?: (?:of |de |van )?[A-Z][\w'’-]*[a-z])*)")
_AUXILIARY = re.compile(
    r"\b(is|are|was|were|has|have|had|will|can|could|would|should|may|must|does|did)\b(?! not|n't)"
)
_NOT = re.compile(
    r"\b(is|are|was|were|has|have|had|will|can|could|would|should|may|must|does|do|did)( not|n't)\b"
)
_WORD = re.compile(r"[A-Za-z]+")


@dataclass(frozen=True, slots=True)
class Edit:
    text: str
    start: int
    end: int
    target: int


Breaker = Callable[[str, random.Random, Sequence[str]], Edit | None]


def _put(text: str, start: int, end: int, new: str, target: int) -> Edit:
    if start == 0 or text[start:end][:1].isupper():
        new = new[:1].upper() + new[1:] if text[start:end][:1].isupper() else new
    return Edit(text[:start] + new + text[end:], start, start + len(new), target)


def names_of(text: str) -> list[str]:
    return _NAME.findall(text)


def _new_number(raw: str, rng: random.Random) -> str:
    plain = raw.replace(",", "")
    if "." in plain:
        places = len(plain.split(".")[1])
        value = float(plain)
        return f"{max(0.1, value + rng.choice([-2, -1, -0.5, 0.5, 1, 1.5, 3, value])):.{places}f}"
    number = int(plain)
    if 1500 <= number <= 2100 and "," not in raw:
        return str(number + rng.choice([-20, -10, -5, -3, -2, -1, 1, 2, 3, 4, 7, 10, 15]))
    if number <= 12:
        return str(rng.choice([n for n in range(1, 16) if n != number]))
    new = rng.choice(
        [
            number * 10,
            number + 1,
            number - 1,
            number * 2,
            max(1, number // 2),
            number + number // 3 + 1,
            int(str(number)[::-1]) or number + 5,
        ]
    )
    new = new if new != number else number + 3
    return f"{new:,}" if "," in raw else str(new)


def number(text: str, rng: random.Random, _: Sequence[str]) -> Edit | None:
    found = list(_NUMBER.finditer(text))
    if not found:
        return None
    hit = rng.choice(found)
    return _put(text, hit.start(), hit.end(), _new_number(hit.group(), rng), CONTRADICTED)


def listed(text: str, rng: random.Random, _: Sequence[str]) -> Edit | None:
    """Months, days, number words, ordinals and units move to another of their kind."""
    hits = []
    for kind in (MONTHS, DAYS, SMALL[1:], ORDINALS, UNITS):
        lower = {word.lower(): word for word in kind}
        for match in _WORD.finditer(text):
            if (
                match.group().lower() in lower
                and match.group() != "May"
                and match.group() not in ("second", "may")
            ):
                hits.append((match, [word for word in kind if word.lower() != match.group().lower()]))
    if not hits:
        return None
    match, others = rng.choice(hits)
    return _put(text, match.start(), match.end(), rng.choice(others), CONTRADICTED)


def opposite(text: str, rng: random.Random, _: Sequence[str]) -> Edit | None:
    hits = [match for match in _WORD.finditer(text) if match.group().lower() in OPPOSITE]
    if not hits:
        return None
    hit = rng.choice(hits)
    return _put(text, hit.start(), hit.end(), OPPOSITE[hit.group().lower()], CONTRADICTED)


def negation(text: str, rng: random.Random, _: Sequence[str]) -> Edit | None:
    negated = list(_NOT.finditer(text))
    if negated:
        hit = rng.choice(negated)
        return _put(text, hit.start(), hit.end(), hit.group(1), CONTRADICTED)
    plain = list(_AUXILIARY.finditer(text))
    if not plain:
        return None
    hit = rng.choice(plain)
    word = rng.choice([" not", " not", " never", " no longer"])
    return _put(text, hit.start(), hit.end(), hit.group() + word, CONTRADICTED)


def name(text: str, rng: random.Random, others: Sequence[str]) -> Edit | None:
    found = list(_NAME.finditer(text))
    pool = [other for other in others if other not in text]
    if not found or not pool:
        return None
    hit = rng.choice(found)
    return _put(text, hit.start(), hit.end(), rng.choice(pool), NOT_ENTAILED)


def swap(text: str, rng: random.Random, _: Sequence[str]) -> Edit | None:
    """Two names (or two numbers) change places; the span is the whole stretch between them."""
    for pattern in rng.sample([_NAME, _NUMBER], 2):
        found = list(pattern.finditer(text))
        for a, b in pairwise(found):
            between = text[a.end() : b.start()]
            if (
                a.group() == b.group()
                or between.strip() in ("", "and", "or", ",", ", and")
                or len(between) < 6
            ):
                continue
            new = b.group() + between + a.group()
            return Edit(
                text[: a.start()] + new + text[b.end() :], a.start(), a.start() + len(new), NOT_ENTAILED
            )
    return None


def addition(text: str, rng: random.Random, _: Sequence[str]) -> Edit | None:
    """Something nobody said is added at the end or after a comma."""
    filler = " ".join(rng.choice(FILLERS).split())
    commas = [m.start() for m in re.finditer(",", text) if m.start() > 15]
    at = rng.choice(commas) if commas and rng.random() < 0.3 else len(text.rstrip(" .!?\"'”"))
    joint = rng.choice([" ", ", "])
    return Edit(
        text[:at] + joint + filler + text[at:], at + len(joint), at + len(joint) + len(filler), NEUTRAL
    )


BREAKERS: dict[str, tuple[Breaker, float]] = {
    "number": (number, 4),
    "listed": (listed, 2),
    "opposite": (opposite, 3),
    "negation": (negation, 2),
    "name": (name, 4),
    "swap": (swap, 2),
    "addition": (addition, 2),
}


def synonym(text: str, rng: random.Random) -> str:
    hits = [match for match in _WORD.finditer(text) if match.group().lower() in SYNONYM]
    if not hits:
        return text
    hit = rng.choice(hits)
    return _put(text, hit.start(), hit.end(), SYNONYM[hit.group().lower()], 0).text


def respelled(text: str, _: random.Random) -> str:
    """12,000 ↔ 12000, 5 → five, % → percent: the same fact in another dress."""
    text = text.replace("%", " percent") if "%" in text else text
    found = _NUMBER.search(text)
    if not found:
        return text
    raw = found.group()
    plain = raw.replace(",", "")
    if "," in raw:
        new = plain
    elif plain.isdigit() and int(plain) <= 12:
        new = SMALL[int(plain)]
    elif plain.isdigit() and int(plain) >= 10000:
        new = f"{int(plain):,}"
    else:
        return text
    return text[: found.start()] + new + text[found.end() :]


def condensed(text: str, rng: random.Random) -> str:
    """Drop what a summary drops: a bracket, a leading or trailing clause, an attribution."""
    options = [re.sub(r"\s*\([^)]*\)", "", text)]
    head, _, rest = text.partition(", ")
    if (
        len(rest.split()) >= 6
        and len(head.split()) <= 8
        and re.match(r"(?:In|On|At|After|When|While|As|By|For)\b", head)
    ):
        options.append(rest[:1].upper() + rest[1:])
    start, _, tail = text.rpartition(", ")
    if len(start.split()) >= 6 and re.match(
        r"(?:which|who|where|when|while|including|according|but|although)\b", tail
    ):
        options.append(start + ".")
    options.append(re.sub(r"(?:^\w+ )?(?:However|Meanwhile|Also|Additionally|Moreover), ", "", text))
    changed = [option for option in options if option != text and len(option.split()) >= 4]
    return rng.choice(changed) if changed else text


KEEPERS = (synonym, respelled, condensed)
