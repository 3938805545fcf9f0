"""Chat completions through the proxy, with the official SDK: what reaches the client, and what it learns."""

from __future__ import annotations

from typing import Any

import openai
import pytest
from tests.proxy.requests import BAD, DOCUMENT, FIXED, GOOD, MESSAGES, mode
from tests.proxy.scripted import Scripted, ScriptedUpstream, chat_stream, chunk, completion, event, whole, words
from tests.serving import Served

STOPPED = "groundwire stopped this answer: the next statement contradicts the sources (S0: evidence says 2.1 million)"

INSTEAD = "I cannot confirm from the sources what I was about to say here."


def streamed(sdk: openai.OpenAI, name: str = "observe", **more: Any) -> list[Any]:
    with sdk.chat.completions.create(
        model="m", messages=MESSAGES, stream=True, extra_headers=mode(name), **more
    ) as stream:
        return list(stream)


def text_of(chunks: list[Any]) -> str:
    return "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)


def test_observed_answer_is_unchanged(proxy: Served, upstream: ScriptedUpstream) -> None:
    answer = whole(completion(BAD), x_request_id="up", openai_processing_ms="7")
    upstream.script(answer)
    got = proxy.client.post("/v1/chat/completions", json={"model": "m", "messages": MESSAGES})
    assert got.content == b"".join(answer.pieces)
    assert got.headers["openai-processing-ms"] == "7"
    told = {k.removeprefix("x-groundwire-"): v for k, v in got.headers.items() if k.startswith("x-groundwire-")}
    assert (told["mode"], told["status"], told["claims"], told["flagged"]) == ("observe", "CHECKED", "3", "1")
    assert told["max-severity"] == "high"
    assert float(told["risk"]) > 0.5
    kept = proxy.client.get(f"/v1/reports/{told['report-id']}").json()
    assert kept


def test_an_upstream_that_ignores_stream_is_verified_as_a_whole_answer(
    proxy: Served, upstream: ScriptedUpstream
) -> None:
    upstream.script(whole(completion(GOOD)))
    body = {"model": "m", "messages": MESSAGES, "stream": True}
    got = proxy.client.post("/v1/chat/completions", json=body)
    assert got.json()["choices"][0]["message"]["content"] == GOOD
    assert (got.headers["x-groundwire-status"], got.headers["x-groundwire-claims"]) == ("CHECKED", "2")


@pytest.mark.parametrize("how", ["observe", "annotate", "block", "fix"])
def test_an_answer_that_asserts_nothing_passes_and_is_not_clean(
    proxy: Served, upstream: ScriptedUpstream, how: str
) -> None:
    answer = whole(completion("Great question! What would you like to know?"))
    upstream.script(answer)
    body = {"model": "m", "messages": MESSAGES}
    got = proxy.client.post("/v1/chat/completions", json=body, headers=mode(how))
    assert got.content == b"".join(answer.pieces)
    assert got.headers["x-groundwire-status"] == "NOTHING_TO_CHECK"
    assert "x-groundwire-risk" not in got.headers


def test_sdk_reads_an_observed_answer(sdk: openai.OpenAI, upstream: ScriptedUpstream) -> None:
    upstream.script(whole(completion(GOOD)))
    raw = sdk.chat.completions.with_raw_response.create(model="m", messages=MESSAGES)
    assert raw.headers["x-groundwire-flagged"] == "0"
    assert raw.headers["x-groundwire-max-severity"] == "none"
    found = raw.parse()
    assert found.choices[0].message.content == GOOD
    assert found.usage is not None
    assert found.usage.total_tokens == 19


def test_observed_stream_ends_with_the_report(sdk: openai.OpenAI, upstream: ScriptedUpstream) -> None:
    upstream.script(Scripted(chat_stream(BAD)))
    chunks = streamed(sdk)
    assert text_of(chunks) == BAD
    told = chunks[-1].groundwire
    assert (told["status"], told["flagged"], told["claims"], told["flagged_claims"]) == ("CHECKED", True, 3, 1)
    assert told["max_severity"] == "high"
    assert [c["status"] for c in told["reports"][0]["claims"]] == ["ENTAILED", "CONTRADICTED", "ENTAILED"]
    assert chunks[-2].usage.total_tokens == 19  # the upstream's own figures are the only ones
    assert all(c.usage is None for c in chunks if c is not chunks[-2])


def test_report_chunk_has_a_first_choice(sdk: openai.OpenAI, upstream: ScriptedUpstream) -> None:
    upstream.script(Scripted(chat_stream(GOOD, usage=False)))
    assert "".join(c.choices[0].delta.content or "" for c in streamed(sdk)) == GOOD


async def test_async_sdk_and_its_stream_helper_read_it(proxy: Served, upstream: ScriptedUpstream) -> None:
    upstream.script(Scripted(chat_stream(GOOD)))
    async with openai.AsyncOpenAI(base_url=f"{proxy.url}/v1", api_key="k", max_retries=0) as client:
        plain = await client.chat.completions.create(model="m", messages=MESSAGES, stream=True)
        assert text_of([c async for c in plain]) == GOOD
        async with client.chat.completions.stream(model="m", messages=MESSAGES) as stream:
            events = [e.type async for e in stream]
            final = await stream.get_final_completion()
    assert final.choices[0].message.content == GOOD
    assert final.choices[0].finish_reason == "stop"
    assert events.count("content.done") == 1


def test_report_event_can_be_turned_off(proxy: Served, upstream: ScriptedUpstream) -> None:
    pieces = chat_stream(BAD)
    upstream.script(Scripted(pieces))
    body = {"model": "m", "messages": MESSAGES, "stream": True}
    got = proxy.client.post("/v1/chat/completions", json=body, headers={"x-groundwire-event": "off"})
    assert got.content == b"".join(pieces)
    assert got.headers["x-groundwire-status"] == "PENDING"


def test_mode_off_relays_the_answer(proxy: Served, upstream: ScriptedUpstream) -> None:
    pieces = chat_stream(BAD)
    upstream.script(Scripted(pieces))
    body = {"model": "m", "messages": MESSAGES, "stream": True}
    got = proxy.client.post("/v1/chat/completions", json=body, headers=mode("off"))
    assert got.content == b"".join(pieces)
    assert not any(name.startswith("x-groundwire") for name in got.headers)


def test_annotate_adds_remarks_after_claims(sdk: openai.OpenAI, upstream: ScriptedUpstream) -> None:
    upstream.script(whole(completion(BAD)))
    found = sdk.chat.completions.create(model="m", messages=MESSAGES, extra_headers=mode("annotate"))
    text = found.choices[0].message.content or ""
    assert "9.7 million inhabitants. [This contradicts known information: the sources say 2.1 million.] The" in text
    assert text.count("[") == 1


def test_annotate_adds_notes_before_the_end_of_a_stream(sdk: openai.OpenAI, upstream: ScriptedUpstream) -> None:
    upstream.script(Scripted(chat_stream(BAD)))
    chunks = streamed(sdk, "annotate")
    text = text_of(chunks)
    assert text.startswith(BAD)
    assert "Not supported by the sources:\n1. “It has 9.7 million inhabitants.”" in text
    finishes = [n for n, c in enumerate(chunks) if c.choices and c.choices[0].finish_reason]
    notes = [n for n, c in enumerate(chunks) if c.choices and "Not supported" in (c.choices[0].delta.content or "")]
    assert notes[0] < finishes[0]
    assert len(finishes) == 1


def test_text_in_the_final_event_precedes_the_notes(sdk: openai.OpenAI, upstream: ScriptedUpstream) -> None:
    *most, last = words(BAD)
    frames = [event(chunk({"content": word})) for word in most] + [event(chunk({"content": last}, "stop"))]
    upstream.script(Scripted([*frames, event("[DONE]")]))
    assert text_of(streamed(sdk, "annotate")).startswith(f"{BAD}\n\n---\n")


def test_block_stops_before_the_contradiction(sdk: openai.OpenAI, upstream: ScriptedUpstream) -> None:
    upstream.script(whole(completion(BAD)))
    found = sdk.chat.completions.create(model="m", messages=MESSAGES, extra_headers=mode("block"))
    assert found.choices[0].finish_reason == "content_filter"
    assert (found.choices[0].message.content or "").startswith(f"Paris is the capital of France.\n\n{INSTEAD}")
    assert found.choices[0].message.refusal == STOPPED


def test_block_stops_a_stream_and_the_model_behind_it(sdk: openai.OpenAI, upstream: ScriptedUpstream) -> None:
    """The upstream never ends by itself: the contradiction ends it."""
    frames = [event(chunk({"content": word})) for word in words(BAD)]
    upstream.script(Scripted(frames, hang=True))
    chunks = streamed(sdk, "block")
    said, why = text_of(chunks).split("\n\n")
    assert said.strip() == "Paris is the capital of France."
    assert why.startswith(INSTEAD)
    assert [c.choices[0].finish_reason for c in chunks if c.choices[0].finish_reason] == ["content_filter"]
    assert chunks[-1].groundwire["blocked"] == STOPPED
    assert upstream.gone.wait(10)


def test_block_passes_supported_text_unchanged(proxy: Served, upstream: ScriptedUpstream) -> None:
    pieces = chat_stream(GOOD)
    upstream.script(Scripted(pieces))
    body = {"model": "m", "messages": MESSAGES, "stream": True}
    got = proxy.client.post("/v1/chat/completions", json=body, headers=mode("block", x_groundwire_event="off"))
    assert got.content == b"".join(pieces)


def test_block_stops_a_contradiction_in_the_last_statement(sdk: openai.OpenAI, upstream: ScriptedUpstream) -> None:
    upstream.script(Scripted(chat_stream("Paris is the capital of France. It has 9.7 million inhabitants.")))
    chunks = streamed(sdk, "block")
    assert "9.7" not in text_of(chunks)
    assert INSTEAD in text_of(chunks)
    assert chunks[-1].groundwire["blocked"] == STOPPED


def test_fix_repairs_an_answer(sdk: openai.OpenAI, upstream: ScriptedUpstream) -> None:
    upstream.script(whole(completion(BAD)))
    found = sdk.chat.completions.create(model="m", messages=MESSAGES, extra_headers=mode("fix"))
    assert found.choices[0].message.content == FIXED
    assert found.choices[0].finish_reason == "stop"
    assert found.usage is not None


def test_fix_corrects_three_wrong_figures_though_nobody_writes_the_answer_again(
    sdk: openai.OpenAI, upstream: ScriptedUpstream
) -> None:
    facts = "The tower is {} metres tall. The bridge has {} arches. The lift holds {} people."
    upstream.script(whole(completion(facts.format(450, 99, 400))))
    messages: Any = [
        {"role": "system", "content": f"<document>{facts.format(330, 12, 40)}</document>"},
        {"role": "user", "content": "Tell me about the sights."},
    ]
    found = sdk.chat.completions.create(model="m", messages=messages, extra_headers=mode("fix"))
    assert found.choices[0].message.content == facts.format(330, 12, 40)


def test_fix_repairs_a_stream_and_keeps_the_rest_of_it(sdk: openai.OpenAI, upstream: ScriptedUpstream) -> None:
    upstream.script(Scripted(chat_stream(BAD)))
    chunks = streamed(sdk, "fix")
    assert text_of(chunks) == FIXED
    assert chunks[-2].usage.total_tokens == 19
    assert [c.choices[0].finish_reason for c in chunks if c.choices and c.choices[0].finish_reason] == ["stop"]


def test_fix_leaves_a_supported_answer_unchanged(proxy: Served, upstream: ScriptedUpstream) -> None:
    pieces = chat_stream(GOOD)
    upstream.script(Scripted(pieces))
    body = {"model": "m", "messages": MESSAGES, "stream": True}
    got = proxy.client.post("/v1/chat/completions", json=body, headers=mode("fix", x_groundwire_event="off"))
    assert got.content == b"".join(pieces)


@pytest.mark.parametrize("name", ["observe", "annotate", "block", "fix"])
def test_tool_calls_refusals_and_logprobs_are_kept(sdk: openai.OpenAI, upstream: ScriptedUpstream, name: str) -> None:
    call = {"index": 0, "id": "t", "type": "function", "function": {"name": "f", "arguments": ""}}
    frames = [
        event(chunk({"role": "assistant", "content": None})),
        event(chunk({"tool_calls": [call]})),
        *(event(chunk({"tool_calls": [{"index": 0, "function": {"arguments": part}}]})) for part in ('{"a"', ":1}")),
        event(chunk({"refusal": "no"})),
        event(chunk({}, "tool_calls")),
        event("[DONE]"),
    ]
    upstream.script(Scripted(frames))
    chunks = streamed(sdk, name)
    parts = [c.choices[0].delta.tool_calls[0].function.arguments for c in chunks if c.choices[0].delta.tool_calls]
    assert "".join(parts) == '{"a":1}'
    assert [c.choices[0].delta.refusal for c in chunks if c.choices[0].delta.refusal] == ["no"]
    assert chunks[-1].groundwire["status"] == "NOTHING_TO_CHECK"


@pytest.mark.parametrize("name", ["annotate", "block", "fix"])
def test_choices_are_verified_separately(sdk: openai.OpenAI, upstream: ScriptedUpstream, name: str) -> None:
    upstream.script(whole(completion(GOOD, BAD)))
    found = sdk.chat.completions.create(model="m", messages=MESSAGES, n=2, extra_headers=mode(name))
    assert found.choices[0].message.content == GOOD
    assert found.choices[1].message.content != BAD


def test_each_streamed_choice_has_a_report(sdk: openai.OpenAI, upstream: ScriptedUpstream) -> None:
    pairs = zip(words(GOOD + " "), words(GOOD.replace("2.1", "9.7") + " "), strict=True)
    frames = [event(chunk({"content": w}, index=i)) for pair in pairs for i, w in enumerate(pair)]
    upstream.script(Scripted([*frames, event(chunk({}, "stop")), event(chunk({}, "stop", 1)), event("[DONE]")]))
    told = streamed(sdk, n=2)[-1].groundwire
    assert [r["flagged"] for r in told["reports"]] == [False, True]


@pytest.mark.parametrize("pause", [0.0, 0.02])
def test_stopping_one_streamed_choice_keeps_the_others(
    sdk: openai.OpenAI, upstream: ScriptedUpstream, pause: float
) -> None:
    pairs = zip(words(BAD), words(FIXED), strict=True)
    frames = [event(chunk({"content": w}, index=i)) for pair in pairs for i, w in enumerate(pair)]
    ends = [event(chunk({}, "stop")), event(chunk({}, "stop", 1)), event("[DONE]")]
    upstream.script(Scripted([*frames, *ends], pause=pause))
    said = ["", ""]
    ended: dict[int, str] = {}
    for one in streamed(sdk, "block", n=2):
        for choice in one.choices:
            said[choice.index] += choice.delta.content or ""
            ended |= {choice.index: choice.finish_reason} if choice.finish_reason else {}
    assert said[0].startswith("Paris is the capital of France.")
    assert "9.7" not in said[0]
    assert said[1] == FIXED
    assert ended == {0: "content_filter", 1: "stop"}
    assert one.groundwire["blocked"]


def test_grounding_sources_are_used_and_not_forwarded(sdk: openai.OpenAI, upstream: ScriptedUpstream) -> None:
    upstream.script(whole(completion(BAD)))
    raw = sdk.chat.completions.with_raw_response.create(
        model="m",
        messages=[{"role": "user", "content": "Tell me about Paris."}],
        extra_body={"grounding_sources": {"S0": DOCUMENT}, "own_field": {"kept": [1, 2.5, None]}},
    )
    assert raw.headers["x-groundwire-flagged"] == "1"
    sent = upstream.calls[0].body
    assert "grounding_sources" not in sent
    assert sent["own_field"] == {"kept": [1, 2.5, None]}


def test_body_is_forwarded_unchanged(proxy: Served, upstream: ScriptedUpstream) -> None:
    upstream.script(whole(completion(GOOD)))
    body = b'{"model":"m" ,  "messages":[], "x":1e400, "tools":[{"type":"function"}],"seed":123456789012345678901}'
    proxy.client.post(
        "/v1/chat/completions?api-version=1&x=%2F", content=body, headers={"content-type": "application/json"}
    )
    assert upstream.calls[0].raw == body
    assert upstream.calls[0].target == "/v1/chat/completions?api-version=1&x=%2F"


def test_without_sources_there_is_nothing_to_check(sdk: openai.OpenAI, upstream: ScriptedUpstream) -> None:
    asked: list[Any] = [{"role": "user", "content": "Hello?"}]
    upstream.script(whole(completion(GOOD)))
    for name in ("observe", "annotate", "block", "fix"):
        raw = sdk.chat.completions.with_raw_response.create(model="m", messages=asked, extra_headers=mode(name))
        assert raw.headers["x-groundwire-status"] == "NOTHING_TO_CHECK"
        assert raw.parse().choices[0].message.content == GOOD
    upstream.script(Scripted(chat_stream(BAD)))
    for name in ("annotate", "block", "fix"):
        with sdk.chat.completions.create(model="m", messages=asked, stream=True, extra_headers=mode(name)) as stream:
            assert text_of(list(stream)) == BAD


def test_answer_is_checked_against_history_alone(sdk: openai.OpenAI, upstream: ScriptedUpstream) -> None:
    asked: list[Any] = [
        {"role": "user", "content": "Who leads Acme?"},
        {"role": "assistant", "content": "Acme was founded in 1990."},
        {"role": "user", "content": "When was it founded?"},
    ]
    upstream.script(whole(completion("Acme was founded in 1975.")))
    raw = sdk.chat.completions.with_raw_response.create(model="m", messages=asked)
    assert raw.headers["x-groundwire-status"] == "CHECKED"
    assert raw.headers["x-groundwire-flagged"] == "1"


@pytest.mark.parametrize(
    "headers", [{"x-groundwire": "blok"}, {"x-groundwire-event": "maybe"}, {"x-groundwire-upstream": "none"}]
)
def test_invalid_mode_is_rejected(sdk: openai.OpenAI, upstream: ScriptedUpstream, headers: dict[str, str]) -> None:
    with pytest.raises(openai.BadRequestError, match=r"groundwire|upstream"):
        sdk.chat.completions.create(model="m", messages=MESSAGES, extra_headers=headers)
    assert upstream.calls == []


def test_invalid_sources_are_rejected(sdk: openai.OpenAI, upstream: ScriptedUpstream) -> None:
    with pytest.raises(openai.BadRequestError, match="grounding_sources"):
        sdk.chat.completions.create(model="m", messages=MESSAGES, extra_body={"grounding_sources": 7})
    assert upstream.calls == []


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b'"x"', b'{"messages": 7}', b'{"messages":[7,null,{"role":[]}]}', b"[" * 100_000]
)
def test_unparsable_body_is_left_to_the_upstream(proxy: Served, upstream: ScriptedUpstream, body: bytes) -> None:
    upstream.script(
        Scripted([b'{"error":{"message":"bad"}}'], status=400, headers=[("content-type", "application/json")])
    )
    got = proxy.client.post("/v1/chat/completions", content=body, headers={"content-type": "application/json"})
    assert (got.status_code, got.json()) == (400, {"error": {"message": "bad"}})
    assert upstream.calls[0].raw == body


@pytest.mark.parametrize(
    "answer", [{}, {"choices": None}, {"choices": [7, {}, {"message": 7}, {"message": {"content": 7}}]}, []]
)
@pytest.mark.parametrize("name", ["observe", "annotate", "block", "fix"])
def test_unexpected_answers_are_relayed(proxy: Served, upstream: ScriptedUpstream, answer: Any, name: str) -> None:
    upstream.script(whole(answer))
    got = proxy.client.post("/v1/chat/completions", json={"messages": MESSAGES}, headers=mode(name))
    assert (got.status_code, got.json()) == (200, answer)
