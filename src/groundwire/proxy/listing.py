"""`/v1/models` of several upstreams as one list, each model by the name that leads to it."""

from __future__ import annotations

import asyncio
import json
import logging

from groundwire.proxy.protocol import Json
from groundwire.proxy.upstream import Call, Target, Unreachable, Upstreams

_log = logging.getLogger("groundwire.proxy")


async def all_models(upstreams: Upstreams, call: Call) -> bytes:
    """The first upstream's as they are, the others' as name/model; who does not answer is left out."""
    targets = list(upstreams.targets.values())
    answers = await asyncio.gather(*(_models(upstreams, target, call) for target in targets))
    failed = [answer for answer in answers if isinstance(answer, Unreachable)]
    if len(failed) == len(targets):
        raise failed[0]
    found: list[Json] = []
    for number, (target, models) in enumerate(zip(targets, answers, strict=True)):
        if isinstance(models, Unreachable):
            _log.warning("%s", models)
            continue
        found += [{**model, "id": f"{target.name}/{model['id']}"} if number else model for model in models]
    return json.dumps({"object": "list", "data": found}).encode()


async def _models(upstreams: Upstreams, target: Target, call: Call) -> list[Json] | Unreachable:
    try:
        async with upstreams.opened(target, call) as answer:
            content = await answer.whole()
            if answer.head.status != 200:
                return Unreachable(502, f"the upstream {target.name!r} lists no models", "no_models")
            data = json.loads(content)["data"]
            return [model for model in data if isinstance(model, dict) and "id" in model]
    except Unreachable as error:
        return error
    except (ValueError, KeyError, TypeError):
        return Unreachable(502, f"the upstream {target.name!r} lists its models in another way", "no_models")
