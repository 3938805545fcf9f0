"""`/v1/facts`: facts go in through the memory gate, and what is there can be read."""

from __future__ import annotations

import asyncio
from dataclasses import asdict, replace
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request, Response

from groundwire.cli.facts import rejected_object
from groundwire.memory.decision import Decision
from groundwire.memory.writer import fact_from_roles
from groundwire.server.middleware.auth import Caller
from groundwire.server.problems import Forbidden, NotFound, problems, reading_problems
from groundwire.server.responses import (
    EntitiesOut,
    FactOut,
    FactsOut,
    KeptFactOut,
    KnowledgeOut,
    KnownOut,
    RejectedOut,
    answered,
)
from groundwire.server.schemas import FactRequest
from groundwire.server.service import Service, service
from groundwire.stores.facts import listing
from groundwire.stores.io_jsonl import entity_object, fact_object
from groundwire.stores.keys import ADMIN
from groundwire.stores.knowledge_base import Stats
from groundwire.stores.queue import RejectedFacts
from groundwire.types import Entity, Fact, FactStatus, Match

router = APIRouter(prefix="/v1/facts", tags=["facts"])

Held = Annotated[Service, Depends(service)]
Limit = Annotated[int, Query(ge=1, le=1000, description="At most so many.")]


@router.post(
    "",
    summary="Remember a fact that its evidence carries",
    status_code=201,
    response_model=KeptFactOut,
    responses={
        202: {"model": KeptFactOut, "description": "Stored, and verified later"},
        **problems(501, 502),
    },
)
async def add(asked: FactRequest, request: Request, held: Held) -> Response:
    """201: it is in the store. 202: it is in the store as `pending` and will be verified; either way a server
    that dies after this answer has not lost it. A fact that its evidence does not carry is refused (422,
    `not-grounded`) with the bits it lacks.
    """
    caller: Caller = request.state.caller
    if not asked.verify and not caller.may(ADMIN):
        raise Forbidden("to store a fact unverified takes the scope admin")
    kept, decision = await held.work(lambda: _admitted(asked, held), asked.size)
    known = f"known already, but {decision.reason}" if kept.status is not decision.status else ""
    found = {**fact_object(kept), "reason": known or decision.reason}
    return answered(found, 202 if kept.status is FactStatus.PENDING else 201)


async def _admitted(asked: FactRequest, held: Service) -> tuple[Fact, Decision]:
    gate = await asyncio.to_thread(lambda: held.gate)
    return await gate.admit(_fact(asked), asked.given, confidence=asked.confidence, verify=asked.verify)


def _fact(asked: FactRequest) -> Fact | str:
    if not asked.predicate.strip():
        return asked.fact
    made = fact_from_roles(list(asked.roles.items()), asked.predicate.strip(), asked.fact.strip())
    return replace(made, many=asked.many)


@router.get("", summary="Facts, the newest first", response_model=FactsOut, responses=reading_problems())
async def facts(
    held: Held,
    status: FactStatus | None = None,
    limit: Limit = 100,
    after: Annotated[str, Query(max_length=300, description="The id of the last one before.")] = "",
) -> Response:
    """A page of them; ask for the next with `after`."""

    def read() -> list[Fact]:
        with held.database.read() as connection:
            return listing(connection, status=status, limit=limit, after=after)

    found = await asyncio.to_thread(read)
    return answered({"facts": [fact_object(fact) for fact in found]})


@router.get(
    "/rejected",
    summary="Facts that were refused, the newest first",
    response_model=RejectedOut,
    responses=reading_problems(),
)
async def rejected(held: Held, limit: Limit = 100) -> Response:
    """With what they were measured by: to be looked at, never to be believed."""
    found = await asyncio.to_thread(lambda: RejectedFacts(held.database).latest(limit))
    return answered({"rejected": [rejected_object(one) for one in found]})


@router.get("/{fact_id}", summary="One fact", response_model=FactOut, responses=reading_problems(404))
async def fact(fact_id: str, held: Held) -> Response:
    found = await asyncio.to_thread(lambda: held.knowledge.fact(fact_id))
    if found is None:
        raise NotFound(f"there is no fact {fact_id[:100]!r}")
    return answered(fact_object(found))


# `/v1/kb`: what the server's knowledge base holds, for people and pages to look at.

kb_router = APIRouter(prefix="/v1/kb", tags=["knowledge"])

HeldKb = Annotated[Service, Depends(service)]
_ALIKE = 0.6


@kb_router.get("", summary="How much is known", response_model=KnowledgeOut, responses=reading_problems())
async def stats(held: HeldKb) -> Response:
    return answered(asdict(await asyncio.to_thread(_stats, held)))


def _stats(held: Service) -> Stats:
    return held.knowledge.stats()


@kb_router.get(
    "/entities",
    summary="Entities by a name, best first",
    response_model=EntitiesOut,
    responses=reading_problems(),
)
async def entities(
    held: HeldKb,
    q: Annotated[str, Query(min_length=1, max_length=300, description="A name, or something like it.")],
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
) -> Response:
    found = await asyncio.to_thread(lambda: held.knowledge.similar(q, _ALIKE, limit))
    return answered({"entities": [_match(one) for one in found]})


def _match(found: Match) -> dict[str, object]:
    return {**entity_object(found.entity), "match": found.kind.value, "score": round(found.score, 4)}


@kb_router.get(
    "/entities/{entity_id:path}",
    summary="An entity and the facts about it",
    response_model=KnownOut,
    responses=reading_problems(404),
)
async def entity(entity_id: str, held: HeldKb, limit: Annotated[int, Query(ge=1, le=1000)] = 200) -> Response:
    """By its id, or by a name it is known under."""

    def read() -> tuple[Entity, list[Fact]] | None:
        known = held.knowledge
        match = known.find([entity_id], fuzzy=False).get(entity_id)
        one = known.entities([entity_id]).get(entity_id) or (match.entity if match else None)
        return (one, known.facts_about([one.id], limit)) if one else None

    found = await asyncio.to_thread(read)
    if found is None:
        raise NotFound(f"nothing is known under the name {entity_id[:100]!r}")
    one, about = found
    return answered({"entity": entity_object(one), "facts": [fact_object(fact) for fact in about]})
