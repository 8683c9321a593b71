"""Put a learning into an instruction file and take it out again: bytes in, bytes out, no file is touched."""
