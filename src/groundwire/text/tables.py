"""Find tables in plain text (Markdown, pipes, tabs, CSV), each row with its offsets."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_RULE = re.compile(r"\s*\|?\s*:?-{2,}:?\s*(?:\|\s*:?-{2,}:?\s*)*+\|?\s*$")
_NUMBER = re.compile(r"[\s\d.,%$€£+\-]+$")
_THOUSANDS = re.compile(r"\d{3}(?!\d)")
_QUOTED = re.compile(r'\s*+"((?:[^"]|"")*+)"\s*+')
_BAR = re.compile(r"(?<!\\)\|")
_MAX_NAME = 60  # characters of a column name; a longer first line is prose
_SEPARATORS = "|\t,;"

Line = tuple[int, int]


@dataclass(frozen=True, slots=True)
class TableRow:
    """One row: its range from the first to the last cell, and the text of each cell."""

    start: int
    end: int
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Column names, which are not evidence by themselves, and the rows below them."""

    names: tuple[str, ...]
    rows: tuple[TableRow, ...]


def find(text: str, lines: Sequence[Line], at: int, markers: Sequence[str] = ()) -> tuple[Table | None, int]:
    """The table whose column names are in line `at`, if any, and the first line not consumed.

    Args:
        lines: (start, end) of each line of the text.
        markers: placeholders for removed evidence; a row that consists of one does not end the table.
    """
    reach = at + 1
    for separator in _SEPARATORS:
        if separator in text[slice(*lines[at])]:
            table, after = _table(text, lines, at, separator, markers)
            if table:
                return table, after
            reach = max(reach, after)
    return None, reach


def _table(
    text: str, lines: Sequence[Line], at: int, separator: str, markers: Sequence[str]
) -> tuple[Table | None, int]:
    head = row(text, *lines[at], separator)
    rows: list[TableRow] = []
    ruled = False
    after = at + 1
    while after < len(lines):
        raw = text[slice(*lines[after])]
        if separator == "|" and "-" in raw and _RULE.match(raw):
            ruled = True
        else:
            candidate = row(text, *lines[after], separator)
            alike = len(candidate.cells) == len(head.cells) or (ruled and "|" in raw)
            if not raw.strip() or not (alike or raw.strip("| \t\r") in markers):
                break
            rows.append(candidate)
        after += 1
    if rows and (ruled or _plausible(text[lines[at][0] : lines[after - 1][1]], separator, head, len(rows))):
        return Table(head.cells, tuple(rows)), after
    return None, after


def _plausible(raw: str, separator: str, head: TableRow, rows: int) -> bool:
    """Distinguish CSV from prose: column names are short, and there is no space after the commas."""
    if any(len(cell) > _MAX_NAME or _NUMBER.match(cell) for cell in head.cells):
        return False
    if separator in "|\t":
        return True
    if separator == "," and any(map(_one_number, head.cells, head.cells[1:])):
        return False
    return rows >= 2 and all(head.cells) and raw.count(separator + " ") * 4 <= raw.count(separator)


def _one_number(left: str, right: str) -> bool:
    """True if the comma between two cells is part of a number: 8,580."""
    return left[-1:].isdigit() and bool(_THOUSANDS.match(right))


def row(text: str, start: int, end: int, separator: str) -> TableRow:
    """Split one line into cells; the range leaves out outer pipes and spaces.

    >>> row("| a | b |", 0, 9, "|")
    TableRow(start=2, end=7, cells=('a', 'b'))
    >>> row('"x, y",2', 0, 8, ",").cells
    ('x, y', '2')
    """
    outer = "| \t\r" if separator == "|" else " \r"
    raw = text[start:end]
    start += len(raw) - len(raw.lstrip(outer))
    body = raw.strip(outer)
    cells = bars(raw) if separator == "|" else fields(body, separator)
    return TableRow(start, start + len(body), tuple(cells))


def bars(line: str) -> list[str]:
    """Cells between pipes, including empty ones."""
    body = line.strip()
    cells = [cell.strip() for cell in _BAR.split(body)]
    if body.startswith("|"):
        cells = cells[1:]
    return cells[:-1] if len(cells) > 1 and not cells[-1] and body.endswith("|") else cells


def fields(line: str, separator: str) -> list[str]:
    """The unquoted CSV fields of one line."""
    if '"' not in line:
        return [cell.strip() for cell in line.split(separator)]
    cells: list[str] = []
    at = 0
    while at <= len(line):
        quoted = _QUOTED.match(line, at)
        if quoted and (quoted.end() == len(line) or line[quoted.end()] == separator):
            cells.append(quoted[1].replace('""', '"').strip())
            at = quoted.end() + 1
            continue
        stop = line.find(separator, at)
        stop = len(line) if stop < 0 else stop
        cells.append(line[at:stop].strip())
        at = stop + 1
    return cells
