"""How a text speaks, apart from what it says: hedging, overconfidence, vagueness, self-correction, certainty.

Catches set phrases of English. Misses irony, tone, other languages. Costs five regular expressions a text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from groundwire.claims.confidence import inferred


class SignalKind(StrEnum):
    HEDGING = "Hedging"
    OVERCONFIDENCE = "Overconfidence"
    VAGUENESS = "Vagueness"
    SELF_CORRECTION = "SelfCorrection"
    CERTAINTY_MARKER = "CertaintyMarker"


@dataclass(frozen=True, slots=True)
class Signal:
    """`strength` is between 0 and 1 (1 for kinds that know no degrees); `text` at `start` gave it away."""

    kind: SignalKind
    strength: float = 1.0
    text: str = ""
    start: int = 0
    end: int = 0


_HEDGE = re.compile(
    r"\b(?:might|may|could|perhaps|maybe|possibly|probably|presumably|apparently|seems?|seemed|appears? to|"
    r"suggests?|likely|I (?:think|believe|guess|suppose|assume)|as far as I know|to my knowledge|"
    r"I(?:['’]m| am) not (?:sure|certain)|it is possible|if I (?:recall|remember))\b(?!\s+\d{1,2}\b)",
    re.IGNORECASE,
)
_OVERCONFIDENT = tuple(
    (re.compile(rf"\b(?:{words})", re.IGNORECASE), strength)
    for words, strength in (
        (r"absolutely|(?:undeniab|indisputab|unquestionab|irrefutab)l[ey]", 1.0),
        (r"(?:without|beyond) (?:a |any )?doubt|no doubt|100\s?% (?:sure|certain)", 1.0),
        (r"guaranteed|everyone knows|it is (?:a )?(?:well[- ])?(?:known|established) fact", 0.8),
        (r"(?:always|never|impossible|proves?|proven)\b", 0.5),
    )
)
_VAGUE = re.compile(
    r"\b(?:some (?:people|experts|studies|sources|say)|many (?:people|experts|say)|various|numerous|somewhat|"
    r"sort of|kind of|a number of|and so on|etc\b|in some ways?|things? like that|or something|stuff)",
    re.IGNORECASE,
)
_CORRECTION = re.compile(
    r"\b(?:I mean|I meant|or rather|let me (?:correct|rephrase)|correction:|I misspoke|my mistake|"
    r"scratch that|sorry, (?:I|it|that)|actually, (?:no|that|it))\b|\bwait,",
    re.IGNORECASE,
)
_CERTAIN = re.compile(
    r"\b(?:certainly|definitely|clearly|obviously|surely|undoubtedly|of course|in fact|indeed"
    r"|as I (?:said|mentioned))\b",
    re.IGNORECASE,
)


def linguistic_signals(text: str) -> list[Signal]:
    """In the order they stand.

    >>> [(s.kind.value, s.strength) for s in linguistic_signals("Absolutely, or rather, it might be.")]
    [('Overconfidence', 1.0), ('SelfCorrection', 1.0), ('Hedging', 0.4)]
    """
    found = [_signal(SignalKind.HEDGING, match, _doubt(match[0])) for match in _HEDGE.finditer(text)]
    for pattern, strength in _OVERCONFIDENT:
        found += [_signal(SignalKind.OVERCONFIDENCE, match, strength) for match in pattern.finditer(text)]
    for kind, pattern in (
        (SignalKind.VAGUENESS, _VAGUE),
        (SignalKind.SELF_CORRECTION, _CORRECTION),
        (SignalKind.CERTAINTY_MARKER, _CERTAIN),
    ):
        found += [_signal(kind, match) for match in pattern.finditer(text)]
    return sorted(found, key=lambda signal: (signal.start, signal.kind))


def _signal(kind: SignalKind, match: re.Match[str], strength: float = 1.0) -> Signal:
    return Signal(kind, strength, match[0], match.start(), match.end())


def _doubt(phrase: str) -> float:
    """The doubt that a hedge leaves, by the table of stated confidence; .4 for what is not in it."""
    sure = inferred(phrase)
    return round(1.0 - sure, 2) if sure is not None else 0.4
