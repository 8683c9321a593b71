"""Approve, edit, revert and dismiss rules, and write them into instruction files. Hooks never import this package."""
