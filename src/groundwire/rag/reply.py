"""What the chatbot answers with: the response, its sources, and the check of its claims."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict, cast

from groundwire.rag.index import Hit
from groundwire.types import ClaimKind, HallucinationReport
from groundwire.verdicts.profile import MIN_CHARS
from groundwire.verdicts.rag import HallucinationCheck, language


class FoundSource(TypedDict):
    """A passage the answer may cite: its mark, the document, and its place there."""

    id: str
    document: str
    title: str
    heading: str
    part: str
    start: int
    end: int
    score: float
    text: str


class Reply(TypedDict):
    """`hallucination_check` is null where none was made; `warning` then says why."""

    success: bool
    response: str
    sources: list[FoundSource]
    hallucination_check: HallucinationCheck | None
    warning: str | None


_WORDS = {
    "en": {
        "nothing": "The documents say nothing about this.",
        "no_source": "Note: no source was found for this question.",
        "short": "Note: the answer is too short to be checked.",
        "rest": "{n} further claims were not checked.",
        "skipped": "Note: the answer was not checked, because the server is busy.",
    },
    "he": {
        "nothing": "המסמכים אינם אומרים על כך דבר.",
        "no_source": "שים לב: לא נמצא מקור לשאלה זו.",
        "short": "שים לב: התשובה קצרה מכדי שניתן יהיה לבדוק אותה.",
        "rest": "{n} טענות נוספות לא נבדקו.",
        "skipped": "שים לב: התשובה לא נבדקה בשל עומס על השרת.",
    },
}


def said(key: str, text: str, **values: object) -> str:
    """One of our own sentences, in the language of `text`."""
    return _WORDS[language(text)][key].format(**values)


def found_sources(hits: Sequence[Hit]) -> list[FoundSource]:
    return [
        {
            "id": f"S{number}",
            "document": hit.passage.document,
            "title": hit.passage.title,
            "heading": hit.passage.heading,
            "part": hit.passage.part,
            "start": hit.passage.start,
            "end": hit.passage.end,
            "score": round(hit.score, 6),
            "text": hit.passage.text,
        }
        for number, hit in enumerate(hits)
    ]


def nothing_found(response: str) -> Reply:
    """No passage, no claim: nothing to check, and nothing made up."""
    check: HallucinationCheck = {
        "overall_grounded": True,
        "grounded_claims": 0,
        "total_claims": 0,
        "grounding_ratio": 1.0,
        "claims": [],
    }
    return _reply(response, (), check, said("no_source", response))


def checked(response: str, hits: Sequence[Hit], report: HallucinationReport) -> Reply:
    """The reply with what the profile `rag` found; what was left out of the check is said."""
    check = cast(HallucinationCheck, report.extra["hallucination_check"])
    warning = cast("str | None", report.extra["warning"])
    left = [claim for claim in report.skipped if claim.kind is ClaimKind.ASSERTION]
    if left and not check["claims"]:
        check = {**check, "overall_grounded": False, "grounding_ratio": 0.0}
        warning = said("short", response)
    elif rest := len([claim for claim in left if len(claim.text) >= MIN_CHARS]):
        warning = " ".join(filter(None, (warning, said("rest", response, n=rest))))
    return _reply(response, hits, check, warning)


def unchecked(response: str, hits: Sequence[Hit]) -> Reply:
    """The answer without a check, left out under load: nobody is told that it is grounded."""
    return _reply(response, hits, None, said("skipped", response))


def _reply(
    response: str, hits: Sequence[Hit], check: HallucinationCheck | None, warning: str | None
) -> Reply:
    return {
        "success": True,
        "response": response,
        "sources": found_sources(hits),
        "hallucination_check": check,
        "warning": warning,
    }
