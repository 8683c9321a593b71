"""Parse sentences: what they mean, whether two say the same or contradict each other, and which ones work as rules."""
