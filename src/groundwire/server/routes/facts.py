"""`/v1/facts`: store facts through the memory gate, and read them. `/v1/kb`: search the knowledge base."""

from __future__ import annotations

import asyncio
from dataclasses import asdict, replace
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from groundwire.memory.writer import Decision, fact_from_roles
from groundwire.reports.schema import EntitiesOut, FactOut, FactsOut, KeptFactOut, KnowledgeOut, KnownOut, RejectedOut
from groundwire.server.auth import Caller
from groundwire.server.deps import ServiceDep, json_response
from groundwire.server.problems import Forbidden, NotFound
from groundwire.server.schemas import FactRequest
from groundwire.stores.facts import list_facts
from groundwire.stores.import_export import entity_object, fact_object
from groundwire.stores.keys import ADMIN
from groundwire.stores.queue import RejectedFacts
from groundwire.types import Entity, Fact, FactStatus

facts_router = APIRouter(prefix="/v1/facts", tags=["facts"])
kb_router = APIRouter(prefix="/v1/kb", tags=["knowledge"])

_MIN_SIMILARITY = 0.6  # lowest similarity of a name that a search returns: enough for typos, not for other names
_LATER = {"model": KeptFactOut, "description": "Stored, and verified later"}
Limit = Annotated[int, Query(ge=1, le=1000, description="Maximum number of results.")]


@facts_router.post("", response_model=KeptFactOut, status_code=201, responses={202: _LATER})
async def add(body: FactRequest, request: Request, service: ServiceDep) -> Response:
    """Store a fact that its evidence supports.

    201: stored. 202: stored as `pending` and verified later. Either way a crash does not lose it. A
    fact that its evidence does not support is rejected (422, `not-grounded`) with the missing bits.
    """
    caller: Caller = request.state.caller
    if not body.verify and not caller.may(ADMIN):
        raise Forbidden("storing an unverified fact requires the scope admin")

    async def admit() -> tuple[Fact, Decision]:
        gate = await asyncio.to_thread(lambda: service.gate)
        return await gate.admit(_fact(body), body.parsed_sources, confidence=body.confidence, verify=body.verify)

    fact, decision = await service.work(admit, body.size)
    known = f"known already, but {decision.reason}" if fact.status is not decision.status else ""
    found = {**fact_object(fact), "reason": known or decision.reason}
    return json_response(found, 202 if fact.status is FactStatus.PENDING else 201)


def _fact(body: FactRequest) -> Fact | str:
    if not body.predicate.strip():
        return body.fact
    made = fact_from_roles(list(body.roles.items()), body.predicate.strip(), body.fact.strip())
    return replace(made, many=body.many)


@facts_router.get("", response_model=FactsOut)
async def facts(
    service: ServiceDep,
    status: FactStatus | None = None,
    limit: Limit = 100,
    after: Annotated[str, Query(max_length=300, description="Id of the last fact of the previous page.")] = "",
) -> Response:
    """List facts, newest first.

    One page; pass `after` to get the next one.
    """

    def read() -> list[Fact]:
        with service.database.read() as connection:
            return list_facts(connection, status=status, limit=limit, after=after)

    found = await asyncio.to_thread(read)
    return json_response({"facts": [fact_object(fact) for fact in found]})


@facts_router.get("/rejected", response_model=RejectedOut)
async def rejected(service: ServiceDep, limit: Limit = 100) -> Response:
    """List rejected facts, newest first.

    With their scores: for inspection only, never used as knowledge.
    """
    found = await asyncio.to_thread(lambda: RejectedFacts(service.database).latest(limit))
    return json_response({"rejected": [one.as_json() for one in found]})


@facts_router.get("/{fact_id}", response_model=FactOut)
async def fact(fact_id: str, service: ServiceDep) -> Response:
    """One fact."""
    found = await asyncio.to_thread(lambda: service.knowledge.fact(fact_id))
    if found is None:
        raise NotFound(f"no fact {fact_id[:100]!r}")
    return json_response(fact_object(found))


@kb_router.get("", response_model=KnowledgeOut)
async def stats(service: ServiceDep) -> Response:
    """Size of the knowledge base."""
    return json_response(asdict(await asyncio.to_thread(service.knowledge.stats)))


@kb_router.get("/entities", response_model=EntitiesOut)
async def entities(
    service: ServiceDep,
    q: Annotated[str, Query(min_length=1, max_length=300, description="A name, or something similar.")],
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
) -> Response:
    """Find entities by name, best match first."""
    found = await asyncio.to_thread(lambda: service.knowledge.similar(q, _MIN_SIMILARITY, limit))
    shown = [{**entity_object(m.entity), "match": m.kind.value, "score": round(m.score, 4)} for m in found]
    return json_response({"entities": shown})


@kb_router.get("/entities/{entity_id:path}", response_model=KnownOut)
async def entity(entity_id: str, service: ServiceDep, limit: Annotated[int, Query(ge=1, le=1000)] = 200) -> Response:
    """An entity and the facts about it.

    By id, name or alias.
    """

    def read() -> tuple[Entity, list[Fact]] | None:
        known = service.knowledge
        match = known.find([entity_id], fuzzy=False).get(entity_id)
        one = known.entities([entity_id]).get(entity_id) or (match.entity if match else None)
        return (one, known.facts_about([one.id], limit)) if one else None

    found = await asyncio.to_thread(read)
    if found is None:
        raise NotFound(f"no entity {entity_id[:100]!r}")
    one, about = found
    return json_response({"entity": entity_object(one), "facts": [fact_object(fact) for fact in about]})


router = APIRouter()
router.include_router(facts_router)
router.include_router(kb_router)
