"""The commands, a file a group: each reads its arguments and calls the library."""
