"""What was found out about an answer, as headers and as the object that a stream ends with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

from groundwire.config.service import CLEAR
from groundwire.proxy.headers import Mode
from groundwire.proxy.protocol import Json, Key
from groundwire.reports.json import report_object
from groundwire.streaming.protocol import GRAVE, assess
from groundwire.types import HallucinationReport, Risk, Status


class State(StrEnum):
    """UNCHECKED: it should have been and could not, or not in time. NOTHING: there is nothing to go by."""

    CHECKED = "CHECKED"
    UNCHECKED = "UNCHECKED"
    NOTHING = "NOTHING_TO_CHECK"
    SKIPPED = "SKIPPED"
    PENDING = "PENDING"


@dataclass(frozen=True, slots=True)
class Outcome:
    """One answer's reports, by text; `id` is where the first of them is kept. `sure` is how sure a
    contradiction must be to count as a clear one.
    """

    mode: Mode
    state: State
    reason: str = ""
    reports: Mapping[Key, HallucinationReport] = field(default_factory=dict)
    id: str = ""
    sure: float = CLEAR
    blocked: str = ""

    @property
    def told(self) -> Json:
        """The report event's object."""
        return {
            "id": self.id or None,
            "mode": self.mode,
            "status": self.state.value,
            "reason": self.reason or None,
            "blocked": self.blocked or None,
            "flagged": self._flagged,
            "claims": sum(r.total_claims for r in self._all),
            "flagged_claims": self._marked,
            "max_severity": self.severity.value if self.severity else None,
            "risk": self._risk,
            "reports": [report_object(r) for r in self._all],
        }

    @property
    def figures(self) -> dict[str, object]:
        """The headers' values, by what stands behind `x-groundwire-`."""
        found: dict[str, object] = {"mode": self.mode, "status": self.state.value}
        if self.reason:
            found["reason"] = self.reason
        if self.id:
            found["report-id"] = self.id
        if self._all:
            found |= {
                "claims": sum(r.total_claims for r in self._all),
                "flagged": self._marked,
                "max-severity": self.severity.value if self.severity else "none",
            }
        if self._risk is not None:
            found["risk"] = self._risk
        return found

    @property
    def severity(self) -> Risk | None:
        """The gravest of all, None where nothing is flagged."""
        found = [s for r in self._all if (s := severity(r, self.sure))]
        return max(found, key=_GRAVITY.index, default=None)

    @property
    def _all(self) -> Sequence[HallucinationReport]:
        return tuple(self.reports.values())

    @property
    def _marked(self) -> int:
        return sum(r.flagged_claims + len(r.flags) for r in self._all)

    @property
    def _flagged(self) -> bool | None:
        said = [r.flagged for r in self._all]
        return True if True in said else None if None in said or not said else False

    @property
    def _risk(self) -> float | None:
        risks = [r.risk for r in self._all if r.risk is not None]
        return round(max(risks), 4) if risks else None


_GRAVITY = tuple(Risk)
"""The severity from which what a detector found is of high risk."""


def severity(report: HallucinationReport, sure: float) -> Risk | None:
    """As the response protocol weighs it; None where there is nothing to react to."""
    claims = [claim for claim in report.claims if claim.is_flagged]
    found = [assess(report.claims, threshold=sure).risk] if claims else []
    found += [Risk.HIGH if flag.severity >= GRAVE else Risk.MEDIUM for flag in report.flags]
    return max(found, key=_GRAVITY.index, default=None)


def settled(mode: Mode, reports: Mapping[Key, HallucinationReport], sure: float) -> Outcome:
    """Checked where every claim is; unchecked, and why, where one is not."""
    found = Outcome(mode, State.CHECKED, reports=reports, sure=sure)
    errors = [r.error for r in reports.values() if r.error]
    late = [c.reason for r in reports.values() for c in r.claims if c.status is Status.UNCHECKED]
    if errors or late:
        return replace(found, state=State.UNCHECKED, reason=(*errors, *late)[0])
    return found
