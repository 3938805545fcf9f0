"""groundwire: how many bits of evidence stand behind each claim."""
