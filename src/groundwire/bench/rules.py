"""`groundwire bench rules`: what each rule of the verifier is worth on labelled data that it was not written for."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter

from rich.console import Console
from rich.table import Table

from groundwire import _loop
from groundwire.bench.measures import DataSet, LabelledRow, load_sets
from groundwire.types import Estimate, Query, Verifier
from groundwire.verifiers.rules import RULES, Rule, RuleResult, detect, moved

MAX_CLAIM_CHARS = 600
"""Longer claims are whole answers: a rule is about one statement."""


@dataclass(frozen=True, slots=True)
class RuleFigures:
    """A rule on one set. `base_rate`: share of the rows that have the label the rule gives most often.

    `flips_right` and `flips_wrong` count verdicts at P(yes) = .5 that change because of the rule.
    """

    rule: str
    set: str
    rows: int
    fires: int
    precision: float | None
    base_rate: float
    flips_right: int
    flips_wrong: int
    milliseconds: float


def is_right(row: LabelledRow, result: RuleResult) -> bool:
    """Whether a rule's label is the row's: contradicted needs more than unsupported where the set tells."""
    if result.label == "supported":
        return not row.bad
    if result.label == "contradicted":
        return row.bad and row.denied is not False
    return row.bad and row.denied is not True


async def measure_rule(rule: Rule, one: DataSet, verifier: Verifier) -> RuleFigures:
    rows = [row for row in one.rows if len(row.claim) <= MAX_CLAIM_CHARS]
    began = perf_counter()
    results = [detect(rule, Query(row.claim, row.context)) for row in rows]
    spent = perf_counter() - began
    fired = [(row, result) for row, result in zip(rows, results, strict=True) if result]
    estimates = await verifier.estimate([Query(row.claim, row.context) for row, _ in fired])
    flips = [_flip(rule, row, result, found) for (row, result), found in zip(fired, estimates, strict=True)]
    supported = [result.label == "supported" for _, result in fired]
    good = sum(not row.bad for row in rows) / max(1, len(rows))
    return RuleFigures(
        rule.name,
        one.name,
        len(rows),
        len(fired),
        sum(is_right(row, result) for row, result in fired) / len(fired) if fired else None,
        good if supported and sum(supported) * 2 >= len(supported) else 1.0 - good,
        flips.count(1),
        flips.count(-1),
        1000 * spent / max(1, len(rows)),
    )


def _flip(rule: Rule, row: LabelledRow, result: RuleResult, found: Estimate) -> int:
    """1 if the rule sets the verdict right, −1 if wrong, 0 if it stays."""
    before, after = found.p_yes >= 0.5, moved(found, rule.precision, result).p_yes >= 0.5
    if before == after:
        return 0
    return 1 if after == (not row.bad) else -1


def run_rules(console: Console, data: Path, sets: Sequence[str], limit: int | None, json_out: Path | None) -> int:
    """Measure and print; returns the exit code."""
    # Only here: the network takes a second to load.
    from groundwire.verifiers.local import LocalVerifier

    verifier = LocalVerifier()

    async def figures() -> list[RuleFigures]:
        chosen = load_sets(data, sets, limit)
        return [await measure_rule(rule, one, verifier) for rule in RULES for one in chosen]

    found = _loop.run(figures())
    if json_out:
        json_out.write_text(json.dumps([asdict(one) for one in found], indent=1) + "\n", encoding="utf-8")
    table = Table("rule", "set", "rows", "fires", "precision", "base rate", "set right", "set wrong", "ms a row")
    for one in found:
        precision = "–" if one.precision is None else f"{one.precision:.3f}"
        table.add_row(
            one.rule, one.set, str(one.rows), str(one.fires), precision, f"{one.base_rate:.3f}",
            str(one.flips_right), str(one.flips_wrong), f"{one.milliseconds:.2f}",
        )  # fmt: skip
    console.print(table)
    return 0
