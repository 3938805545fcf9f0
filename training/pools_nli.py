"""Stage 1 pools: short pairs from public inference and fact-checking sets.

python -m training.pools_nli          writes WORK/pools/nli.*.pkl
"""

from __future__ import annotations

import sys

from tokenizers import Tokenizer
from training.data import WORK, Row, train_rows
from training.model import TOKENIZER
from training.pairs import NLI, NOT_ENTAILED, Pair, encode, save

from groundwire.verifiers.passages import passages
from groundwire.verifiers.select import Selector, joined

SETS = {
    "snli": 128, "mnli": 128, "scitail": 128, "rte": 128, "bizarro": 128, "infotabs": 128, "mctest": 128,
    "healthver": 128, "covidfact": 128, "feverous": 160, "feversymmetric": 128, "climatefever": 128,
    "factcheckgpt": 128, "begin": 128,
}  # fmt: skip
BUDGET_WORDS = 64
# its contradictions are other scenes of the same picture: "not mentioned" by any reader of a source
SOFT = ("snli",)


def evidence_for(context: str, claim: str, budget: int = BUDGET_WORDS) -> str:
    """The selected passages joined as the run time joins them."""
    if len(context.split()) <= budget:
        return joined(passages(context))
    return Selector(passages(context)).evidence(claim, budget)


def pair(row: Row) -> Pair:
    label = row["nli"]
    target = NLI[label] if label else NOT_ENTAILED
    if row["label"] == 0 and (target == 0 or row["dataset"] in SOFT):
        target = NOT_ENTAILED
    spans: tuple[tuple[int, int], ...] | None = () if row["label"] == 1 else None
    return Pair(evidence_for(row["context"], row["claim"]), row["claim"], target, spans)


def main(names: list[str]) -> None:
    tokenizer = Tokenizer.from_file(str(TOKENIZER))
    folder = WORK / "pools"
    folder.mkdir(parents=True, exist_ok=True)
    for name in names or SETS:
        pool = encode(tokenizer, [pair(row) for row in train_rows(name)], SETS[name])
        save(folder / f"nli.{name}.pkl", pool)
        print(
            name,
            len(pool),
            "mean tokens",
            round(sum(len(item.ids) for item in pool) / len(pool), 1),
            flush=True,
        )


if __name__ == "__main__":
    main(sys.argv[1:])
