"""Claims of a response made comparable: what a statement is about, and under which circumstances it holds.

Two statements are held against each other only where everything but the point at issue is the same. Another
time, place, part or condition makes them two statements about two things.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from groundwire.openie.tense import clause_around
from groundwire.text.lexicon import NEGATIONS, word_set
from groundwire.text.tokens import words
from groundwire.types import Segment, Triple

# Words after which a statement holds only then, only there or only perhaps.
SHIFTS = re.compile(
    r"\b(?:if|unless|whether|otherwise|or|would|could|might|(?-i:may|MAY)|should|suppose|assuming|provided|depending|"
    r"now|no longer|then|later|previously|formerly|before|after|until|once|again|used to|any ?more|initially|"
    r"at first|originally|when|whenever|while|during|sometimes|often|usually|occasionally|alternately|"
    r"instead|partly|partially|half|technically|in a sense|seem\w*|appear\w*|claim\w*|said|says|according|"
    r"reported\w*|believ\w*|argu\w*|think|example|e\.g|myth|misconception|paradox\w*|first|second|third|another|other|"
    r"neither|either|not only|for some|in some|yet|still|already)\b",
    re.IGNORECASE,
)
QUOTED = re.compile(r"[\"“”«»]")
_PRONOUNS = word_set(
    """
    i you we it they he she this that these those there who which what one some someone somebody anyone
    something anything everything others many most few several both each such here
    """
)
_PERSONAL = word_set("it he she they")
_LIGHT = word_set(
    "also both currently simultaneously actually really very quite however therefore thus so time same"
)
_ARTICLES = word_set("the a an this that these those its his her their our your my")
QUANTITIES = word_set(
    """
    all every each no none any some several many most few everyone everybody nobody both of one two three four
    five six seven eight nine ten dozens hundreds
    """
)


@dataclass(frozen=True, slots=True)
class Statement:
    """`subject` without articles and quantities; `frame` are the other words of its clause."""

    segment: Segment
    claim: Triple
    subject: frozenset[str]
    object: frozenset[str]
    frame: frozenset[str]
    clause: str = ""

    @property
    def predicate(self) -> str:
        return self.claim.predicate


def statements(segments: Sequence[Segment]) -> Iterator[Statement]:
    """The claims that are plainly stated of something definite."""
    for segment in segments:
        if segment.assertive and not QUOTED.search(segment.text) and not SHIFTS.search(segment.text):
            named: set[frozenset[str]] = set()
            for claim in segment.claims:
                made = _statement(segment, claim)
                if made is None:
                    continue
                if claim.subject.lower() not in _PRONOUNS:
                    named.add(made.subject)
                elif len(named) == 1 and claim.subject.lower() in _PERSONAL:
                    made = replace(made, subject=next(iter(named)))  # the only one it can mean
                yield made


def _statement(segment: Segment, claim: Triple) -> Statement | None:
    subject = _content(claim.subject)
    low = claim.subject.lower().split()
    if low and low[-1] in _PRONOUNS:
        subject = frozenset({f"{low[-1]} of {segment.index}"})  # the same only within its sentence
    if not subject or low[0] in ("a", "an"):
        return None
    at = claim.object_span[0] - segment.start, claim.object_span[1] - segment.start
    start, end = clause_around(segment.text, *at) if 0 <= at[0] < len(segment.text) else (0, 0)
    written = segment.text[
        max(0, claim.subject_span[0] - segment.start) : claim.subject_span[1] - segment.start
    ]
    value = _content(claim.object)
    frame = _content(segment.text[start:end]) - subject - value - _content(written) - _LIGHT
    return Statement(segment, claim, subject, value, frame, segment.text[start:end])


def _content(text: str) -> frozenset[str]:
    return frozenset(
        word.norm
        for word in words(text)
        if not word.is_stop and (low := word.text.lower()) not in NEGATIONS and low not in QUANTITIES
    )


def head(text: str) -> str:
    """The last word of a phrase, lowered: what the thing is."""
    found = re.findall(r"[\w-]+", text.lower())
    return found[-1] if found else ""
