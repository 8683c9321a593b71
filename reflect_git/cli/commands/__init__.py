"""Daily commands, one file for each or for a few related ones; the click command of `log` is `log_command`."""
