"""Sources, their units, and what stands for or against a claim."""

from groundwire.evidence.cite import cited_ids, phantoms, resolve
from groundwire.evidence.gather import Evidence, Gathered, gather
from groundwire.evidence.load import from_context, from_mapping, load_answer, load_sources
from groundwire.evidence.render import neutral, scrub, tokens
from groundwire.evidence.select import Index
from groundwire.evidence.units import units

__all__ = [
    "Evidence",
    "Gathered",
    "Index",
    "cited_ids",
    "from_context",
    "from_mapping",
    "gather",
    "load_answer",
    "load_sources",
    "neutral",
    "phantoms",
    "resolve",
    "scrub",
    "tokens",
    "units",
]
