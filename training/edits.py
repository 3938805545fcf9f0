"""Small edits of supported sentences, in the claim and in its window, so that only reading both tells right from wrong.

python -m training.edits   # writes the pool grounded.edited, prints its labels and word overlap

One number, date, name, unit or word of a sentence is put for another, or two names change places. Where the window
holds what was replaced exactly once, it is edited in the same way, and four pairs come out: each claim is right over
one window and wrong over the other, so neither the claim alone nor its words tell the label.
"""

from __future__ import annotations

import calendar
import random
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from training.data import rows
from training.grounded import TOKEN_LIMIT, held_out, marked_claims, plainer, rarity
from training.pairs import CONTRADICTION, ENTAILMENT, NEUTRAL, NOT_ENTAILED, Pair, save
from training.pools_short import describe

from groundwire.text.document import Document

MIN_COVERAGE = 0.6
"""Share of the sentence's words that its windows must hold: below it, what supports it may stand elsewhere."""

WIDE_SHARE = 0.3
"""Share of the wide window."""

_NUMBER = re.compile(r"(?<![\w.,:/$-])\d{1,3}(?:,\d{3})+|(?<![\w.,:/-])\d+(?:\.\d+)?(?![\w:/-]|[.,]\d)")
_NAME = re.compile(r"(?<=[a-z,;:(] )[A-Z][a-z]+(?: (?:of |the )?[A-Z][a-z]+)*(?!\w)")
_MONTHS, _DAYS = list(calendar.month_name)[1:], list(calendar.day_name)
_WORDS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


@dataclass(frozen=True, slots=True)
class Edit:
    """`old` at `start` of the claim becomes `new`; the claim then has this label over what supported it."""

    start: int
    old: str
    new: str
    label: int


def edits(claim: str, source: str, draw: random.Random) -> list[Edit]:
    """Edits of different kinds that the sentence allows, at most one of each kind."""
    found = []
    for kind in (_numbers, _names, _calendar, _opposites, _stronger):
        options = list(kind(claim, source, draw))
        if options:
            found.append(draw.choice(options))
    return found


def _numbers(claim: str, source: str, draw: random.Random) -> Iterator[Edit]:
    others = sorted({match[0] for match in _NUMBER.finditer(source)})
    for match in _NUMBER.finditer(claim):
        old = match[0]
        alike = [n for n in others if n != old and len(n) == len(old) and n not in claim]
        if alike and draw.random() < 0.5:
            yield Edit(match.start(), old, draw.choice(alike), CONTRADICTION)
        elif old.isdigit():
            step = draw.choice((1, 1, 2, 3, 5, 10, 20, 100)) if len(old) > 1 else draw.choice((1, 2, 3))
            yield Edit(match.start(), old, str(abs(int(old) + draw.choice((-1, 1)) * step)), CONTRADICTION)
        else:
            digits = [i for i, char in enumerate(old) if char.isdigit()]
            at = draw.choice(digits)
            digit = draw.choice([d for d in "123456789" if d != old[at]])
            yield Edit(match.start(), old, old[:at] + digit + old[at + 1 :], CONTRADICTION)


def _names(claim: str, source: str, draw: random.Random) -> Iterator[Edit]:
    dates = (*_MONTHS, *_DAYS)
    others = sorted({m[0] for m in _NAME.finditer(source) if not set(m[0].split()) & set(dates)})
    for match in _NAME.finditer(claim):
        old = match[0]
        words = len(old.split())
        alike = [n for n in others if n not in claim and old not in n and n not in old and len(n.split()) == words]
        if alike and old.split()[0] not in dates:
            yield Edit(match.start(), old, draw.choice(alike), NOT_ENTAILED)


def _calendar(claim: str, _source: str, draw: random.Random) -> Iterator[Edit]:
    for names in (_MONTHS, _DAYS):
        for match in re.finditer(rf"\b(?:{'|'.join(names)})\b", claim):
            if match[0] != "May" or claim[match.end() : match.end() + 2].strip().isdigit():
                yield Edit(match.start(), match[0], draw.choice([n for n in names if n != match[0]]), CONTRADICTION)


def _opposites(claim: str, _source: str, _draw: random.Random) -> Iterator[Edit]:
    for pair in _WORDS["opposites"]:
        yield from _swaps(claim, *pair.split("/"), CONTRADICTION)
        yield from _swaps(claim, *reversed(pair.split("/")), CONTRADICTION)


def _stronger(claim: str, _source: str, _draw: random.Random) -> Iterator[Edit]:
    for pair in _WORDS["stronger"]:
        yield from _swaps(claim, *pair.split("/"), NEUTRAL)


def _swaps(claim: str, old: str, new: str, label: int) -> Iterator[Edit]:
    if old in ("for", "less", "day", "right", "left", "last", "old", "free", "half", "over", "under", "does"):
        return  # too many other meanings
    denied = new.startswith(f"{old} not") or new == "cannot"
    for match in re.finditer(rf"\b{old}\b(?! not\b|n['’]t\b|not\b)", claim):
        if denied and re.search(r"\b(?:not|no|never|nothing|none)\b", claim):
            continue
        yield Edit(match.start(), match[0], new, label)


def edited_pairs(claim: str, window: str, edit: Edit, group: str, number: int) -> Iterator[Pair]:
    """The claim and its edited form over the window and, where the window can be edited too, over that."""
    end = edit.start + len(edit.old)
    wrong = claim[: edit.start] + edit.new + claim[end:]
    spans = ((edit.start, edit.start + len(edit.new)),)
    held = [match.start() for match in re.finditer(rf"(?<!\w){re.escape(edit.old)}(?!\w)", window)]
    if edit.label == NEUTRAL or len(held) != 1 or re.search(rf"(?<!\w){re.escape(edit.new)}(?!\w)", window):
        yield Pair(window, claim, ENTAILMENT, (), group=group, twins=number)
        yield Pair(window, wrong, edit.label, spans, group=group, twins=number)
        return
    other = window[: held[0]] + edit.new + window[held[0] + len(edit.old) :]
    yield Pair(window, claim, ENTAILMENT, (), group=group, twins=number)
    yield Pair(other, claim, edit.label, ((edit.start, end),), group=group, twins=number)
    yield Pair(window, wrong, edit.label, spans, group=group, twins=number + 1)
    yield Pair(other, wrong, ENTAILMENT, (), group=group, twins=number + 1)


def supported_sentences(draw: random.Random) -> Iterator[tuple[str, str, str]]:
    """(source, sentence, group): of faithful answers to real questions, and of articles themselves."""
    answers = [r for r in rows("train.faithjudge_silver") if r["label"]]
    answers += [r for name in ("train.ragtruth_qa", "dev.ragtruth") for r in rows(name) if r["label"]]
    draw.shuffle(answers)
    for row in answers:
        if not held_out(row):
            claims = [text for text, _, _ in marked_claims(row["claim"], ())]
            for text in draw.sample(claims, min(2, len(claims))):
                yield row["context"], text, str(row["meta"]["group"])
    articles = list(rows("docs.wikipedia_2024"))
    for row in draw.sample(articles, 6000):
        text = row["text"][:5000]
        usable = [p.text for p in Document(text, rendered=False).pieces if 6 <= len(p.text.split()) <= 32]
        if usable:
            yield text, plainer(draw.choice(usable), draw), str(row["id"])


def edited(draw: random.Random) -> Iterator[Pair]:
    number, last, document = 0, "", Document("")
    for source, claim, group in supported_sentences(draw):
        if not 4 <= len(claim.split()) <= 45:
            continue
        found = edits(claim, source[:20000], draw)
        if not found:
            continue
        if source != last:
            last, document = source, Document(source, rendered=False)
        windows = document.windows(claim, rarity)
        if not windows or max(window.coverage for window in windows) < MIN_COVERAGE:
            continue
        for edit in draw.sample(found, min(2, len(found))):
            window = windows[-1 if draw.random() < WIDE_SHARE else 0]
            yield from edited_pairs(claim, window.text, edit, group, number)
            number += 2


def main() -> None:
    pairs = list(edited(random.Random(23)))
    save("grounded.edited", pairs, TOKEN_LIMIT)
    print(describe("grounded.edited", pairs))


if __name__ == "__main__":
    main()
