"""Classify sentences: assertion, question, instruction, hedge, refusal or meta.

English and Hebrew are classified by patterns for the beginning of a sentence, other languages by their
question marks. Patterns are anchored because single words decide nothing: "Will Smith was born in 1968." is
not a question and "Select statements run in 3 ms." is not an instruction. A sentence that matches no
pattern is an assertion: verifying one too many costs less than missing one.

The patterns are in `text/data/assertiveness.toml`; they match case-insensitively, with single spaces and straight
apostrophes.
"""

from __future__ import annotations

import re

from groundwire.claims.confidence import is_only_confidence, stated
from groundwire.claims.decompose import has_auxiliary, has_verb
from groundwire.text.lexicon import word_table
from groundwire.text.numbers import numbers
from groundwire.types import ClaimKind

_DATA = word_table("assertiveness")


def _table(lines: str) -> re.Pattern[str]:
    """Compile a pattern table into one pattern."""
    patterns = [line.strip() for line in re.sub(r"\n *\+", "", lines).splitlines() if line.strip()]
    joined = "|".join(f"(?:{pattern})" for pattern in patterns)
    return re.compile(re.sub(r"(?<!\?P)<(\w+)>", lambda name: _part(name[1]), joined), re.IGNORECASE)


def _part(name: str) -> str:
    text = _DATA["parts"][name].strip()
    return text if text.startswith("(?") else f"(?:{'|'.join(text.split()).replace('_', ' ')})"


(
    REFUSAL, UNSAID, META, OPINION, BELIEF, DOUBT,
    INSTRUCTION, ORDERS, BARE_IMPERATIVE, ASSERTS_ANYWAY, ASKS
) = map(_table, _DATA["tables"].values())  # fmt: skip

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
# "Did you know that the tower is 330 m tall?" asserts what follows; "Did you know who built it?" asks.
_TOLD = re.compile(
    r"\W*(?:(?:and|but|so|well),? )?(?:(?:did|do|didn['’]t|don['’]t) you (?:also )?"
    r"(?:know|reali[sz]e|notice)(?: that)?"
    r"|(?:are|were|aren['’]t) you aware(?: of the fact)? that|have you (?:ever )?heard that"
    r"|who (?:knew|would have thought) that|(?:can|could) you (?:believe|imagine)(?: that)?"
    r"|(?:is|isn['’]t) it (?:not )?(?:true|interesting|amazing|a fact|great|remarkable|surprising) that"
    r"|(?:would|wouldn['’]t|don['’]t) you (?:not )?(?:say|agree|think|believe) that"
    r"|האם ידעתם? (?:ש|כי ))[,:]?\s*",
    re.I,
)
_ASKED_ABOUT = re.compile(
    r"(?:what|who|whom|whose|where|when|why|how|which|if|whether|any|anyone|of|about|a|an)\b", re.I
)
# "It is 330 m tall, isn't it?"
_TAG = re.compile(
    r"[,–—-]\s*(?:(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|must|ai)(?:n['’]t)?"
    r"\s+(?:it|he|she|they|we|you|there|that|this|i|one)(?:\s+(?:not|think|agree|say))?"
    r"|right|correct|true|no|yes|ok(?:ay)?|huh|eh|am i right|isn['’]t that (?:so|right|true)|innit"
    r"|nicht wahr|oder|n['’]est-ce pas|verdad|נכון|לא)\s*(?=[?？؟])",
    re.I,
)
# A line with a final colon introduces something where it stops short of saying it, or points to what follows.
_POINTS_ON = re.compile(
    r"\b(?:following|follows?|below|here(?:'s)?|these|this|those|some|several|various|many|multiple|certain|key|main|steps?|reasons?"
    r"|ways?|points?|factors?|features?|options?|examples?|details?|information|summary|overview|list|table|breakdown)\b",
    re.I,
)
_OPEN_END = re.compile(
    r"\b(?:as|by|for|from|in|into|of|on|that|to|with|and|or|the|a|an|be|been|including|includes?|included|offers?|offered|says?|said"
    r"|states?|stated|reads?|follows|provides?|provided|contains?|features?|covers?|are|is|was|were|has|have|had)\W*\Z",
    re.I,
)
_SYNTAX = re.compile(
    r"[{}=;<>\\|@]|\w\(|\w\[|::|->|\w\.\w+\.\w|\w_\w|^\W*(?:SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|DROP|FROM|WHERE|AND|OR)\b"
)
_LABELLED_VALUE = re.compile(r"(?:[:=]|\s[–—-])\s*(?:[^\W\d]+\s+){0,3}[$€£¥₪~≈±+-]?\d")


def states_value(text: str) -> bool:
    """True for a phrase that gives a figure: "Height: 330 metres", "$5 million", but not "Step 2: Payment".

    >>> [states_value(text) for text in ("Height: 330", "330 metres", "Step 2: Payment", "Top 10 hotels")]
    [True, True, False, False]
    """
    return bool(_LABELLED_VALUE.search(text)) or any(number.unit for number in numbers(text))


def reads_as_prose(text: str) -> bool:
    """True for a phrase that says something by itself, even in code or as an image's text.

    >>> [reads_as_prose(text) for text in ("The tower is red", "x = tower.height", "A photo of the tower")]
    [True, False, False]
    """
    if len(text.split()) < 3 or _SYNTAX.search(text):
        return False
    return has_verb(text) or states_value(text) or not text.isascii()


def asserted_part(text: str) -> tuple[int, int] | None:
    """The range of a question that asserts: behind "Did you know that", or before ", isn't it?".

    >>> text = "Did you know that Paris is in Italy?"
    >>> text[slice(*asserted_part(text))]
    'Paris is in Italy'
    """
    asks = _ENDS_ASKING.search(text, max(0, len(text) - 300))
    if not asks:
        return None
    told = _TOLD.match(text[:_HEAD])
    begin = told.end() if told and not _ASKED_ABOUT.match(text, told.end()) else 0
    tags = list(_TAG.finditer(text, max(begin, asks.start() - 40), asks.end()))
    end = tags[-1].start() if tags and tags[-1].end() == asks.start() else asks.start()
    if (not begin and end == asks.start()) or len(text[begin:end].split()) < 3:
        return None
    return None if ASKS.match(text[begin:end]) else (begin, end)


def classify_sentence(text: str, *, heading: bool = False) -> ClaimKind:
    """Classify a sentence; only assertions are verified. `heading` marks the text of a heading.

    >>> [classify_sentence(text).value for text in ("Will Smith was born.", "Will you come?", "Maybe it is.")]
    ['assertion', 'question', 'hedge']
    """
    if not any(map(str.isalnum, text)) or is_only_confidence(text):
        return ClaimKind.META
    head = " ".join(text[:_HEAD].replace("’", "'").split()).lstrip("\"'“‘«(-–—*#• ")
    if _is_question(text, head, heading=heading):
        return ClaimKind.QUESTION
    if heading and not (has_auxiliary(text) and len(text.split()) >= 4) and not states_value(text):
        return ClaimKind.META
    if text.rstrip("\"'”’)*_ ").endswith((":", "：")) and _introduces(text):
        return ClaimKind.META
    return _by_tables(text, head)


def _introduces(text: str) -> bool:
    """True for "The hotel offers:", but not for "The tower is 330 metres tall:"."""
    said = text.rstrip("\"'”’)*_:： ")
    if len(said.split()) < 4 or not (has_verb(said) or not said.isascii()) or _OPEN_END.search(said):
        return True
    return not any(map(str.isdigit, said)) and bool(_POINTS_ON.search(said))


def _by_tables(text: str, head: str) -> ClaimKind:
    if ASSERTS_ANYWAY.match(head):
        return ClaimKind.ASSERTION
    if _is_refusal(head):
        return ClaimKind.REFUSAL
    if META.match(head):
        return ClaimKind.META
    if stated(text) is None and _is_hedge(head):
        return ClaimKind.HEDGE
    return ClaimKind.INSTRUCTION if _is_instruction(head) else ClaimKind.ASSERTION


def _is_hedge(head: str) -> bool:
    """True for an opinion or possibility without a figure: "I think it costs 5 euros" can be wrong."""
    doubt = DOUBT.match(head)
    figure = any(map(str.isdigit, head))
    return bool(doubt or _begins(OPINION, head)) and not (figure and (doubt or _begins(BELIEF, head)))


def _is_refusal(head: str) -> bool:
    """True for "the passages do not say …" and "I cannot answer …"."""
    if not _NEGATES.search(head):
        return False
    if _begins(REFUSAL, head):
        return True
    unsaid = UNSAID.match(head)
    return unsaid is not None and not has_verb(unsaid["subject"])


def _begins(table: re.Pattern[str], head: str) -> bool:
    return bool(table.match(head) or table.match(_without_introduction(head)))


def _without_introduction(head: str) -> str:
    """Remove "Based on the passages," and "However,", but no clause that asserts something."""
    begin = 0
    for _ in range(3):
        step = _INTRODUCTION.match(head, begin)
        if not step or (has_verb(step[0]) and not _INTRODUCES.match(step[0])):
            break
        begin = step.end()
    return head[begin:]


def _is_instruction(head: str) -> bool:
    """True for an imperative, unless a statement follows its colon: "Check by phone: the number is …"."""
    told = head.partition(": ")[2]
    if len(told.split()) >= 3 and has_verb(told):
        return False
    if INSTRUCTION.match(head):
        return not has_verb(" ".join(head.split()[2:5])) or bool(ORDERS.match(head))
    return bool(BARE_IMPERATIVE.match(head)) and not has_verb(head)


def _is_question(text: str, head: str, *, heading: bool) -> bool:
    """True for a final question mark that does not just end a quoted title, or an interrogative beginning."""
    if asserted_part(text):
        return False
    tail = text[-300:]
    asks = bool(ASKS.match(head))
    if _ENDS_ASKING.search(tail):
        quoted = _QUOTED_END.search(tail)
        return asks or quoted is None or len(tail[: quoted.start()].split()) < 2
    finished = text.rstrip().endswith((".", "!", "。", ":"))
    return asks and (head.startswith("האם") or not (finished or heading))
