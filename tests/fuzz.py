"""Hostile inputs of up to 20 kB for every parser, made from seeds: `python -m tests.fuzz --inputs 100000`.

An input is read or refused; anything else is a crash, and so is CPU time beyond one second. Each line shows
the seed of the slowest input, which `--first SEED --inputs 1` reads again.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache, partial
from random import Random
from types import FrameType
from typing import Any, NamedTuple

from tests.conversion.documents import cell, docx, paragraph, pdf, pdf_line, table

from groundwire.claims.extractor import extract
from groundwire.claims.markup import marks
from groundwire.conversion.formats import PARSED, FileInput, read_document
from groundwire.errors import GroundwireError, InputError
from groundwire.integrations.metta_runner import evaluate, in_child, new_metta
from groundwire.integrations.rows import BatchRow, parse_row, row_identity
from groundwire.llm.base import TokenLogprob
from groundwire.proxy.dialects import ApiDialect, ChatDialect, MessagesDialect, ResponsesDialect
from groundwire.proxy.evidence import read_request
from groundwire.proxy.verifier import parse_object
from groundwire.retrieval.gather import resolve
from groundwire.sse import SseParser
from groundwire.text.structure import pieces
from groundwire.traces.computation import computed
from groundwire.traces.steps import as_steps, link, read_trace
from groundwire.types import Source
from groundwire.verifiers.consistency import parse_score
from groundwire.verifiers.logprob import masses, numbered_answers, parse_answer

MAX_BYTES = 20_000
MAX_SECONDS = 1.0
CHUNK = 5000
"""Inputs read by one process."""
_TEXT = ("a", "The tower is 330 m tall.", " ", "\n", "é", "שלום", "\x00", "\u202e", "😀", "-5", "=1+1")
_HTML = (
    "<table>", "<tr>", "<td>", "</td>", "<td colspan=9999>", "</table>", "<div>", "</div>", "<p>", "<b>", "<a ",
    "<pre>", "</pre>", "<li>", "<ul>", "<!--", "-->", "<![CDATA[", "&amp;", "&#x", "&lt", "<script>", "</script>",
    "<svg>", "<select>", "<meta charset=", "utf-8>", "gbk>", "punycode>", "<h1 hidden>", "<br>", "a=b ", "<", ">",
)  # fmt: skip
_CSV = (",", ";", "\t", '"', '""', '",', '"\n', "\r\n", "\n", '"""', '\n"', "\r")
_JSON = ("{", "}", "[", "]", '"', ":", ",", '"S0"', '"text"', '"id"', "null", "1e999", "-", "\\ud800", "9" * 500)
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


_MARKDOWN = (
    "# ", "## References\n", "- ", "1. ", "| a | b |\n|---|---|\n", "| 5 m | x |\n", "```\n", "```json\n", "> ", "**", "*", "`", "~~",
    "![", "](x.png)", "[", "]", "(", ")", "<!--", "-->", "<b>", "</b>", "$$", "\n\n", "\n", "    ", ": ", "; ", ", but ", "? ", ". ",
    "Did you know that ", ", isn't it?", "e.g. ", "Dr. Smith ", "The tower is 330 m tall", "I think ", "https://x.org/a(b) ", "\u200b",
)  # fmt: skip
_CITATIONS = (
    "[S1]", "[S0, S1]", "[1-9]", "[1–999999]", "(S2)", "【1†source】", "[^1]", "[^1]: ", "¹", "[file.pdf]", "[[1]](#x)", "[", "]", "S1: ",
    "[S1] It is red.\n", "passage 2: ", "according to [1]", "9" * 6000, ", ", "S", "<sup>1</sup>", "(Smith, 2020)", "\n",
)  # fmt: skip
_SSE = (
    "data: ", "data:", "data", "event: ", "id: 1", ": ping", "\n", "\r", "\r\n", "\n\n", "[DONE]", "data: [DONE]\n\n", "retry: 1", "\ufeff",
    'data: {"choices": [{"index": 0, "delta": {"content": "a"}}]}\n\n', '{"choices": ', '"delta": null', "null", "[" * 50, "}",
)  # fmt: skip
_METTA = (
    "(", ")", "!", "!(", "(= (f $x) ", "(f (s $x))", "$x", "&self", '"', "\\", "; ", "(: a ", "->", "+ 1 ", "(if ", "True ", "(match &self ",
    "(parse ", "(superpose (1 2 3))", "(let $x ", "import! ", "register-module! ", "(add-atom &self ", "(collapse ", "'", "\n",
)  # fmt: skip
_ROW = (
    '{"id": ', '"response": ', '"sources": ', '"context": ', '"question": ', '"history": ', "{", "}", "[", "]", '"', ":", ", ", "null",
    "true", "1e999", "NaN", '{"S0": "a"}', '[{"id": 1, "text": "a"}]', '[{"role": "user", "content": "a"}]', "\\ud800", "9" * 5000,
)  # fmt: skip
_EVENTS: tuple[dict[str, object], ...] = (
    {"choices": [{"index": 0, "delta": {"content": "a"}, "finish_reason": None}]},
    {"choices": [{"index": 0, "message": {"content": "a"}, "logprobs": {"content": []}}]},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "a"}},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
    {"content": [{"type": "text", "text": "a", "citations": [{}]}, {"type": "text", "text": "b"}]},
    {"choices": [{"index": 0, "message": {"content": "a"}}, {"index": 0, "message": {"content": "b"}}]},
    {"type": "response.content_part.done", "output_index": 0, "part": {"type": "output_text", "text": "a"}},
    {"output": [{"type": "message", "content": [{"type": "output_text", "text": "a", "logprobs": [1]}]}]},
    {"type": "response.output_text.delta", "item_id": "m", "output_index": 0, "content_index": 0, "delta": "a"},
    {
        "type": "response.completed",
        "response": {"output": [{"type": "message", "content": [{"type": "output_text", "text": "a"}]}]},
    },
    {
        "type": "response.output_item.done",
        "item": {"type": "message", "content": [{"type": "output_text", "text": "a"}]},
    },
)
_REPLY = (
    "YES", "NO", "UNSURE", "Yes", "no", "not ", "**", "Answer: ", '{"1": "YES", ', '"2": "NO"}', "1. YES\n", ": ", "0.85", "85%", "8/10",
    "8/0", "-", ".", "1e999", "9" * 500, "1" * 4500, "٣", "²", "½", "SUPPORTED", "CONTRADICTED", "NOT MENTIONED", " or ", " to ", "```json\n",
)  # fmt: skip
_TRACE = (
    '{"steps": [', '"a"', '{"text": "', '", "cites": ["S0"], ', '"confidence": ', "0.9", "1e999", "NaN", "]}", '"answer": "', '"sources": {"S0": "a"}',
    '[{"role": "user", "content": "a"}, ', '{"role": "assistant", "tool_calls": [{"id": "1", "function": {"name": "f", "arguments": "{}"}}]}',
    '{"role": "tool", "tool_call_id": "1", "content": "5"}', '{"resourceSpans": [{"scopeSpans": [{"spans": [', '{"traceId": "a", "spanId": "b"}',
    "Step 1: ", "1. ", "Therefore ", "Answer: ", "Question: ", "from step 1 ", "[S0]", "x = 5", "2 * x + 3", "= 13", "(", ")", "**", "/ 0", "^ 9", "%",
    "9" * 400, "1.5e308", "3 January 2024", "31/02/2023", "25:61", "2 weeks later", "Monday", "\n", "null", "[" * 60, "}", "]", ",", '"',
)  # fmt: skip


_PROMPT = (
    "<doc>", "</doc>", '<document id="a">', "</document>", "<content>", "</content>", "<source>", "</source>", "<id> ", "Context:\n",
    "context ", "following ", "this ", "below", "the ", "data ", "Question: ", "---\n", "```\n", '"""', "[S1] ", "[1] a\n", "source 1 (",
    "\n\n", "\n", " ", "Why? ", "You must. ", "It is red. ", "İ",
)  # fmt: skip


def _times(random: Random, most: int) -> int:
    """What is quadratic shows only with many of the same; what is wrong shows with few, at a small cost."""
    return random.choices((1, 9, most), (60, 25, 1))[0]


def _pieces(words: tuple[str, ...], random: Random) -> str:
    """A few of the words, sometimes many times over."""
    chosen = random.sample((*words, *_TEXT), random.randint(1, 6))
    body = "".join(random.choices(chosen, k=random.randint(1, 12)))
    return body * _times(random, MAX_BYTES // max(1, len(body)))


def _html(random: Random) -> bytes:
    return ("<html>" + "".join(_pieces(_HTML, random) for _ in range(random.randint(1, 3)))).encode()


def _csv(random: Random) -> bytes:
    return "".join(_pieces(_CSV, random) for _ in range(random.randint(1, 4))).encode()


def _json(random: Random) -> bytes:
    """One value, or several lines of them."""
    if random.random() < 0.3:
        return (random.choice("[{") + _pieces(_JSON, random)).encode("utf-8", "surrogatepass")
    rows = [{"id": number, "text": _pieces((), random)[:200]} for number in range(_times(random, 300))]
    values: tuple[object, ...] = (rows, {f"S{row['id']}": row["text"] for row in rows}, {"sources": rows}, "[" * 9)
    lines = "\n".join(map(json.dumps, rows))
    return random.choice((lines, json.dumps(random.choice(values)))).encode()


def _pdf(random: Random) -> bytes:
    lines = b" ".join(pdf_line(random.choice(("tall", "\\(", "a" * 50))) for _ in range(random.randint(1, 40)))
    return pdf(lines + b" ".join(random.choices(_PDF, k=random.choice((0, _times(random, 2000))))))


def _docx(random: Random) -> bytes:
    """Most damage is done before the file is packed; after that it would only be no archive any more."""
    rows = [[cell("x", random.choice(_WORD))] * random.randint(1, 9)] * _times(random, 900)
    body = random.choice((
        paragraph("It is tall.") * _times(random, 900), table(*rows), "".join(random.choices(_WORD, k=500)),
    ))  # fmt: skip
    if random.random() < 0.5:
        body = _damaged(body.encode(), random).decode("utf-8", "replace")
    return docx(body)


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


def _text(words: tuple[str, ...], random: Random) -> str:
    return "".join(_pieces(words, random) for _ in range(random.randint(1, 4)))[:MAX_BYTES]


def _row(random: Random) -> bytes:
    if random.random() < 0.3:
        return ("{" + _text(_ROW, random)).encode("utf-8", "surrogatepass")[:MAX_BYTES]
    odd: list[object] = [None, 5, "", [], {"S0": "a"}, {"S0": None}, ["a", {"text": "b"}], [{"id": True}]]
    row: dict[str, object] = {
        "id": "1",
        "response": "It is red.",
        "sources": {"S0": "a"},
        "question": "",
        "history": [],
    }
    row |= {key: random.choice(odd) for key in (*row, "context") if random.random() < 0.2}
    data = json.dumps(row).encode()
    return _damaged(data, random) if random.random() < 0.3 else data


def _read_file(suffix: str, data: bytes) -> None:
    try:
        read_document(data, FileInput("file", suffix, MAX_BYTES * 100, "file"))
    except (GroundwireError, TimeoutError, MemoryError):
        raise
    except Exception as error:  # libraries raise anything for a broken file; our own code must not
        if suffix not in PARSED:
            raise
        raise InputError(f"{type(error).__name__} of the parser") from None


def _find_claims(text: str) -> None:
    found = extract(text, known_sources=("S0", "S1", "file.pdf"))
    assert all(0 <= claim.start <= claim.end <= len(text) for claim in found), "a claim outside the answer"


def _find_citations(text: str) -> None:
    sources = tuple(Source(name, text) for name in ("S0", "S1", "file.pdf"))
    labels = [label for mark in marks(text, ("S0", "S1", "file.pdf")) for label in mark.labels]
    known = {source.id for source in sources}
    assert {resolve(label, sources) for label in labels} <= known | {None}, "a source that does not exist"


def _cut_source(text: str) -> None:
    """A source is cut into pieces that lie within it."""
    assert all(0 <= piece.start <= piece.end <= len(text) for piece in pieces(text)), "a piece outside the source"


def _read_request(text: str) -> None:
    """A prompt, and its lines as the results of one tool, in each of the APIs."""
    results = [{"role": "tool", "content": line} for line in text.split("\n")]
    blocks = [{"type": "document", "source": {"type": "text", "data": line}} for line in text.split("\n")]
    found = [
        read_request({"messages": [{"role": "user", "content": text}, *results]}),
        read_request({"system": text, "messages": [{"role": "user", "content": blocks}]}),
        read_request({"instructions": text, "input": text}),
    ]
    assert all(len({s.id for s in one.sources}) == len(one.sources) for one in found), "two sources with one id"


def _event(random: Random) -> dict[str, object]:
    """An event or answer of a model's API, with one of its values replaced by something odd."""
    event: dict[str, object] = json.loads(json.dumps(random.choice(_EVENTS)))
    odd: list[object] = [None, True, -1, 1e308, "", "x", [], [None], {}, {"text": None}, 10**30, ["a", {"b": []}]]
    inside: Any = event
    while isinstance(inside, dict | list) and inside:
        key = random.choice(list(inside) if isinstance(inside, dict) else range(len(inside)))
        if random.random() < 0.4 or not isinstance(inside[key], dict | list):
            inside[key] = random.choice(odd)
            break
        inside = inside[key]
    return event


_DIALECTS: tuple[ApiDialect, ...] = (ChatDialect(), MessagesDialect(), ResponsesDialect())


def _read_answer(event: dict[str, Any]) -> None:
    """All that the proxy does with an event or a complete answer."""
    for dialect in _DIALECTS:
        found = dialect.deltas(event)
        dialect.is_end(event)
        for key, _ in found:
            dialect.without_text(event, [key])
            dialect.without_choices(event, [key])
            json.dumps([dialect.delta_event(event, key, "x"), dialect.stop_events(event, key, "x", "y")])
        texts = dict.fromkeys((*dialect.texts(event), (0,), (0, 0)), "x")  # earlier events had these
        json.dumps(dialect.replace_texts(event, texts, texts))
        json.dumps([dialect.replace_repeated(event, texts), dialect.report_event(event, {})])


def _read_reply(text: str) -> None:
    """A model's judgement: a number from 0 to 1, or none."""
    parse_answer(text)
    numbered_answers(text)
    score = parse_score(text)
    assert score is None or 0.0 <= score.support <= 1.0, "a score outside 0 to 1"
    words = text[:200].split() or [text[:200]]
    logprobs = [(-0.1, -2.5, -30.0, 0.0, 0.5, float("nan"), float("-inf"))[len(word) % 7] for word in words]
    mass = masses([TokenLogprob(*pair) for pair in zip(words, logprobs, strict=True)])
    assert mass is None or 0.0 <= mass.estimate("fuzz").p_yes <= 1.0, "a probability outside 0 to 1"


def _follow_trace(text: str) -> None:
    trace = read_trace(text)
    steps = as_steps(trace.steps, ())
    link(steps, ())
    computed([], [step.text for step in steps])


def _read_events(data: bytes) -> None:
    """In one piece and in small ones: the same events, and no byte lost."""
    whole, parts = SseParser(), SseParser()
    pieces = [data[at : at + 7] for at in range(0, len(data), 7)]
    frames = [*whole.feed(data), *whole.finish()]
    cut = [frame for piece in pieces for frame in parts.feed(piece)] + parts.finish()
    assert b"".join(frame.raw for frame in frames) == b"".join(frame.raw for frame in cut) == data
    for frame in frames:
        event = parse_object(frame.data)
        if event is not None:
            _read_answer(event)


def _run_program(text: str) -> None:
    """In a process of its own, as the command does; the runner is made once and each program gets a copy."""
    runner = _runner()

    def run() -> bool:
        signal.setitimer(signal.ITIMER_VIRTUAL, 5 * MAX_SECONDS)  # a fork does not inherit the timer
        return bool(evaluate(runner, text, 100))

    in_child(run)


@lru_cache(maxsize=1)
def _runner() -> Any:
    return new_metta()


def _read_row(raw: bytes) -> None:
    row_identity(BatchRow(1, raw))
    parsed = parse_row(raw)
    assert isinstance(parsed.response, str)


class Target(NamedTuple):
    """A parser: how its input is made from a seed, what reads it, and its share of the inputs.

    `InputError` refuses an input.
    """

    make: Callable[[Random], Any]
    read: Callable[[Any], None]
    weight: float = 1.0


def _file(suffix: str, make: Callable[[Random], bytes]) -> Target:
    share = 0.1 if suffix == ".docx" else 0.6

    def made(random: Random) -> bytes:
        data = make(random)
        return (_damaged(data, random) if random.random() < share else data)[:MAX_BYTES]

    return Target(made, partial(_read_file, suffix))


TARGETS: dict[str, Target] = {
    "html": _file(".html", _html),
    "csv": _file(".csv", _csv),
    "json": _file(".json", _json),
    "jsonl": _file(".jsonl", _json),
    "pdf": _file(".pdf", _pdf),
    "docx": _file(".docx", _docx),
    "claims": Target(partial(_text, (*_MARKDOWN, *_CITATIONS)), _find_claims),
    "citations": Target(partial(_text, _CITATIONS), _find_citations),
    "events": Target(lambda random: _text(_SSE, random).encode()[:MAX_BYTES], _read_events),
    "answers": Target(_event, _read_answer),
    "requests": Target(partial(_text, _PROMPT), _read_request),
    "replies": Target(partial(_text, _REPLY), _read_reply),
    "sources": Target(partial(_text, (*_MARKDOWN, *_JSON)), _cut_source),
    "traces": Target(partial(_text, _TRACE), _follow_trace),
    "metta": Target(partial(_text, _METTA), _run_program, weight=0.2),  # each takes a process
    "rows": Target(_row, _read_row),
}


@dataclass(slots=True)
class TargetResult:
    """What became of the inputs of one parser."""

    outcomes: Counter[str] = field(default_factory=Counter)
    slowest: float = 0.0
    slowest_seed: int = -1
    violations: list[str] = field(default_factory=list)

    def add(self, other: TargetResult) -> None:
        self.outcomes += other.outcomes
        self.violations += other.violations
        if other.slowest > self.slowest:
            self.slowest, self.slowest_seed = other.slowest, other.slowest_seed


def make_input(seed: int) -> tuple[str, Any]:
    """The name of a parser and an input for it; the same for the same seed."""
    random = Random(seed)
    [name] = random.choices(tuple(TARGETS), [target.weight for target in TARGETS.values()])
    return name, TARGETS[name].make(random)


def _out_of_time(_signal: int, _frame: FrameType | None) -> None:
    raise TimeoutError


def read_all(seeds: Iterable[int], begun: Callable[[int], None] = lambda _: None) -> dict[str, TargetResult]:
    """Read the inputs of these seeds, each for a few seconds at most; `begun` is called before each."""
    signal.signal(signal.SIGVTALRM, _out_of_time)
    results = {name: TargetResult() for name in TARGETS}
    for seed in seeds:
        begun(seed)
        name, given = make_input(seed)
        _read_one(seed, given, TARGETS[name].read, results[name])
    return results


def _cpu_seconds() -> float:
    """Of this process and of the children it has waited for."""
    spent = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in spent)


def _read_one(seed: int, given: Any, read: Callable[[Any], None], result: TargetResult) -> None:
    signal.setitimer(signal.ITIMER_VIRTUAL, 5 * MAX_SECONDS)
    start = _cpu_seconds()
    try:
        read(given)
        outcome = "read"
    except GroundwireError:
        outcome = "refused"
    except Exception as error:
        outcome = "crash"
        result.violations.append(f"seed {seed}: {error!r}"[:300])
    seconds = _cpu_seconds() - start
    signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    result.outcomes[outcome] += 1
    if seconds > result.slowest:
        result.slowest, result.slowest_seed = seconds, seed
    if seconds > MAX_SECONDS:
        result.violations.append(f"seed {seed}: {seconds:.1f} s of CPU time")


def read_in_process(seeds: range) -> dict[str, TargetResult]:
    """Read the inputs in a process of its own: a library may end it, which is a violation as well."""
    context = multiprocessing.get_context("fork")
    current, (ours, theirs) = context.Value("q", seeds.start), context.Pipe(duplex=False)

    def begun(seed: int) -> None:
        current.value = seed

    child = context.Process(target=lambda: theirs.send(read_all(seeds, begun)))
    child.start()
    theirs.close()
    try:
        results: dict[str, TargetResult] = ours.recv()
    except EOFError:
        child.join()
        name, _ = make_input(current.value)
        died = f"seed {current.value}: the process ended with {child.exitcode}"
        results = read_in_process(range(current.value + 1, seeds.stop))
        for before, found in read_in_process(range(seeds.start, current.value)).items():
            results[before].add(found)
        results[name].add(TargetResult(violations=[died]))
    child.join()
    return results


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    given = parser.parse_args()
    results = {name: TargetResult() for name in TARGETS}
    last = given.first + given.inputs
    for first in range(given.first, last, CHUNK):
        for name, found in read_in_process(range(first, min(first + CHUNK, last))).items():
            results[name].add(found)
    for name, result in results.items():
        outcomes = ", ".join(f"{number:,} {outcome}" for outcome, number in result.outcomes.most_common())
        print(f"{name:9} slowest {result.slowest * 1000:.0f} ms (seed {result.slowest_seed}); {outcomes}")
    violations = [f"{name} {one}" for name, result in results.items() for one in result.violations]
    print(f"{given.inputs:,} inputs of up to {MAX_BYTES:,} bytes, {len(violations)} violations")
    print("\n".join(violations[:20]))
    return bool(violations)


if __name__ == "__main__":
    sys.exit(main())
