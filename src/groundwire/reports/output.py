"""What became of verifying an output, as JSON."""

from __future__ import annotations

from typing import Any

from groundwire.reports.json import report_object
from groundwire.types import OutputCheck


def output_object(found: OutputCheck) -> dict[str, Any]:
    return {
        "id": found.id,
        "status": found.status.value,
        "reason": found.reason,
        "flagged": found.flagged,
        "flagged_claims": list(found.flagged_claims),
        "feedback": found.feedback,
        "report": report_object(found.report) if found.report else None,
    }
