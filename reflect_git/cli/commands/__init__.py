"""Everyday commands; each has a click command that `cli/app.py` lists."""
