"""Stage B: claims with windows of the documents they are about, cut as the package cuts them.

python -m training.grounded [POOL …]   # needs stage A's tokenizer; prints each pool's labels and overlap

Cards come with twins: the same claim over a document edited so that its label changes. The edit says where
the evidence stands, so every pair gets a window that holds it; windows that do not hold it are neutral.
"""

from __future__ import annotations

import json
import math
import os
import random
import re
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from training.data import DATA, Row, fold, rows, train_rows
from training.pairs import CONTRADICTION, ENTAILMENT, LABELS, NEUTRAL, NOT_ENTAILED, Pair, save, tokenizer
from training.pools_short import describe, label_of, spans_of

from groundwire.claims.extractor import extract
from groundwire.text.clauses import clauses
from groundwire.text.document import Document
from groundwire.types import ClaimKind

TOKEN_LIMIT = 224
HELD_OUT_FOLDS = (0, 1)  # of five: RAGTruth and silver sources that are measured on, never trained on
CARDS = Path(os.environ.get("GROUNDWIRE_CARDS", DATA.parent / "cards"))
OWN_CARDS = Path(__file__).resolve().parent / "cards"
HELD_OUT_WRITERS = frozenset({"u", "n", "aa", "ae", "ag", "al"})
PACKAGE_SHARE = 0.35
"""Share of windows cut as the package cuts them. The others have all lengths around the evidence, so that
length tells nothing about the label."""
WINDOW_BUDGETS = (8, 16, 24, 32, 48)
"""Words of the other windows, around the evidence."""
WIDE_SHARE = 0.5
"""Share of the wide window among those of an answer's claim, which often draws on several places."""


@lru_cache(maxsize=1)
def vocabulary() -> dict[str, int]:
    found: dict[str, int] = tokenizer().get_vocab()
    return found


def rarity(word: str) -> float:
    """As `groundwire.verifiers.local` weighs words: by their rank in the vocabulary."""
    rank = vocabulary().get(word.lower())
    return 1.0 if rank is None else math.log(max(2, rank - 990)) / math.log(len(vocabulary()))


@dataclass(frozen=True, slots=True)
class CardClaim:
    """A claim over one version of a card's document; `places` are character ranges of its evidence."""

    card: str
    source: str
    text: str
    label: int
    spans: tuple[tuple[int, int], ...] | None
    places: tuple[tuple[int, int], ...]


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def for_calibration(card_id: str) -> bool:
    """A tenth of the cards is kept out of training: the calibration is fitted on it."""
    return zlib.crc32(card_id.encode()) % 10 == 3


def card_claims(cards: Sequence[dict[str, Any]], twins: Sequence[dict[str, Any]]) -> Iterator[CardClaim]:
    """Every claim over its own document and over its twin's."""
    edits = {twin["id"]: {edit["claim"]: edit for edit in twin["edits"]} for twin in twins}
    for card in cards:
        for number, claim in enumerate(card["claims"]):
            edit = edits.get(card["id"], {}).get(number)
            label = LABELS[claim["label"]]
            span = claim.get("span")
            at = claim["text"].find(span) if span else -1
            spans = () if label == ENTAILMENT else ((at, at + len(span)),) if at >= 0 else None
            places = _places(card["source"], edit) if edit else ()
            yield CardClaim(card["id"], card["source"], claim["text"], label, spans, places)
            if edit:
                edited, where = _edited(card["source"], edit)
                other = LABELS[edit["label"]]
                yield CardClaim(card["id"], edited, claim["text"], other, () if other == ENTAILMENT else None, where)


def _changes(edit: dict[str, Any]) -> list[dict[str, Any]]:
    return [edit, *edit.get("more", [])]


def _places(source: str, edit: dict[str, Any]) -> tuple[tuple[int, int], ...]:
    starts = [(source.find(change["find"]), len(change["find"])) for change in _changes(edit)]
    return tuple((at, at + length) for at, length in starts if at >= 0)


def _edited(source: str, edit: dict[str, Any]) -> tuple[str, tuple[tuple[int, int], ...]]:
    places = []
    for change in _changes(edit):
        at = source.find(change["find"])
        if at < 0:
            continue
        source = source[:at] + change["replace"] + source[at + len(change["find"]) :]
        places.append((max(0, at - 1), at + max(1, len(change["replace"]))))
    return source, tuple(places)


def evidence_pieces(document: Document, claim: CardClaim) -> list[int]:
    """The numbers of the pieces that hold the claim's evidence, in order."""
    return [
        at
        for at, piece in enumerate(document.pieces)
        if any(piece.start < end and start < piece.end for start, end in claim.places)
    ]


class CardPairs:
    """Turns card claims into pairs: windows of many sizes with the evidence, and some without it."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.documents: dict[str, Document] = {}

    def document(self, source: str) -> Document:
        if source not in self.documents:
            if len(self.documents) > 200:
                self.documents.clear()
            self.documents[source] = Document(source, rendered=False)
        return self.documents[source]

    def pairs(self, claims: Sequence[CardClaim]) -> Iterator[Pair]:
        """`claims` in the order of `card_claims`: a claim over its document, then over the edited one."""
        budget, number = 0, -1
        for last, claim in zip((None, *claims), claims, strict=False):
            edited = last is not None and (last.card, last.text) == (claim.card, claim.text)
            if not edited:
                # Both versions are cut alike, so that nothing but the edit tells them apart.
                number += 1
                budget = 0 if self.random.random() < PACKAGE_SHARE else self.random.choice(WINDOW_BUDGETS)
            yield from self._of_claim(claim, budget, number, claims)

    def _of_claim(self, claim: CardClaim, budget: int, number: int, others: Sequence[CardClaim]) -> Iterator[Pair]:
        document = self.document(claim.source)
        gold = set(evidence_pieces(document, claim))
        window = self._window(document, claim.text, gold, budget)
        yield Pair(window, claim.text, claim.label, claim.spans, group=claim.card, twins=number)
        if claim.spans is not None and (claim.label == ENTAILMENT or claim.spans):
            yield from clause_pairs(document, claim.text, claim.label, claim.spans, 0.7, claim.card)
        roll = self.random.random()
        if roll < 0.06:
            other = self.random.choice(others)
            if other.card != claim.card:
                windows = self.document(other.source).windows(claim.text, rarity)
                yield Pair(windows[0].text, claim.text, NEUTRAL, None, group=claim.card)
        elif roll < 0.2 and gold and claim.label != NEUTRAL:
            windows = document.windows(claim.text, rarity)
            without = [w for w in windows if not gold & set(w.numbers)]
            if without:
                yield Pair(without[0].text, claim.text, NEUTRAL, None, 0.5, claim.card)

    def _window(self, document: Document, text: str, gold: set[int], budget: int) -> str:
        """A window of `budget` words around the evidence, or (0) the one that the package chooses."""
        if gold and budget:
            return document.window_around(sorted(gold), budget).text
        windows = document.windows(text, rarity)
        holding = [window for window in windows if gold <= set(window.numbers)]
        if gold and not holding:
            return document.window_around(sorted(gold), max(WINDOW_BUDGETS)).text
        if gold:
            return self.random.choice(holding).text
        return max(windows, key=lambda window: window.coverage).text


def marked_claims(
    text: str, marks: Sequence[tuple[int, int, int]]
) -> Iterator[tuple[str, int, tuple[tuple[int, int], ...]]]:
    """The claims of an answer as the package extracts them, with label and spans from marked ranges."""
    for claim in extract(text):
        if claim.kind is not ClaimKind.ASSERTION or len(claim.text.split()) < 3:
            continue
        touched = [(a, b, label) for a, b, label in marks if a < claim.end and claim.start < b]
        if not touched:
            yield claim.text, ENTAILMENT, ()
            continue
        spans = []
        for a, b, _ in touched:
            words = text[max(a, claim.start) : min(b, claim.end)].strip()
            at = claim.text.find(words)
            if words and at >= 0:
                spans.append((at, at + len(words)))
        kinds = {label for _, _, label in touched}
        label = CONTRADICTION if CONTRADICTION in kinds else kinds.pop()
        yield claim.text, label, tuple(spans) or ((0, len(claim.text)),)


def answer_pairs(
    source: str,
    text: str,
    marks: Sequence[tuple[int, int, int]],
    group: str,
    weight: float,
    most: int,
    draw: random.Random,
) -> Iterator[Pair]:
    """Pairs of one answer: all of its wrong claims, and at most `most` of the supported ones."""
    document = Document(source, rendered=False)
    found = list(marked_claims(text, marks))
    good = [item for item in found if item[1] == ENTAILMENT]
    for claim, label, spans in [item for item in found if item[1] != ENTAILMENT] + draw.sample(
        good, min(most, len(good))
    ):
        windows = document.windows(claim, rarity)
        if windows:
            parts = list(clause_pairs(document, claim, label, spans, weight, group))
            chosen = windows[-1 if parts or draw.random() < WIDE_SHARE else 0]
            yield Pair(chosen.text, claim, label, spans, weight, group)
            yield from parts


def clause_pairs(
    document: Document, claim: str, label: int, spans: Sequence[tuple[int, int]], weight: float, group: str
) -> Iterator[Pair]:
    """The clauses of a claim with more than one, each with its own narrow window, as the package reads them.

    A clause without a marked word is supported.
    """
    ranges = clauses(claim)
    for start, end in ranges if len(ranges) > 1 else ():
        inside = tuple((max(a, start) - start, min(b, end) - start) for a, b in spans if a < end and start < b)
        windows = document.windows(claim[start:end], rarity)
        if windows:
            yield Pair(windows[0].text, claim[start:end], label if inside else ENTAILMENT, inside, weight, group)


def _kind(span: dict[str, Any]) -> int:
    kind = str(span.get("type", "")).lower()
    return CONTRADICTION if "conflict" in kind or "contradiction" in kind or "incorrect" in kind else NEUTRAL


def row_marks(row: Row) -> list[tuple[int, int, int]]:
    return [(span["start"], span["end"], _kind(span)) for span in row["spans"] or ()]


def held_out(row: Row) -> bool:
    return fold(row) in HELD_OUT_FOLDS


def ragtruth(draw: random.Random) -> Iterator[Pair]:
    for name in ("train.ragtruth_qa", "dev.ragtruth"):
        for row in rows(name):
            if not held_out(row):
                group = str(row["meta"]["group"])
                yield from answer_pairs(row["context"], row["claim"], row_marks(row), group, 1.0, 2, draw)


def silver(draw: random.Random) -> Iterator[Pair]:
    """Marked wrong answers, and sentences of faithful ones."""
    for row in rows("train.silver_marked"):
        if not held_out(row):
            yield from answer_pairs(
                row["context"], row["claim"], row_marks(row), str(row["meta"]["group"]), 1.0, 1, draw
            )
    for row in rows("train.faithjudge_silver"):
        if row["label"] and not held_out(row) and draw.random() < 0.35:
            yield from answer_pairs(row["context"], row["claim"], (), str(row["meta"]["group"]), 0.7, 1, draw)


_FIGURE = re.compile(r"(?<![\w.,:/-])\d{1,4}(?![\w:/-]|[.,]\d)")


def verbatim(draw: random.Random, most: int = 2500) -> Iterator[Pair]:
    """Sentences of articles: read in their own text, with one figure changed, and in another part of it.

    What a source says word for word is the easiest case, and one that hard cards never show.
    """
    articles = list(rows("docs.wikipedia_2024"))
    for row in draw.sample(articles, min(most, len(articles))):
        document = Document(row["text"][:6000], rendered=False)
        usable = [at for at, piece in enumerate(document.pieces) if 6 <= len(piece.text.split()) <= 30]
        if len(usable) < 8:
            continue
        at, far = draw.choice(usable[: len(usable) // 2]), draw.choice(usable[len(usable) // 2 + 1 :])
        claim, window = document.pieces[at].text, document.window_around([at], draw.choice((8, 24, 48))).text
        group = str(row["id"])
        yield Pair(window, claim, ENTAILMENT, (), group=group)
        figure = _FIGURE.search(claim)
        if figure:
            other = str(max(1, int(figure[0]) + draw.choice((-7, -2, -1, 1, 3, 10))))
            if other != figure[0] and other not in window:
                changed = claim[: figure.start()] + other + claim[figure.end() :]
                spans = ((figure.start(), figure.start() + len(other)),)
                yield Pair(window, changed, CONTRADICTION, spans, group=group)
        elsewhere = document.window_around([far], draw.choice((8, 24, 48))).text
        if claim not in elsewhere:
            yield Pair(elsewhere, claim, NEUTRAL, None, group=group)


_YEAR = re.compile(r"(?<![\w.,:/-])(1[5-9]\d\d|20[0-2]\d)(?![\w:/-]|[.,]\d)")
_NAME = re.compile(r"(?<=[a-z,;] )[A-Z][a-z]+(?: [A-Z][a-z]+)*")
_MONTH = "January|February|March|April|May|June|July|August|September|October|November|December"
_DATE = re.compile(
    rf"\b(?:on (?:\d{{1,2}} (?P<m1>{_MONTH})|(?P<m2>{_MONTH}) \d{{1,2}},)|in (?:{_MONTH}),?) (?P<year>\d{{4}})"
)
_TAIL = re.compile(r"(?:, (?:which|who|where|while|although|but|and|with|after|before)\b|; )[^,;]*\.$")


def plainer(sentence: str, draw: random.Random) -> str:
    """The sentence with less in it, still true: without its last clause, or with a less precise date."""
    shorter = _TAIL.sub(".", sentence)
    if len(shorter.split()) >= 5:
        sentence = shorter
    date = _DATE.search(sentence)
    if date and draw.random() < 0.7:
        month = date["m1"] or date["m2"]
        coarse = f"in {month} {date['year']}" if month and draw.random() < 0.4 else f"in {date['year']}"
        sentence = sentence[: date.start()] + coarse + sentence[date.end() :]
    return sentence


def exchanged(draw: random.Random, most: int = 9000) -> Iterator[Pair]:
    """Plain sentences of articles, right and with one figure or name of the same article put for another.

    Both have the article's own words, so neither overlap nor the claim alone tells them apart.
    """
    articles = list(rows("docs.wikipedia_2024"))
    for number, row in enumerate(draw.sample(articles, min(most, len(articles)))):
        document = Document(row["text"][:5000], rendered=False)
        usable = [at for at, piece in enumerate(document.pieces) if 6 <= len(piece.text.split()) <= 32]
        if not usable:
            continue
        at = draw.choice(usable)
        claim = plainer(document.pieces[at].text, draw)
        window = document.window_around([at], draw.choice((8, 16, 28, 48))).text
        pattern, label = draw.choice(((_YEAR, CONTRADICTION), (_FIGURE, CONTRADICTION), (_NAME, NOT_ENTAILED)))
        old = pattern.search(claim)
        others = sorted({found[0] for found in pattern.finditer(row["text"][:5000])} - {old[0] if old else ""})
        others = [other for other in others if old and other not in claim and old[0] not in other]
        if not old or not others:
            continue
        near = [other for other in others if other in window]
        new = draw.choice(near if near and draw.random() < 0.6 else others)
        wrong = claim[: old.start()] + new + claim[old.end() :]
        group = str(row["id"])
        yield Pair(window, claim, ENTAILMENT, (), group=group, twins=number)
        yield Pair(window, wrong, label, ((old.start(), old.start() + len(new)),), group=group, twins=number)


def documents() -> dict[tuple[str, str], str]:
    """Sources that written answers refer to by file and id."""
    found: dict[tuple[str, str], str] = {}
    measured = {str(card.get("origin")) for card in lines(CARDS / "cards.dev.jsonl")}
    for name in ("docs.wikipedia_2024", "docs.wiki_tables", "train.faithjudge_silver.fold_a"):
        for row in rows(name):
            # Held-out silver sources and the documents of cards.dev are for measuring.
            if ("silver" in name and held_out(row)) or str(row["id"]) in measured:
                continue
            found[name, str(row["id"])] = row.get("context") or row.get("text") or ""
    return found


def written_answers(files: Sequence[Path], draw: random.Random) -> Iterator[Pair]:
    texts = documents()
    for path in files:
        for item in lines(path):
            source = texts.get((item["origin"]["file"], str(item["origin"]["id"])), "")
            if not source:
                continue
            if item.get("words"):
                source = " ".join(source.split(" ")[: int(item["words"])])
            for answer in item["answers"]:
                marks = [
                    (
                        answer["text"].find(e["text"]),
                        answer["text"].find(e["text"]) + len(e["text"]),
                        LABELS[e["label"]],
                    )
                    for e in answer["errors"]
                ]
                yield from answer_pairs(source, answer["text"], marks, item["id"], 1.0, 2, draw)


def card_answers(cards: Sequence[dict[str, Any]], draw: random.Random) -> Iterator[Pair]:
    for card in cards:
        for answer in (card["answer"], *card.get("answers", [])):
            marks = [
                (answer["text"].find(e["text"]), answer["text"].find(e["text"]) + len(e["text"]), LABELS[e["label"]])
                for e in answer["errors"]
            ]
            yield from answer_pairs(card["source"], answer["text"], marks, card["id"], 1.0, 3, draw)


LONG_SETS = {
    "tabfact": 9000,
    "infotabs": 3000,
    "fm2": 3000,
    "cg2c_doc": 2060,
    "ci_tod": 2000,
    "check_covid": 973,
    "contractnli": 3111,
    "nli4ct": 2391,
    "multirc_cl": 2000,
    "quintd": 1153,
    "begin": 1148,
    "factcheckgpt": 3098,
    "aggrefact_err": 2800,
    "rotowire_acc": 1089,
}


def long_set(name: str, most: int, draw: random.Random) -> Iterator[Pair]:
    """Claims of public sets over windows of their longer contexts."""
    found = [row for row in train_rows(name) if row["claim"].strip() and len(row["claim"].split()) < 60]
    for row in draw.sample(found, min(most, len(found))):
        document = Document(row["context"], rendered=False)
        windows = document.windows(row["claim"], rarity)
        if not windows:
            continue
        best = max(windows, key=lambda window: window.coverage)
        label = label_of(row)
        # A verdict over a whole table or document need not hold for a window of it.
        whole = len(best.numbers) == len(document.pieces)
        yield Pair(best.text, row["claim"], label, spans_of(row), 1.0 if whole else 0.5, str(row["meta"]["group"]))


def all_cards() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The cards and twins to train on: shared and own, without held-out writers and calibration."""
    cards = lines(CARDS / "cards.train.jsonl")
    twins = lines(CARDS / "twins.train.jsonl")
    for path in sorted(OWN_CARDS.glob("*.cards.jsonl")):
        if path.name.split(".")[0] not in HELD_OUT_WRITERS:
            cards += lines(path)
            twins += lines(path.with_name(path.name.replace(".cards.", ".twins.")))
    kept = [card for card in cards if not for_calibration(card["id"])]
    return kept, twins


def builders(draw: random.Random) -> dict[str, Callable[[], Iterable[Pair]]]:
    """Each pool of stage B and how it is made."""
    cards, twins = all_cards()
    found: dict[str, Callable[[], Iterable[Pair]]] = {
        "cards": lambda: CardPairs(1).pairs(list(card_claims(cards, twins))),
        "card_answers": lambda: card_answers(cards, draw),
        "answers": lambda: written_answers(sorted(OWN_CARDS.glob("*.answers.jsonl")), draw),
        "ragtruth": lambda: ragtruth(draw),
        "silver": lambda: silver(draw),
        "verbatim": lambda: verbatim(draw),
        "exchanged": lambda: exchanged(draw),
    }
    for name, most in LONG_SETS.items():
        found[name] = partial(long_set, name, most, draw)
    return found


def main() -> None:
    found = builders(random.Random(11))
    for name in sys.argv[1:] or found:
        pairs = list(found[name]())
        save(f"grounded.{name}", pairs, TOKEN_LIMIT)
        print(describe(name, pairs), flush=True)


if __name__ == "__main__":
    main()
