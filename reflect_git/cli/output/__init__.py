"""Print for people."""
