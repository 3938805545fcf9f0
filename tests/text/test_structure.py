"""Every kind of text falls into pieces that read well and point at the right characters."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from groundwire.text.structure import MARKERS, pieces
from groundwire.types import UnitKind

BUSINESS = json.dumps(
    {
        "name": "Finch & Fork",
        "hours": {"Monday": "17:30-23:0"},
        "attributes": {"WiFi": "free", "OutdoorSeating": False, "Parking": {"lot": True}, "Music": None},
        "stars": 4.0,
        "tags": ["bar", "brunch"],
        "review_info": [
            {
                "review_stars": 5.0,
                "review_text": 'Great brunch.\nOur server "Jamie" was awesome. ' + "We will be back. " * 9,
            },
            {"review_stars": 1.0, "review_text": "Too loud."},
        ],
    }
)


def texts(text: str) -> list[str]:
    return [piece.text for piece in pieces(text)]


def test_json_leaves_are_said_with_their_path() -> None:
    said = texts(BUSINESS)
    assert said[:8] == [
        "name: Finch & Fork",
        "hours Monday: 17:30-23:0",
        "attributes WiFi: free",
        "attributes OutdoorSeating: no",
        "attributes Parking lot: yes",
        "attributes Music: not given",
        "stars: 4.0",
        "tags: bar, brunch",
    ]
    assert said[-1] == "review info 2 review text: Too loud."


def test_long_strings_fall_into_sentences_that_point_at_the_raw_text() -> None:
    piece = next(piece for piece in pieces(BUSINESS) if "Jamie" in piece.text)
    assert piece.text == 'review info 1 review text: Our server "Jamie" was awesome.'
    assert BUSINESS[piece.start : piece.end] == 'Our server \\"Jamie\\" was awesome.'


def test_leaves_point_at_the_value_inside_its_quotes() -> None:
    found = {piece.text: BUSINESS[piece.start : piece.end] for piece in pieces(BUSINESS)}
    assert found["attributes WiFi: free"] == "free"
    assert found["attributes OutdoorSeating: no"] == "false"
    assert found["tags: bar, brunch"] == '"bar", "brunch"'


def test_a_python_literal_reads_like_json() -> None:
    text = repr({"homeTeam": {"name": "Kärpät", "won": True}, "score": (4, 1)})
    assert texts(text) == ["homeTeam name: Kärpät", "homeTeam won: yes", "score: 4, 1"]


def test_pairs_of_name_and_value_are_said_as_such() -> None:
    text = json.dumps({"spec": [{"category": "Network", "items": [{"name": "Speed", "value": "5G"}]}]})
    assert texts(text) == ["spec Network category: Network", "spec Network items Speed: 5G"]


def test_json_lines_and_json_after_prose() -> None:
    text = 'Here is the record:\n{"a": 1}\n{"a": 2}\nThat was all.'
    assert texts(text) == ["Here is the record:", "a: 1", "a: 2", "That was all."]


def test_key_value_lines_keep_key_and_value_apart() -> None:
    text = "title: In Rainbows\nLength: 42 : 39\nProducer: Nigel Godrich"
    found = pieces(text)
    assert [piece.text for piece in found] == text.split("\n")
    assert [text[piece.start : piece.end] for piece in found] == ["In Rainbows", "42 : 39", "Nigel Godrich"]


def test_bulleted_and_indented_keys() -> None:
    text = "A Rainy Day\n---\n- director: Peter Schamoni\n- **genre:** documentary\n\nserver:\n  port: 80\n  host: a.example"
    assert texts(text) == [
        "A Rainy Day",
        "director: Peter Schamoni",
        "genre: documentary",
        "server port: 80",
        "server host: a.example",
    ]


def test_a_colon_in_prose_makes_no_key() -> None:
    text = "He said: I am here. Then he left the house.\nNobody saw him again that day."
    assert all(piece.kind is UnitKind.SENTENCE for piece in pieces(text))


def test_markdown_code_lists_and_headings() -> None:
    text = (
        "# Sights\n\nThe tower is tall. It is old.\n\n- one item\n- another\n\n```\nx = 1\na,b\n```\n> quoted\n> twice"
    )
    assert texts(text) == [
        "Sights",
        "The tower is tall.",
        "It is old.",
        "one item",
        "another",
        "x = 1",
        "a,b",
        "quoted",
        "twice",
    ]
    assert [piece.heading for piece in pieces(text)][:2] == [True, False]


def test_a_rendered_context_reads_like_its_sources() -> None:
    text = '[S0] {"WiFi": true}\n\n[S1] City | People\nLyon | 522\n\n[doc-2] It is old.\n\n[S3] a: 1\nb: 2'
    assert texts(text) == ["WiFi: yes", "City: Lyon; People: 522", "It is old.", "a: 1", "b: 2"]
    assert any("[S0]" in piece.text for piece in pieces(text.replace("[S0]", "x [S0]")))


@pytest.mark.parametrize("marker", MARKERS)
def test_markers_say_nothing(marker: str) -> None:
    text = f'{marker}\n\n{{"a": "{marker}", "b": 2}}\n\nCity | People\n{marker}\nNice | 342\n\nk: {marker}\nl: m'
    assert texts(text) == ["b: 2", "City: Nice; People: 342", "l: m"]


def test_other_scripts() -> None:
    assert texts("השמאי קבע פיצוי. ההחלטה סופית.") == ["השמאי קבע פיצוי.", "ההחלטה סופית."]
    assert texts("巴黎是首都。里昂很大。") == ["巴黎是首都。", "里昂很大。"]


LINES = st.lists(
    st.sampled_from(
        [
            "",
            "a: b",
            "- k: v",
            "x | y",
            "|---|---|",
            "1,2",
            "name,age",
            "{",
            '{"a": [1, "x y"]}',
            "[S0] hello",
            "```",
            "# Head",
            "> q",
        ]
    )
    | st.text(max_size=20),
    max_size=12,
).map("\n".join)


@settings(max_examples=150, deadline=None)
@given(LINES | st.text(max_size=80), st.booleans())
def test_pieces_never_fail_never_overlap_and_point_into_the_text(text: str, rendered: bool) -> None:
    at = 0
    for piece in pieces(text, rendered=rendered):
        assert at <= piece.start < piece.end <= len(text)
        assert text[piece.start : piece.end].strip()
        at = piece.end


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(
        st.text("abcdef", min_size=1, max_size=5),
        st.text(max_size=30) | st.integers() | st.booleans(),
        min_size=1,
        max_size=5,
    )
)
def test_every_leaf_of_json_is_a_piece_at_its_place(record: dict[str, object]) -> None:
    text = json.dumps(record)
    found = {(piece.label, text[piece.start : piece.end]) for piece in pieces(text) if piece.bare}
    wanted = {(key, json.dumps(value)) for key, value in record.items() if not isinstance(value, str)}
    assert found == wanted


@pytest.mark.parametrize("shape", ["[", "[\n", '{"a":', "a, b\n", "a|b\n", "k: v\n", "```\n", "[x] a\n", "\\"])
def test_hostile_repetition_costs_no_more_than_its_length(shape: str) -> None:
    assert len(pieces(shape * 5000)) <= 5000


@pytest.mark.parametrize(
    "text",
    [
        "word " * 1000,
        "x" * 5000,
        json.dumps({"a": "word " * 1000}),
        "a | b\nc | " + "word " * 1000,
        "k: v\nl: " + "word " * 1000,
    ],
)
def test_no_piece_is_too_long_to_read(text: str) -> None:
    found = pieces(text)
    assert max(piece.end - piece.start for piece in found) <= 1200
    assert sum(text[piece.start : piece.end].count("word") for piece in found) == text.count("word")


def test_lines_of_data_know_the_heading_they_stand_under() -> None:
    text = "## Red Fox\n\n- Weight: 6 kg\n- Diet: mice\n\n## Grey Wolf\n\nWeight: 40 kg\n\nIt hunts in packs."
    found = {piece.text: piece.under for piece in pieces(text)}
    assert found["Weight: 6 kg"] == found["Diet: mice"] == "Red Fox"
    assert found["Weight: 40 kg"] == "Grey Wolf"
    assert found["It hunts in packs."] == ""


def test_a_comma_inside_a_number_makes_no_table() -> None:
    text = "- North: area 8,580 m\n- South: area 1,259 m\n- East: area 3,222 m"
    assert texts(text) == ["North: area 8,580 m", "South: area 1,259 m", "East: area 3,222 m"]
