"""A small recursive language-model loop that verifies its own answers."""
