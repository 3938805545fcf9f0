"""The command line: one module a command, its options, and what it prints."""
