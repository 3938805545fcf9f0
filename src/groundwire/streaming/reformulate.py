"""What stands in place of an answer that failed: written again by the model, else by rule, then checked."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from groundwire.config.service import RealTimeConfig
from groundwire.errors import GroundwireError
from groundwire.llm import Generator, Message
from groundwire.streaming.coherence import coherence_of
from groundwire.streaming.prompt import again
from groundwire.streaming.protocol import Assessment, assess, guidance, stops, wordings
from groundwire.streaming.wording import cut_at, reworded, stopped
from groundwire.text.sentences import sentences
from groundwire.types import HallucinationReport, Turn

_log = logging.getLogger(__name__)
Check = Callable[[str], Awaitable[HallucinationReport]]
_GUIDANCE_CHARS = 6000
_END = 1 << 60


@dataclass(frozen=True, slots=True)
class Rewriter:
    """Who writes again (None: a rule does), what was asked, and who checks what comes of it."""

    generator: Generator | None
    messages: tuple[Message, ...]
    check: Check
    config: RealTimeConfig
    history: tuple[Turn, ...] = ()

    async def assess(self, text: str, report: HallucinationReport) -> Assessment:
        """What is weak in a new text, by its report and by what was said before."""
        coherence = await asyncio.to_thread(coherence_of, text, self.history, report.detection)
        return assess(report.claims, (), coherence, self.config.interrupt_threshold)


@dataclass(frozen=True, slots=True)
class Reformulation:
    """`text` is what the user reads; `report` is about it before doubts and marks were put in."""

    text: str
    report: HallucinationReport | None


async def reformulate(said: str, found: Assessment, rewriter: Rewriter) -> Reformulation:
    """The model's second attempt where it holds; else what stands of the first, and what is not known."""
    attempt = await _by_model(said, found, rewriter)
    return attempt or await _by_rule(said, found, rewriter)


async def _by_model(said: str, found: Assessment, rewriter: Rewriter) -> Reformulation | None:
    if rewriter.generator is None:
        return None
    kept = said[: cut_at(said, found.failing)].rstrip()
    told = guidance(found.failing)[:_GUIDANCE_CHARS]
    try:
        (written,) = await rewriter.generator.complete(
            again(rewriter.messages, kept or "…", told), max_tokens=rewriter.config.max_tokens
        )
    except GroundwireError as error:
        _log.warning("the answer could not be written again: %s", type(error).__name__)
        return None
    if not written.text.strip():
        return None
    text = _joined(kept, written.text.strip())
    report = await _checked(text, rewriter)
    if report is None or report.error:
        return None
    second = await rewriter.assess(text, report)
    if second.failing or stops(second.risk, rewriter.config):
        return None  # no better: the rule says less, and nothing wrong
    return Reformulation(worded(text, report, second, rewriter.config), report)


async def _checked(text: str, rewriter: Rewriter) -> HallucinationReport | None:
    """None where nobody could check it now: an engine with too much to do, a store that is gone."""
    try:
        return await rewriter.check(text)
    except GroundwireError as error:
        _log.warning("what was written again could not be checked: %s", type(error).__name__)
        return None


def _joined(kept: str, rest: str) -> str:
    """What stands and what follows it; sentences that the model says once more are left out."""
    told = [" ".join(kept[s.start : s.end].split()) for s in sentences(kept)]
    fresh = [s for s in sentences(rest) if " ".join(rest[s.start : s.end].split()) not in told]
    if not fresh:
        return kept or rest
    follows = rest if len(fresh) == len(sentences(rest)) else " ".join(rest[s.start : s.end] for s in fresh)
    return f"{kept}{_gap(kept)}{follows}" if kept else follows


def _gap(kept: str) -> str:
    """A new paragraph behind lists, headings and paragraphs; prose runs on."""
    return "\n\n" if "\n" in kept else " "


async def _by_rule(said: str, found: Assessment, rewriter: Rewriter) -> Reformulation:
    text = stopped(said, found.failing)
    kept = len(said[: cut_at(said, found.failing)].rstrip())
    report = await _checked(text, rewriter)
    if report is None:
        return Reformulation(text, None)
    second = await rewriter.assess(text, report)
    own = Assessment(tuple(point for point in second.points if point.start < kept))
    return Reformulation(worded(text, report, own, rewriter.config, kept), report)


def worded(
    text: str,
    report: HallucinationReport,
    found: Assessment,
    config: RealTimeConfig,
    until: int = _END,
) -> str:
    """An answer that may stay, with its doubts and its sources said; nothing is put in behind `until`."""
    claims = [claim for claim in report.claims if claim.start < until]
    return reworded(text, claims, found.points, wordings(config)).text
