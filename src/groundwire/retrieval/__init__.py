"""Load sources, split them into units, and retrieve the evidence for a claim."""

from groundwire.retrieval.gather import Evidence, Gathered, Neutraliser, cited_ids, phantoms, resolve, scrub
from groundwire.retrieval.load import load_answer, load_sources
from groundwire.retrieval.select import Index, tokens, units

__all__ = [
    "Evidence", "Gathered", "Index", "Neutraliser", "cited_ids",
    "load_answer", "load_sources", "phantoms", "resolve", "scrub", "tokens", "units",
]  # fmt: skip
