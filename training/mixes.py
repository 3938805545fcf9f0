"""What each stage of training draws from: pool and weight."""

from __future__ import annotations

GROUNDED: dict[str, float] = {
    "grounded.cards": 46,  # most of them are drawn with their twin
    "grounded.made": 9,
    "grounded.verbatim": 3,
    "grounded.exchanged": 4,
    "grounded.edited": 20,
    "grounded.traces": 5,  # statements of agents over the ledger of their calls
    "grounded.card_answers": 8,
    "grounded.answers": 10,
    "grounded.ragtruth": 16,
    "grounded.silver": 10,
    "grounded.tabfact": 3,
    "grounded.infotabs": 2,
    "grounded.fm2": 3,
    "grounded.cg2c_doc": 1.5,
    "grounded.ci_tod": 1,
    "grounded.check_covid": 1,
    "grounded.contractnli": 1,
    "grounded.nli4ct": 0.5,
    "grounded.factcheckgpt": 1,
}
SHORT: dict[str, float] = {
    "short.mnli_ni": 20,
    "short.mnli_cl": 4,
    "short.lingnli": 24,
    "short.snli_ni": 7,
    "short.cad_nli": 4,
    "short.scitail_ni": 4,
    "short.paws_ni": 5,
    "short.fm2": 4,
    "short.infotabs": 8,
    "short.tabfact": 1.5,
    "short.scone": 1.5,
    "short.breaking_nli": 1.5,
    "short.negation_nli": 1.5,
    "short.sgd_records": 2,
    "short.e2e_slots": 2,
    "short.climatefever": 1,
    "short.healthver": 1,
    "short.covidfact": 1,
    "short.rte": 1.5,
    "short.feverous": 0.5,
    "short.conjnli_human": 0.5,
    "short.cb_ni": 0.5,
    "short.q2_wow": 0.5,
    "short.folio": 0.5,
    "short.feversymmetric": 0.5,
    "short.bizarro": 1,
}


def shares(short: float, grounded: float) -> dict[str, float]:
    """Both kinds of pools, with these shares of the pairs drawn."""
    scaled = [(SHORT, short / sum(SHORT.values())), (GROUNDED, grounded / sum(GROUNDED.values()))]
    return {name: weight * scale for pools, scale in scaled for name, weight in pools.items()}


MIXES = {"short": SHORT, "mixed": shares(0.6, 0.4), "grounded": shares(0.2, 0.8)}
