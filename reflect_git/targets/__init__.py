"""Add, change and remove learnings in instruction files: bytes in, bytes out; no file is written here."""
