"""Server-sent events: frames keep their bytes wherever the chunks are cut."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundwire.sse import FrameTooLarge, SseParser, encode_comment, encode_event, ending_of, parse_frame

LINES = st.sampled_from(
    [b"data: a", b"data:b", b"event: x", b": keep", b"", b"data: [DONE]", b"data: \xd7\xa9", b"id: 7", b"data"]
)
ENDS = st.sampled_from([b"\n", b"\r\n", b"\r"])
STREAMS = st.lists(st.tuples(LINES, ENDS), max_size=14).map(lambda pairs: b"".join(a + b for a, b in pairs))


def cut(stream: bytes, places: list[int]) -> list[bytes]:
    at = sorted({min(p, len(stream)) for p in places})
    return [stream[a:b] for a, b in zip([0, *at], [*at, len(stream)], strict=True)]


@settings(max_examples=200)
@given(STREAMS, st.lists(st.integers(0, 120), max_size=8))
def test_frames_do_not_depend_on_chunk_boundaries(stream: bytes, places: list[int]) -> None:
    whole, pieces = SseParser(), SseParser()
    at_once = [*whole.feed(stream), *whole.finish()]
    by_pieces = [frame for piece in cut(stream, places) for frame in pieces.feed(piece)] + pieces.finish()
    assert b"".join(frame.raw for frame in by_pieces) == stream
    told = [(f.event, f.data) for f in by_pieces if f.data or f.event]
    assert told == [(f.event, f.data) for f in at_once if f.data or f.event]


@pytest.mark.parametrize("end", [b"\n\n", b"\r\n\r\n", b"\r\r"])
def test_every_line_ending_is_recognised(end: bytes) -> None:
    frames = SseParser().feed(b"event: e" + end[: len(end) // 2] + b"data: 1" + end + b"data: 2" + end)
    assert [(f.event, f.data) for f in frames] == [("e", "1"), ("", "2")]


def test_character_split_across_chunks_is_decoded_whole() -> None:
    parser = SseParser()
    text = "data: שלום 🦉\n\n".encode()
    frames = [frame for byte in text for frame in parser.feed(bytes([byte]))]
    assert [frame.data for frame in frames] == ["שלום 🦉"]


def test_multi_line_data_and_comments() -> None:
    assert parse_frame(b": hi\ndata: a\ndata: b\n\n").data == "a\nb"
    assert parse_frame(encode_comment("alive")).data == ""


@pytest.mark.parametrize(
    ("sent", "gap"),
    [(b"", b""), (b"data: 1\n\n", b""), (b"data: 1\r\n\r\n", b""), (b"data: 1\r\r", b""),
     (b"data: 1\n", b"\n"), (b"data: 1\r\n", b"\n"), (b"data: 1\n\ndata: 2\n", b"\n"), (b"a\n\nb\n", b"\n")],
)  # fmt: skip
def test_inserted_event_is_separated_from_the_previous_one(sent: bytes, gap: bytes) -> None:
    assert ending_of(sent[-4:]) == gap


def test_frame_over_the_size_limit_is_rejected() -> None:
    parser = SseParser(max_frame=1000)
    for _ in range(10):
        parser.feed(b"x" * 100)
    with pytest.raises(FrameTooLarge):
        parser.feed(b"x")


def test_encoded_event_round_trips() -> None:
    frame = parse_frame(encode_event({"text": "é\n\n"}, "groundwire.report"))
    assert (frame.event, frame.data) == ("groundwire.report", '{"text":"\\u00e9\\n\\n"}')
