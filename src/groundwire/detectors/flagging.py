"""A flag on a piece of a segment, its content cut from the response's own words."""

from __future__ import annotations

from groundwire.types import Flag, HallucinationType, Segment


def temporal_flag(
    segment: Segment, start: int, end: int, confidence: float, suggestion: str, evidence: str = ""
) -> Flag:
    """On response[start:end], which lies in the segment."""
    content = segment.text[start - segment.start : end - segment.start]
    kind = HallucinationType.TEMPORAL_ERROR
    return Flag(kind, start, end, content, confidence, suggestion=suggestion, evidence=evidence)


def logical_flag(
    segment: Segment, start: int, end: int, confidence: float, suggestion: str, evidence: str = ""
) -> Flag:
    """On segment.text[start:end]."""
    kind = HallucinationType.LOGICAL_INCONSISTENCY
    at = segment.start
    return Flag(kind, at + start, at + end, segment.text[start:end], confidence, suggestion, evidence)
