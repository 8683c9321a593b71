"""Show what happened: the log, the history of a rule, and the rules in force at any time."""
