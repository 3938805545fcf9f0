"""Reports, batches and audits as self-contained HTML: whole pages, and the tables that notebooks show.

Everything is rendered by the Jinja2 templates in `templates/`. Autoescaping keeps untrusted text from
becoming markup, and every printed value is sanitized.
"""

from __future__ import annotations

import base64
import hashlib
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any

from groundwire.reports import plaintext
from groundwire.reports.plaintext import answer_line, flag_counts, is_wrapped, split_at_spans, steps_line
from groundwire.text.controls import sanitize
from groundwire.text.sentences import Block, BlockKind, blocks
from groundwire.types import ClaimVerification, Derived, Detection, HallucinationReport, Span, Status, TraceAudit

if TYPE_CHECKING:
    from jinja2 import Environment


_NOTEBOOK_CHARS = 2000
"""Characters shown of one text: notebooks store their output, and a source may have megabytes."""
_NOTEBOOK_FIGURES = ("support", "confidence")
_MARKS = {"CONTRADICTED": "✕", "NOT_IN_CONTEXT": "○", "UNVERIFIABLE": "?", "UNCHECKED": "?", "ENTAILED": "✓"}
_ANSWER_CLASS = {Derived.YES: "ENTAILED", Derived.NO: "CONTRADICTED", Derived.UNCHECKED: "UNCHECKED"}


def to_html(report: HallucinationReport, title: str = "groundwire report") -> str:
    """A report as one page without scripts, other files or other hosts."""
    return _render(
        "report.html",
        title=title,
        report=report,
        blocks=answer_blocks(report.response, report.claims, report.spans),
        guidance=plaintext.repair_guidance(report.repair) if report.repair else [],
        repaired=answer_blocks(plaintext.repaired_text(report.repair), (), ()) if report.repair else (),
    )


def batch_row(report: HallucinationReport, number: int, group: str = "") -> str:
    """One response of a batch: a row of the table on the page, with the report inside."""
    blocks = list(answer_blocks(report.response, report.claims, report.spans))
    return _render("batch_row.html", report=report, blocks=blocks, at=f"r{number}-", number=number, group=group)


def batch_page(title: str, summary: str, groups: Sequence[Sequence[str]], rows: Iterable[str]) -> Iterator[str]:
    """The page of a batch, part by part: a table to sort and to filter. `rows` come from `batch_row`.

    Args:
        summary: the counts and the outcome of the gate, in one line.
        groups: the cells of the counts by group, the heads first; empty if the batch is not grouped.
    """
    script = files("groundwire.reports").joinpath("templates", "batch.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(f"\n{script}".encode()).digest()).decode()
    page = _environment().get_template("batch.html")
    yield from page.generate(title=title, summary=summary, groups=groups, rows=rows, script=script, digest=digest)


def audit_page(audit: TraceAudit, title: str = "groundwire audit") -> str:
    return _render(
        "audit.html",
        title=title,
        audit=audit,
        steps_line=steps_line(audit),
        answer_line=answer_line(audit.post_hoc),
        answer_class=_ANSWER_CLASS.get(audit.post_hoc.outcome, ""),
    )


# ---- notebooks


def notebook_view(result: HallucinationReport | ClaimVerification | TraceAudit | Detection) -> str:
    """A result as an HTML fragment, which notebooks show for `_repr_html_`."""
    match result:
        case HallucinationReport():
            text = result.response[:_NOTEBOOK_CHARS] + ("…" if len(result.response) > _NOTEBOOK_CHARS else "")
            pieces = split_at_spans(text, [span for span in result.spans if span.end <= _NOTEBOOK_CHARS])
            return _render("notebook.html", kind="report", result=result, pieces=pieces, counts=flag_counts(result))
        case TraceAudit():
            has_answer = result.post_hoc.outcome is not Derived.ABSENT
            return _render("notebook.html", kind="audit", result=result, has_answer=has_answer)
    return _render(
        "notebook.html", kind="claim" if isinstance(result, ClaimVerification) else "detection", result=result
    )


# ---- templates


def _render(template: str, **values: object) -> str:
    return _environment().get_template(template).render(values)


@cache
def _environment() -> Environment:
    # Imported on first use: the engine loads this module, and most checks never render HTML.
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("groundwire.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_sanitize_value,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"cut": _cut, "families": _families, "fixed": lambda value, digits=0: f"{value:.{digits}f}"}
    # The sign before a list item: its number or letter, or a dot.
    environment.filters["bullet"] = lambda marker: marker if any(map(str.isalnum, marker)) else "•"
    environment.filters |= {"number": plaintext.format_number, "percent": plaintext.percent}
    lines = ("feedback_line", "headline", "nearest_evidence", "reason_line", "shares_line", "report_facts")
    environment.globals |= {name: getattr(plaintext, name) for name in lines}
    statuses = [Status(name) for name in _MARKS if name != Status.UNVERIFIABLE]  # in words, as UNCHECKED
    environment.globals |= {"marks": _MARKS, "statuses": statuses, "figures": _NOTEBOOK_FIGURES}
    # The CSS class of a verdict; None means that it could not be checked.
    environment.globals["mood"] = lambda flagged: "warn" if flagged is None else "bad" if flagged else "good"
    return environment


def _sanitize_value(value: Any) -> Any:
    # The output of macros has __html__ and was sanitized when it was rendered.
    return sanitize(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


def _cut(text: str) -> str:
    """Text on one line, of bounded length."""
    return " ".join(text[:_NOTEBOOK_CHARS].split()) + ("…" if len(text) > _NOTEBOOK_CHARS else "")


def _families(blocks: Iterable[AnswerBlock]) -> Iterator[tuple[str, list[AnswerBlock]]]:
    """Blocks in runs: the items of a list and the rows of a table belong together."""
    for family, members in groupby(blocks, key=lambda block: "row" if block.tag in ("th", "td") else block.tag):
        yield family, list(members)


# ---- an answer as blocks of marked text: the headings, lists, tables and code of its Markdown
#
# The page draws the same blocks in JavaScript (`server/page/answer.js`); a browser test compares the two.

_CODE = re.compile(r"(`+)([^`\n]+)\1")
_STRONG = re.compile(r"(\*\*|__)(?=\S)([^\n]+?)(?<=\S)\1")
_EMPHASIS = re.compile(r"(?<![\w*])([*_])(?![\s*_])([^*_\n]+?)(?<!\s)\1(?![\w*])")
_FENCE = re.compile(r"\s*(?:`{3,}|~{3,})")
_TAGS = {BlockKind.HEADING: "h3", BlockKind.ITEM: "li", BlockKind.DEFINITION: "li", BlockKind.QUOTE: "blockquote"}
_WORST = (Status.CONTRADICTED, Status.NOT_IN_CONTEXT, Status.UNCHECKED, Status.UNVERIFIABLE, Status.ENTAILED)
_INDENT = 2
"""Columns of indentation per level of a nested list."""
_MAX_DEPTH = 3


@dataclass(frozen=True, slots=True)
class AnswerPiece:
    """A piece of a line: within one claim or none, of one style, and unsupported (`hot`) or not."""

    text: str
    claim: ClaimVerification | None = None
    hot: bool = False
    style: str = ""


@dataclass(frozen=True, slots=True)
class AnswerBlock:
    """A paragraph, heading, list item, quotation, piece of code, or table row; `tag` says which.

    A row has one cell per column, any other block has one. `marker` is the bullet or number of an item and
    `depth` its nesting.
    """

    tag: str
    cells: tuple[tuple[AnswerPiece, ...], ...]
    marker: str = ""
    depth: int = 0


def answer_blocks(text: str, claims: Sequence[ClaimVerification], spans: Sequence[Span]) -> Iterator[AnswerBlock]:
    """The blocks of an answer with its claims and unsupported spans."""
    cutter = _Cutter(text, claims, spans)
    for block in blocks(text):
        if block.kind in (BlockKind.HEADER, BlockKind.ROW):
            cells = tuple(tuple(cutter.inline(cell)) for cell in block.lines)
            yield AnswerBlock("th" if block.kind is BlockKind.HEADER else "td", cells)
        elif block.kind is BlockKind.CODE:
            yield AnswerBlock("pre", ((AnswerPiece(_code(text[block.start : block.end])),),))
        else:
            pieces = tuple(cutter.lines(block.lines))
            depth = _depth(text, block) if block.kind is BlockKind.ITEM else 0
            yield AnswerBlock(_TAGS.get(block.kind, "p"), (pieces,), block.marker, depth)


def _code(text: str) -> str:
    """A piece of code without its fences."""
    lines = text.split("\n")
    if _FENCE.match(lines[0]):
        lines = lines[1:-1] if len(lines) > 1 and _FENCE.match(lines[-1]) else lines[1:]
    return "\n".join(lines)


def _depth(text: str, block: Block) -> int:
    """The nesting of a list item, by the indentation of its line."""
    line = text[text.rfind("\n", 0, block.start) + 1 : block.start]
    return min((len(line) - len(line.lstrip())) // _INDENT, _MAX_DEPTH)


class _Cutter:
    """Cuts ranges of the answer at claims, spans and inline markup."""

    def __init__(self, text: str, claims: Sequence[ClaimVerification], spans: Sequence[Span]) -> None:
        self._text = text
        self._claims = sorted(claims, key=lambda claim: _WORST.index(claim.status))
        self._spans = spans
        places = [(part.start, part.end) for part in claims] + [(part.start, part.end) for part in spans]
        self._edges = sorted({edge for place in places for edge in place})

    def lines(self, lines: Sequence[Span]) -> Iterator[AnswerPiece]:
        """The lines of a paragraph: joined where a text width broke them, else with a line break."""
        for number, line in enumerate(lines):
            yield from self.inline(line)
            if number < len(lines) - 1:
                wrapped = is_wrapped(self._text[line.start : line.end])
                yield AnswerPiece(" " if wrapped else "\n")

    def inline(self, line: Span) -> Iterator[AnswerPiece]:
        """One line with its emphasis and code; the marks themselves are left out."""
        styles = list(_styles(self._text[line.start : line.end], line.start))
        at = line.start
        for start, end, width, style in styles:
            yield from self.pieces(at, start)
            yield from self.pieces(start + width, end - width, style)
            at = end
        yield from self.pieces(at, line.end)

    def pieces(self, start: int, end: int, style: str = "") -> Iterator[AnswerPiece]:
        inside = self._edges[bisect_right(self._edges, start) : bisect_left(self._edges, end)]
        for begin, stop in pairwise((start, *inside, end)) if start < end else ():
            claim = next((c for c in self._claims if c.start < stop and begin < c.end), None)
            hot = any(span.start < stop and begin < span.end for span in self._spans)
            yield AnswerPiece(self._text[begin:stop], claim, hot, style)


def _styles(line: str, offset: int) -> Iterator[tuple[int, int, int, str]]:
    """Styled ranges in order, without overlap: start, end, width of the mark, tag."""
    at = 0
    found = [
        (match.start(), match.end(), len(match[1]), tag)
        for tag, pattern in (("code", _CODE), ("b", _STRONG), ("i", _EMPHASIS))
        for match in pattern.finditer(line)
    ]
    for start, end, width, tag in sorted(found):
        if start >= at:
            yield start + offset, end + offset, width, tag
            at = end
