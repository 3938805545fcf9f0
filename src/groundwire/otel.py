"""OpenTelemetry: one event `gen_ai.evaluation.result` per answer and per claim, through the Logs API.

The event and its attributes are those of the semantic conventions for generative AI, in development; this
file is the only one that names them. Nothing is imported or made unless the process has loaded
OpenTelemetry's logs, without which no event could be received.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from groundwire.types import ClaimVerification, HallucinationReport, Status
from groundwire.version import __version__

EVENT = "gen_ai.evaluation.result"
NAME = "gen_ai.evaluation.name"
SCORE = "gen_ai.evaluation.score.value"
LABEL = "gen_ai.evaluation.score.label"
EXPLANATION = "gen_ai.evaluation.explanation"
RESPONSE_ID = "gen_ai.response.id"
ERROR_TYPE = "error.type"

ANSWER_EVALUATION = "groundedness"
CLAIM_EVALUATION = "claim_support"
_CLAIM = "groundwire.claim"
_ERROR_CODES = ("timeout", "rate_limited")

Attributes = dict[str, Any]


def emit_evaluations(report: HallucinationReport, *, include_text: bool) -> None:
    """Emit the events of a report as children of the current span.

    Text of claims and sources is part of the explanations only if `include_text` is set.
    """
    if _is_loaded():
        claims = (_claim(claim, include_text) for claim in report.claims)
        _emit((_answer(report, include_text), *claims), report.response_id)


def emit_failure(response_id: str, why: str, *, include_text: bool) -> None:
    """Emit the event of an answer that no check could begin for, as a child of the current span."""
    if _is_loaded():
        _emit([{NAME: ANSWER_EVALUATION, **_failure(why, include_text)}], response_id)


def _emit(events: Iterable[Attributes], response_id: str) -> None:
    from opentelemetry._logs import LogRecord, SeverityNumber, get_logger

    logger = get_logger("groundwire", __version__)
    common = {RESPONSE_ID: response_id} if response_id else {}
    for found in events:
        attributes = found | common
        failed = ERROR_TYPE in attributes
        logger.emit(
            LogRecord(
                event_name=EVENT,
                attributes=attributes,
                severity_number=SeverityNumber.WARN if failed else SeverityNumber.INFO,
            )
        )


@contextmanager
def evaluated_span(traceparent: str) -> Iterator[None]:
    """Make the span that a W3C `traceparent` names the current one: the answer was traced elsewhere."""
    if not traceparent or not _is_loaded():
        yield
        return
    from opentelemetry import context
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

    token = context.attach(TraceContextTextMapPropagator().extract({"traceparent": traceparent}))
    try:
        yield
    finally:
        context.detach(token)


def _is_loaded() -> bool:
    return "opentelemetry._logs" in sys.modules


def _answer(report: HallucinationReport, include_text: bool) -> Attributes:
    found: Attributes = {NAME: ANSWER_EVALUATION}
    if report.flagged is None:
        return found | _failure(report.error or "", include_text)
    flagged = sum(claim.is_flagged for claim in report.claims)
    found |= {
        LABEL: "ungrounded" if report.flagged else "grounded",
        EXPLANATION: f"{flagged} of {len(report.claims)} claims not supported by the sources",
    }
    return found | ({} if report.grounding_ratio is None else {SCORE: report.grounding_ratio})


def _claim(claim: ClaimVerification, include_text: bool) -> Attributes:
    place: Mapping[str, Any] = {"id": claim.claim_id, "start": claim.start, "end": claim.end}
    found: Attributes = {NAME: CLAIM_EVALUATION, **{f"{_CLAIM}.{key}": value for key, value in place.items()}}
    if claim.status is Status.UNCHECKED:
        return found | _failure(claim.reason.removeprefix("could not be checked: "), include_text)
    kind = f"{claim.status.value} ({claim.gap_type.value})" if claim.gap_type else claim.status.value
    text = f": {claim.claim_text} ({claim.reason})" if include_text else ""
    found |= {LABEL: claim.status.value, EXPLANATION: f"{kind}{text}", f"{_CLAIM}.flagged": claim.is_flagged}
    # A citation of a source that does not exist is judged without a probability.
    return found | ({} if claim.p1 is None else {SCORE: claim.p1})


def _failure(why: str, include_text: bool) -> Attributes:
    """What could not be checked has an error and no score; a message of a server may quote the sources."""
    code = next((code for code in _ERROR_CODES if f"{code}:" in why), "unchecked")
    return {ERROR_TYPE: code, **({EXPLANATION: why} if include_text and why else {})}
