"""`POST /v1/sources`: files in, texts out: PDF, Word, HTML and CSV as the command line reads them."""

from __future__ import annotations

import asyncio
from pathlib import PurePosixPath
from typing import Annotated

from fastapi import APIRouter, Depends, File, UploadFile
from pydantic import BaseModel, Field

from groundwire.errors import InputError
from groundwire.retrieval.load import read_bytes
from groundwire.server.problems import problems
from groundwire.server.service import Service, service

router = APIRouter(prefix="/v1", tags=["sources"])

_MOST_FILES = 50
_NAME_CHARS = 200


class TextOfFile(BaseModel):
    """A source as `/v1/check` takes it; `id` only where the file names its sources itself."""

    text: str
    origin: str
    id: str | None = None


class Unreadable(BaseModel):
    origin: str
    detail: str


class Texts(BaseModel):
    sources: list[TextOfFile]
    errors: list[Unreadable] = Field(description="Files that cannot be read, each with what helps.")


@router.post("/sources", responses=problems())
async def texts_of(
    files: Annotated[list[UploadFile], File(description="Any number of files.", max_length=_MOST_FILES)],
    held: Annotated[Service, Depends(service)],
) -> Texts:
    """The texts of files, to be given to a check. Nothing is kept."""
    found = Texts(sources=[], errors=[])
    for file in files:
        name = _name(file.filename or "")
        data = await file.read()
        try:
            found.sources += await asyncio.to_thread(_texts, data, name, held.config.limits.max_source_bytes)
        except InputError as error:
            found.errors.append(Unreadable(origin=name, detail=str(error)))
    return found


def _name(given: str) -> str:
    """The last part of a name: where it lay on somebody's disk is nobody's business."""
    last = PurePosixPath(given.replace("\\", "/")).name
    return "".join(char for char in last if char.isprintable())[-_NAME_CHARS:] or "file"


def _texts(data: bytes, name: str, most: int) -> list[TextOfFile]:
    return [TextOfFile(text=item.text, origin=name, id=item.id) for item in read_bytes(data, name, most)]
