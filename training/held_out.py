"""Write the rows that were never trained on as `dev.*` files, for `groundwire bench quality --data FOLDER`.

python -m training.held_out FOLDER

RAGTruth and silver answers of fold 0 (sources that neither training nor calibration saw), and VitaminC.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterable
from pathlib import Path

from training.data import Row, fold, rows

FOLD = 0


def write(folder: Path, name: str, found: Iterable[Row]) -> None:
    with gzip.open(folder / f"dev.{name}.held_out.jsonl.gz", "wt", encoding="utf-8") as out:
        for row in found:
            out.write(json.dumps(row, ensure_ascii=False) + "\n")


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    marked = {row["id"]: row for row in rows("train.silver_marked")}
    silver = (marked.get(row["id"], row) for row in rows("train.faithjudge_silver") if fold(row) == FOLD)
    write(folder, "ragtruth", (row for row in rows("dev.ragtruth") if fold(row) == FOLD))
    write(folder, "silver", silver)
    write(folder, "vitaminc", rows("measure.vitaminc"))


if __name__ == "__main__":
    main()
