"""Documents inside a prompt: in tags, behind "Context:", behind [S0] marks, in fences, or simply long.

What stands around them is the request itself. Nothing here is certain, so the rules are careful in one
direction: instructions to the model are no evidence, or every answer would be held against them.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from groundwire.claims.kind import kind_of
from groundwire.text.sentences import sentences
from groundwire.types import ClaimKind

LONG = 40
"""Words: from so many on, a passage of statements counts as a document though nothing announces it."""
FENCED = 12
_NEAR = 600
_TAGS = (
    "document|doc|source|passage|context|article|file|search_result|result|snippet|chunk|excerpt|reference"
    "|evidence|knowledge|background|transcript|email|webpage|page|record|item"
)
_OPEN = re.compile(rf"<({_TAGS})(?:\s([^<>]{{0,500}}))?>", re.IGNORECASE)
_NAMED = re.compile(r"\b(?:id|name|title|index|source|path|url|href)\s*=\s*[\"']([^\"'<>]{1,200})[\"']", re.I)
_CHILD = re.compile(r"<(source|title|name|id)>\s*([^<>]{1,200}?)\s*</\1>", re.I)
_BODY = re.compile(r"<((?:document|page)_content|content|text|body)>(.*)</\1>", re.I | re.S)
_SUBJECT = (
    r"(?:(?:the |retrieved |relevant |background |following |additional |reference |provided |source )*"
    r"(?:context|sources?|documents?|passages?|background|references?|evidence|excerpts?|knowledge(?: base)?"
    r"|search results?|results|information|articles?|transcript|facts|data|texts?|material|notes))"
)
_HEADER = re.compile(
    rf"^[ \t]*(?:#{{1,6}}[ \t]*|\*\*|\[)?{_SUBJECT}(?: information)?(?:\s+(?:is|are))?"
    r"(?:\s+(?:given|provided))?(?:\s+below)?(?:\*\*|\])?[ \t]*(?::(?:\*\*)?|\.?[ \t]*$)",
    re.IGNORECASE | re.MULTILINE,
)
_ANNOUNCED = re.compile(
    rf"\b(?:following|below|these|this)\b[^\n]{{0,60}}\b{_SUBJECT}\b[^\n]{{0,160}}$", re.I | re.M
)
_ASKS = re.compile(
    r"^[ \t]*(?:#{1,6}[ \t]*|\*\*|\[)?(?:user |human |my |the )?"
    r"(?:questions?|query|task|instructions?|answer|user|human|request|helpful answer|standalone question"
    r"|q|a)(?: input)?(?:\*\*|\])?[ \t]*:",
    re.IGNORECASE | re.MULTILINE,
)
_RULE = re.compile(r"^[ \t]*(?:-{3,}|={3,}|\*{3,}|_{3,}|#{3,}|~{3,})[ \t]*$", re.MULTILINE)
_MARK = re.compile(
    r"^[ \t]*(?:[-*] )?(?:\[\^?(?:(?:source|document|doc|passage|chunk|result|excerpt)s?[ \t#]*)?"
    r"(?P<a>[A-Za-z]{0,4}\d{1,4})\]:?|(?P<b>S\d{1,4})[:.)]"
    r"|(?:#{1,6} |\*\*)?(?:source|document|doc|passage|chunk|result|excerpt|context)[ \t]*#?"
    r"(?:\[?(?P<c>\d{1,4})\]?)(?:[ \t]*\((?P<title>[^()\n]{1,200})\))?(?:[ \t]*[:–]|[ \t]*$|(?<=[\])])))"
    r"[ \t]*(?:\*\*)?",
    re.IGNORECASE | re.MULTILINE,
)
_FENCE = re.compile(r'"""|```[^\n`]*\n|\'\'\'')
_GAP = re.compile(r"\n[ \t]*\n\s*")
_TO_MODEL = re.compile(r"\b(?:you|your|yourself|please|assistant|the user|respond|reply)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Document:
    text: str
    name: str = ""


@dataclass(slots=True)
class Prompt:
    """A message taken apart: its documents, and the rest, which is what the user or the operator says."""

    documents: list[Document] = field(default_factory=list)
    rest: str = ""

    def add(self, text: str, name: str = "") -> None:
        if text.strip():
            self.documents.append(Document(text.strip(), name.strip()))


def take_apart(text: str) -> Prompt:
    """The surest signs first; each looks at what the ones before have left."""
    found = Prompt(rest=text.replace("\r\n", "\n"))
    for step in (_tagged, _section, _marked, _fenced, _long):
        found.rest = step(found.rest, found)
    found.rest = found.rest.strip()
    return found


def _tagged(text: str, found: Prompt) -> str:
    """`<document id="a">…</document>` and its kin; of nested ones the innermost."""
    kept: list[str] = []
    at = 0
    unclosed: set[str] = set()
    lower = text.lower()
    for opened in _OPEN.finditer(text):
        tag = opened[1].lower()
        if opened.start() < at or tag in unclosed:
            continue
        close = lower.find(f"</{tag}>", opened.end())
        if close < 0:
            unclosed.add(tag)
            continue
        kept.append(text[at : opened.start()])
        _inside(text[opened.end() : close], opened[2] or "", found)
        at = close + len(tag) + 3
    return "\n".join(filter(str.strip, (*kept, text[at:])))


def _inside(body: str, attributes: str, found: Prompt) -> None:
    before = len(found.documents)
    child = _CHILD.search(body[:1000])
    content = _BODY.search(body)
    named = _NAMED.search(attributes)
    name = named[1] if named else child[2] if child else ""
    if content:
        found.add(content[2], name)
        return
    outside = _tagged(body[child.end() :] if child else body, found)
    if len(found.documents) == before and not _numbered(outside, found):
        found.add(outside, name)


def _section(text: str, found: Prompt) -> str:
    """What stands behind "Context:" or below "Context information is below", up to the question."""
    kept: list[str] = []
    at = 0
    rules = [(m.start(), m.end()) for m in _RULE.finditer(text)]
    stops = sorted({*(s for s, _ in rules), *(m.start() for p in (_ASKS, _HEADER) for m in p.finditer(text))})
    for start, body in _headers(text, rules):
        if start < at:
            continue
        kept.append(text[at:start])
        at = _section_end(text, body, stops)
        inside = _RULE.sub("", text[body:at])
        if not _numbered(inside, found):
            found.add(inside)
    return "\n".join((*kept, text[at:])) if at else text


def _headers(text: str, rules: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Where a section is announced, and where it begins: behind the rule below the words, if there is one."""
    starts = [start for start, _ in rules]
    for header in _HEADER.finditer(text):
        following = bisect_left(starts, header.end())
        below = (
            following < len(rules)
            and not text[header.end() : min(rules[following][0], header.end() + 99)].strip()
        )
        yield header.start(), rules[following][1] if below else header.end()
    for said in _ANNOUNCED.finditer(text):
        following = bisect_left(starts, said.end())
        if following < len(rules) and starts[following] < said.end() + _NEAR:
            yield rules[following]


def _section_end(text: str, body: int, stops: Sequence[int]) -> int:
    """The next header, question or rule; where there is none, what only asks is left at the end."""
    following = bisect_left(stops, body)
    return stops[following] if following < len(stops) else body + len(_trimmed(text[body:]))


def _trimmed(text: str) -> str:
    """Without the paragraphs at its end that only ask."""
    while gap := next(reversed(list(_GAP.finditer(text[-4000:]))), None):
        at = max(0, len(text) - 4000) + gap.start()
        if not _asks(text[at:]):
            break
        text = text[:at]
    return text


def _marked(text: str, found: Prompt) -> str:
    """`[1] …`, `[2] …` without any header: from the first mark to the question."""
    first = _MARK.search(text)
    if not first:
        return text
    end = next((m.start() for m in _ASKS.finditer(text, first.end())), None)
    block = text[first.start() : end] if end else _trimmed(text[first.start() :])
    if not _numbered(block, found):
        return text
    return f"{text[: first.start()]}\n{text[first.start() + len(block) :]}"


def _numbered(text: str, found: Prompt) -> bool:
    """Passages that begin with marks, by their marks; one alone only where it is an S-mark."""
    marks = list(_MARK.finditer(text))
    names = [m["a"] or m["b"] or m["c"] for m in marks]
    if not marks or (len(marks) == 1 and not names[0][:1].isalpha()):
        return False
    found.add(text[: marks[0].start()])
    ends = [*(m.start() for m in marks[1:]), len(text)]
    for mark, name, end in zip(marks, names, ends, strict=True):
        body = text[mark.end() : end]
        found.add(f"{mark['title']}\n{body}" if mark["title"] else body, name)
    return True


def _fenced(text: str, found: Prompt) -> str:
    kept: list[str] = []
    at = 0
    while opened := _FENCE.search(text, at):
        mark = opened.group()[:3]
        close = text.find(mark, opened.end())
        if close < 0:
            break
        body = text[opened.end() : close]
        if len(body.split()) >= FENCED:
            kept.append(text[at : opened.start()])
            found.add(body)
        else:
            kept.append(text[at : close + 3])
        at = close + 3
    return "".join((*kept, text[at:]))


def _long(text: str, found: Prompt) -> str:
    """Runs of paragraphs that state something, if they are long enough to be more than a remark."""
    kept: list[str] = []
    run: list[str] = []

    def end_run() -> None:
        passage = "\n\n".join(run)
        if len(passage.split()) >= LONG:
            found.add(passage)
        else:
            kept.extend(run)
        run.clear()

    for paragraph in _GAP.split(text):
        if _asks(paragraph):
            end_run()
            kept.append(paragraph)
        else:
            run.append(paragraph)
    end_run()
    return "\n\n".join(kept)


def _asks(paragraph: str) -> bool:
    """Whether it wants something rather than states it: a third asks, orders or speaks to the model."""
    parts = [paragraph[s.start : s.end] for s in sentences(paragraph[:4000])]
    wants = sum(_wants(part) for part in parts)
    return not parts or wants * 3 >= len(parts)


def _wants(sentence: str) -> bool:
    if _TO_MODEL.search(sentence):
        return True
    return kind_of(sentence) in (ClaimKind.QUESTION, ClaimKind.INSTRUCTION)
