"""The evidence in a request that its answer is checked against: sources, earlier turns, and the question.

Documents are found inside prompts, too: in tags, after "Context:", behind [S0] marks, in fences, or as long
prose. What remains is the request itself. None of these signs is certain, so the rules err in one direction:
instructions to the model must not become evidence, or every answer would be checked against them.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from string import ascii_lowercase, ascii_uppercase
from typing import Any

from groundwire._loop import check_cancelled
from groundwire.actions.transcript import content_text, ledger_of, read_events
from groundwire.claims.assertiveness import classify_sentence
from groundwire.errors import InputError
from groundwire.requests import read_sources
from groundwire.text.sentences import sentences
from groundwire.types import ActionLedger, ClaimKind, Source, Turn
from groundwire.verdicts.summary import user_statements

MIN_PROSE_WORDS = 40
"""Unmarked statements of this length count as a document; questions seldom come with so much around them."""
MIN_FENCED_WORDS = 12  # shorter fenced blocks are more likely code or an example than a document
_MAX_ANNOUNCEMENT_GAP = 600  # characters between "the following context …" and the rule that opens it
_TAIL_CHARS = 4000  # of a section, searched for a trailing question; bounds the work on long prompts
_TAGS = (
    "document|doc|source|passage|context|article|file|search_result|result|snippet|chunk|excerpt|reference"
    "|evidence|knowledge|background|transcript|email|webpage|page|record|item"
)
_OPEN_TAG = re.compile(rf"<({_TAGS})(?:\s([^<>]{{0,500}}))?>", re.IGNORECASE)
_NAME_ATTRIBUTE = re.compile(r"\b(?:id|name|title|index|source|path|url|href)\s*=\s*[\"']([^\"'<>]{1,200})[\"']", re.I)
_NAME_CHILD = re.compile(r"<(source|title|name|id)>([^<>]+)</\1>", re.I)
_MAX_NAME = 200
_CONTENT_TAG = re.compile(r"<((?:document|page)_content|content|text|body)>", re.I)
_LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)  # unlike str.lower it never changes the length of a text
_SUBJECT = (
    r"(?:(?:the |retrieved |relevant |background |following |additional |reference |provided |source ){0,6}"
    r"(?:context|sources?|documents?|passages?|background|references?|evidence|excerpts?|knowledge(?: base)?"
    r"|search results?|results|information|articles?|transcript|facts|data|texts?|material|notes))"
)
_HEADER = re.compile(
    rf"^[ \t]*(?:#{{1,6}}[ \t]*|\*\*|\[)?{_SUBJECT}(?: information)?(?:\s+(?:is|are))?"
    r"(?:\s+(?:given|provided))?(?:\s+below)?(?:\*\*|\])?[ \t]*(?::(?:\*\*)?|\.?[ \t]*$)",
    re.IGNORECASE | re.MULTILINE,
)
_ANNOUNCEMENT = re.compile(
    rf"\b(?:following|below|these|this)\b[^\n]{{0,60}}\b{_SUBJECT}\b[^\n]{{0,160}}$", re.I | re.M
)
_REQUEST_HEADER = re.compile(
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
_BLANK_LINE = re.compile(r"\n[ \t]*\n\s*")
_ADDRESSES_MODEL = re.compile(r"\b(?:you|your|yourself|please|assistant|the user|respond|reply)\b", re.IGNORECASE)


@dataclass(slots=True)
class ParsedPrompt:
    """A message split into its documents, whose ids may be empty, and the rest: what the user or operator says."""

    documents: list[Source] = field(default_factory=list)
    rest: str = ""

    def add(self, text: str, name: str = "") -> None:
        if text.strip():
            self.documents.append(Source(name.strip(), text.strip()))


def split_prompt(text: str) -> ParsedPrompt:
    """Apply the finders from the most to the least certain; each sees what the previous ones left."""
    found = ParsedPrompt(rest=text.replace("\r\n", "\n"))
    for take in (_take_tagged, _take_sections, _take_marked, _take_fenced, _take_prose):
        found.rest = take(found.rest, found)
    found.rest = found.rest.strip()
    return found


def _take_tagged(text: str, found: ParsedPrompt) -> str:
    """Take `<document id="a">…</document>` and the like; of nested tags the innermost."""
    rest: list[str] = []
    position = 0
    unclosed: set[str] = set()  # searching for the same missing end tag again would be quadratic
    lower = text.translate(_LOWER)
    for opening in _OPEN_TAG.finditer(text):
        tag = opening[1].lower()
        if opening.start() < position or tag in unclosed:
            continue
        close = lower.find(f"</{tag}>", opening.end())
        if close < 0:
            unclosed.add(tag)
            continue
        rest.append(text[position : opening.start()])
        _add_element(text[opening.end() : close], opening[2] or "", found)
        position = close + len(tag) + 3
    return "\n".join(filter(str.strip, (*rest, text[position:])))


def _add_element(body: str, attributes: str, found: ParsedPrompt) -> None:
    before = len(found.documents)
    child = next((m for m in _NAME_CHILD.finditer(body[:1000]) if len(m[2].strip()) <= _MAX_NAME), None)
    content = _content_of(body)
    attribute = _NAME_ATTRIBUTE.search(attributes)
    name = attribute[1] if attribute else child[2] if child else ""
    if content is not None:
        found.add(content, name)
        return
    outside = _take_tagged(body[child.end() :] if child else body, found)
    if len(found.documents) == before and not _add_numbered(outside, found):
        found.add(outside, name)


def _content_of(body: str) -> str | None:
    """What stands between the first content tag that is closed and the last of its end tags."""
    lower = body.translate(_LOWER)
    ends: dict[str, int] = {}  # each is searched for once: searching again for every tag would be quadratic
    for opening in _CONTENT_TAG.finditer(lower):
        tag = opening[1]
        if tag not in ends:
            ends[tag] = lower.rfind(f"</{tag}>")
        if ends[tag] >= opening.end():
            return body[opening.end() : ends[tag]]
    return None


def _take_sections(text: str, found: ParsedPrompt) -> str:
    """Take what follows "Context:" or "Context information is below", up to the question."""
    rest: list[str] = []
    position = 0
    rules = [(m.start(), m.end()) for m in _RULE.finditer(text)]
    headers = (m.start() for pattern in (_REQUEST_HEADER, _HEADER) for m in pattern.finditer(text))
    stops = sorted({*(start for start, _ in rules), *headers})
    for start, body in _section_starts(text, rules):
        if start < position:
            continue
        rest.append(text[position:start])
        # To the next header or rule; without one the section ends before its trailing question.
        following = bisect_left(stops, body)
        at_end = following == len(stops)
        position = body + len(_without_trailing_request(text[body:])) if at_end else stops[following]
        section = _RULE.sub("", text[body:position])
        if not _add_numbered(section, found):
            found.add(section)
    return "\n".join((*rest, text[position:])) if position else text


def _section_starts(text: str, rules: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield where a section is announced and where it begins: after the rule below the header, if any."""
    starts = [start for start, _ in rules]
    for header in _HEADER.finditer(text):
        following = bisect_left(starts, header.end())
        has_rule = (
            following < len(rules) and not text[header.end() : min(rules[following][0], header.end() + 99)].strip()
        )
        yield header.start(), rules[following][1] if has_rule else header.end()
    for announcement in _ANNOUNCEMENT.finditer(text):
        following = bisect_left(starts, announcement.end())
        if following < len(rules) and starts[following] < announcement.end() + _MAX_ANNOUNCEMENT_GAP:
            yield rules[following]


def _without_trailing_request(text: str) -> str:
    end = len(text)
    for start in reversed([gap.start() for gap in _BLANK_LINE.finditer(text)]):
        if end - start > _TAIL_CHARS or not _is_request(text[start:end]):
            break
        end = start
    return text[:end]


def _take_marked(text: str, found: ParsedPrompt) -> str:
    """Take `[1] …`, `[2] …` without a header: from the first mark to the question."""
    first = _MARK.search(text)
    if not first:
        return text
    end = next((m.start() for m in _REQUEST_HEADER.finditer(text, first.end())), None)
    block = text[first.start() : end] if end else _without_trailing_request(text[first.start() :])
    if not _add_numbered(block, found):
        return text
    return f"{text[: first.start()]}\n{text[first.start() + len(block) :]}"


def _add_numbered(text: str, found: ParsedPrompt) -> bool:
    """Add passages that begin with marks. A single mark must be like S1, since [1] may be a citation."""
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


def _take_fenced(text: str, found: ParsedPrompt) -> str:
    rest: list[str] = []
    position = 0
    while opening := _FENCE.search(text, position):
        fence = opening.group()[:3]
        close = text.find(fence, opening.end())
        if close < 0:
            break
        body = text[opening.end() : close]
        if len(body.split()) >= MIN_FENCED_WORDS:
            rest.append(text[position : opening.start()])
            found.add(body)
        else:
            rest.append(text[position : close + 3])
        position = close + 3
    return "".join((*rest, text[position:]))


def _take_prose(text: str, found: ParsedPrompt) -> str:
    """Take runs of paragraphs that state something and are long enough."""
    rest: list[str] = []
    run: list[str] = []

    def end_run() -> None:
        passage = "\n\n".join(run)
        if len(passage.split()) >= MIN_PROSE_WORDS:
            found.add(passage)
        else:
            rest.extend(run)
        run.clear()

    for paragraph in _BLANK_LINE.split(text):
        if _is_request(paragraph):
            end_run()
            rest.append(paragraph)
        else:
            run.append(paragraph)
    end_run()
    return "\n\n".join(rest)


def _is_request(paragraph: str) -> bool:
    """True if at least a third of the sentences ask, order, or address the model."""
    check_cancelled()
    parts = [paragraph[s.start : s.end] for s in sentences(paragraph[:_TAIL_CHARS])]
    asking = (ClaimKind.QUESTION, ClaimKind.INSTRUCTION)
    requests = sum(bool(_ADDRESSES_MODEL.search(part)) or classify_sentence(part) in asking for part in parts)
    return not parts or requests * 3 >= len(parts)


# The evidence of a whole request, in any of the three APIs.

SOURCES_FIELD = "grounding_sources"
_SOURCE_NAMES = ("id", "sid", "name", "title")
_TEXT_PARTS = ("text", "input_text", "output_text", "query")
_SOURCE_PART = "grounding_source"  # a document, where LiteLLM and Bedrock mark it (and the question: "query")
_MAX_QUESTION = 2000  # characters: the question only steers retrieval

JsonObject = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class RequestEvidence:
    """False if there is nothing to check an answer against. `choices` is the number of answers asked for.

    `ledger` holds the tool calls so far; None if the request names no tools, so that none can be missing.
    """

    sources: tuple[Source, ...] = ()
    history: tuple[Turn, ...] = ()
    question: str = ""
    choices: int = 1
    ledger: ActionLedger | None = None

    def __bool__(self) -> bool:
        return bool(self.sources or self.history)


def read_request(body: JsonObject, given: Iterable[Source] = ()) -> RequestEvidence:
    """Read a request: chat messages with their `system` prompt, or the `instructions` and `input` of the responses API.

    The sources are those given, the `documents` field that some servers know, documents in prompts and in blocks
    of their own, and the results of tools.
    """
    prompt = body.get("input") if body.get("messages") is None else None
    items: list[JsonObject] = [{"role": "system", "content": body.get("system") or body.get("instructions")}]
    items += [{"role": "user", "content": prompt}] if isinstance(prompt, str) else []
    items += [item for item in (*_list(body.get("messages")), *_list(prompt)) if isinstance(item, Mapping)]
    documents = [*given, *_documents_field(body)]
    turns: list[Turn] = []
    tools: dict[str, str] = {}
    for item in items:
        for event in read_events([_take_documents(item, documents)]):
            if event.kind == "call":
                tools[event.id] = event.name
            elif event.kind == "result":
                documents.append(Source(event.name or tools.get(event.id) or "tool", event.text))
            elif event.kind == "assistant":
                turns.append(Turn(len(turns) + 1, "assistant", event.text))
            else:
                split = split_prompt(event.text)
                documents += split.documents
                if event.kind == "user":
                    turns.append(Turn(len(turns) + 1, "user", split.rest))
    if any(document.text.strip() for document in documents):
        documents += user_statements(turns)
    last_user = max((n for n, turn in enumerate(turns) if turn.role == "user"), default=len(turns))
    question = turns[last_user].text[:_MAX_QUESTION] if last_user < len(turns) else ""
    history = tuple(turn for turn in turns[:last_user] if turn.text.strip())
    choices, ledger = body.get("n"), ledger_of(read_events(items))
    return RequestEvidence(
        _as_sources(documents),
        history,
        question,
        choices if isinstance(choices, int) and choices > 1 else 1,
        ledger if ledger.calls or body.get("tools") else None,
    )


def _documents_field(body: JsonObject) -> list[Source]:
    try:
        return parse_sources(body["documents"]) if body.get("documents") is not None else []
    except InputError:
        return []  # not our field: other programs may use another format


def _take_documents(item: JsonObject, found: list[Source]) -> JsonObject:
    """Take the documents of a message or item; what is left are its texts, calls and results."""
    kind = item.get("type")
    if kind == "reasoning":
        return {}
    if kind == "file_search_call":
        results = [result for result in _list(item.get("results")) if isinstance(result, Mapping)]
        found += [Source(str(r.get("filename") or "file"), content_text(r.get("text"))) for r in results]
        return {}
    if kind == "mcp_call":
        found.append(Source(str(item.get("name") or "tool"), content_text(item.get("output"))))
        return {}
    changed = {key: _take_blocks(item[key], found) for key in ("content", "output") if key in item}
    return {**item, **changed}


def _take_blocks(content: object, found: list[Source]) -> object:
    """The text and tool blocks of a content. PDF and images are not read, and a result may hold documents, too."""
    if not isinstance(content, list):
        return content if isinstance(content, str) else None
    rest: list[object] = []
    for part in content:
        if not isinstance(part, Mapping):
            continue
        kind, source, title = str(part.get("type", "text")), part.get("source"), str(part.get("title") or "")
        if kind in _TEXT_PARTS or kind.endswith("tool_use"):
            rest.append(part)
        elif kind.endswith("tool_result"):
            rest.append({**part, "content": _take_blocks(part.get("content"), found)})
        elif kind == "document" and isinstance(source, Mapping):
            text = source.get("data") if source.get("type") == "text" else content_text(source.get("content"))
            found.append(Source(title, text if isinstance(text, str) else ""))
        elif kind == "search_result":
            found.append(Source(title or str(source or ""), content_text(part.get("content"))))
        elif kind == _SOURCE_PART and isinstance(part.get("text"), str):
            found.append(Source("", part["text"]))
    return rest


def parse_sources(value: object) -> list[Source]:
    """Read the extension field in any of its forms; raises `InputError` for anything else."""
    if value is None:
        raise InputError(f"{SOURCES_FIELD} must not be null", hint="leave it out, or give texts")
    try:
        return list(read_sources(value, _SOURCE_NAMES))
    except InputError as error:
        raise InputError(f"{SOURCES_FIELD}: {error.message}", hint=error.hint) from None


def _list(value: object) -> Sequence[Any]:
    return value if isinstance(value, list) else ()


def _as_sources(documents: Iterable[Source]) -> tuple[Source, ...]:
    """Give each distinct document an id: its name, numbered if it is not unique, or else S0, S1, …"""
    unique: dict[str, Source] = {}
    for document in documents:
        if document.text.strip():
            unique.setdefault(document.text, document)
    names = {document.id for document in unique.values() if document.id}
    numbers = (f"S{n}" for n in count() if f"S{n}" not in names)
    used: set[str] = set()
    # One count per name: to begin again at 2 for each document would be quadratic.
    others: defaultdict[str, Iterator[int]] = defaultdict(lambda: count(2))
    found = []
    for document in unique.values():
        name = document.id or next(numbers)
        if name in used:
            made = (f"{name}-{n}" for n in others[name])
            name = next(other for other in made if other not in used and other not in names)
        used.add(name)
        found.append(Source(name, document.text))
    return tuple(found)
