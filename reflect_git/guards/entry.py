"""The entry in Claude Code's settings that runs the guards."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def install_entry(env: Mapping[str, str]) -> None:
    """Add the entry to the person's settings."""


def remove_entry(env: Mapping[str, str]) -> None:
    """Remove the entry from the person's settings."""
