"""Turn signals into proposed rules."""
