"""Which sentences assert something. English and Hebrew by patterns; other languages by their question marks.

A pattern is anchored where a sentence begins, because the words alone decide nothing: "Will Smith was born
in 1968." is no question and "Select statements run in 3 ms." no instruction. What no pattern knows is an
assertion: a sentence checked in vain costs less than one that slips through.
"""

from __future__ import annotations

import re

from groundwire.claims import phrases
from groundwire.claims.confidence import is_only_confidence, stated
from groundwire.claims.verbs import has_auxiliary, has_verb
from groundwire.types import ClaimKind

_ENDS_ASKING = re.compile(r"[?？؟⁇⁈]\s*[!?？！.…]*[\"'”’»)\]}*_」』）\s]*\Z")
_QUOTED_END = re.compile(r"[\"“«„]([^\"“”«»„]{1,200})[?？؟][\"”»]\s*[.!]?\s*\Z")
_NEGATES = re.compile(
    r"\b(?:no|not|none|unable|cannot|impossible|insufficient|unclear|unknown|silent|difficult|hard|sorry)\b|n't\b|apolog|[א-ת]",
    re.I,
)
_INTRODUCTION = re.compile(
    r"(?:[^.,;:]{1,120},|and|but|so|yet|however|therefore|thus|additionally|unfortunately) ", re.I
)
_INTRODUCES = re.compile(
    r"(?:based|according|given|from|as|if|while|although|though|since|i'?m|i am|i|unfortunately)\b", re.I
)
_HEAD = 400


def kind_of(text: str, *, heading: bool = False) -> ClaimKind:
    """What a sentence does: only assertions can be right or wrong.

    >>> [kind_of(text).value for text in ("Will Smith was born in 1968.", "Will you come?", "Maybe it is.")]
    ['assertion', 'question', 'hedge']
    """
    if not any(map(str.isalnum, text)) or is_only_confidence(text):
        return ClaimKind.META
    head = " ".join(text[:_HEAD].replace("’", "'").split()).lstrip("\"'“‘«(-–—*#• ")
    if _is_question(text, head, heading=heading):
        return ClaimKind.QUESTION
    if heading and not (has_auxiliary(text) and len(text.split()) >= 4):
        return ClaimKind.META
    if text.rstrip("\"'”’)*_ ").endswith((":", "：")):
        return ClaimKind.META
    return _by_tables(text, head)


def _by_tables(text: str, head: str) -> ClaimKind:
    if phrases.ASSERTS_ANYWAY.match(head):
        return ClaimKind.ASSERTION
    if _is_refusal(head):
        return ClaimKind.REFUSAL
    if phrases.META.match(head):
        return ClaimKind.META
    if stated(text) is None and _is_hedge(head):
        return ClaimKind.HEDGE
    return ClaimKind.INSTRUCTION if _is_instruction(head) else ClaimKind.ASSERTION


def _is_hedge(head: str) -> bool:
    """An opinion or a possibility; but "I think it costs 5 euros" can be wrong."""
    doubt = phrases.DOUBT.match(head)
    figure = any(map(str.isdigit, head))
    return bool(doubt or _begins(phrases.OPINION, head)) and not (
        figure and (doubt or _begins(phrases.BELIEF, head))
    )


def _is_refusal(head: str) -> bool:
    """Of the sources ("the passages do not say …") or of the speaker ("I cannot answer …")."""
    if not _NEGATES.search(head):
        return False
    if _begins(phrases.REFUSAL, head):
        return True
    unsaid = phrases.UNSAID.match(head)
    return unsaid is not None and not has_verb(unsaid["subject"])


def _begins(table: re.Pattern[str], head: str) -> bool:
    return bool(table.match(head) or table.match(_without_introduction(head)))


def _without_introduction(head: str) -> str:
    """Without "Based on the passages," and "However,", but with every clause that claims something."""
    begin = 0
    for _ in range(3):
        step = _INTRODUCTION.match(head, begin)
        if not step or (has_verb(step[0]) and not _INTRODUCES.match(step[0])):
            break
        begin = step.end()
    return head[begin:]


def _is_instruction(head: str) -> bool:
    """An imperative; but "Check by phone: the number is …" says what stands behind its colon."""
    told = head.partition(": ")[2]
    if len(told.split()) >= 3 and has_verb(told):
        return False
    if phrases.INSTRUCTION.match(head):
        return not has_verb(" ".join(head.split()[2:5])) or bool(phrases.ORDERS.match(head))
    return bool(phrases.BARE_IMPERATIVE.match(head)) and not has_verb(head)


def _is_question(text: str, head: str, *, heading: bool) -> bool:
    """A question mark at the end, unless it only ends a quoted title; or words that can only ask."""
    tail = text[-300:]
    asks = bool(phrases.ASKS.match(head))
    if _ENDS_ASKING.search(tail):
        quoted = _QUOTED_END.search(tail)
        return asks or quoted is None or len(tail[: quoted.start()].split()) < 2
    finished = text.rstrip().endswith((".", "!", "。", ":"))
    return asks and (head.startswith("האם") or not (finished or heading))
