"""What a model wrote, read: code to run, or an answer."""

from __future__ import annotations

import re
from dataclasses import dataclass

_FINAL = re.compile(r"^[ \t*#>]*FINAL(?: ANSWER)?\s*:[ \t*]*", re.MULTILINE)
_BLOCK = re.compile(
    r"^[ \t]*```[ \t]*(?:python3?|py|repl)[ \t]*\n(.*?)(?:^[ \t]*```[ \t]*$|\Z)", re.MULTILINE | re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Reply:
    """`code` is to be run; without any, `answer` is the answer. `kept` is what the model truly said: what it
    wrote behind code it has not seen the output of is invention.
    """

    kept: str
    code: str = ""
    answer: str = ""


def read_reply(text: str) -> Reply:
    """Code counts before an answer that stands behind it; after FINAL: everything is the answer.

    >>> read_reply("Let me see.\\n```python\\nlen(files)\\n```\\nThere are 3.\\nFINAL: 3").code
    'len(files)\\n'
    >>> read_reply("FINAL: 3 files").answer
    '3 files'
    >>> read_reply("Three files.").answer
    'Three files.'
    """
    final = _FINAL.search(text)
    block = _BLOCK.search(text)
    if block is not None and (final is None or block.start() < final.start()):
        return _with_code(text, final.start() if final else len(text))
    return Reply(text, answer=(text[final.end() :] if final else text).strip())


def _with_code(text: str, end: int) -> Reply:
    blocks = [block for block in _BLOCK.finditer(text) if block.start() < end]
    code = "\n".join(block[1] for block in blocks)
    return Reply(text[: blocks[-1].end()], code=code)


def without_code(text: str) -> str:
    """The words of a reply that should have been an answer."""
    final = _FINAL.search(text)
    words = _BLOCK.sub("", text)
    return (text[final.end() :] if final else words).strip()


def before_answer(text: str) -> str:
    """What a reply says before FINAL; nothing where it is all answer."""
    final = _FINAL.search(text)
    return _BLOCK.sub("", text[: final.start()]).strip() if final else ""
