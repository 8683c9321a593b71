"""Remove purged texts from branches, refs, files and history."""
