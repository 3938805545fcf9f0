"""The tables of the store, a file a subject; all belong to one `metadata`."""
