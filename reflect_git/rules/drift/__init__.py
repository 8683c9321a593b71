"""Find rules that differ from their files, who changed them, and resolve the difference."""
