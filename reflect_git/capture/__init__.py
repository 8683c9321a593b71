"""From a moment to a signal: pure functions that take and return data."""
