"""reflect-git: a git-native learnings manager for Claude Code."""

__version__ = "0.2.0"
