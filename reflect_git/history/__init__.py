"""What happened, from what git and the records tell of it: pure functions, nothing is read here."""
