"""One verb, one file; each has a click command called `command`."""
