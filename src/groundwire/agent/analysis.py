"""What many runs come to: how often claims are flagged, answers tried again, and what verifying costs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isfinite

from groundwire.agent.trajectory import Event, Json, Kind, Trajectory


@dataclass(frozen=True, slots=True)
class Analysis:
    """Counts over runs; calls of a model to itself are part of their run. A share of nothing is None."""

    runs: int = 0
    finished: int = 0
    failed: int = 0
    verifications: int = 0
    skipped: int = 0
    unchecked: int = 0
    retries: int = 0
    stopped: int = 0
    claims: int = 0
    flagged: int = 0
    base_seconds: float = 0.0
    verification_seconds: float = 0.0
    base_tokens: int = 0
    verification_tokens: int = 0

    @property
    def flagged_share(self) -> float | None:
        return self.flagged / self.claims if self.claims else None

    @property
    def retried_share(self) -> float | None:
        return self.retries / self.verifications if self.verifications else None

    @property
    def seconds_share(self) -> float | None:
        return self.verification_seconds / self.base_seconds if self.base_seconds else None

    @property
    def tokens_share(self) -> float | None:
        return self.verification_tokens / self.base_tokens if self.base_tokens else None


def analyse(trajectory: Trajectory) -> Analysis:
    events = trajectory.events
    ends = [event for event in events if event.kind is Kind.END and event.depth == 0]
    checks = [event for event in events if event.kind is Kind.VERIFICATION]
    claims = [claim for check in checks for claim in claims_of(check)]
    costs = [event for event in events if event.kind is Kind.COST and event.depth == 0]
    return Analysis(
        runs=len(trajectory.runs()),
        finished=len(ends),
        failed=sum("retries" not in event.data for event in ends),
        verifications=len(checks),
        skipped=_count(events, Kind.SKIPPED),
        unchecked=sum(bool(check.data.get("error")) for check in checks),
        retries=_count(events, Kind.RETRY),
        stopped=_count(events, Kind.STOPPED),
        claims=len(claims),
        flagged=sum(claim.get("flagged") is True for claim in claims),
        base_seconds=_sum(costs, "base", ("seconds",)),
        verification_seconds=_sum(costs, "verification", ("seconds",)),
        base_tokens=int(_sum(costs, "base", ("prompt_tokens", "completion_tokens"))),
        verification_tokens=int(_sum(costs, "verification", ("prompt_tokens", "completion_tokens"))),
    )


def claims_of(check: Event) -> list[dict[str, Json]]:
    """The claims of a verification, as its report has them; a file may hold anything."""
    report = check.data.get("report")
    claims = report.get("claims") if isinstance(report, dict) else None
    return [claim for claim in claims if isinstance(claim, dict)] if isinstance(claims, list) else []


def last_verdict(events: Sequence[Event]) -> bool | None:
    """Whether the last answer of a run failed its verification; None where it could not be checked."""
    checks = [event for event in events if event.kind is Kind.VERIFICATION and event.depth == 0]
    if not checks:
        return False
    last = checks[-1].data
    if last.get("error") and not last.get("failed"):
        # An attempt nobody could check is not kept in place of one that is known to fail.
        return True if any(check.data.get("failed") is True for check in checks) else None
    return last.get("failed") is True


def _count(events: Iterable[Event], kind: Kind) -> int:
    return sum(event.kind is kind for event in events)


def _sum(costs: Iterable[Event], part: str, keys: Sequence[str]) -> float:
    return sum(_number(cost.data.get(part), key) for cost in costs for key in keys)


def _number(usage: Json, key: str) -> float:
    value = usage.get(key) if isinstance(usage, dict) else None
    usable = isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)
    return float(value) if usable and isinstance(value, int | float) else 0.0
