"""Stage 2 pools: sentences of answers against their selected evidence, in two halves of groups.

python -m training.pools_grounded      writes WORK/pools/{rt,silver,edits}.{A,B}.TASK.pkl and g.*.pkl
Half A is never shown a group of half B and the other way round: each half is measured by the other's model.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator
from functools import lru_cache

import numpy as np
from tokenizers import Tokenizer
from training.claims import Claim, weakest
from training.data import WORK, Row, fold, rows
from training.edits import names_of
from training.matrix import NEAR, Matrix, matrix
from training.model import TOKENIZER
from training.pairs import CONTRADICTED, ENTAILED, NEUTRAL, NOT_ENTAILED, Pair, encode, save
from training.pools_made import broken, kept

from groundwire.verifiers.passages import passages
from groundwire.verifiers.select import Selector

LIMIT = 160
SILVER_WEIGHT = 0.6


def half(row: Row) -> str:
    return "AB"[fold(row, 2)]


def target_of(claim: Claim) -> int:
    if claim.label == 1:
        return ENTAILED
    conflict = any(word in claim.kind for word in ("Conflict", "Incorrect", "intrinsic"))
    baseless = any(word in claim.kind for word in ("Baseless", "NotCheckable", "extrinsic"))
    return (
        CONTRADICTED if conflict and not baseless else NEUTRAL if baseless and not conflict else NOT_ENTAILED
    )


def human_pairs(made: Matrix) -> Iterator[tuple[Row, Pair]]:
    for claim, near in zip(made.claims, made.near, strict=True):
        if claim.label >= 0:
            yield made.rows[claim.row], Pair(near, claim.text, target_of(claim), claim.spans)


def silver_pairs(made: Matrix, suspicion: np.ndarray) -> Iterator[tuple[Row, Pair]]:
    """Answers judged faithful lend all sentences; of an unfaithful one the most suspicious is wrong."""
    labels = weakest(made.rows, made.claims, suspicion)
    for label, claim, near in zip(labels, made.claims, made.near, strict=True):
        row = made.rows[claim.row]
        if label == 1:
            yield row, Pair(near, claim.text, ENTAILED, (), SILVER_WEIGHT)
        elif label == 0:
            yield row, Pair(near, claim.text, NOT_ENTAILED, None, SILVER_WEIGHT)


def edited_pairs(names: tuple[str, ...], rng: random.Random) -> Iterator[tuple[Row, Pair]]:
    """Sentences that answers got right, and the same with something changed."""
    contexts = {row["id"]: row["context"] for name in names for row in rows(name)}
    selector_for = lru_cache(maxsize=256)(lambda context: Selector(passages(context)))
    for name in names:
        made = matrix(name)
        for claim in made.claims:
            row = made.rows[claim.row]
            if (
                claim.label != 1
                or (row["label"] != 1 and name != "dev.ragtruth")
                or not 5 <= len(claim.text.split()) <= 45
            ):
                continue
            if rng.random() > (0.9 if name == "dev.ragtruth" else 0.35):
                continue
            selector = selector_for(contexts[row["id"]])
            others = [
                n
                for passage in rng.sample(selector.passages, min(8, len(selector.passages)))
                for n in names_of(passage.text)
            ]
            changed = broken(claim.text, rng, others)
            if changed is not None:
                text, spans, target = changed
                yield row, Pair(selector.evidence(text, NEAR), text, target, spans)
            text = kept(claim.text, rng)
            yield row, Pair(selector.evidence(text, NEAR), text, ENTAILED, ())


def write(tokenizer: Tokenizer, name: str, pairs: list[Pair]) -> None:
    pool = encode(tokenizer, pairs, LIMIT)
    save(WORK / "pools" / f"{name}.pkl", pool)
    good = sum(pair.target == 0 for pair in pairs) / len(pairs)
    tokens = sum(len(item.ids) for item in pool) / len(pool)
    print(f"{name:24s} {len(pool):6d} supported {good:.2f} mean tokens {tokens:.0f}", flush=True)


def main() -> None:
    rng = random.Random(23)
    tokenizer = Tokenizer.from_file(str(TOKENIZER))
    suspicion = np.load(WORK / "silver_suspicion.npy")
    pools: dict[str, list[Pair]] = defaultdict(list)
    for row, pair in human_pairs(matrix("dev.ragtruth")):
        pools[f"rt.{half(row)}.{row['task']}"].append(pair)
    for row, pair in silver_pairs(matrix("train.faithjudge_silver"), suspicion):
        pools[f"silver.{half(row)}.{row['task']}"].append(pair)
    for row, pair in edited_pairs(("dev.ragtruth", "train.faithjudge_silver"), rng):
        pools[f"edits.{half(row)}.{row['task']}"].append(pair)
    for name in ("quintd", "aggrefact_err"):
        for row, pair in human_pairs(matrix(f"train.{name}")):
            pools[f"g.{name}.{row['task'].split('/')[-1]}"].append(pair)
    for name, pairs in sorted(pools.items()):
        write(tokenizer, name, pairs)


if __name__ == "__main__":
    main()
