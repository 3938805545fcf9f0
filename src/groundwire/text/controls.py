"""Characters that steer a terminal, a page or a spreadsheet instead of being read."""

from __future__ import annotations

import json
import re

_BIDI_CONTROLS = "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
_VISIBLE: dict[int, str] = {
    **dict.fromkeys((*range(32), *range(127, 160), *range(0xD800, 0xE000)), "\ufffd"),
    **dict.fromkeys(map(ord, _BIDI_CONTROLS), "\ufffd"),
    **{ord("\n"): "\n", ord("\t"): "\t", ord("\r"): " "},
}
_RAW_IN_JSON = re.compile("[\x7f-\x9f]")
_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_NUMBER = re.compile(r"[+-]?[\d.,]+(?:[eE][+-]?\d+)?%?")


def sanitize(text: str) -> str:
    """Replace control characters, lone surrogates and bidirectional overrides.

    Untrusted text could otherwise send escape sequences to a terminal or reverse the reading order of a page.
    Every character is replaced by exactly one, so offsets stay valid.
    """
    return text.translate(_VISIBLE)


def json_text(value: object, indent: int | None = None) -> str:
    """JSON with the control characters escaped that JSON itself allows, such as U+009B.

    >>> json_text({"a": "é\\x9b31m"}) == '{"a": "é\\\\u009b31m"}'
    True
    """
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    return _RAW_IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def inert_cell(text: str) -> str:
    """The cell of a table for a spreadsheet: a quote stands before what it would take for a formula.

    >>> [inert_cell(text) for text in ("=1+1", "-5", "-5 to 3", "'=x", "plain")]
    ["'=1+1", '-5', "'-5 to 3", "''=x", 'plain']
    """
    text = sanitize(text)
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


def cell_text(cell: str) -> str:
    """The text of such a cell, without the quote.

    >>> [cell_text(inert_cell(text)) for text in ("=1+1", "-5", "'=x", "'90s")]
    ['=1+1', '-5', "'=x", "'90s"]
    """
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell
