"""Stage 1 pools of made pairs: supported sentences and the same with something changed.

python -m training.pools_made [--seed N] [NAME …]     writes WORK/pools/made.NAME.pkl; without names, all
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable, Iterator, Sequence

from tokenizers import Tokenizer
from training.business import business_pairs
from training.data import WORK, rows
from training.edits import BREAKERS, KEEPERS, names_of
from training.logical import monotone_pairs
from training.model import TOKENIZER
from training.negations import negation_pairs
from training.pairs import CONTRADICTED, NEUTRAL, Pair, encode, save

from groundwire.text.sentences import sentences
from groundwire.verifiers.passages import passages

PROSE = (
    "aggrefact_err",
    "mctest",
    "feverous",
    "factcheckgpt",
    "covidfact",
    "wice_tokens",
    "climatefever",
    "rte",
)
PER_DOCUMENT = 14


def documents() -> Iterator[list[str]]:
    seen: set[str] = set()
    for name in PROSE:
        for row in rows(f"train.{name}"):
            text = row["context"][:6000]
            if text[:200] in seen:
                continue
            seen.add(text[:200])
            lines = [text[span.start : span.end] for span in sentences(text)]
            good = [line for line in lines if 4 <= len(line.split()) <= 45 and line[-1:] in ".!?\"'"]
            if len(good) >= 1:
                yield good


def broken(
    claim: str, rng: random.Random, others: list[str]
) -> tuple[str, tuple[tuple[int, int], ...], int] | None:
    kinds = list(BREAKERS)
    for kind in rng.choices(kinds, [BREAKERS[k][1] for k in kinds], k=6):
        edit = BREAKERS[kind][0](claim, rng, others)
        if edit is not None and edit.text != claim:
            return edit.text, ((edit.start, edit.end),), edit.target
    return None


def kept(claim: str, rng: random.Random) -> str:
    for keeper in KEEPERS:
        if rng.random() < 0.5:
            claim = keeper(claim, rng)
    return claim


def window(lines: list[str], at: int, rng: random.Random, words: int) -> list[int]:
    low = high = at
    total = len(lines[at].split())
    for _ in range(rng.randint(0, 4)):
        side = rng.random() < 0.5
        nxt = low - 1 if side else high + 1
        if 0 <= nxt < len(lines) and total + len(lines[nxt].split()) <= words:
            total += len(lines[nxt].split())
            low, high = min(low, nxt), max(high, nxt)
    return list(range(low, high + 1))


def prose_pairs(rng: random.Random) -> Iterator[Pair]:
    everyone: list[str] = []
    for lines in documents():
        own = [name for line in lines for name in names_of(line)]
        everyone.extend(own[:4])
        for at in rng.sample(range(len(lines)), min(len(lines), PER_DOCUMENT)):
            if len(lines[at].split()) > 35:
                continue
            others = (
                own if len(own) > 3 and rng.random() < 0.7 else rng.sample(everyone, min(30, len(everyone)))
            )
            yield from _around(lines, at, rng, others)


def _around(lines: list[str], at: int, rng: random.Random, others: list[str]) -> Iterator[Pair]:
    chosen = window(lines, at, rng, rng.choice([30, 50, 65]))
    evidence = " ".join(lines[i] for i in chosen)
    claim = kept(lines[at], rng)
    if len(chosen) > 1 and rng.random() < 0.15:
        other = lines[rng.choice([i for i in chosen if i != at])]
        claim = claim.rstrip(".") + rng.choice([", and ", "; ", ". "]) + other
    if rng.random() < 0.5:
        yield Pair(evidence, claim, 0, ())
    changed = broken(claim, rng, others)
    if changed is not None and rng.random() < 0.6:
        text, spans, target = changed
        yield Pair(evidence, text, target, spans)
    if rng.random() < 0.15 and len(chosen) > 1:
        rest = " ".join(lines[i] for i in chosen if i != at)
        if claim not in rest:
            yield Pair(rest, lines[at], NEUTRAL, ((0, len(lines[at])),))


def table_pairs(rng: random.Random) -> Iterator[Pair]:
    """Records as `key: value` lines: a right value, another record's value, a key that is not there."""
    tables = {row["context"]: None for row in rows("train.infotabs")}
    parsed = [[p.text for p in passages(text)] for text in tables]
    values: dict[str, list[str]] = {}
    for lines in parsed:
        for line in lines[1:]:
            key, _, value = line.partition(": ")
            if value:
                values.setdefault(key, []).append(value)
    shapes = (
        "The {k} of {t} is {v}.",
        "{t}'s {k}: {v}.",
        "{t} has {v} as its {k}.",
        "For {t}, the {k} is {v}.",
        "{v} is listed as the {k} of {t}.",
        "{t} ({k}: {v})",
    )
    for lines in parsed:
        title = lines[0].partition(": ")[2] or lines[0]
        body = [line for line in lines[1:] if ": " in line and len(line.split()) < 25]
        for line in rng.sample(body, min(5, len(body))):
            key, _, value = line.partition(": ")
            some = rng.sample(body, min(len(body), rng.randint(1, 6)))
            evidence = [lines[0], *dict.fromkeys([*some, line])]
            rng.shuffle(evidence)
            shape = rng.choice(shapes)
            good = shape.format(k=key.lower(), t=title, v=value)
            other = rng.choice(values[key])
            if rng.random() < 0.5:
                yield Pair("; ".join(evidence), good, 0, ())
            elif other != value:
                bad = shape.format(k=key.lower(), t=title, v=other)
                at = bad.find(other)
                yield Pair("; ".join(evidence), bad, CONTRADICTED, ((at, at + len(other)),))
            if rng.random() < 0.25:
                gone = "; ".join(e for e in evidence if e != line)
                at = good.find(value)
                yield Pair(gone, good, NEUTRAL, ((at, at + len(value)),))


POOLS: dict[str, Callable[[random.Random], Iterator[Pair]]] = {
    "prose": prose_pairs,
    "table": table_pairs,
    "business": business_pairs,
    "monotone": monotone_pairs,
    "negation": negation_pairs,
}


# Captions of one source stand in both our sentences and sets that are only measured on.
MEASURED = ("dev.med", "dev.sick")


def _plain(text: str) -> str:
    return " ".join(text.strip(" .").lower().split())


def unmeasured(made: Iterator[Pair]) -> list[Pair]:
    """Without pairs of which a sentence stands, word for word, in a set that must stay unseen; once each."""
    kept = {(_plain(row[key])) for name in MEASURED for row in rows(name) for key in ("context", "claim")}
    free = (p for p in made if _plain(p.evidence) not in kept and _plain(p.claim) not in kept)
    return list(dict.fromkeys(free))


def show(name: str, made: list[Pair], rng: random.Random) -> None:
    shares = [round(sum(pair.target == kind for pair in made) / len(made), 2) for kind in range(4)]
    print(name, len(made), "entailed, neutral, contradicted, not entailed:", shares, flush=True)
    for pair in rng.sample(made, 6):
        marked = [pair.claim[a:b] for a, b in pair.spans or ()]
        print("   ", pair.target, marked, "|", pair.claim, "|", pair.evidence[:160])


def main(seed: int, names: Sequence[str]) -> None:
    tokenizer = Tokenizer.from_file(str(TOKENIZER))
    for name in names or POOLS:
        # A pool is the same whether it is made alone or with the others.
        rng = random.Random(seed)
        made = unmeasured(POOLS[name](rng))
        pool = encode(tokenizer, made, 144)
        path = WORK / "pools" / f"made.{name}.pkl"
        part = path.with_suffix(".part")
        save(part, pool)
        # A training run may be reading the folder.
        part.replace(path)
        show(name, made, rng)
        print("    mean tokens", round(sum(len(item.ids) for item in pool) / len(pool), 1), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("names", nargs="*", metavar="NAME")
    options = parser.parse_args()
    main(options.seed, options.names)
