"""The guardrail behind the gateway and agent adapters: an answer and its request in, a decision out.

The modes are those of the proxy. Every adapter checks the answer against what the request holds: documents in
the prompt, results of tools, `grounding_source` blocks, earlier turns.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, get_args

from pydantic import TypeAdapter

from groundwire.engine import Groundwire
from groundwire.errors import GroundwireError, InputError
from groundwire.proxy.evidence import RequestEvidence
from groundwire.proxy.modes import first_contradiction, notes, stop_reason
from groundwire.streaming.incremental import IncrementalChecker
from groundwire.text.sentences import sentences
from groundwire.types import ClaimVerification, HallucinationReport

if TYPE_CHECKING:
    from groundwire.stores.cache import RedisCache

GuardMode = Literal["observe", "annotate", "block"]
BlockOn = Literal["contradiction", "flagged"]
OnUnchecked = Literal["allow", "block"]
_CHOICES: dict[str, tuple[str, ...]] = {
    "mode": get_args(GuardMode),
    "block_on": get_args(BlockOn),
    "on_unchecked": get_args(OnUnchecked),
}
_EVIDENCE = TypeAdapter(RequestEvidence)
_ENDS_SENTENCE = re.compile(r"[^\W\d_]{2,}[\"'”’)\]*_`]*[.!?…][\"'”’)\]*_`]*\s*\Z")
"""A word and a stop. A number or a single letter before the stop may go on ("3.5", "e.g.")."""


@dataclass(frozen=True, slots=True)
class GuardSettings:
    """What a guardrail does with an answer.

    `observe` only checks, `annotate` adds notes on unsupported statements, `block` withholds the answer: on a
    clear contradiction, or (`block_on="flagged"`) on any flagged claim. An answer that could not be checked
    passes, unless `on_unchecked` is "block".
    """

    mode: GuardMode = "block"
    block_on: BlockOn = "contradiction"
    on_unchecked: OnUnchecked = "allow"

    def __post_init__(self) -> None:
        for name, allowed in _CHOICES.items():
            if getattr(self, name) not in allowed:
                raise InputError(f"{name} must be one of {', '.join(allowed)}, got {getattr(self, name)!r}")

    @classmethod
    def parse(cls, given: Mapping[str, Any], base: GuardSettings) -> GuardSettings:
        """The settings that a request overrides; keys of others are ignored."""
        return cls(**{name: given.get(name, getattr(base, name)) for name in _CHOICES})


@dataclass(frozen=True, slots=True)
class GuardDecision:
    """`text` is what the reader may get, `blocked` the reason if it must not get the answer.

    `holdback` is the number of characters at the end of `text` that a stream must not send before the next
    round. `report` is None if there was nothing to check against.
    """

    text: str
    blocked: str = ""
    holdback: int = 0
    report: HallucinationReport | None = None


class AnswerGuard:
    """Decides on the answers to one request, which may grow between calls; estimates are made once."""

    def __init__(self, engine: Groundwire, evidence: RequestEvidence, settings: GuardSettings) -> None:
        self.evidence = evidence
        self.settings = settings
        self._engine = engine
        self._checker = IncrementalChecker(engine, evidence.sources, evidence.question)

    async def decide(self, text: str, *, complete: bool | None = True) -> GuardDecision:
        """Decide on the answer so far. `complete` says if it has ended; None means that it is not known."""
        if not text.strip():
            return GuardDecision(text)
        if not self.evidence:
            return self._unchecked(text, "the request contains no sources and no history")
        open_from = _open_from(text, complete)
        try:
            if self.settings.mode == "block" and 0 < open_from < len(text):
                # A flag depends on the risk of the whole answer, so the sentence that is still being written could
                # clear the flag of a finished one, which would then be sent.
                finished = await self._check(text[:open_from])
                if (claim := self._first_bad(finished.claims)) is not None:
                    return GuardDecision("", self._reason(claim), 0, finished)
            report = await self._check(text)
        except GroundwireError as error:
            return self._unchecked(text, str(error))
        if complete:
            self._engine.publish(report)
        return self._judge(text, report, open_from)

    async def _check(self, text: str) -> HallucinationReport:
        evidence = self.evidence
        return await self._checker.check(
            self._engine.case(text, evidence.sources, question=evidence.question, history=evidence.history)
        )

    def _unchecked(self, text: str, why: str, report: HallucinationReport | None = None) -> GuardDecision:
        blocks = self.settings.mode == "block" and self.settings.on_unchecked == "block"
        return GuardDecision(text, f"the answer could not be checked: {why}" if blocks else "", 0, report)

    def _judge(self, text: str, report: HallucinationReport, open_from: int) -> GuardDecision:
        if self.settings.mode == "observe":
            return GuardDecision(text, report=report)
        if self.settings.mode == "annotate":
            note = notes(report)
            return GuardDecision(text + note, holdback=len(note), report=report)
        if report.flagged is None and report.error:
            return self._unchecked(text, report.error, report)
        return self._block(text, report, open_from)

    def _block(self, text: str, report: HallucinationReport, open_from: int) -> GuardDecision:
        """Block on a finished sentence. An unfinished one is held back, and left out if it never ends."""
        claim = self._first_bad(report.claims)
        if claim is not None and claim.start < open_from:
            return GuardDecision("", self._reason(claim), 0, report)
        tail = len(text) - open_from
        if claim is None:
            return GuardDecision(text, holdback=tail, report=report)
        ending = f"[{self._reason(claim)}]"
        return GuardDecision(text[:open_from] + ending, holdback=len(ending), report=report)

    def _first_bad(self, claims: Sequence[ClaimVerification]) -> ClaimVerification | None:
        if self.settings.block_on == "flagged":
            return next((claim for claim in claims if claim.is_flagged), None)
        return first_contradiction(claims)

    def _reason(self, claim: ClaimVerification) -> str:
        if self.settings.block_on == "contradiction":
            return stop_reason(claim)
        return f"groundwire stopped this answer: “{claim.claim_text}” is not supported ({claim.reason})"


def _open_from(text: str, complete: bool | None) -> int:
    """Where the sentence begins that may still go on; the length of the text if there is none."""
    if complete or (complete is None and _ENDS_SENTENCE.search(text)):
        return len(text)
    starts = [span.start for span in sentences(text)]
    return starts[-1] if starts else len(text)


class CallEvidence:
    """Evidence of calls whose responses come in requests of their own, joined by the id of the call.

    Kept in memory for `ttl` seconds and up to `max_chars` characters, and in Redis where replicas share one.
    """

    def __init__(
        self,
        shared: RedisCache | None = None,
        *,
        ttl: float = 600.0,
        max_chars: int = 64_000_000,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._shared = shared
        self._ttl = ttl
        self._max_chars = max_chars
        self._clock = clock
        self._chars = 0
        self._lock = threading.Lock()  # calls are put and read in threads
        self._calls: OrderedDict[str, tuple[float, int, RequestEvidence]] = OrderedDict()

    def put(self, key: str, evidence: RequestEvidence) -> None:
        """Keep the evidence of a call; the oldest calls are dropped first. May wait for Redis."""
        text = json.dumps(_EVIDENCE.dump_python(evidence, mode="json"))
        with self._lock:
            self._drop(key)
            self._calls[key] = (self._clock() + self._ttl, len(text), evidence)
            self._chars += len(text)
            while self._calls and (self._chars > self._max_chars or self._is_expired(next(iter(self._calls)))):
                self._drop(next(iter(self._calls)))
        if self._shared is not None:
            self._shared.put({f"call:{key}": text}, self._ttl)

    def get(self, key: str) -> RequestEvidence | None:
        """The evidence of a call; None if it is not known (any more). May wait for Redis."""
        with self._lock:
            if key in self._calls and not self._is_expired(key):
                return self._calls[key][2]
        found = self._shared.get([f"call:{key}"], self._ttl) if self._shared is not None else {}
        return _EVIDENCE.validate_python(json.loads(found[f"call:{key}"])) if found else None

    def _is_expired(self, key: str) -> bool:
        return self._calls[key][0] <= self._clock()

    def _drop(self, key: str) -> None:
        if key in self._calls:
            self._chars -= self._calls.pop(key)[1]
