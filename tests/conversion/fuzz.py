"""Damaged and hostile files of up to 20 kB, made from seeds: `python -m tests.conversion.fuzz --inputs 100000`.

A file is read or refused; anything else is a crash, and so is CPU time beyond one second. Each line shows the
seed of the slowest file, which `--first SEED --inputs 1` reads again.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random
from types import FrameType

from tests.conversion.documents import cell, docx, paragraph, pdf, pdf_line, table

from groundwire.conversion.formats import PARSED, FileInput, read_document
from groundwire.errors import InputError

MAX_BYTES = 20_000
MAX_SECONDS = 1.0
_TEXT = ("a", "The tower is 330 m tall.", " ", "\n", "é", "שלום", "\x00", "\u202e", "😀", "-5", "=1+1")
_HTML = (
    "<table>", "<tr>", "<td>", "</td>", "<td colspan=9999>", "</table>", "<div>", "</div>", "<p>", "<b>", "<a ",
    "<pre>", "</pre>", "<li>", "<ul>", "<!--", "-->", "<![CDATA[", "&amp;", "&#x", "&lt", "<script>", "</script>",
    "<svg>", "<select>", "<meta charset=", "utf-8>", "gbk>", "punycode>", "<h1 hidden>", "<br>", "a=b ", "<", ">",
)  # fmt: skip
_CSV = (",", ";", "\t", '"', '""', '",', '"\n', "\r\n", "\n", '"""', '\n"', "\r")
_JSON = (
    "{",
    "}",
    "[",
    "]",
    '"',
    ":",
    ",",
    '"S0"',
    '"text"',
    '"id"',
    "null",
    "1e999",
    "-",
    "\\ud800",
    "9" * 500,
)
_PDF = (
    b"<<", b">>", b"[", b"]", b"(", b")", b"3 0 R", b"1 0 R", b"/Kids", b"/Parent", b"/Contents", b"/Length", b"stream\n",
    b"\nendstream", b"endobj", b"/Filter /FlateDecode", b"/Filter [/ASCIIHexDecode /LZWDecode]", b"BT", b"ET", b"Tj", b"TJ", b"Tm",
    b"cm", b"q ", b"Q ", b"/F1 12 Tf", b"BI ID ", b"EI", b"xref", b"trailer", b"/Type /ObjStm", b"/Prev 9", b"99999999",
)  # fmt: skip
_WORD = (
    "<w:tbl>", "</w:tbl>", "<w:tr>", "</w:tr>", "<w:tc>", "</w:tc>", "<w:p>", "</w:p>", "<w:r>", "</w:r>", "<w:t>x</w:t>",
    "<w:sdt>", "</w:sdt>", "<w:sdtContent>", '<w:gridSpan w:val="99999"/>', "<w:vMerge/>", "<w:tcPr>", "</w:tcPr>",
    "<w:br/>", "&lt;", "<!--", "]]>",
)  # fmt: skip


@dataclass(slots=True)
class KindResult:
    """What became of the files of one format."""

    outcomes: Counter[str] = field(default_factory=Counter)
    slowest: float = 0.0
    slowest_seed: int = -1
    violations: list[str] = field(default_factory=list)


def make_file(seed: int) -> tuple[str, bytes]:
    """The ending and the bytes of a file; the same for the same seed."""
    random = Random(seed)
    suffix = random.choice(tuple(_MAKERS))
    data = _MAKERS[suffix](random)
    is_damaged = random.random() < (0.1 if suffix == ".docx" else 0.6)
    return suffix, (_damaged(data, random) if is_damaged else data)[:MAX_BYTES]


def _pieces(words: tuple[str, ...], random: Random) -> str:
    """A few of the words many times over: what is quadratic shows only with many of the same."""
    chosen = random.sample((*words, *_TEXT), random.randint(1, 6))
    body = "".join(random.choices(chosen, k=random.randint(1, 12)))
    return body * random.choice((1, 1, 10, MAX_BYTES // max(1, len(body))))


def _html(random: Random) -> bytes:
    return ("<html>" + "".join(_pieces(_HTML, random) for _ in range(random.randint(1, 3)))).encode()


def _csv(random: Random) -> bytes:
    return "".join(_pieces(_CSV, random) for _ in range(random.randint(1, 4))).encode()


def _json(random: Random) -> bytes:
    """One value, or several lines of them."""
    if random.random() < 0.3:
        return (random.choice("[{") + _pieces(_JSON, random)).encode("utf-8", "surrogatepass")
    rows = [{"id": number, "text": _pieces((), random)[:200]} for number in range(random.choice((1, 5, 300)))]
    values: tuple[object, ...] = (
        rows,
        {f"S{row['id']}": row["text"] for row in rows},
        {"sources": rows},
        "[" * 9,
    )
    lines = "\n".join(map(json.dumps, rows))
    return random.choice((lines, json.dumps(random.choice(values)))).encode()


def _pdf(random: Random) -> bytes:
    lines = b" ".join(
        pdf_line(random.choice(("tall", "\\(", "a" * 50))) for _ in range(random.randint(1, 40))
    )
    return pdf(lines + b" ".join(random.choices(_PDF, k=random.choice((0, 5, 2000)))))


def _docx(random: Random) -> bytes:
    """Most damage is done before the file is packed; after that it would only be no archive any more."""
    rows = [[cell("x", random.choice(_WORD))] * random.randint(1, 9)] * random.choice((1, 9, 900))
    body = random.choice((
        paragraph("It is tall.") * random.choice((1, 900)), table(*rows), "".join(random.choices(_WORD, k=500)),
    ))  # fmt: skip
    if random.random() < 0.5:
        body = _damaged(body.encode(), random).decode("utf-8", "replace")
    return docx(body)


_MAKERS: dict[str, Callable[[Random], bytes]] = {
    ".html": _html, ".csv": _csv, ".json": _json, ".jsonl": _json, ".pdf": _pdf, ".docx": _docx,
}  # fmt: skip


def _damaged(data: bytes, random: Random) -> bytes:
    found = bytearray(data)
    for _ in range(random.randint(1, 8)):
        start = random.randrange(len(found) + 1)
        end = min(len(found), start + random.choice((1, 4, 64, 1000)))
        piece = bytes(found[start:end])
        found[start:end] = random.choice((
            b"", piece[::-1], piece * random.choice((2, 50)), random.randbytes(len(piece)), random.choice(_PDF),
        ))  # fmt: skip
        del found[MAX_BYTES:]
    return bytes(found)


def _out_of_time(_signal: int, _frame: FrameType | None) -> None:
    raise TimeoutError


def read_all(seeds: Iterator[int]) -> dict[str, KindResult]:
    """Read the files of these seeds, each for a few seconds at most."""
    signal.signal(signal.SIGVTALRM, _out_of_time)
    results = {suffix: KindResult() for suffix in _MAKERS}
    for seed in seeds:
        suffix, data = make_file(seed)
        result = results[suffix]
        signal.setitimer(signal.ITIMER_VIRTUAL, 5 * MAX_SECONDS)
        begun = time.process_time()
        try:
            read_document(data, FileInput("file", suffix, MAX_BYTES * 100, "file"))
            outcome = "read"
        except InputError:
            outcome = "refused"
        except Exception as error:  # the libraries raise anything for a broken file; our own code must not
            outcome = f"{type(error).__name__} of the parser"
            if suffix not in PARSED or isinstance(error, TimeoutError | MemoryError):
                result.violations.append(f"seed {seed}: {error!r}")
        seconds = time.process_time() - begun
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        result.outcomes[outcome] += 1
        if seconds > result.slowest:
            result.slowest, result.slowest_seed = seconds, seed
        if seconds > MAX_SECONDS:
            result.violations.append(f"seed {seed}: {seconds:.1f} s of CPU time")
    return results


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    given = parser.parse_args()
    results = read_all(iter(range(given.first, given.first + given.inputs)))
    for suffix, result in results.items():
        outcomes = ", ".join(f"{number:,} {name}" for name, number in result.outcomes.most_common())
        slowest = f"slowest {result.slowest * 1000:.0f} ms (seed {result.slowest_seed})"
        print(f"{suffix:6} {slowest}; {outcomes}")
    violations = [f"{suffix} {one}" for suffix, result in results.items() for one in result.violations]
    print(f"{given.inputs:,} files of up to {MAX_BYTES:,} bytes, {len(violations)} violations")
    print("\n".join(violations[:20]))
    return bool(violations)


if __name__ == "__main__":
    sys.exit(main())
