"""What a person sits down to do: look at what waits, answer, and have it written. No hook comes here."""
