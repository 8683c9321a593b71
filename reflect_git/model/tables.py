"""Load word tables from `knowledge/`: data that changes without a change of code."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

KNOWLEDGE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "knowledge")
_loaded: dict[str, dict[str, Any]] = {}


class _Context:
    """What the C scanner of `json` asks for; the values are `json.JSONDecoder`'s own."""

    strict = True
    object_hook = object_pairs_hook = None
    parse_float, parse_int, parse_constant = float, int, float

    def __init__(self) -> None:
        self.memo: dict[str, str] = {}


def _parse(text: str) -> dict[str, Any]:
    """Parse a table without `import json`, which takes as long as the rest of a hook."""
    try:
        from _json import make_scanner
    except ImportError:
        import json

        return dict(json.loads(text))
    scan: Any = make_scanner(_Context())  # type: ignore[arg-type]
    return dict(scan(text.strip(), 0)[0])


def table(name: str) -> dict[str, Any]:
    """Return the table `knowledge/NAME.json`, read once."""
    if name not in _loaded:
        with open(os.path.join(KNOWLEDGE, f"{name}.json"), encoding="utf-8") as file:
            _loaded[name] = _parse(file.read())
    return _loaded[name]
