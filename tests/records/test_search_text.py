"""A text is found and cut out in every form; a hash does not count as the text."""

from __future__ import annotations

import pytest

from reflect_git.records.search_text import TextSearch

HEX = "0a1b2c3d4e5f6a7b"


@pytest.mark.parametrize(
    "line", [f'key: "{HEX}"', f'text_sha256: "{HEX}"', f'purged: ["{HEX}", "{HEX}"]', f'sha256: "{HEX}"']
)
def test_a_hash_says_nothing_and_stays_as_it_is(line: str) -> None:
    data = f'version: 1\n{line}\ntext: "it"\n'.encode()
    assert not TextSearch(["2c3d"]).matches_bytes(data) and TextSearch(["2c3d"]).remove_matches(data) == data
    assert TextSearch(["it|2c3d"]).remove_matches(data) == data.replace(b'"it"', b'"[purged]"')


@pytest.mark.parametrize(
    "data", [b"version: 3\nkey: hunter2\n", b'version: 3\nsha256: "ab"\n\nkey: hunter2\n', b"key: hunter2"]
)
def test_what_is_only_called_like_a_hash_is_searched(data: bytes) -> None:
    sought = TextSearch(["hunter2"])
    assert sought.matches_bytes(data) and sought.remove_matches(data) == data.replace(b"hunter2", b"[purged]")


@pytest.mark.parametrize("start", [b"", b'version: 1\nkey: "ab"\n'])
def test_bytes_of_any_kind_are_cleaned(start: bytes) -> None:
    """The header of an archive has numbers between zeros."""
    data = start + b"hunter2 \x000000644\x00 \x005\x00 \xff"
    assert TextSearch(["hunter2"]).remove_matches(data) == data.replace(b"hunter2", b"[purged]")


def test_a_person_is_not_told_by_half() -> None:
    sought = TextSearch(["Quux", "Ada <ada@example.com>"])
    assert sought.clean_person(b"Bob Quux", b"bob@example.com") == (b"Bob [purged]", b"bob@example.com")
    assert sought.clean_person(b"Ada", b"ada@example.com") == (b"[purged]", b"[purged]")
    assert sought.clean_person(b"", b"") == (b"", b"")
