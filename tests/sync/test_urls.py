"""URLs that git may be given, and those that it never sees."""

from __future__ import annotations

import pytest

from reflect_git.errors import ReflectError
from reflect_git.sync import urls


@pytest.mark.parametrize(
    "text, scheme, host",
    [
        ("https://example.com/ada/notes.git", "https", "example.com"),
        ("https://ada@example.com:8443/notes", "https", "example.com"),
        ("https://ada%40example.org@example.com/notes", "https", "example.com"),
        ("ssh://git@example.com:2222/ada/notes", "ssh", "example.com"),
        ("git@example.com:ada/notes.git", "ssh", "example.com"),
        ("example.com:notes", "ssh", "example.com"),
        ("file:///srv/notes.git", "file", ""),
        ("file://localhost/srv/notes.git", "file", ""),
        ("/media/stick/notes.git", "file", ""),
        ("http://127.0.0.1:8000/notes", "http", "127.0.0.1"),
        ("http://[::1]:8000/notes", "http", "::1"),
        ("git://localhost/notes", "git", "localhost"),
    ],
)
def test_an_address_is_taken(text: str, scheme: str, host: str) -> None:
    found = urls.parse(text)
    assert (found.text, found.scheme, found.host) == (text, scheme, host)
    assert found.protocols == ((scheme,) if scheme in ("http", "git") else ())


@pytest.mark.parametrize(
    "text",
    [
        "", "ext::sh -c 'touch /tmp/x'", "ext::sh", "fd::17", "fd::17/x", "-oProxyCommand=touch", "--upload-pack=x",
        "http://example.com/notes", "git://example.com/notes", "http://127.0.0.1.example.com/notes",
        "http://localhost@example.com/notes", "ftp://example.com/notes", "rsync://example.com/notes",
        "ssh://-oProxyCommand=x/notes", "ssh://git@-oProxyCommand=x/notes", "-oX@example.com:notes",
        "example.com:-notes", "-example.com:notes", "ssh://example.com", "https://example.com", "https:///notes",
        "file://example.com/notes", "file://", "notes", "../notes", "~/notes", "./a:b", "$HOME/notes", "/srv/$HOME",
        "/srv/`id`", "https://example.com/a\nb", "https://example.com/a b", "/srv/\x1b[31m", "/srv/\u202e", "\u0000",
        "https://example.com/" + "a" * 2000, "http://example.com#@localhost/notes", "http://example.com?@localhost/notes",
        "git://example.com%2F@localhost/notes", "ssh://%2DoProxyCommand=x/notes", "[-oProxyCommand=x]:notes",
    ],
)  # fmt: skip
def test_an_address_is_refused_with_what_is_allowed(text: str) -> None:
    """Row 52."""
    with pytest.raises(ReflectError) as refusal:
        urls.parse(text)
    assert refusal.value.exit_code == 2
    assert refusal.value.hint and "https://" in refusal.value.hint
    assert refusal.value.message.isprintable()


@pytest.mark.parametrize(
    "text", ["https://ada:pa55word@example.com/notes", "ssh://ada:x@example.com/notes", "ada:x@example.com:notes"]
)
def test_a_password_is_not_kept(text: str) -> None:
    with pytest.raises(ReflectError) as refusal:
        urls.parse(text)
    assert "pa55word" not in refusal.value.message


def test_a_token_for_a_user_name_is_not_kept() -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    with pytest.raises(ReflectError) as refusal:
        urls.parse(f"https://{token}@example.com/notes")
    assert token not in refusal.value.message and refusal.value.hint and "credential" in refusal.value.hint


def test_a_password_that_is_there_is_not_shown() -> None:
    assert urls.format_url("https://ada:x@example.com/notes") == "https://ada@example.com/notes"
    for plain in ("https://example.com/notes", "git@example.com:notes", "/srv/notes"):
        assert urls.format_url(plain) == plain
