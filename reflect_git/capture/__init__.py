"""Turn tool failures and transcripts of Claude Code into signals."""
