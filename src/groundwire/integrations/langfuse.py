"""Langfuse adapter: write a report as scores of a trace."""

from __future__ import annotations

from typing import Any

from groundwire.integrations.evaluator import GroundednessResult, judge_report
from groundwire.types import HallucinationReport


def score_trace(
    client: Any,
    found: HallucinationReport | GroundednessResult,
    *,
    trace_id: str,
    observation_id: str | None = None,
    name: str = "groundedness",
) -> None:
    """Send scores through a `langfuse.Langfuse` client: `name` (numeric) and `name_label` (categorical).

    The comment of the first lists every claim, and its metadata has spans and claims. A report that could not
    be checked is only labelled "unchecked". If the report was repaired, the repaired text is a correction.
    """
    result = judge_report(found) if isinstance(found, HallucinationReport) else found
    where = {"trace_id": trace_id, "observation_id": observation_id}
    if result.grounded is not None and result.score is not None:
        client.create_score(
            name=name,
            value=result.score,
            data_type="NUMERIC",
            comment=result.statements,
            metadata=result.details,
            **where,
        )
    comment = result.error if result.grounded is None else result.reasoning
    client.create_score(name=f"{name}_label", value=result.value, data_type="CATEGORICAL", comment=comment, **where)
    repair = (result.report or {}).get("repair")
    if repair is not None and repair["edits"]:
        client.create_score(name="output", value=repair["text"], data_type="CORRECTION", **where)
