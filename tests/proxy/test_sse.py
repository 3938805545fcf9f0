"""Frames keep their bytes, however they are cut."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundwire.proxy.sse import Parser, Tail, TooLarge, comment, parse, write

LINES = st.sampled_from(
    [
        b"data: a",
        b"data:b",
        b"event: x",
        b": keep",
        b"",
        b"data: [DONE]",
        b"data: \xd7\xa9",
        b"id: 7",
        b"data",
    ]
)
ENDS = st.sampled_from([b"\n", b"\r\n", b"\r"])
STREAMS = st.lists(st.tuples(LINES, ENDS), max_size=14).map(lambda pairs: b"".join(a + b for a, b in pairs))


def cut(stream: bytes, places: list[int]) -> list[bytes]:
    at = sorted({min(p, len(stream)) for p in places})
    return [stream[a:b] for a, b in zip([0, *at], [*at, len(stream)], strict=True)]


@settings(max_examples=200)
@given(STREAMS, st.lists(st.integers(0, 120), max_size=8))
def test_no_byte_is_lost_and_cuts_change_nothing(stream: bytes, places: list[int]) -> None:
    whole, pieces = Parser(), Parser()
    at_once = [*whole.feed(stream), *whole.finish()]
    by_pieces = [frame for piece in cut(stream, places) for frame in pieces.feed(piece)] + pieces.finish()
    assert b"".join(frame.raw for frame in by_pieces) == stream
    told = [(f.event, f.data) for f in by_pieces if f.data or f.event]
    assert told == [(f.event, f.data) for f in at_once if f.data or f.event]


@settings(max_examples=200)
@given(STREAMS, st.lists(st.integers(0, 120), max_size=8))
def test_the_tail_holds_back_nothing_but_the_end(stream: bytes, places: list[int]) -> None:
    tail, went = Tail(), b""
    for piece in cut(stream, places):
        went += tail.feed(piece)
        assert stream.startswith(went + tail.held)
        assert tail.done or len(tail.held) < len("data: [DONE]")
    ends = b"data: [DONE]" in stream
    assert tail.done is ends
    assert went + tail.release() == stream
    assert not ends or (tail.between and went == stream[: stream.index(b"data: [DONE]")])


@pytest.mark.parametrize("end", [b"\n\n", b"\r\n\r\n", b"\r\r"])
def test_every_line_ending(end: bytes) -> None:
    frames = Parser().feed(b"event: e" + end[: len(end) // 2] + b"data: 1" + end + b"data: 2" + end)
    assert [(f.event, f.data) for f in frames] == [("e", "1"), ("", "2")]


def test_a_character_cut_in_the_middle_comes_whole() -> None:
    parser = Parser()
    text = "data: שלום 🦉\n\n".encode()
    frames = [frame for byte in text for frame in parser.feed(bytes([byte]))]
    assert [frame.data for frame in frames] == ["שלום 🦉"]


def test_data_over_several_lines_and_comments() -> None:
    assert parse(b": hi\ndata: a\ndata: b\n\n").data == "a\nb"
    assert parse(comment("alive")).data == ""


def test_a_done_inside_a_text_is_no_end() -> None:
    tail = Tail()
    chunk = b'data: {"content":"data: [DONE]"}\n\n'
    assert tail.feed(chunk[:20]) + tail.feed(chunk[20:]) == chunk
    assert not tail.done


@pytest.mark.parametrize(
    ("sent", "gap"),
    [(b"", b""), (b"data: 1\n\n", b""), (b"data: 1\r\n\r\n", b""), (b"data: 1\r\r", b""),
     (b"data: 1\n", b"\n"), (b"data: 1\r\n", b"\n"), (b"data: 1\n\ndata: 2\n", b"\n"), (b"a\n\nb\n", b"\n")],
)  # fmt: skip
def test_an_event_of_ours_is_kept_apart_from_the_one_before(sent: bytes, gap: bytes) -> None:
    for size in (1, 3, 100):
        tail = Tail()
        for at in range(0, len(sent), size):
            tail.feed(sent[at : at + size])
        assert tail.gap == gap


def test_a_frame_without_end_is_refused_and_read_once() -> None:
    parser = Parser(max_frame=1000)
    for _ in range(10):
        parser.feed(b"x" * 100)
    with pytest.raises(TooLarge):
        parser.feed(b"x")


def test_what_is_written_can_be_read() -> None:
    frame = parse(write({"text": "é\n\n"}, "groundwire.report"))
    assert (frame.event, frame.data) == ("groundwire.report", '{"text":"\\u00e9\\n\\n"}')
