"""What can be settled by reading: which value belongs to which thing, how many there are, what was quoted."""
