"""Load sources, split them into units, and retrieve the evidence for a claim."""

from groundwire.retrieval.cite import cited_ids, phantoms, resolve
from groundwire.retrieval.gather import Evidence, Gathered
from groundwire.retrieval.load import load_answer, load_sources
from groundwire.retrieval.render import Neutraliser, scrub, tokens
from groundwire.retrieval.select import Index, units

__all__ = [
    "Evidence", "Gathered", "Index", "Neutraliser", "cited_ids",
    "load_answer", "load_sources", "phantoms", "resolve", "scrub", "tokens", "units",
]  # fmt: skip
