"""One door per outside thing."""
