"""Commands that report on rules and failures: effect, trend, versions, incidents, root causes."""
