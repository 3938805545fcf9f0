"""Batch reports as JUnit XML, which every CI server reads: one test case per response."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from xml.sax.saxutils import escape, quoteattr

_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML forbids even when they are escaped."""


def clean_xml(text: str) -> str:
    """
    >>> clean_xml("red\\x1b[31m \\ud800")
    'red�[31m �'
    """
    return _FORBIDDEN.sub("\ufffd", text)


def junit_case(verdict: Mapping[str, Any], suite: str) -> str:
    """One response: passed, failed with its unsupported claims, or an error if it could not be checked."""
    inside = ""
    if verdict["flagged"] is None:
        inside = _element("error", verdict["error"] or "could not be checked", "unchecked", "")
    elif verdict["flagged"]:
        bad = list(unsupported(verdict))
        inside = _element("failure", bad[0] if bad else "flagged", "ungrounded", "\n".join(bad))
    name, where = quoteattr(clean_xml(str(verdict["id"]))), quoteattr(clean_xml(suite))
    return f"    <testcase name={name} classname={where}>{inside}</testcase>\n"


def _element(kind: str, message: str, why: str, text: str) -> str:
    shown = escape(clean_xml(text))
    return f"<{kind} message={quoteattr(clean_xml(message))} type={quoteattr(why)}>{shown}</{kind}>"


def unsupported(verdict: Mapping[str, Any]) -> Iterator[str]:
    """One line per flagged claim or detector flag."""
    for claim in verdict.get("claims", ()):
        if claim["flagged"]:
            yield f"{claim['status']}: {claim['text']} ({claim['reason']})"
    for flag in verdict.get("flags", ()):
        yield f"{flag['type']}: {flag['content']}"


def junit_document(suite: str, counts: Mapping[str, int], cases: Iterable[str]) -> Iterator[str]:
    """The whole file, piece by piece. `counts` has the keys tests, failures and errors."""
    figures = " ".join(f'{key}="{counts[key]}"' for key in ("tests", "failures", "errors"))
    name = quoteattr(clean_xml(suite))
    yield '<?xml version="1.0" encoding="UTF-8"?>\n'
    yield f'<testsuites name="groundwire" {figures}>\n  <testsuite name={name} {figures}>\n'
    yield from cases
    yield "  </testsuite>\n</testsuites>\n"
