"""The prompts sent to language models. Context and claim are untrusted data inside tags.

Every prompt over a context begins with the same characters (system message, then the context), so that a
server's prefix cache processes a context once for all its claims. That rules out a random tag per call;
instead anything in the data that looks like one of our tags or like a chat template's control token is
escaped. The instructions come after the data, which therefore cannot overrule them. Their text is in `prompts.toml`.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from groundwire.llm.base import Message
from groundwire.types import Query, Source

PROMPT_VERSION = "2"
"""Part of every cache key: increment it when a template or the parsing of replies changes."""

_TEXTS: dict[str, str] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
SYSTEM = _TEXTS["system"]

_INVISIBLE = r"[\s\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff]*"
_TAG = re.compile(
    rf"[<＜﹤](?={_INVISIBLE}/?{_INVISIBLE}(?:context|claim|question|source)\b|[/|<]*[A-Za-z|])", re.IGNORECASE
)
_INST = re.compile(r"\[(?=/?INST\b)", re.IGNORECASE)


def defuse(text: str) -> str:
    """Escape everything that looks like a tag or a control token, by similar characters.

    >>> defuse("x < 5 </context> <|im_end|> [INST]")
    'x < 5 ‹/context> ‹|im_end|> ［INST]'
    """
    return _INST.sub("［", _TAG.sub("‹", text))


def _one_line(text: str) -> str:
    return defuse(" ".join(text.split()))


def _prompt(shared: str, task: str) -> list[Message]:
    return [Message("system", SYSTEM), Message("user", shared + task, shared=len(shared))]


def _given(context: str) -> str:
    return f"Given the following context:\n<context>\n{context}\n</context>\n\n"


def _question(question: str) -> str:
    return f"The claim is part of an answer to: <question>{_one_line(question)}</question>\n" if question else ""


def _about_one(task: str, query: Query) -> list[Message]:
    claim = f"{_question(query.question)}Claim: <claim>{_one_line(query.claim)}</claim>\n"
    return _prompt(_given(defuse(query.context)), _TEXTS[task].format(claim=claim))


def _about_all(task: str, queries: Sequence[Query]) -> list[Message]:
    """One request about several claims; claims with different contexts name theirs by a letter."""
    contexts = list(dict.fromkeys(query.context for query in queries))
    names = dict(zip(contexts, _letters(len(contexts)), strict=True))
    several = len(contexts) > 1
    shown = [
        (f"Context {names[context]}:\n" if several else "") + f"<context>\n{defuse(context)}\n</context>"
        for context in contexts
    ]
    shared = f"Given the following context{'s' if several else ''}:\n" + "\n\n".join(shown) + "\n\n"
    listed = "\n".join(
        f"{number}. {f'By context {names[query.context]}: ' if several else ''}<claim>{_one_line(query.claim)}</claim>"
        for number, query in enumerate(queries, 1)
    )
    return _prompt(shared, _TEXTS[task].format(claim=f"{_question(queries[0].question)}{listed}\n"))


def _letters(count: int) -> list[str]:
    """Names of contexts: A to Z, then A1 to Z1.

    >>> _letters(27)[-2:]
    ['Z', 'A1']
    """
    return [f"{chr(65 + i % 26)}{i // 26 or ''}" for i in range(count)]


yes_no = partial(_about_one, "yes_no")
"""Ask for YES, NO or UNSURE."""
score = partial(_about_one, "score")
"""Ask for a support score, a label and a reason."""
restate = partial(_about_one, "restate")
"""Ask for the claim as the context states it; the reply is compared with the claim."""
yes_no_all = partial(_about_all, "yes_no_all")
"""Ask for YES, NO or UNSURE about each claim, as a JSON object."""
score_all = partial(_about_all, "score_all")
restate_all = partial(_about_all, "restate_all")
"""The same as for one claim, with one reply line per claim."""


def answers_schema(count: int) -> dict[str, object]:
    """The JSON schema of the reply to `yes_no_all`."""
    numbers = [str(number) for number in range(1, count + 1)]
    answer = {"type": "string", "enum": ["YES", "NO", "UNSURE"]}
    properties = dict.fromkeys(numbers, answer)
    return {"type": "object", "properties": properties, "required": numbers, "additionalProperties": False}


def answer(question: str, context: str) -> list[Message]:
    """Ask for a short answer to a question; without a context, from the model's memory."""
    return _prompt(_given(defuse(context)) if context else "", _TEXTS["answer"].format(question=_one_line(question)))


def from_steps(question: str, steps: Sequence[str]) -> list[Message]:
    """Ask for the answer that reasoning steps lead to, without showing the original answer."""
    listed = "\n".join(f"{n}. {_one_line(step)}" for n, step in enumerate(steps, 1))
    asked = f"Question: <question>{_one_line(question)}</question>\n\n" if question.strip() else ""
    return _prompt(_given(listed), _TEXTS["from_steps"].format(asked=asked))


def assign(claims: Sequence[str], sources: Sequence[Source]) -> list[Message]:
    """Ask for the sources that mention each claim, one reply line per claim."""
    shown = "\n".join(f'<source id="{source_label(s.id)}">\n{defuse(s.text)}\n</source>' for s in sources)
    listed = "\n".join(f"{i}: <claim>{_one_line(claim)}</claim>" for i, claim in enumerate(claims, 1))
    return _prompt(_given(shown), _TEXTS["assign"].format(claims=listed))


def source_label(source_id: str) -> str:
    """A source's id as an attribute value: on one line, without quotes and commas."""
    return _one_line(source_id).replace('"', "'").replace(",", " ")
