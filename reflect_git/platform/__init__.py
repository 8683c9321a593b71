"""Adapters to the outside: git, files, processes, Claude Code's settings and projects. One module for each."""
