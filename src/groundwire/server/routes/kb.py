"""`/v1/kb`: what the server's knowledge base holds, for people and pages to look at."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Depends, Query, Response

from groundwire.server.problems import NotFound, reading_problems
from groundwire.server.responses import EntitiesOut, KnowledgeOut, KnownOut, answered
from groundwire.server.service import Service, service
from groundwire.stores.knowledge import Stats
from groundwire.stores.parse_jsonl import entity_object, fact_object
from groundwire.types import Entity, Fact, Match

router = APIRouter(prefix="/v1/kb", tags=["knowledge"])

Held = Annotated[Service, Depends(service)]
_ALIKE = 0.6


@router.get("", summary="How much is known", response_model=KnowledgeOut, responses=reading_problems())
async def stats(held: Held) -> Response:
    return answered(asdict(await asyncio.to_thread(_stats, held)))


def _stats(held: Service) -> Stats:
    return held.knowledge.stats()


@router.get(
    "/entities",
    summary="Entities by a name, best first",
    response_model=EntitiesOut,
    responses=reading_problems(),
)
async def entities(
    held: Held,
    q: Annotated[str, Query(min_length=1, max_length=300, description="A name, or something like it.")],
    limit: Annotated[int, Query(ge=1, le=100)] = 20,
) -> Response:
    found = await asyncio.to_thread(lambda: held.knowledge.similar(q, _ALIKE, limit))
    return answered({"entities": [_match(one) for one in found]})


def _match(found: Match) -> dict[str, object]:
    return {**entity_object(found.entity), "match": found.kind.value, "score": round(found.score, 4)}


@router.get(
    "/entities/{entity_id:path}",
    summary="An entity and the facts about it",
    response_model=KnownOut,
    responses=reading_problems(404),
)
async def entity(entity_id: str, held: Held, limit: Annotated[int, Query(ge=1, le=1000)] = 200) -> Response:
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
