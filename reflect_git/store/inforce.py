"""Which value of a policy counts: a config that was edited by hand can make a policy stricter, never looser.

Anybody who runs `git config` in the store can write any value. So a value counts if it is the decided one, or if it is
stricter than that. `.git/reflect/policies.json` keeps what was decided where a hook can read it; commands rebuild it
from main if it is missing.
"""

from __future__ import annotations

from reflect_git.adapters import files, jsontext

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from reflect_git.store.configfile import Value

FILE = "policies.json"
MACHINE = "reflect.machine"  # not a policy, but whoever changes it by hand takes over what that machine decided
IGNORE = "reflect.ignore"
# Key → its default, and the values that protect more than any other one.
POLICIES = {
    "reflect.approval": ("ask", ("ask",)),
    "reflect.capture": ("true", ("false",)),
    "reflect.capture.unattended": ("failures", ("failures",)),
    IGNORE: ("", ()),
    "reflect.maxUsdPerDay": ("2.00", ()),
    "reflect.sign": ("none", ("ssh", "gpg")),
    "reflect.sync.apply": ("ask", ("ask",)),
    "reflect.sync.auto": ("false", ("false",)),
    "reflect.sync.requireSigned": ("false", ("true",)),
    "reflect.sync.signals": ("false", ("false",)),
    "reflect.wording": ("off", ("off",)),
    "reflect.wording.model": ("haiku", ("haiku",)),
}
# The verbs `enable` and `disable` switch these for whoever types /reflect-toggle; any other loosening needs a terminal.
_WITHOUT_A_TERMINAL = ("reflect.capture", "reflect.capture.unattended", IGNORE)
_BOOLEANS = {"yes": "true", "on": "true", "1": "true", "": "true", "no": "false", "off": "false", "0": "false"}


def overrides(config: Mapping[str, list[str]], decided: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return key in lower case → the values that count, for each policy whose values in the config do not."""
    found = {}
    for key in POLICIES:
        configured, said = config.get(key.lower(), []), _listed(decided.get(key))
        if key == IGNORE:
            counts = [*configured, *(glob for glob in said if glob not in configured)]
        else:
            counts = said if is_looser(key, configured, said) else configured
        if counts != configured:
            found[key.lower()] = counts
    named = _listed(decided.get(MACHINE))
    if named and named != config.get(MACHINE):
        found[MACHINE] = named
    return found


def is_looser(key: str, configured: list[str], said: list[str]) -> bool:
    """Whether the config protects less than what was decided, or in another way."""
    value = normalised(key, configured[-1] if configured else None)
    return value != normalised(key, said[-1] if said else None) and value not in POLICIES[key][1]


def normalised(key: str, value: str | None) -> str:
    """Return the value as `reflect-git config` writes it; None stands for the default."""
    default = POLICIES[key][0]
    if value is None:
        return default
    return _BOOLEANS.get(value.lower(), value.lower()) if default in ("true", "false") else value


def counts(key: str, value: Value, road: str) -> bool:
    """Whether a decision that came by this road may set a policy to this value."""
    if key not in POLICIES or key in _WITHOUT_A_TERMINAL or road == "terminal":
        return True
    return normalised(key, value if isinstance(value, str) else None) in POLICIES[key][1]


def load(path: str) -> dict[str, Any]:
    """Return what was decided, as the file at `path` says; nothing if it is missing or damaged."""
    try:
        said = jsontext.loads(files.read_regular(path, 1 << 20))
    except (OSError, ValueError, RecursionError):
        return {}
    return said if isinstance(said, dict) else {}


def _listed(value: Any) -> list[str]:
    values = value if isinstance(value, list) else [value]
    return [one for one in values if isinstance(one, str)]
