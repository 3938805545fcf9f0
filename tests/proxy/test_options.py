"""Forwarded headers, request options and upstream URLs."""

from __future__ import annotations

import pytest

from groundwire.config import RealTimeConfig
from groundwire.errors import InputError
from groundwire.proxy.proxy import ProxyOptions, parse_options
from groundwire.proxy.upstream import (
    check_base_url,
    client_headers,
    groundwire_headers,
    parse_upstreams,
    upstream_headers,
)
from groundwire.proxy.verifier import VerificationOutcome, VerificationState


def names(pairs: list[tuple[bytes, bytes]]) -> set[bytes]:
    return {name for name, _ in pairs}


def test_hop_by_hop_headers_are_not_forwarded() -> None:
    sent = upstream_headers(
        [
            (b"host", b"here"), (b"connection", b"close, X-Mine"), (b"x-mine", b"1"), (b"te", b"trailers"),
            (b"transfer-encoding", b"chunked"), (b"cookie", b"a=b"), (b"content-length", b"3"),
            (b"openai-organization", b"org"), (b"x-stainless-lang", b"python"), (b"user-agent", b"me"),
        ],
        "", plain=True,
    )  # fmt: skip
    assert names(sent) == {b"openai-organization", b"x-stainless-lang", b"user-agent", b"accept-encoding"}
    assert dict(sent)[b"accept-encoding"] == b"identity"


def test_relayed_responses_keep_the_accepted_encoding() -> None:
    assert upstream_headers([(b"accept-encoding", b"br")], "", plain=False) == [(b"accept-encoding", b"br")]


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
def test_credentials_forwarded_to_the_upstream(given: tuple[bytes, bytes], key: str, arrives: bytes | None) -> None:
    sent = upstream_headers([given], key, plain=True)
    assert dict(sent).get(b"authorization") == arrives
    assert not any(b"gw_" in value for _, value in sent)


def test_response_headers_returned_to_the_client() -> None:
    came = [
        (b"Content-Type", b"application/json"), (b"x-ratelimit-remaining-requests", b"9"), (b"retry-after", b"2"),
        (b"Set-Cookie", b"a=b"), (b"Transfer-Encoding", b"chunked"), (b"Date", b"x"), (b"content-length", b"4"),
        (b"access-control-allow-origin", b"*"), (b"x-groundwire-status", b"CHECKED"), (b"content-encoding", b"gzip"),
    ]  # fmt: skip
    kept = {b"content-type", b"x-ratelimit-remaining-requests", b"retry-after"}
    assert names(client_headers(came)) == kept | {b"content-length", b"content-encoding"}
    assert names(client_headers(came, changed=True)) == kept | {b"content-encoding"}
    assert names(client_headers(came, decoded=True)) == kept


def test_options_are_parsed_strictly() -> None:
    assert parse_options([], "observe") == ProxyOptions("observe")
    asked = [(b"x-groundwire", b" Block "), (b"x-groundwire-event", b"off"), (b"x-groundwire-upstream", b"cloud")]
    assert parse_options(asked, "observe") == ProxyOptions("block", event=False, upstream="cloud")
    for header in ((b"x-groundwire", b"blok"), (b"x-groundwire-event", b"maybe"), (b"x-groundwire", b"")):
        with pytest.raises(InputError):
            parse_options([header], "observe")


def test_the_mode_may_be_asked_for_by_the_name_of_the_answers_header() -> None:
    assert parse_options([(b"x-groundwire-mode", b"block")], "observe").mode == "block"
    with pytest.raises(InputError):
        parse_options([(b"x-groundwire-mode", b"blok")], "observe")


def test_own_headers_are_one_ascii_line() -> None:
    assert list(groundwire_headers({"reason": "zwei\r\nZeilen – é"})) == [(b"x-groundwire-reason", b"zwei Zeilen ? ?")]


@pytest.mark.parametrize(
    "url", ["", "ftp://x", "x", "http://", "https://user:pw@host/v1", "http://h/v1?x=1", "http://h:99999", "http://a b"]
)
def test_invalid_base_urls_are_rejected(url: str) -> None:
    with pytest.raises(InputError):
        check_base_url("default", url)


def test_upstream_names_must_be_unique() -> None:
    with pytest.raises(InputError, match="default"):
        parse_upstreams(["http://a/v1", "http://b/v1"])


def test_default_contradiction_threshold_matches_the_configuration() -> None:
    assert (
        VerificationOutcome("observe", VerificationState.CHECKED).contradiction_threshold
        == RealTimeConfig().interrupt_threshold
    )
