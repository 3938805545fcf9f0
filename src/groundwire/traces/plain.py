"""A trace written as plain text: "1. …", "Step 2: …", "Answer: …", or a line or sentence a step."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from groundwire.text.sentences import sentences

_ITEM = re.compile(
    r"^\s{0,8}(?:[*_#>-]{1,4}\s*)?(?:(?:step|thought|observation)\s*#?\d{1,4}\s*[*_]*\s*[:.)–—-]"
    r"|\(?\d{1,4}[.):](?=\s)|(?:first|second|third|then|next|finally),(?=\s)|[-*•](?=\s))\s*[*_]*\s*",
    re.IGNORECASE,
)
_LABEL = re.compile(
    r"^\s{0,8}[*_#>\s]{0,6}(?P<label>question|query|problem|user|(?:final\s+)?answer|conclusion|result)"
    r"\s*[*_]*\s*[:：]\s*[*_]*\s*",
    re.IGNORECASE,
)
_ASKING = frozenset(("question", "query", "problem", "user"))
_CLAUSE_START = re.compile(r"^\s{0,8}(?:first|second|third|then|next|finally),\s", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Written:
    """What a text holds of a trace."""

    steps: tuple[str, ...]
    question: str = ""
    answer: str = ""


@dataclass(slots=True)
class _Draft:
    """Lines by what they belong to."""

    steps: list[list[str]] = field(default_factory=list)
    question: list[str] = field(default_factory=list)
    answer: list[str] = field(default_factory=list)
    loose: list[str] = field(default_factory=list)


def read_text(text: str) -> Written:
    """The steps of a text, with its question and its answer where they are marked.

    >>> read_text("Q: none\\n1. It is red.\\n2. Red is warm.\\nAnswer: warm")
    Written(steps=('It is red.', 'Red is warm.'), question='', answer='warm')
    >>> read_text("It is red. So it is warm.").steps
    ('It is red.', 'So it is warm.')
    """
    draft = _Draft()
    here = draft.loose
    for line in text.splitlines():
        here = _place(line, draft, here)
    steps = [_joined(one) for one in draft.steps]
    if not steps:
        steps = _apart(draft.loose)
    kept = tuple(step for step in steps if step)
    return Written(kept, _joined(draft.question), _joined(draft.answer))


def _place(line: str, draft: _Draft, here: list[str]) -> list[str]:
    label, item = _LABEL.match(line), _ITEM.match(line)
    if label:
        here = draft.question if label["label"].lower() in _ASKING else draft.answer
        here.append(line[label.end() :])
    elif item:
        # "First, …" is a way to begin a sentence, and the word belongs to it.
        begin = 0 if _CLAUSE_START.match(line) else item.end()
        here = [line[begin:]]
        draft.steps.append(here)
    else:
        here.append(line)
    return here


def _joined(lines: list[str]) -> str:
    return " ".join(" ".join(lines).split())


def _apart(lines: list[str]) -> list[str]:
    """Without numbers: a line a step, or where there is one line only, a sentence a step."""
    filled = [" ".join(line.split()) for line in lines if line.strip()]
    if len(filled) != 1:
        return filled
    return [filled[0][span.start : span.end].strip() for span in sentences(filled[0])] or filled
