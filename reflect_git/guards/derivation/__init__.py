"""Derive a matcher from the text of a rule."""
