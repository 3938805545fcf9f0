"""Who does what in a sentence: triples, their predicates, and the tense and time of what is said."""
