"""What each stage draws from, and how often: `pool=weight`."""

from __future__ import annotations

from training.tables import words_in

STAGE1 = words_in(
    """
    nli.snli=2.5 nli.mnli=3 nli.scitail=0.8 nli.rte=0.7 nli.bizarro=0.4 nli.infotabs=1.5 nli.mctest=0.7
    nli.healthver=0.5 nli.covidfact=0.7 nli.feverous=0.7 nli.feversymmetric=0.4 nli.climatefever=0.5
    nli.factcheckgpt=0.5 nli.begin=0.3 made.prose=3.5 made.table=0.8 made.business=2
    g.quintd.gsmarena=0.5 g.quintd.ice_hockey=0.5 g.quintd.wikidata=0.5 g.aggrefact_err.xsum=0.7
    g.aggrefact_err.cnndm=0.5
    """
)
BROAD = words_in(
    """
    nli.snli=2 nli.mnli=3 nli.scitail=0.8 nli.rte=0.7 nli.bizarro=0.4 nli.infotabs=1.8 nli.mctest=0.8
    nli.healthver=0.7 nli.covidfact=0.8 nli.feverous=0.8 nli.feversymmetric=0.4 nli.climatefever=0.7
    nli.factcheckgpt=0.6 nli.begin=0.3 made.prose=3 made.table=0.8 made.business=1.5
    made.monotone=1.5 made.negation=1.2 made.dialogue=1.2 made.list=1 made.figures=1
    g.quintd.gsmarena=0.4 g.quintd.ice_hockey=0.4 g.quintd.wikidata=0.4 g.aggrefact_err.xsum=0.7
    g.aggrefact_err.cnndm=0.5
    """
)
REPLAY = words_in(
    """
    nli.snli=1 nli.mnli=1.6 nli.scitail=0.4 nli.rte=0.4 nli.infotabs=1.2 nli.mctest=0.4 nli.healthver=0.4
    nli.covidfact=0.5 nli.feverous=0.5 nli.feversymmetric=0.2 nli.climatefever=0.3 nli.factcheckgpt=0.4
    made.prose=1.5 made.table=0.5 made.business=1 g.quintd.gsmarena=0.5 g.quintd.ice_hockey=0.5
    g.quintd.wikidata=0.5 g.aggrefact_err.xsum=0.6 g.aggrefact_err.cnndm=0.4
    """
)
GROUNDED = words_in(
    """
    rt.HALF.Data2txt=1.2 rt.HALF.QA=1.2 rt.HALF.Summary=1.2 silver.HALF.Data2txt=0.6 silver.HALF.QA=0.6
    silver.HALF.Summary=0.6 edits.HALF.Data2txt=1 edits.HALF.QA=1 edits.HALF.Summary=1
    """
)

# Each half holds some 500 sentences that people marked: drawn as often as above they are learnt by heart.
RARELY = words_in(
    """
    rt.HALF.Data2txt=0.35 rt.HALF.QA=0.35 rt.HALF.Summary=0.35 silver.HALF.Data2txt=0.8 silver.HALF.QA=0.8
    silver.HALF.Summary=0.8 edits.HALF.Data2txt=1.6 edits.HALF.QA=1.6 edits.HALF.Summary=1.6
    """
)

# After `broad`: what people marked, what a judge said of whole answers, edits; and some of all else.
SOURCES = words_in(
    """
    rt.HALF.Data2txt=0.9 rt.HALF.QA=0.9 rt.HALF.Summary=0.9 silver.HALF.Data2txt=0.9 silver.HALF.QA=1
    silver.HALF.Summary=1 edits.HALF.Data2txt=1.2 edits.HALF.QA=1.2 edits.HALF.Summary=1.2
    """
)

# Averaging runs that went different ways loses what only one of them knows.
MENDING = words_in("made.monotone=1.5 made.negation=1.2")


def halved(parts: list[str]) -> list[str]:
    """The same pools, drawn half as often."""
    return [f"{key}={float(weight) / 2}" for key, _, weight in (part.partition("=") for part in parts)]


def mix(name: str) -> dict[str, float]:
    """`stage1`, `stage2A`, `broad`, `groundedB` and so on, or the pools themselves as `a=1,b=2`."""
    if name == "stage1":
        parts = STAGE1
    elif name == "broad":
        parts = BROAD
    elif name in ("groundedA", "groundedB", "mendedA", "mendedB"):
        parts = [*halved(BROAD), *(part.replace("HALF", name[-1]) for part in SOURCES)]
        parts += MENDING if name.startswith("mended") else []
    elif name in ("stage2A", "stage2B"):
        parts = [*REPLAY, *(part.replace("HALF", name[-1]) for part in GROUNDED)]
    elif name in ("stage3A", "stage3B"):
        parts = [*STAGE1, *REPLAY, *(part.replace("HALF", name[-1]) for part in RARELY)]
    else:
        parts = name.split(",")
    found: dict[str, float] = {}
    for key, _, weight in (part.partition("=") for part in parts):
        found[key] = found.get(key, 0.0) + float(weight)
    return found
