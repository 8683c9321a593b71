"""Write to the main branch: decisions, rules, backups, and recovery from interrupted writes."""
