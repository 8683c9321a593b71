"""The command line: the front that talks to people and to scripts."""
