"""Whatever is not ours to judge passes untouched, to the right upstream, with the right credentials."""

from __future__ import annotations

import json
import time
from contextlib import closing
from dataclasses import replace
from http.client import HTTPConnection
from pathlib import Path

import httpx
import openai
import pytest
from tests.proxy.requests import BAD, GOOD, MESSAGES
from tests.proxy.scripted import Scripted, ScriptedUpstream, chat_stream, completion, whole
from tests.serving import Served, serving

from groundwire.config import Config
from groundwire.proxy.upstream import RELAYED_CSP
from groundwire.server.middleware import CSP
from groundwire.stores.database import open_database
from groundwire.stores.keys import KeyStore

JSON = ("content-type", "application/json")


def models(*names: str) -> Scripted:
    return whole(
        {"object": "list", "data": [{"id": n, "object": "model", "created": 1, "owned_by": "x"} for n in names]}
    )


def test_embeddings_and_files_are_relayed(sdk: openai.OpenAI, upstream: ScriptedUpstream) -> None:
    vector = {"object": "list", "data": [{"object": "embedding", "index": 0, "embedding": [0.5]}], "model": "e",
              "usage": {"prompt_tokens": 1, "total_tokens": 1}}  # fmt: skip
    upstream.script(whole(vector))
    assert sdk.embeddings.create(model="e", input="x", encoding_format="float").data[0].embedding == [0.5]
    file = {
        "id": "f1",
        "object": "file",
        "bytes": 3,
        "created_at": 1,
        "filename": "a",
        "purpose": "batch",
        "status": "processed",
    }
    upstream.script(whole(file))
    assert sdk.files.create(file=("a.bin", b"\x00\xff\x00"), purpose="batch").id == "f1"
    assert b"\x00\xff\x00" in upstream.calls[-1].raw
    upstream.script(Scripted([b"\x00\x01"] * 3, headers=[("content-type", "audio/mpeg")]))
    assert sdk.files.content("f1").content == b"\x00\x01" * 3
    assert [c.target for c in upstream.calls] == ["/v1/embeddings", "/v1/files", "/v1/files/f1/content"]
    assert not any(name.startswith("x-groundwire") for c in upstream.calls for name in c.headers)


HOSTILE = {
    "content-security-policy": "default-src *",
    "x-frame-options": "ALLOWALL",
    "cross-origin-resource-policy": "cross-origin",
    "cross-origin-opener-policy": "unsafe-none",
    "x-content-type-options": "sniff",
    "referrer-policy": "unsafe-url",
    "clear-site-data": '"*"',
    "refresh": "0; url=https://example.org",
    "X-WebKit-CSP": "default-src *",
    "Feature-Policy": "camera *",
    "Speculation-Rules": '"/rules.json"',
    "Document-Policy": "unsized-media=?0",
    "Integrity-Policy": "blocked-destinations=()",
    "Access-Control-Allow-Origin": "*",
    "Set-Cookie": "session=1",
    "X-Groundwire-Status": "verified",
}


@pytest.mark.parametrize("kind", ["relayed", "whole", "stream"])
def test_browser_policies_are_ours(proxy: Served, upstream: ScriptedUpstream, kind: str) -> None:
    made = {
        "relayed": Scripted([b"<script>"], headers=[("content-type", "text/html")]),
        "whole": whole(completion(GOOD)),
        "stream": Scripted(chat_stream(GOOD)),
    }[kind]
    upstream.script(replace(made, headers=[*made.headers, *HOSTILE.items()]))
    body = {"model": "m", "messages": MESSAGES, "stream": kind == "stream"}
    if kind == "relayed":
        got = proxy.client.get("/v1/files/f1/content")
    else:
        got = proxy.client.post("/v1/chat/completions", json=body)
    ours = {**proxy.client.get("/healthz").headers, "content-security-policy": RELAYED_CSP.decode()}
    assert got.status_code == 200
    if kind != "relayed":
        ours["x-groundwire-status"] = got.headers["x-groundwire-status"]
        assert ours["x-groundwire-status"] != HOSTILE["X-Groundwire-Status"]
    assert {name: got.headers.get(name) for name in HOSTILE} == {name: ours.get(name.lower()) for name in HOSTILE}


def test_a_page_of_an_upstream_cannot_run_scripts_of_it(proxy: Served, upstream: ScriptedUpstream) -> None:
    upstream.script(Scripted([b"<script src=/v1/x.js></script>"], headers=[("content-type", "text/html")]))
    policy = proxy.client.get("/v1/page.html").headers["content-security-policy"].split("; ")
    assert "sandbox" in policy
    assert "default-src 'none'" in policy
    assert "'self'" not in " ".join(policy)
    assert "script-src 'self'" in CSP  # the policy of our own pages would not do


FORGED = "content-security-policy: default-src *"


@pytest.mark.parametrize(
    "header",
    [
        ("content-security-policy ", "default-src *"),
        ("x-a", f"b\r\n {FORGED}"),
        ("x-a", f"b\r{FORGED}"),
        ("x-a", f"b\n{FORGED}"),
        ("x-a", f"b\0{FORGED}"),
        (" content-security-policy", "default-src *"),
        ("CONTENT-SECURITY-POLICY", "default-src *"),
        ("connection", "content-security-policy, x-frame-options"),
    ],
)
def test_no_odd_header_replaces_the_policy(proxy: Served, upstream: ScriptedUpstream, header: tuple[str, str]) -> None:
    upstream.script(Scripted([b"{}"], headers=[JSON, header]))
    got = proxy.client.get("/v1/files")
    assert got.status_code in (200, 502)
    policies = [value for name, value in got.headers.multi_items() if name == "content-security-policy"]
    assert policies == [RELAYED_CSP.decode()]
    assert got.headers["x-frame-options"] == "DENY"


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"])
def test_every_method_is_relayed(proxy: Served, upstream: ScriptedUpstream, method: str) -> None:
    upstream.script(Scripted([] if method == "HEAD" else [b"{}"], headers=[JSON], chunked=method != "HEAD"))
    got = proxy.client.request(method, "/v1/batches/b%2F1?limit=2&limit=3")
    assert got.status_code == 200
    assert (upstream.calls[0].method, upstream.calls[0].target) == (method, "/v1/batches/b%2F1?limit=2&limit=3")


def test_connections_are_reused(proxy: Served, upstream: ScriptedUpstream) -> None:
    upstream.script(whole({}))
    before = upstream.connections
    for _ in range(5):
        proxy.client.get("/v1/batches")
    assert upstream.connections <= before + 1


def test_idle_connection_closed_by_the_upstream_is_replaced(proxy: Served, upstream: ScriptedUpstream) -> None:
    upstream.script(whole({}))
    proxy.client.get("/v1/batches")
    upstream.drop()
    assert proxy.client.post("/v1/batches", json={}).status_code == 200


def test_redirects_are_relayed(proxy: Served, upstream: ScriptedUpstream) -> None:
    upstream.script(
        Scripted([], status=307, headers=[("location", "http://elsewhere/"), ("content-length", "0")], chunked=False)
    )
    got = proxy.client.get("/v1/batches", follow_redirects=False)
    assert (got.status_code, got.headers["location"]) == (307, "http://elsewhere/")


def test_own_routes_are_not_proxied(proxy: Served, upstream: ScriptedUpstream, cloud: ScriptedUpstream) -> None:
    assert proxy.client.get("/healthz").status_code == 200
    checked = proxy.client.post("/v1/check", json={"answer": GOOD, "sources": {"S0": GOOD}})
    assert checked.status_code == 200, checked.text
    for method, path in (("GET", "/v1/check"), ("POST", "/v1/check/more"), ("PUT", "/v1/facts"), ("GET", "/v1/rag/x")):
        assert proxy.client.request(method, path).status_code in (404, 405)
    assert upstream.calls + cloud.calls == []


@pytest.mark.parametrize(
    "path", ["/v1/../admin", "/v1/%2e%2e/admin", "/v1/files/..%2f..%2fadmin", "/v1/./x", "/v1/a/%2E%2E%5Cb"]
)
def test_paths_cannot_leave_the_api(proxy: Served, upstream: ScriptedUpstream, path: str) -> None:
    with closing(HTTPConnection(proxy.url.removeprefix("http://"))) as connection:
        connection.request("GET", path)
        assert connection.getresponse().status in (400, 404)
    assert upstream.calls == []


def test_requests_cannot_choose_an_upstream_address(
    proxy: Served, upstream: ScriptedUpstream, cloud: ScriptedUpstream
) -> None:
    upstream.script(whole(completion(GOOD)))
    for headers in ({"host": "localhost"}, {"x-http-host": "evil"}, {"x-target-url": "http://evil"}):
        proxy.client.post("/v1/chat/completions", json={"model": "http://evil/m", "messages": []}, headers=headers)
    assert len(upstream.calls) == 3
    assert all(c.headers["host"] == upstream.url.removeprefix("http://").removesuffix("/v1") for c in upstream.calls)
    assert cloud.calls == []


def test_model_name_selects_the_upstream(
    sdk: openai.OpenAI, upstream: ScriptedUpstream, cloud: ScriptedUpstream
) -> None:
    upstream.script(whole(completion(GOOD)))
    cloud.script(whole(completion(GOOD)))
    sdk.chat.completions.create(model="cloud/big/m", messages=MESSAGES)
    sdk.chat.completions.create(model="local/m", messages=MESSAGES)
    sdk.chat.completions.create(model="meta/m", messages=MESSAGES)
    sdk.chat.completions.create(model="m", messages=MESSAGES, extra_headers={"x-groundwire-upstream": "cloud"})
    assert [c.body["model"] for c in cloud.calls] == ["big/m", "m"]
    assert [c.body["model"] for c in upstream.calls] == ["m", "meta/m"]
    assert cloud.calls[0].body["messages"] == MESSAGES


def test_body_that_only_mentions_an_upstream_is_unchanged(
    proxy: Served, cloud: ScriptedUpstream, upstream: ScriptedUpstream
) -> None:
    upstream.script(whole(completion(GOOD)))
    body = b'{"model": "m",  "messages": [{"role": "user", "content": "what is \\"cloud/x\\"?"}], "x": "cloud/", "y": "grounding_sources"}'
    assert b'"cloud/' in body
    proxy.client.post("/v1/chat/completions", content=body, headers={"content-type": "application/json"})
    assert upstream.calls[0].raw == body
    assert cloud.calls == []


def test_outcomes_are_counted(proxy: Served, upstream: ScriptedUpstream) -> None:
    upstream.script(whole(completion(GOOD)))
    proxy.client.post("/v1/chat/completions", json={"model": "m", "messages": []})
    line = 'groundwire_proxy_answers_total{mode="observe",status="NOTHING_TO_CHECK"}'
    assert line in proxy.client.get("/metrics").text


def test_answer_without_report_event_is_verified_in_the_background(proxy: Served, upstream: ScriptedUpstream) -> None:
    upstream.script(Scripted(chat_stream(BAD)))
    body = {"model": "m", "messages": MESSAGES, "stream": True}
    headers = {"x-groundwire-event": "off", "x-groundwire-store": "true"}
    counted = 'groundwire_proxy_answers_total{mode="observe",status="CHECKED"}'

    def count() -> float:
        lines = proxy.client.get("/metrics").text.splitlines()
        return next((float(line.split()[-1]) for line in lines if line.startswith(counted)), 0.0)

    before = count()
    proxy.client.post("/v1/chat/completions", json=body, headers=headers)
    deadline = time.monotonic() + 30
    while count() == before and time.monotonic() < deadline:
        pass
    assert count() == before + 1


def test_models_of_all_upstreams_are_merged(
    sdk: openai.OpenAI, upstream: ScriptedUpstream, cloud: ScriptedUpstream
) -> None:
    upstream.script(models("a"))
    cloud.script(models("b", "c"))
    assert [m.id for m in sdk.models.list()] == ["a", "cloud/b", "cloud/c"]
    cloud.script(Scripted([b"no"], status=500))
    assert [m.id for m in sdk.models.list()] == ["a"]
    upstream.script(Scripted([b"[]"]))
    with pytest.raises(openai.InternalServerError):
        sdk.models.list()
    cloud.script(whole({"id": "b", "object": "model", "created": 1, "owned_by": "x"}))
    assert sdk.models.retrieve("cloud/b").id == "b"
    assert cloud.calls[-1].target == "/v1/models/b"


def test_models_of_a_single_upstream_are_relayed(upstream: ScriptedUpstream) -> None:
    upstream.script(models("a", "b"))
    with serving({"proxy.upstreams": {"default": upstream.url}}) as url:
        assert httpx.get(f"{url}/v1/models").content == b"".join(models("a", "b").pieces)


def test_no_proxy_without_upstreams() -> None:
    with serving({}) as url:
        assert httpx.post(f"{url}/v1/chat/completions", json={}).status_code == 404


@pytest.fixture
def key(tmp_path: Path) -> str:
    database = open_database(str(tmp_path / "store.db"), create=True)
    _, secret = KeyStore(database).add("caller", ["proxy"])
    database.close()
    return secret


@pytest.mark.parametrize("house", [False, True])
def test_keys_of_this_server_are_not_forwarded(upstream: ScriptedUpstream, key: str, house: bool) -> None:
    upstream.script(whole(completion(GOOD)))
    settings = {"proxy.upstreams": {"default": upstream.url}, "server.auth": "always"}
    settings |= {"proxy.api_keys": {"default": "sk-house"}} if house else {}
    expected = "Bearer sk-house" if house else None
    with serving(settings) as url:
        ask = f"{url}/v1/chat/completions"
        body = {"model": "m", "messages": MESSAGES}
        assert httpx.post(ask, json=body).status_code == 401
        assert httpx.post(ask, json=body, headers={"authorization": "Bearer sk-mine"}).status_code == 401
        assert httpx.post(ask, json=body, headers={"authorization": f"Bearer {key}"}, timeout=30).status_code == 200
        both = {"x-groundwire-key": key, "authorization": "Bearer sk-mine"}
        assert httpx.post(ask, json=body, headers=both, timeout=30).status_code == 200
        check = {"answer": GOOD, "sources": {"S0": GOOD}}
        assert httpx.post(f"{url}/v1/check", json=check, headers={"x-groundwire-key": key}).status_code == 403
    assert [c.headers.get("authorization") for c in upstream.calls] == [expected, expected or "Bearer sk-mine"]
    assert not any(key in value for c in upstream.calls for value in c.headers.values())


def test_upstream_keys_are_never_shown() -> None:
    config = Config.load(overrides={"proxy.upstreams": {"a": "http://h/v1"}, "proxy.api_keys": {"a": "sk-house"}})
    assert "sk-house" not in repr(config)
    assert "sk-house" not in json.dumps(config.model_dump(mode="json"))
