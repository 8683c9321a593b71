"""Limit the changes that are made without a question: cooldown of a file, and pinned rules."""
