"""Static word embeddings that are part of a package, so that nothing is downloaded."""

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

MODEL_NAME = "wordllama-l2_supercat-256"
WIDTH = 256
_LETTER = re.compile(r"[^\W\d_]")
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f]")
_log = logging.getLogger(__name__)


class Embedder(Protocol):
    """Returns one unit vector per text; zeros for a text without words."""

    name: str

    def embed(self, texts: Sequence[str]) -> Vectors: ...


class WordLlama:
    name = MODEL_NAME

    def __init__(self) -> None:
        with _preserve_logging():
            package = load("wordllama", feature="searching by meaning", extra="rag")
        folder = Path(package.__file__).parent
        # The package's folder as cache: otherwise it looks for the tokenizer on the network.
        self._model = package.WordLlama.load(cache_dir=folder, disable_download=True)

    def embed(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        vectors: Vectors = np.asarray(self._model.embed(list(texts)), dtype=np.float32).reshape(-1, WIDTH)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        unit: Vectors = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
        return unit


@contextmanager
def _preserve_logging() -> Iterator[None]:
    """Restore the root logger, which the package reconfigures when it is imported."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)


@cache
def default_embedder() -> Embedder | None:
    """Return the packaged embedder, loaded once; None if the extra is not installed."""
    try:
        return WordLlama()
    except MissingExtra:
        _log.info("wordllama is not installed: passages are ranked by keywords only")
        return None


def is_understood(text: str) -> bool:
    """True for text in Latin script; the embeddings know other scripts only as meaningless single bytes.

    >>> is_understood("How tall is it?"), is_understood("מה גובה המגדל?")
    (True, False)
    """
    return 2 * len(_LATIN.findall(text)) > len(_LETTER.findall(text))
