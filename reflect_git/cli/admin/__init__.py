"""Commands that set up, check and share a store."""
