"""What a sentence asserts: its kind, its single assertions, and the confidence that it expresses.

English and Hebrew are classified by patterns for the beginning of a sentence, other languages by their
question marks. Patterns are anchored because single words decide nothing: "Will Smith was born in 1968." is
not a question and "Select statements run in 3 ms." is not an instruction. A sentence that matches no
pattern is an assertion: verifying one too many costs less than missing one.

The patterns are in `text/data/assertiveness.toml`; they match case-insensitively, with single spaces and straight
apostrophes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from groundwire.text.lexicon import SPEECH_VERBS, expressions, grammar, word_table
from groundwire.text.numbers import numbers
from groundwire.types import ClaimKind

# The confidence an answer expresses for a claim.
#
# A stated figure takes precedence ("90 % sure", "confidence: 0.7"), then the strongest hedge of the table `hedges`,
# then the configured target.
#
# "90 % of users", "a 95 % confidence interval", "a 30 % chance of rain", "more likely to" and "appears in" are
# statements about the world, not about the speaker's confidence. "May" and "can" express permission or
# possibility and are part of the claim.

_DATA = word_table("assertiveness")
_GRAMMAR = grammar("assertiveness")
_STATED, _STATED_LEADS, _TAILS = (
    tuple(map(re.compile, _GRAMMAR[name])) for name in ("stated", "stated_leads", "stated_tails")
)
_AUXILIARY, _SUBJECT, _LEADS, _NEGATES, _INTRODUCTION, _INTRODUCES, _ONLY, _SYNTAX = expressions(
    "assertiveness", "is_auxiliary subject leads negates introduction introduces only syntax"
)
_TOLD, _ASKED_ABOUT, _TAG, _POINTS_ON, _OPEN_END = expressions(
    "assertiveness", "told asked_about tag points_on open_end"
)
_DIGIT = re.compile(r"\d")
_INFERRED = [(re.compile(row["pattern"], re.IGNORECASE), row["confidence"]) for row in _DATA["hedges"]]


def stated(text: str) -> float | None:
    """The confidence a text states as a figure, or None.

    >>> stated("I am 90 % sure that it is so."), stated("90 % of users agree."), stated("Confidence: 0.0")
    (0.9, None, 0.0)
    """
    for pattern in _STATED if _DIGIT.search(text) else ():
        match = pattern.search(text)
        if match:
            value = _value(match)
            if value is not None:
                return value
    return None


def _value(match: re.Match[str]) -> float | None:
    number = float(match["number"].replace(",", "."))
    if "percent" in match.re.groupindex and not match["percent"]:
        return number if number <= 1.0 else None
    return number / 100 if number <= 100 else None


def inferred(text: str) -> float | None:
    """The confidence expressed by words of doubt or certainty, or None; the weakest counts."""
    found: list[float] = []
    rest = text
    for pattern, value in _INFERRED:
        rest, count = pattern.subn(" ", rest)
        if count:
            found.append(value)
    return min(found, default=None)


def confidence(text: str, target: float) -> float:
    """The stated confidence, else the inferred one, else `target`."""
    value = stated(text)
    if value is None:
        value = inferred(text)
    return target if value is None else value


def content(text: str) -> tuple[int, int]:
    """The range of the claim itself, without "I am 90 % sure that …" and "… (confidence: 0.7)"."""
    start, end = 0, len(text)
    if not _DIGIT.search(text):
        return start, end
    for pattern in _STATED_LEADS:
        match = pattern.match(text)
        if match:
            start = match.end()
            break
    tails = (pattern.search(text, max(start, end - 80)) for pattern in _TAILS)
    return start, next((tail.start() for tail in tails if tail), end)


def is_only_confidence(text: str) -> bool:
    """True if a sentence only states a confidence: "Confidence: 80 %"."""
    return len(text) < 80 and bool(_DIGIT.search(text)) and bool(_ONLY.fullmatch(text))


# Split compound sentences into single assertions, if that is safe.
#
# A sentence is split only between clauses that each have their own subject and finite verb, outside brackets
# and quotation marks. "if", "that" and speech verbs bind both halves. There is no split before a pronoun ("it
# fell by 3 %" says nothing alone) and at the last "and" of a list.

_VERB = re.compile(rf"\b(?:{'|'.join(word_table('words')['finite'].split())})\b")


def has_auxiliary(text: str) -> bool:
    return bool(_AUXILIARY.search(text))


def has_verb(text: str) -> bool:
    """True if the text contains a form that is (almost) always a finite verb. English only."""
    return bool(_AUXILIARY.search(text) or _VERB.search(text))


def first_verb(text: str) -> int:
    """Offset of the first finite verb, or -1."""
    found = [match.start() for match in (_AUXILIARY.search(text), _VERB.search(text)) if match]
    return min(found, default=-1)


_JOINT = re.compile(r"\s*;\s+(?:(?:and|but|however|moreover|meanwhile),?\s+)?|,\s+(?:and|but|while|whereas|yet)\s+")
_PRONOUN = re.compile(r"(?:it|he|she|they|this|that|we|you|i|which|who|there)\b", re.IGNORECASE)
_BINDS = re.compile(rf"\b(?:{_GRAMMAR['binding']}|{'|'.join(sorted(SPEECH_VERBS))})\b", re.IGNORECASE)
_OPENERS, _CLOSERS = "([{“«「『（【", ")]}”»」』）】"
_INTERRUPTS = re.compile(r"[,;:()]|\b(?:which|who|that|to)\b")
_MIN_WORDS = 3  # a shorter clause is not an assertion
_VERB_REACH = 60  # characters in which the verb of the second clause must begin
_MAX_CHARS = 4000  # longer "sentences" are not split, to bound the work


def split(text: str) -> list[tuple[int, int]]:
    """Ranges of the assertions in a sentence: a single one unless it is safe to split.

    >>> text = "Paris is in France, and Rome is in Italy."
    >>> [text[start:end] for start, end in split(text)]
    ['Paris is in France', 'Rome is in Italy.']
    """
    cuts = list(_cuts(text)) if len(text) < _MAX_CHARS else []
    starts = [0, *(end for _, end in cuts)]
    ends = [*(start for start, _ in cuts), len(text)]
    return list(zip(starts, ends, strict=True))


def _cuts(text: str) -> Iterator[tuple[int, int]]:
    begin = 0
    for joint in _JOINT.finditer(text):
        left, right = text[begin : joint.start()], text[joint.end() :]
        if _is_open(text[: joint.start()]) or not _is_clause(left) or _LEADS.match(left) or _BINDS.search(left):
            continue
        listed = "and" in joint[0] and "," in left and not _is_clause(left.rpartition(",")[2])
        if _begins_clause(right) and not listed:
            yield joint.start(), joint.end()
            begin = joint.end()


def _is_clause(clause: str) -> bool:
    return len(clause.split()) >= _MIN_WORDS and has_verb(clause)


def _begins_clause(right: str) -> bool:
    """True if the text begins with a subject and its verb, without a comma or relative clause between
    them.
    """
    if _PRONOUN.match(right) or not _SUBJECT.match(right) or len(right.split()) < _MIN_WORDS:
        return False
    verb = first_verb(right[:_VERB_REACH])
    return verb > 0 and not _INTERRUPTS.search(right, 0, verb)


def _is_open(text: str) -> bool:
    """True if a bracket or quotation is still open at the end of the text."""
    text = text.replace("„", "(").replace("“", ")") if "„" in text else text
    depth = sum(char in _OPENERS for char in text) - sum(char in _CLOSERS for char in text)
    return depth > 0 or text.count('"') % 2 == 1


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
_HEAD = 400  # characters of a sentence in which its opening words are looked for
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
