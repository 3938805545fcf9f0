"""Load sources, split them into units, and retrieve the evidence for a claim."""
