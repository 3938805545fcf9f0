"""`POST /v1/sources`: extract the text of PDF, Word, HTML and CSV files, as the command line does."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Annotated

from fastapi import APIRouter, File, UploadFile
from pydantic import BaseModel, Field

from groundwire.errors import InputError
from groundwire.server.deps import ServiceDep
from groundwire.server.problems import problems

router = APIRouter(prefix="/v1", tags=["sources"])

_MAX_FILES = 50
_MAX_NAME_CHARS = 200


class FileText(BaseModel):
    """A source as `/v1/check` takes it; `id` only if the file itself names its sources."""

    text: str
    origin: str
    id: str | None = None


class FileError(BaseModel):
    origin: str
    detail: str


class ExtractedTexts(BaseModel):
    sources: list[FileText]
    errors: list[FileError] = Field(description="Files that cannot be read, and why.")


@router.post("/sources", responses=problems())
async def texts_of(
    files: Annotated[list[UploadFile], File(description="One or more files.", max_length=_MAX_FILES)],
    service: ServiceDep,
) -> ExtractedTexts:
    """Extract the texts of files, to be sent with a check. Nothing is stored."""
    found = ExtractedTexts(sources=[], errors=[])
    with service.admission.admitted(sum(file.size or 0 for file in files)):
        for file in files:
            name = _name(file.filename or "")
            try:
                texts = await service.read_file(await file.read(), name)
            except InputError as error:
                found.errors.append(FileError(origin=name, detail=str(error)))
            else:
                found.sources += [FileText(text=one.text, origin=name, id=one.id) for one in texts]
    return found


def _name(given: str) -> str:
    """The last part of a file name, without the path on the client's disk."""
    last = PurePosixPath(given.replace("\\", "/")).name
    return "".join(char for char in last if char.isprintable())[-_MAX_NAME_CHARS:] or "file"
