"""Texts as vectors, by static embeddings that come with a package: nothing is downloaded."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from groundwire._optional import load
from groundwire.errors import MissingExtra

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

NAME = "wordllama-l2_supercat-256"
WIDTH = 256
_LETTER = re.compile(r"[^\W\d_]")
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f]")
_log = logging.getLogger(__name__)


class Embedder(Protocol):
    """Rows of length one; a text without words is a row of zeros."""

    name: str

    def embed(self, texts: Sequence[str]) -> Vectors: ...


class WordLlama:
    name = NAME

    def __init__(self) -> None:
        with _own_logging():
            package = load("wordllama", feature="searching by meaning", extra="rag")
        folder = Path(package.__file__).parent
        # Its own folder as the cache: it otherwise looks for the tokenizer on the network.
        self._model = package.WordLlama.load(cache_dir=folder, disable_download=True)

    def embed(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        found: Vectors = np.asarray(self._model.embed(list(texts)), dtype=np.float32).reshape(-1, WIDTH)
        lengths = np.linalg.norm(found, axis=1, keepdims=True)
        unit: Vectors = np.divide(found, lengths, out=np.zeros_like(found), where=lengths > 0)
        return unit


@contextmanager
def _own_logging() -> Iterator[None]:
    """The package sets up the root logger when it is imported; how a program logs is its own business."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)


@cache
def default_embedder() -> Embedder | None:
    """The packaged one, loaded once; None where the extra is not installed."""
    try:
        return WordLlama()
    except MissingExtra:
        _log.info("wordllama is not installed: passages are found by their words alone")
        return None


def is_understood(text: str) -> bool:
    """Whether the static embeddings know the script: of others they know single bytes, which mean nothing.

    >>> is_understood("How tall is it?"), is_understood("מה גובה המגדל?")
    (True, False)
    """
    return 2 * len(_LATIN.findall(text)) > len(_LETTER.findall(text))
