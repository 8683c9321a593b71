"""A named tuple without `typing` equals what `typing` makes of the same class body."""

from __future__ import annotations

import subprocess
import sys
from typing import Any
from typing import NamedTuple as Theirs

import pytest

from reflect_git.records.named_tuple import NamedTuple


class Ours(NamedTuple):
    """Somewhere."""

    path: str
    lines: int = 3

    @property
    def end(self) -> int:
        return self.lines + 1

    def named(self) -> str:
        return f"{self.path}:{self.end}"


class Same(Theirs):
    """Somewhere."""

    path: str
    lines: int = 3


def test_it_is_a_tuple_with_names_defaults_and_methods() -> None:
    one, other = Ours("a"), Same("a")
    assert tuple(one) == tuple(other) == ("a", 3)
    assert (one.path, one.lines, one.end, one.named()) == ("a", 3, 4, "a:4")
    assert one._replace(lines=5) == ("a", 5)
    assert repr(one) == "Ours(path='a', lines=3)"


def test_it_says_of_itself_what_theirs_says() -> None:
    for attribute in ("_fields", "_field_defaults", "__doc__", "__module__"):
        assert getattr(Ours, attribute) == getattr(Same, attribute)


def test_a_field_without_a_default_does_not_follow_one_with() -> None:
    body = {"__module__": __name__, "__annotations__": {"path": "str", "lines": "int"}, "path": ""}
    made: Any = type(NamedTuple)
    with pytest.raises(TypeError, match="default"):
        made("Odd", (), body)


def test_a_plain_sync_loads_none_of_what_is_slow() -> None:
    """Each would take longer than git takes to query a remote on the same disk."""
    used = "from reflect_git.cli import fast_start, sync_view; from reflect_git.sync import merge"
    program = f"import sys; {used}; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-I", "-c", program], capture_output=True, text=True, check=True).stdout
    assert not {"click", "json", "dataclasses", "subprocess"} & set(loaded.split())
