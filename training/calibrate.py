"""Fit the calibration of an exported network and write it beside it.

python -m training.calibrate FOLDER --name NAME

Claims: the tenth of the cards that training never sees, with their twins, and sentences of RAGTruth and
silver answers of fold 1. Operating points: answers of the same cards and fold. Fold 0 and `cards.dev`
are for measuring.
"""

from __future__ import annotations

import argparse
import json
import pickle
import shutil
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from training import grounded
from training.data import fold, rows
from training.export import write_manifest
from training.grounded import CARDS, OWN_CARDS, card_claims, for_calibration, lines, marked_claims, row_marks
from training.pairs import CONTRADICTION, ENTAILMENT, LABELS, NEUTRAL
from training.pools_short import auroc

from groundwire.types import Query
from groundwire.verdicts.summary import with_odds
from groundwire.verifiers.local.calibration import Readings, features
from groundwire.verifiers.local.network import FOLDER
from groundwire.verifiers.local.quantities import NumberCheck
from groundwire.verifiers.local.verifier import LocalVerifier
from groundwire.verifiers.rules import RULES, detect

FOLD = 1
STRENGTHS = (0.01, 0.03, 0.1, 1.0)
"""Inverse penalties of the regression that are compared. With .003 the loss is the same (.7615, .7619), but sentences
that a source says word for word stay under .9."""
PRIOR_YES = 0.05
SETTLED = [rule for rule in RULES if rule.name != "logic"]
"""Claims that these rules settle are not the network's to judge, so it is not fitted on them."""
YES, UNSURE, NO = 0, 1, 2


@dataclass(slots=True)
class Example:
    """A claim and what was read of it. `answer` groups the claims of one answer."""

    label: int
    readings: Readings
    kind: str
    answer: str
    numbers: NumberCheck
    group: int


def examples(folder: Path, most: int) -> Iterator[Example]:
    if not (folder / "calibration.json").exists():
        # The verifier loads one, though only its windows are used here.
        shutil.copy(FOLDER / "calibration.json", folder)
        write_manifest(folder)
    verifier = LocalVerifier(folder)
    network = verifier.network()
    for kind, answer, source, claim, label in islice(_claims(), most):
        query = Query(claim, source)
        found = [] if any(detect(rule, query) for rule in SETTLED) else verifier.clauses(query, network)
        if found:
            clauses = network.read([(clause.window.text, clause.text) for clause in found])
            wide = verifier.wider(query, found, network)
            whole = network.read([(wide.text, claim)])[0] if wide else None
            readings = Readings(tuple(clauses), whole)
            yield Example(label, readings, kind, answer, verifier.numbers(query), zlib.crc32(source[:200].encode()))


def _claims() -> Iterator[tuple[str, str, str, str, int]]:
    """Cards, card answers, RAGTruth and silver answers in turn: any beginning of the list is mixed."""
    streams = [_card_stream(), _answer_stream(), _ragtruth_stream(), _silver_stream()]
    while streams:
        for stream in list(streams):
            items = list(islice(stream, 12))
            yield from items
            if not items:
                streams.remove(stream)


def _calibration_cards() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    cards = lines(CARDS / "cards.train.jsonl")
    twins = lines(CARDS / "twins.train.jsonl")
    for path in sorted(OWN_CARDS.glob("*.cards.jsonl")):
        if path.name.split(".")[0] not in grounded.HELD_OUT_WRITERS:
            cards += lines(path)
            twins += lines(path.with_name(path.name.replace(".cards.", ".twins.")))
    return _shuffled(card for card in cards if for_calibration(card["id"])), twins


def _shuffled(items: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """In a fixed pseudo-random order: files are sorted by task or writer."""
    return sorted(items, key=lambda item: zlib.crc32(f"order {item['id']}".encode()))


def _card_stream() -> Iterator[tuple[str, str, str, str, int]]:
    for claim in card_claims(*_calibration_cards()):
        yield "card", "", claim.source, claim.text, claim.label


def _answer_stream() -> Iterator[tuple[str, str, str, str, int]]:
    for card in _calibration_cards()[0]:
        for number, answer in enumerate((card["answer"], *card.get("answers", []))):
            marks = [
                (answer["text"].find(e["text"]), answer["text"].find(e["text"]) + len(e["text"]), LABELS[e["label"]])
                for e in answer["errors"]
            ]
            for text, label, _ in marked_claims(answer["text"], marks):
                yield "answer", f"{card['id']}/{number}", card["source"], text, label


def _ragtruth_stream() -> Iterator[tuple[str, str, str, str, int]]:
    for row in _shuffled(r for r in rows("dev.ragtruth") if fold(r) == FOLD):
        for text, label, _ in marked_claims(row["claim"], row_marks(row)):
            yield "ragtruth", row["id"], row["context"], text, label


def _silver_stream() -> Iterator[tuple[str, str, str, str, int]]:
    marked = {row["id"]: row for row in rows("train.silver_marked")}
    for row in _shuffled(r for r in rows("train.faithjudge_silver") if fold(r) == FOLD):
        if row["label"] or row["id"] in marked:
            marks = row_marks(marked.get(row["id"], row))
            for text, label, _ in marked_claims(row["claim"], marks):
                yield "silver", row["id"], row["context"], text, label


def fit(found: Sequence[Example]) -> tuple[LogisticRegression, np.ndarray]:
    """The softmax regression whose penalty has the lowest loss on sources it was not fitted on.

    Also returns P(yes), P(unsure), P(no) of each claim by a fit on the other sources.
    """
    labels, weights = _labels(found), _weights(found)
    best: tuple[float, float, np.ndarray] | None = None
    for strength in STRENGTHS:
        shares = cross_validated(found, strength)
        chosen = shares[np.arange(len(labels)), labels]
        loss = float(-(np.log(chosen) * weights).sum() / weights.sum())
        print(f"C {strength}: log loss on other sources {loss:.4f}")
        if best is None or loss < best[0]:
            best = (loss, strength, shares)
    assert best is not None
    _, strength, shares = best
    model = LogisticRegression(C=strength, max_iter=2000)
    return model.fit(feature_table(found), labels, sample_weight=weights), shares


def cross_validated(found: Sequence[Example], strength: float, folds: int = 5) -> np.ndarray:
    """P(yes), P(unsure), P(no) of each claim by a fit on the other sources."""
    table, labels, weights = feature_table(found), _labels(found), _weights(found)
    fold = np.array([e.group % folds for e in found])
    shares = np.zeros((len(found), 3))
    for number in range(folds):
        inside = fold == number
        model = LogisticRegression(C=strength, max_iter=2000)
        model.fit(table[~inside], labels[~inside], sample_weight=weights[~inside])
        shares[inside] = model.predict_proba(table[inside])
    return shares


def describe(found: Sequence[Example], shares: np.ndarray) -> None:
    """Print, per kind of claim, AUROC of unsupported, of contradicted among unsupported, and calibration."""
    labels = _labels(found)
    for kind in sorted({e.kind for e in found}):
        of = np.array([e.kind == kind for e in found])
        bad, risk = labels[of] != YES, 1 - shares[of, YES]
        denied, called = labels[of][bad] == NO, shares[of].argmax(1) == NO
        against = auroc(list(shares[of][bad][:, NO]), list(denied)) if bad.any() else float("nan")
        print(
            f"{kind}: {of.sum()} claims, {bad.sum()} unsupported; AUROC {auroc(list(risk), list(bad)):.3f}, "
            f"contradicted against neutral {against:.3f}; flagged at .5: "
            f"{(risk[~bad] > 0.5).mean():.2f} of the supported, {(risk[bad] > 0.5).mean():.2f} of the rest; "
            f"called contradicted: {called[bad][denied].mean():.2f} of the contradicted, "
            f"{called[bad][~denied].mean():.2f} of the neutral"
        )


def _labels(found: Sequence[Example]) -> np.ndarray:
    return np.array([{ENTAILMENT: YES, NEUTRAL: UNSURE, CONTRADICTION: NO}[e.label] for e in found])


def _weights(found: Sequence[Example]) -> np.ndarray:
    """Each kind weighs the same, and half of it is supported: P(yes) = .5 is where the evidence is even.

    In answers most claims are supported; how many of them are flagged is set by the risk of the whole answer.
    """
    cells = [(e.kind, e.label == ENTAILMENT) for e in found]
    counts = Counter(cells)
    return np.array([len(found) / len(counts) / counts[cell] for cell in cells])


def feature_table(found: Sequence[Example]) -> np.ndarray:
    """Features as the verifier sees them: where the clauses settle a claim, its whole is not read."""
    return np.array(
        [features(replace(e.readings, whole=None) if e.readings.is_clear else e.readings, e.numbers) for e in found]
    )


def answer_risks(found: Sequence[Example], yes: np.ndarray) -> dict[str, dict[str, tuple[float, bool]]]:
    """Per kind and answer: the risk of its worst claim, as the package computes it, and the truth."""
    by_answer: dict[tuple[str, str], list[tuple[float, bool]]] = {}
    for example, p_yes in zip(found, yes, strict=True):
        if example.answer:
            key = (example.kind, example.answer)
            by_answer.setdefault(key, []).append((float(p_yes), example.label != ENTAILMENT))
    risks: dict[str, dict[str, tuple[float, bool]]] = {}
    for (kind, answer), claims in by_answer.items():
        risk = 1 - with_odds(min(p_yes for p_yes, _ in claims), len(claims))
        risks.setdefault(kind, {})[answer] = (risk, any(wrong for _, wrong in claims))
    return risks


def risk_threshold(risks: dict[str, dict[str, tuple[float, bool]]], false_alarms: float) -> float:
    """The smallest threshold at which each kind's clean answers are flagged at most this often."""
    limits = []
    for kind, answers in risks.items():
        clean = sorted(risk for risk, wrong in answers.values() if not wrong)
        bad = [risk for risk, wrong in answers.values() if wrong]
        limit = clean[min(len(clean) - 1, int(len(clean) * (1 - false_alarms)))]
        caught = sum(risk > limit for risk in bad) / max(1, len(bad))
        print(f"{kind}: {len(clean)} clean, {len(bad)} wrong; over {limit:.3f}: {caught:.2f} of the wrong ones")
        limits.append(limit)
    return float(np.mean(limits))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--name", required=True)
    parser.add_argument("--most", type=int, default=6000)
    parser.add_argument("--false-alarms", type=float, default=0.12)
    parser.add_argument("--claim-yes", type=float, default=0.5, help="p1 under which a claim is flagged")
    options = parser.parse_args()
    cache = options.folder / "readings.pkl"
    if cache.exists():
        found: list[Example] = pickle.loads(cache.read_bytes())
    else:
        found = list(examples(options.folder, options.most))
        cache.write_bytes(pickle.dumps(found))
    model, shares = fit(found)
    describe(found, shares)
    threshold = risk_threshold(answer_risks(found, shares[:, YES]), options.false_alarms)
    data = {
        "name": options.name,
        "weights": [[round(float(w), 4) for w in row] for row in model.coef_],
        "bias": [round(float(b), 4) for b in model.intercept_],
        "prior_yes": PRIOR_YES,
        "threshold_bits": round(gap_bits(options.claim_yes), 3),
        "risk_threshold": round(threshold, 3),
    }
    (options.folder / "calibration.json").write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    write_manifest(options.folder)
    print(json.dumps(data))


def gap_bits(p1: float, target: float = 0.95) -> float:
    """The gap in bits of a claim with this p1 and the constant p0 of the embedded verifier."""
    from groundwire.budget import budget

    return budget(p1, PRIOR_YES, target).gap_bits


if __name__ == "__main__":
    main()
