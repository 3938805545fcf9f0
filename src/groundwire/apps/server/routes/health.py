"""`GET /healthz`, `/readyz` and `/metrics`: is it alive, can it work, and how is it doing."""

from __future__ import annotations

from fastapi import APIRouter

router = APIRouter(tags=["operation"])


@router.get("/healthz")
async def healthz() -> dict[str, str]:
    """The process is alive."""
    return {"status": "ok"}
