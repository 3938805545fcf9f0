"""Two batch runs side by side: which responses and claims changed, and whether that is more than chance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import comb
from typing import Any

Report = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ClaimChange:
    """A claim of one response whose verdict differs between the runs."""

    response: str
    text: str
    before: str
    after: str
    p1_before: float | None
    p1_after: float | None
    flipped: bool


@dataclass(slots=True)
class RunComparison:
    """What changed from the first run to the second. Responses are the same if their ids are.

    `cleared` are flagged in the first run alone, `broken` in the second alone; `unsettled` could not be
    checked in one of them. Claims are the same if their texts are; `changes` lists those with another
    verdict, of which the flipped ones are flagged in one run alone.
    """

    responses: int = 0
    flagged_before: int = 0
    flagged_after: int = 0
    cleared: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    unsettled: list[str] = field(default_factory=list)
    only_before: list[str] = field(default_factory=list)
    only_after: list[str] = field(default_factory=list)
    claims: int = 0
    claims_gone: int = 0
    claims_new: int = 0
    changes: list[ClaimChange] = field(default_factory=list)

    @property
    def p_value(self) -> float:
        return mcnemar(len(self.cleared), len(self.broken))

    @property
    def flipped(self) -> list[ClaimChange]:
        return [change for change in self.changes if change.flipped]


def mcnemar(cleared: int, broken: int) -> float:
    """The two-sided p-value of McNemar's exact test.

    The probability of a split at least this uneven if a response that changes is as likely to become
    flagged as to stop being flagged.

    >>> round(mcnemar(1, 9), 4), mcnemar(3, 3), mcnemar(0, 0)
    (0.0215, 1.0, 1.0)
    """
    changed, fewer = cleared + broken, min(cleared, broken)
    tail = sum(comb(changed, k) for k in range(fewer + 1))
    return min(1.0, 2.0 * float(Fraction(tail, 2**changed)))


def compare_runs(before: Mapping[str, Report], after: Mapping[str, Report]) -> RunComparison:
    """Compare two runs, given as reports by id."""
    found = RunComparison(
        only_before=[name for name in before if name not in after],
        only_after=[name for name in after if name not in before],
    )
    for name, old in before.items():
        if name in after:
            _compare_response(found, name, old, after[name])
    return found


def _compare_response(found: RunComparison, name: str, old: Report, new: Report) -> None:
    found.responses += 1
    found.flagged_before += old["flagged"] is True
    found.flagged_after += new["flagged"] is True
    if old["flagged"] is None or new["flagged"] is None:
        found.unsettled.append(name)
    elif old["flagged"] != new["flagged"]:
        (found.cleared if old["flagged"] else found.broken).append(name)
    earlier, later = dict(_claims(old)), dict(_claims(new))
    both = [key for key in earlier if key in later]
    found.claims += len(both)
    found.claims_gone += len(earlier) - len(both)
    found.claims_new += len(later) - len(both)
    found.changes += [
        _change(name, earlier[key], later[key]) for key in both if _differ(earlier[key], later[key])
    ]


def _claims(report: Report) -> Iterator[tuple[tuple[str, int], Report]]:
    """The claims by their text; one that is repeated is told apart by how often it came before."""
    seen: dict[str, int] = {}
    for claim in report["claims"]:
        text = " ".join(claim["text"].split())
        seen[text] = seen.get(text, 0) + 1
        yield (text, seen[text]), claim


def _differ(old: Report, new: Report) -> bool:
    return bool(old["status"] != new["status"] or old["flagged"] != new["flagged"])


def _change(name: str, old: Report, new: Report) -> ClaimChange:
    return ClaimChange(
        name,
        old["text"],
        old["status"],
        new["status"],
        old["p1"],
        new["p1"],
        flipped=old["flagged"] != new["flagged"],
    )
