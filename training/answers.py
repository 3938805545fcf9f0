"""What the package says of every RAGTruth answer, each judged by a verifier that never saw its source.

python -m training.answers --network NAME [--part I/N] --out FILE.jsonl      (after training.folds)
One line an answer: each claim's range, p1, p0, confidence, verdict and spans. Goes on where it stopped.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import pickle
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from training.data import DATA, WORK, Row, fold

from groundwire.bench.quality_data import LabelledRow, load_sets
from groundwire.config import Config
from groundwire.metrics import Metrics
from groundwire.pipeline import CheckContext, check
from groundwire.types import Case, HallucinationReport, Source
from groundwire.verdicts.profile import profile_for
from groundwire.verifiers.backends import CONTEXT_TOKENS, Backend, Raw, protect
from groundwire.verifiers.local import LocalVerifier
from groundwire.verifiers.network import Network, Reading
from groundwire.verifiers.rules.ruled import Ruled
from groundwire.verifiers.wrap import Offloaded

HALVES = "AB"
Pair = tuple[str, str]
Known = dict[Pair, tuple[np.ndarray, np.ndarray]]


def folder_of(row: LabelledRow) -> str:
    group: Row = {"meta": {"group": row.group}}
    return f"{HALVES[fold(group, 2)]}{fold(group)}"


class Remembered:
    """The network, which reads nothing twice: `network_columns` has read most of these pairs already."""

    def __init__(self, inner: Network, known: Known) -> None:
        self._inner, self._known = inner, known
        self.vocabulary = inner.vocabulary

    def begin(self, pairs: Sequence[Pair]) -> Callable[[], list[Reading]]:
        fresh = [pair for pair in pairs if pair not in self._known]
        waiting = self._inner.begin(fresh)

        def readings() -> list[Reading]:
            read = iter(waiting())
            return [self._reading(pair) if pair in self._known else next(read) for pair in pairs]

        return readings

    def _reading(self, pair: Pair) -> Reading:
        columns, logits = self._known[pair]
        return Reading(tuple(map(float, columns)), self._inner.offsets(pair[1])[: len(logits)], logits)


def court(folder: Path, known: Known) -> CheckContext:
    """The package as it ships, with other files behind `local`.

    No gap is allowed, so that every doubtful claim keeps its spans: where to flag is chosen afterwards.
    """
    config = Config()
    verifier = LocalVerifier(folder)
    verifier.loaded().network = Remembered(verifier.network(), known)  # type: ignore[assignment]
    raw = Raw(Offloaded(Ruled(verifier)), "local", "local", CONTEXT_TOKENS, verifier.threshold_bits())
    guarded, _ = protect(raw, "local", config, "output", None)
    backend = Backend("local", guarded, raw.context_tokens, raw.threshold_bits, raw.model, free=True)
    return CheckContext(backend, profile_for(config, 0.0), Metrics())


def line(row: LabelledRow, report: HallucinationReport) -> dict[str, object]:
    claims = [
        {
            "start": c.start,
            "end": c.end,
            "p1": c.p1,
            "p0": c.p0,
            "confidence": c.confidence,
            "gap": c.budget_gap,
            "status": c.status.value,
            "flagged": c.is_flagged,
            "spans": [(s.start, s.end, s.score) for s in c.spans],
        }
        for c in report.claims
    ]
    spans = [(s.start, s.end) for s in report.spans]
    return {"id": row.id, "risk": report.risk, "flagged": report.flagged, "spans": spans, "claims": claims}


async def judge(rows: list[LabelledRow], network: str, out: Path) -> None:
    models = WORK / "folds" / network
    known = pickle.loads((models / "known.pkl").read_bytes())
    by_folder: dict[str, list[LabelledRow]] = defaultdict(list)
    for row in rows:
        by_folder[folder_of(row)].append(row)
    for name, members in sorted(by_folder.items()):
        judges = court(models / name, known[name[0]])
        with out.open("a", encoding="utf-8") as lines:
            for row in members:
                report = await check(Case(row.claim, (Source("context", row.context),), row.question), judges)
                lines.write(json.dumps(line(row, report)) + "\n")
        print(name, len(members), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--network", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--part", default="0/1", help="I/N: every Nth answer, to share the work")
    options = parser.parse_args()
    part, parts = (int(value) for value in options.part.split("/"))
    done = (
        {json.loads(text)["id"] for text in options.out.read_text().splitlines()}
        if options.out.exists()
        else set()
    )
    (data,) = load_sets(DATA, ["ragtruth"])
    rows = [row for i, row in enumerate(data.rows) if i % parts == part and row.id not in done]
    os.environ.setdefault("GROUNDWIRE_LOG__LEVEL", "ERROR")
    asyncio.run(judge(rows, options.network, options.out))


if __name__ == "__main__":
    main()
