"""Made pairs over conversations, lists and tables; the claims are right, wrong or about what is not there.

python -m training.forms [--seed N] [dialogue list figures]       writes WORK/pools/made.NAME.pkl
A claim alone never tells its label: what is right in one source is wrong, or gone, in the next.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from tokenizers import Tokenizer
from training.data import WORK
from training.forms_asked import Asked, asked
from training.forms_figures import figure_pairs, plain
from training.forms_list import list_documents
from training.forms_scheme import Document, Fact
from training.forms_talk import talk_documents
from training.model import TOKENIZER
from training.pairs import CONTRADICTED, ENTAILED, NEUTRAL, NOT_ENTAILED, Coded, Pair, encode, save

from groundwire.verifiers.features import NEAR_WORDS
from groundwire.verifiers.passages import passages
from groundwire.verifiers.select import Selector

COUNT = 15_000
TOKENS = 160
PER_DOCUMENT = 5
JOINTS = (", and ", ", while ", "; ", " and ")


def selector(text: str) -> Selector:
    return Selector(passages(text))


def holds(evidence: str, needed: Iterable[tuple[str, str]]) -> bool:
    """Whether everything that decides the claim was selected, and the speakers beside it."""
    shown = plain(evidence)
    return all(_beside(shown, who, plain(said)) for who, said in needed)


def _beside(shown: str, who: str, said: str) -> bool:
    at = shown.find(said)
    return at >= 0 and (not who or who.lower() in shown[:at].split()[-2:])


def joined(parts: list[Asked], rng: random.Random) -> Asked:
    """Several statements as one sentence; the worst of them gives the target."""
    spans: list[tuple[int, int]] = []
    text, target = "", ENTAILED
    for number, part in enumerate(parts):
        text += rng.choice(JOINTS) if number else ""
        at = len(text)
        said = part.text if not number or part.text[:1].isupper() else part.text[:1].lower() + part.text[1:]
        text += said
        spans.extend((a + at, b + at) for a, b in part.spans)
        target = part.target if part.target != ENTAILED else target
    text = text[:1].upper() + text[1:] + "."
    return Asked(text, target, tuple(spans), tuple(need for part in parts for need in part.needs))


def missing(document: Document, told: Selector, facts: list[Fact], rng: random.Random) -> Pair | None:
    """The source as it would be had one of the facts never been told, or its question not been answered."""
    parts = [
        asked(fact, document, rng, ENTAILED, document.leads_of(number)) for number, fact in enumerate(facts)
    ]
    at = rng.randrange(len(facts))
    parts[at] = replace(parts[at], target=NEUTRAL, spans=((0, len(parts[at].text)),))
    claim = joined(parts, rng)
    if not holds(told.evidence(claim.text, NEAR_WORDS), claim.needs):
        return None
    evidence = selector(document.without(facts[at], rng)).evidence(claim.text, NEAR_WORDS)
    others = [need for number, part in enumerate(parts) if number != at for need in part.needs]
    if holds(evidence, [facts[at].told()]) or not holds(evidence, others):
        return None
    return Pair(evidence, claim.text, claim.target, claim.spans)


def pair_of(document: Document, told: Selector, rng: random.Random) -> Pair | None:
    """A claim about one to three facts of the document: half right, the rest wrong or unanswered."""
    count = min(len(document.facts), rng.choice([1, 1, 1, 1, 2, 2, 3]))
    facts = rng.sample(list(document.facts), count)
    roll = rng.random()
    if roll > 0.85:
        return missing(document, told, facts, rng)
    bad = rng.randrange(count) if roll > 0.44 else -1
    parts = [
        asked(fact, document, rng, CONTRADICTED if number == bad else ENTAILED, document.leads_of(number))
        for number, fact in enumerate(facts)
    ]
    claim = joined(parts, rng)
    evidence = told.evidence(claim.text, NEAR_WORDS)
    return Pair(evidence, claim.text, claim.target, claim.spans) if holds(evidence, claim.needs) else None


def document_pairs(documents: Callable[[random.Random], Document], rng: random.Random) -> Iterator[Pair]:
    while True:
        document = documents(rng)
        told = selector(document.text())
        for _ in range(PER_DOCUMENT):
            pair = pair_of(document, told, rng)
            if pair is not None:
                yield pair


POOLS: dict[str, Callable[[random.Random], Iterator[Pair]]] = {
    "dialogue": lambda rng: document_pairs(talk_documents, rng),
    "list": lambda rng: document_pairs(list_documents, rng),
    "figures": figure_pairs,
}


def fitting(pairs: Iterator[Pair], tokenizer: Tokenizer, count: int) -> tuple[list[Pair], list[Coded]]:
    """Distinct pairs that the network can read whole: a cut table may have lost its answer."""
    made: list[Pair] = []
    coded: list[Coded] = []
    seen: set[tuple[str, str]] = set()
    while len(made) < count:
        some = [next(pairs) for _ in range(1000)]
        for pair, code in zip(some, encode(tokenizer, some, TOKENS + 1), strict=True):
            if len(code.ids) <= TOKENS and (pair.evidence, pair.claim) not in seen:
                seen.add((pair.evidence, pair.claim))
                made.append(pair)
                coded.append(code)
    return made[:count], coded[:count]


def from_claim_alone(made: list[Pair]) -> float:
    """AUROC of a bag of words and word pairs of the claim for "supported"; 0.5 when nothing gives it away."""
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score

    half = len(made) // 2
    bags = CountVectorizer(ngram_range=(1, 2), min_df=3, token_pattern=r"\w+").fit_transform(
        [pair.claim for pair in made]
    )
    good = [int(pair.target == ENTAILED) for pair in made]
    model = LogisticRegression(C=0.1, max_iter=200).fit(bags[:half], good[:half])
    return float(roc_auc_score(good[half:], model.predict_proba(bags[half:])[:, 1]))


def show(made: list[Pair], rng: random.Random, count: int) -> None:
    for pair in rng.sample(made, count):
        spans = [pair.claim[a:b] for a, b in pair.spans or ()]
        print(f"  {pair.target} {spans}\n    {pair.claim}\n    | {pair.evidence}")


def store(path: Path, pool: list[Coded]) -> None:
    """A trainer may read the folder at any time: the file appears whole."""
    part = path.with_suffix(".part")
    save(part, pool)
    part.replace(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="dialogue, list, figures; all of them when none is given"
    )
    parser.add_argument("--seed", type=int, default=17)
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--show", type=int, default=0)
    parser.add_argument("--dry", action="store_true", help="make and measure, write nothing")
    options = parser.parse_args()
    tokenizer = Tokenizer.from_file(str(TOKENIZER))
    for name in options.names or POOLS:
        rng = random.Random(f"{name} {options.seed}")
        made, coded = fitting(POOLS[name](rng), tokenizer, options.count)
        if not options.dry:
            store(WORK / "pools" / f"made.{name}.pkl", coded)
        shares = [
            sum(pair.target == kind for pair in made) / len(made)
            for kind in (ENTAILED, NEUTRAL, CONTRADICTED, NOT_ENTAILED)
        ]
        tokens = sum(len(item.ids) for item in coded) / len(coded)
        print(
            name,
            len(made),
            "right, neutral, contradicted, not entailed:",
            " ".join(f"{share:.2f}" for share in shares),
            f"tokens {tokens:.0f}, AUROC of the claim alone {from_claim_alone(made):.3f}",
            flush=True,
        )
        show(made, rng, options.show)


if __name__ == "__main__":
    main()
