from __future__ import annotations

import gzip
import json
from pathlib import Path

from benchmarks.languages import measure, rows

SOURCE = "Der Antrag muss bis zum 15. Mai eingehen. Die Gebühr beträgt 30 Euro."
CASES = [
    {"context": SOURCE, "claim": "Die Gebühr beträgt 30 Euro.", "nli": "entailment"},
    {"context": SOURCE, "claim": "Die Gebühr beträgt 50 Euro.", "nli": "contradiction"},
    {"context": SOURCE, "claim": "Drei Wale schwammen gestern durch den Hafen.", "nli": "entailment"},
]


def test_what_was_decided_is_counted_by_way_and_by_truth(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl.gz"
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, CASES)).encode()))
    figures = {figure.name: figure.value for figure in measure(rows(path))}
    assert figures["decided by words: right, of 1"] == 1
    assert figures["decided by fact: right, of 1"] == 1
    assert figures["decided by silence: right, of 1"] == 0
    assert figures["undecided, of 3"] == 0
