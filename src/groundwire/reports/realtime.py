"""The events of a guarded answer as JSON objects, each with its `kind`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from groundwire.reports.json import claim_object, report_object
from groundwire.types.realtime import (
    Coherence,
    DoneEvent,
    InterruptedEvent,
    KnowledgeCheck,
    ReformulatedEvent,
    StreamEvent,
    TokenEvent,
    VerdictEvent,
    WarningEvent,
)


def event_object(event: StreamEvent) -> dict[str, Any]:
    """What a client gets to see of an event."""
    return {"kind": event.kind, **_OBJECTS[type(event)](event)}


def done_object(done: DoneEvent) -> dict[str, Any]:
    return {
        "text": done.text,
        "risk": done.risk.value,
        "action": done.action,
        "error": done.error or None,
        "generated": done.generated,
        "knowledge": knowledge_object(done.knowledge) if done.knowledge else None,
        "coherence": _coherence(done.coherence) if done.coherence else None,
        "attributions": [asdict(attribution) for attribution in done.attributions],
        "warnings": [asdict(warning) for warning in done.warnings],
        "weak_points": [asdict(point) for point in done.weak_points],
        "report": report_object(done.report) if done.report else None,
    }


def knowledge_object(check: KnowledgeCheck) -> dict[str, Any]:
    return {
        "verified": check.verified,
        "requirements": [asdict(requirement) for requirement in check.requirements],
        "alternatives": [{"kind": kind.value, "text": text} for kind, text in check.alternatives],
    }


def _coherence(found: Coherence) -> dict[str, Any]:
    return {"coherent": found.coherent, **asdict(found)}


_OBJECTS: dict[type, Callable[[Any], dict[str, Any]]] = {
    TokenEvent: lambda event: {"text": event.text},
    WarningEvent: lambda event: asdict(event.warning),
    VerdictEvent: lambda event: claim_object(event.verdict),
    InterruptedEvent: lambda event: {"at": event.at, "reason": event.reason, "risk": event.risk.value},
    ReformulatedEvent: lambda event: {"text": event.text, "reason": event.reason},
    DoneEvent: done_object,
}
