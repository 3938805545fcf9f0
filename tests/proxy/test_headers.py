"""What crosses the proxy, and what a caller may wish for."""

from __future__ import annotations

import pytest

from groundwire.config.service import RealTimeConfig
from groundwire.errors import InputError
from groundwire.proxy.headers import Wish, own, to_client, to_upstream, wish
from groundwire.proxy.upstream import checked, parse_upstreams
from groundwire.proxy.verifier import Outcome, State


def names(pairs: list[tuple[bytes, bytes]]) -> set[bytes]:
    return {name for name, _ in pairs}


def test_hop_by_hop_headers_stay_here() -> None:
    sent = to_upstream(
        [
            (b"host", b"here"), (b"connection", b"close, X-Mine"), (b"x-mine", b"1"), (b"te", b"trailers"),
            (b"transfer-encoding", b"chunked"), (b"cookie", b"a=b"), (b"content-length", b"3"),
            (b"openai-organization", b"org"), (b"x-stainless-lang", b"python"), (b"user-agent", b"me"),
        ],
        "", plain=True,
    )  # fmt: skip
    assert names(sent) == {b"openai-organization", b"x-stainless-lang", b"user-agent", b"accept-encoding"}
    assert dict(sent)[b"accept-encoding"] == b"identity"


def test_what_is_passed_through_may_be_compressed_as_the_client_likes() -> None:
    assert to_upstream([(b"accept-encoding", b"br")], "", plain=False) == [(b"accept-encoding", b"br")]


@pytest.mark.parametrize(
    ("given", "key", "arrives"),
    [
        ((b"authorization", b"Bearer sk-mine"), "", b"Bearer sk-mine"),
        ((b"authorization", b"Bearer gw_secret"), "", None),
        ((b"authorization", b"Bearer sk-mine"), "sk-house", b"Bearer sk-house"),
        ((b"authorization", b"Bearer gw_secret"), "sk-house", b"Bearer sk-house"),
        ((b"x-api-key", b"gw_secret"), "", None),
        ((b"x-groundwire-key", b"gw_secret"), "", None),
    ],
)
def test_whose_credentials_the_upstream_sees(
    given: tuple[bytes, bytes], key: str, arrives: bytes | None
) -> None:
    sent = to_upstream([given], key, plain=True)
    assert dict(sent).get(b"authorization") == arrives
    assert not any(b"gw_" in value for _, value in sent)


def test_answers_keep_their_headers_but_for_those_of_this_server() -> None:
    came = [
        (b"Content-Type", b"application/json"), (b"x-ratelimit-remaining-requests", b"9"), (b"retry-after", b"2"),
        (b"Set-Cookie", b"a=b"), (b"Transfer-Encoding", b"chunked"), (b"Date", b"x"), (b"content-length", b"4"),
        (b"access-control-allow-origin", b"*"), (b"x-groundwire-status", b"CHECKED"), (b"content-encoding", b"gzip"),
    ]  # fmt: skip
    kept = {b"content-type", b"x-ratelimit-remaining-requests", b"retry-after"}
    assert names(to_client(came)) == kept | {b"content-length", b"content-encoding"}
    assert names(to_client(came, changed=True)) == kept | {b"content-encoding"}
    assert names(to_client(came, decoded=True)) == kept


def test_a_wish_is_read_strictly() -> None:
    assert wish([], "observe") == Wish("observe")
    asked = [
        (b"x-groundwire", b" Block "),
        (b"x-groundwire-event", b"off"),
        (b"x-groundwire-upstream", b"cloud"),
    ]
    assert wish(asked, "observe") == Wish("block", event=False, upstream="cloud")
    for header in ((b"x-groundwire", b"blok"), (b"x-groundwire-event", b"maybe"), (b"x-groundwire", b"")):
        with pytest.raises(InputError):
            wish([header], "observe")


def test_own_headers_are_one_ascii_line() -> None:
    assert list(own({"reason": "zwei\r\nZeilen – é"})) == [(b"x-groundwire-reason", b"zwei Zeilen ? ?")]


@pytest.mark.parametrize(
    "url",
    [
        "",
        "ftp://x",
        "x",
        "http://",
        "https://user:pw@host/v1",
        "http://h/v1?x=1",
        "http://h:99999",
        "http://a b",
    ],
)
def test_what_is_no_base_url_is_refused(url: str) -> None:
    with pytest.raises(InputError):
        checked("default", url)


def test_two_upstreams_need_two_names() -> None:
    with pytest.raises(InputError, match="default"):
        parse_upstreams(["http://a/v1", "http://b/v1"])


def test_a_contradiction_is_clear_where_the_configuration_says_so() -> None:
    assert Outcome("observe", State.CHECKED).sure == RealTimeConfig().interrupt_threshold
