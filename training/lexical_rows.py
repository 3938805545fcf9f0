"""Rows to calibrate the lexical verifier on: labelled sentences, and rows made by changing one thing."""

from __future__ import annotations

import gzip
import json
import os
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path

from groundwire.text.names import names
from groundwire.text.sentences import sentences
from groundwire.verifiers.lexical.pieces import analyse, context_pieces
from groundwire.verifiers.lexical.tables import OPPOSITES

ROOT = Path(__file__).resolve().parents[1]
DATA = Path(os.environ.get("GROUNDWIRE_DATA", ROOT.parent / "shared" / "data"))


@dataclass(frozen=True, slots=True)
class Row:
    dataset: str
    task: str
    answer: str
    group: str
    claim: str
    context: str
    nli: str | None
    supported: bool
    weight: float = 1.0


def load(name: str, weight: float = 1.0, at_most: int | None = None) -> list[Row]:
    with gzip.open(DATA / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        raw = [json.loads(line) for line in lines]
    if at_most and len(raw) > at_most:
        raw = random.Random(name).sample(raw, at_most)
    return [row for item in raw for row in _rows(item, weight)]


def _rows(item: dict[str, object], weight: float) -> Iterator[Row]:
    """A whole answer becomes its sentences; one that no marked span touches is supported."""
    meta = item["meta"]
    assert isinstance(meta, dict)
    base = (str(item["dataset"]), str(item["task"]), str(item["id"]), str(meta["group"]))
    claim, context, spans = str(item["claim"]), str(item["context"]), item["spans"]
    whole = item["dataset"] in ("ragtruth", "quintd", "qags")
    if not whole:
        nli = item["nli"] or ("entailment" if item["label"] else None)
        yield Row(*base, claim, context, str(nli) if nli else None, bool(item["label"]), weight)
        return
    if not item["label"] and not spans:
        return
    marked = spans if isinstance(spans, list) else []
    for part in sentences(claim):
        text = claim[part.start : part.end]
        if len(text) < 15:
            continue
        hit = [s for s in marked if s["start"] < part.end and part.start < s["end"]]
        kind = " ".join(str(s.get("type", "")) for s in hit).lower()
        nli = (
            "entailment"
            if not hit
            else "contradiction"
            if "conflict" in kind or "incorrect" in kind
            else "neutral"
        )
        yield Row(*base, text, context, nli if "sentence" not in kind else None, not hit, weight)


def changed(rows: Sequence[Row], count: int) -> Iterator[Row]:
    """Made rows. A sentence of the context, whole or thinned out, is supported by it; with one thing changed
    it is contradicted; a claim about something else, or with nothing left to judge by, is neither."""
    chance = random.Random(7)
    pool = [row for row in rows if len(row.context) < 6000]
    strangers = [n.text for row in chance.sample(pool, 300) for n in names(row.claim) if n.sure]
    changes = (_other_number, _negated, _opposed, _exchanged, partial(_other_name, strangers))
    for row in chance.sample(pool, min(count, len(pool))):
        texts = [p.text for p in context_pieces(row.context) if not p.structured and 25 < len(p.text) < 250]
        if not texts:
            continue
        text = chance.choice(texts)
        yield _made(row, text, "entailment")
        thin = _thinned(text, chance)
        yield _made(row, thin, "entailment")
        for change in changes:
            other = change(chance.choice((text, thin)), chance)
            if other:
                yield _made(row, other, "contradiction")
        yield _made(row, chance.choice(pool).claim, "neutral")
        yield replace(
            _made(row, row.claim, "neutral"), dataset="empty", context="[S0] [EVIDENCE REMOVED]", weight=5.0
        )


def _made(row: Row, claim: str, nli: str) -> Row:
    return Row("made", nli, row.answer, row.group, claim, row.context, nli, nli == "entailment", 1.5)


def _thinned(text: str, chance: random.Random) -> str:
    """Without some of its plain words, as a paraphrase would be."""
    kept = [
        w for w in text.split() if not (w.islower() and w.isalpha() and len(w) > 4 and chance.random() < 0.15)
    ]
    return " ".join(kept)


def _other_number(text: str, chance: random.Random) -> str:
    digits = [i for i, c in enumerate(text) if c.isdigit() and c != "0" and not text[i - 1 : i].isalnum()]
    if not digits:
        return ""
    at = chance.choice(digits)
    return text[:at] + chance.choice([d for d in "123456789" if d != text[at]]) + text[at + 1 :]


def _negated(text: str, chance: random.Random) -> str:
    """Put a 'not' in, or take one out."""
    for word in (" not ", " never ", " לא "):
        if text.count(word) == 1:
            return text.replace(word, " ")
    verbs = [
        " is ",
        " was ",
        " are ",
        " were ",
        " has ",
        " can ",
        " will ",
        " הוא ",
        " היא ",
        " היה ",
        " הייתה ",
    ]
    for verb in chance.sample(verbs, len(verbs)):
        if text.count(verb) == 1:
            return text.replace(verb, f"{verb}{'not' if verb.isascii() else 'לא'} ")
    return ""


def _opposed(text: str, chance: random.Random) -> str:
    """Replace a word by its opposite."""
    found = [w for w in analyse(text).words if OPPOSITES.get(w.norm)]
    if not found:
        return ""
    word = chance.choice(found)
    axis, side = min(OPPOSITES[word.norm])
    others = sorted(norm for norm, sides in OPPOSITES.items() if (axis, 1 - side) in sides)
    return text[: word.start] + chance.choice(others) + text[word.end :]


def _exchanged(text: str, _: random.Random) -> str:
    """'Alice hired Bob' becomes 'Bob hired Alice'."""
    found = analyse(text).names
    for a, b in pairwise(found):
        between = text[a.end : b.start].split()
        if 1 <= len(between) <= 3 and between[-1].islower() and len(between[0]) > 4 and "and" not in between:
            return text[: a.start] + b.text + text[a.end : b.start] + a.text + text[b.end :]
    return ""


def _other_name(strangers: Sequence[str], text: str, chance: random.Random) -> str:
    found = [n for n in names(text) if n.sure]
    if not found or not strangers:
        return ""
    name, other = chance.choice(found), chance.choice(strangers)
    return "" if other in text else text[: name.start] + other + text[name.end :]
