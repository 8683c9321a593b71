"""Guards: understand a tool call, and decide whether a rule applies to it."""
