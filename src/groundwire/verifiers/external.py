"""Another groundwire server, or any service with the same two calls.

    POST {url}/v1/estimate        {"claim", "context", "question"?}  → an estimate
    POST {url}/v1/estimate/batch  {"claims", "context", "question"?} → {"estimates": [an estimate, …]}
                                                                    or {"probabilities": [p, …]}

An estimate is {"probability": p} with the optional fields "p_no", "low", "high", "method", "reason", "spans"
(unsupported characters of the claim), "speaks" (the context is about the claim's topic), "undecided" (why it
cannot be judged), and "error" if the claim could not be checked. Only the probability is required.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Self

import httpx
from pydantic import BaseModel, Field, SecretStr, ValidationError, model_validator

from groundwire._loop import PerLoop
from groundwire.errors import (
    BackendDown,
    BackendError,
    BackendTimeout,
    ConfigError,
    GroundwireError,
    QueryRefused,
    RateLimited,
)
from groundwire.llm.base import Endpoint, retry_after
from groundwire.types import Estimate, Query, Span
from groundwire.verifiers.batching import plan
from groundwire.verifiers.wrappers import all_failed, failure, matched

MAX_BODY = 16_000_000  # bytes; far above any real batch, but a broken server must not fill the memory
_EVERYTHING = 1_000_000  # queries per batch: one request per context, however many claims it has
_ROUNDING = 0.001  # services round their probabilities to three digits

Share = Annotated[float, Field(ge=0.0, le=1.0, allow_inf_nan=False, strict=True)]


class Place(BaseModel):
    """A span of a claim in the JSON of a response."""

    start: Annotated[int, Field(ge=0)]
    end: Annotated[int, Field(ge=0)]
    score: Share = 1.0


class ExternalAnswer(BaseModel):
    """One estimate in the JSON of a response."""

    probability: Share | None = None
    p_no: Share | None = None
    low: Share | None = None
    high: Share | None = None
    method: str = "external"
    reason: str = ""
    spans: list[Place] = Field(default_factory=list)
    speaks: bool | None = None
    undecided: str = ""
    error: str | None = None

    @model_validator(mode="after")
    def _is_distribution(self) -> Self:
        """P(yes) and P(no) must not sum to more than 1."""
        if (self.probability or 0.0) + (self.p_no or 0.0) > 1.0 + _ROUNDING:
            raise ValueError("probability and p_no sum to more than 1")
        return self


class Answers(BaseModel):
    """A batch in the JSON of a response: full estimates, or bare probabilities."""

    estimates: list[ExternalAnswer] | None = None
    probabilities: list[Share] | None = None


class ExternalVerifier:
    """Verifier over HTTP: one request per context, the batch call if it has several claims.

    Args:
        url: the service's base URL.
        api_key: sent as a bearer token.
        timeout: seconds per request.
        max_body: bytes; larger responses are refused.

    Raises `ConfigError` if `url` is not an HTTP URL.
    """

    def __init__(
        self, url: str, *, api_key: SecretStr | None = None, timeout: float = 30.0, max_body: int = MAX_BODY
    ) -> None:
        if not _is_address(url):
            raise ConfigError("external.url is not an HTTP URL", hint="write it as http://host:port")
        self._at = Endpoint("external", url.rstrip("/"), "", api_key, timeout)
        self.host = self._at.host
        self._max_body = max_body
        self._client = PerLoop(self._connect, httpx.AsyncClient.aclose)

    def _connect(self) -> httpx.AsyncClient:
        key = self._at.api_key.get_secret_value() if self._at.api_key else ""
        return httpx.AsyncClient(
            base_url=self._at.base_url,
            timeout=self._at.timeout,
            headers={"authorization": f"Bearer {key}"} if key else {},
            trust_env=not self._at.is_loopback,
        )

    async def estimate(self, queries: Sequence[Query]) -> list[Estimate]:
        """If a request fails, the claims of its context fail; if all fail, the error is raised."""
        answers: dict[int, Estimate] = {}
        errors: list[GroundwireError] = []
        batches = plan(queries, _EVERYTHING, by_context=True)
        for batch in batches:
            try:
                got = await self._ask([queries[i] for i in batch])
            except BackendError as error:
                errors.append(error)
                got = all_failed(len(batch), error)
            answers.update(zip(batch, got, strict=True))
        if errors and len(errors) == len(batches):
            raise errors[0]
        return [answers[i] for i in range(len(queries))]

    async def _ask(self, queries: Sequence[Query]) -> list[Estimate]:
        shared = {"context": queries[0].context}
        if queries[0].question:
            shared["question"] = queries[0].question
        try:
            if len(queries) == 1:
                body = await self._post("/v1/estimate", {"claim": queries[0].claim, **shared})
                return [_estimate(ExternalAnswer.model_validate_json(body), queries[0].claim)]
            body = await self._post("/v1/estimate/batch", {"claims": [query.claim for query in queries], **shared})
            given = Answers.model_validate_json(body)
            bare = [ExternalAnswer(probability=p) for p in given.probabilities or []]
            found = matched(bare if given.estimates is None else given.estimates, len(queries))
            return [_estimate(answer, query.claim) for answer, query in zip(found, queries, strict=True)]
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(map(str, first["loc"])) or "body"
            raise BackendDown(f"{self.host} sent an invalid response: {where}: {first['msg']}") from error

    async def _post(self, path: str, payload: dict[str, object]) -> bytes:
        # json.dumps escapes non-ASCII, so a lone surrogate, which UTF-8 cannot encode, does not fail.
        content, headers = json.dumps(payload), {"content-type": "application/json"}
        try:
            async with self._client.get().stream("POST", path, content=content, headers=headers) as response:
                return await self._read(response)
        except httpx.TimeoutException as error:
            raise BackendTimeout(f"{self.host} did not answer within {self._at.timeout:g} s") from error
        except httpx.HTTPError as error:
            why = str(error) or type(error).__name__
            raise BackendDown(
                f"cannot reach {self.host}, or it broke off", hint=self._at.public(why), retryable=True
            ) from error

    async def _read(self, response: httpx.Response) -> bytes:
        if response.status_code != httpx.codes.OK:
            raise self._refusal(response)
        kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise BackendDown(f"{self.host} sent {kind or 'no content type'} instead of JSON")
        body = bytearray()
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > self._max_body:
                raise BackendDown(f"{self.host} sent more than {self._max_body} bytes")
        return bytes(body)

    def _refusal(self, response: httpx.Response) -> BackendError:
        status, host = response.status_code, self.host
        wait = retry_after(response.headers)
        if status == 429 or (status == 503 and wait is not None):
            return RateLimited(f"{host} asks to come back later", retry_after=wait)
        if status in (401, 403):
            return BackendError(f"{host} refused the API key ({status})", hint="set external.api_key")
        if status == 404:
            return BackendDown(f"{host} has no {response.url.path} (404)", hint="check external.url")
        if status in (408, 504):
            return BackendTimeout(f"{host} did not answer in time ({status})")
        if status >= 500:
            return BackendDown(f"{host} failed ({status})", retryable=True)
        return QueryRefused(f"{host} refused the request ({status})")

    async def aclose(self) -> None:
        await self._client.aclose()


def _is_address(url: str) -> bool:
    try:
        parts = httpx.URL(url)
    except httpx.InvalidURL:
        return False
    return parts.scheme in ("http", "https") and bool(parts.host) and "%" not in parts.host


def _estimate(answer: ExternalAnswer, claim: str) -> Estimate:
    """Convert a response; without `p_no`, the rest of the probability counts as unsure."""
    if answer.error is not None:
        return Estimate.failed(failure(BackendError(answer.error)), answer.method)
    if answer.probability is None:
        raise BackendDown("the service sent an estimate without a probability")
    p_yes = answer.probability
    p_no = min(answer.p_no or 0.0, 1.0 - p_yes)
    low = p_yes if answer.low is None else min(answer.low, p_yes)
    high = p_yes if answer.high is None else max(answer.high, p_yes)
    unsure = max(0.0, 1.0 - p_yes - p_no)
    spans = tuple(Span(s.start, s.end, s.score) for s in answer.spans if s.start < s.end <= len(claim))
    said, about = (answer.method, answer.reason), answer.speaks
    return Estimate(p_yes, p_no, unsure, low, high, *said, spans=spans, speaks=about, undecided=answer.undecided)
