"""Open information extraction: triples, their predicates, and the tense and time of statements."""
