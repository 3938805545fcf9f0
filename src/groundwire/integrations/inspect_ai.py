"""Inspect adapter: a scorer for the answer of a sample against its sources."""

from __future__ import annotations

from typing import Any, Unpack

from groundwire._optional import load
from groundwire.integrations.evaluator import EngineKwargs, GroundednessChecker
from groundwire.proxy.evidence import read_request
from groundwire.requests import as_sources

_FEATURE = "groundwire for Inspect"
_scorers: Any = load("inspect_ai.scorer", feature=_FEATURE, extra="inspect")


@_scorers.scorer(metrics=[_scorers.mean(), _scorers.stderr()], name="groundedness")  # type: ignore[untyped-decorator]
def groundedness(sources: str = "sources", **options: Unpack[EngineKwargs]) -> Any:
    """Score a sample by the share of claims in its completion that its sources support.

    `sources` is the key of the sample's metadata that holds a text, texts, or texts by id. Without it, the
    documents in the prompt and the results of tools are the sources. A sample that could not be checked is
    unscored: metrics leave it out.
    """
    checker = GroundednessChecker(**options)

    async def score(state: Any, target: Any) -> Any:  # noqa: ARG001 (the interface has a target)
        answer = state.output.completion
        given = as_sources(state.metadata.get(sources)) or _from_messages(state.messages)
        found = await checker.acheck(answer, given, state.input_text)
        if found.grounded is None:
            return _scorers.Score.unscored(
                reason="unchecked", answer=answer, explanation=found.error, metadata=found.details
            )
        return _scorers.Score(value=found.score, answer=answer, explanation=found.statements, metadata=found.details)

    return score


def _from_messages(messages: Any) -> Any:
    """Return what the conversation before the answer gives to check against."""
    turns = [{"role": m.role, "content": m.text, "name": getattr(m, "function", None)} for m in messages[:-1]]
    return read_request({"messages": turns}).sources
