"""From files to the pieces of text that can carry a claim."""
