"""Read records from the store: all of them, a few ids, or just counts."""
