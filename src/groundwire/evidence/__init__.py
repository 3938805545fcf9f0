"""Sources, their units, and what stands for or against a claim."""

from groundwire.evidence.cite import cited_ids, phantoms, resolve
from groundwire.evidence.gather import Evidence, Gathered, gather
from groundwire.evidence.render import neutral, scrub, tokens
from groundwire.evidence.select import Index
from groundwire.evidence.units import units

__all__ = [
    "Evidence",
    "Gathered",
    "Index",
    "cited_ids",
    "gather",
    "neutral",
    "phantoms",
    "resolve",
    "scrub",
    "tokens",
    "units",
]
