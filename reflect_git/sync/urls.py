"""Check the address of a remote before git sees it: git would run a program for `ext::sh -c …`."""

from __future__ import annotations

from reflect_git import redact
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.records.named_tuple import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

ALLOWED_FORMS = "https://, ssh://, user@host:path, file://, or an absolute path"
_ENCRYPTED_SCHEMES, _LOOPBACK_SCHEMES = ("https", "ssh"), ("http", "git")
_FORBIDDEN_CHARACTERS = frozenset("$`\\\"'<>|;{}*")
# Programs may disagree where a host ends: curl ends it at these, and git first decodes `%2F` in its own schemes, so
# `git://example.com%2F@localhost/x` connects to example.com.
_HOST_ENDS = frozenset("#?")
_MAX_LENGTH = 1000
CREDENTIAL_HINT = "leave it out and let git ask a credential helper: git config --global credential.helper cache"


class Address(NamedTuple):
    """A checked address; `scheme` is ssh for the scp form and file for a path."""

    text: str
    scheme: str
    host: str

    @property
    def protocols(self) -> tuple[str, ...]:
        """Return protocols that git must be allowed in addition to the default ones."""
        return (self.scheme,) if self.scheme in _LOOPBACK_SCHEMES else ()


def parse(text: str) -> Address:
    """Return the address, or raise an error that says what is allowed."""
    if not text or len(text) > _MAX_LENGTH or not text.isprintable() or any(c.isspace() for c in text):
        _refuse(text, "it has characters that no address has")
    if text.startswith("-") or ("::" in text.partition("/")[0] and not text.startswith("[")):
        _refuse(text, "git would not take it for an address")
    if _FORBIDDEN_CHARACTERS & set(text):
        _refuse(text, "it has characters that a shell would act on")
    if text.startswith("/"):
        return Address(text, "file", "")
    scheme, separator, rest = text.partition("://")
    return _parse_url(text, scheme.lower(), rest) if separator else _parse_scp(text)


def _parse_url(text: str, scheme: str, rest: str) -> Address:
    authority, slash, path = rest.partition("/")
    if scheme == "file":
        if authority not in ("", "localhost") or not path:
            _refuse(text, "it names no folder of this machine")
        return Address(text, scheme, "")
    if _HOST_ENDS & set(authority) or ("%" in authority and scheme not in ("http", "https")):
        _refuse(text, "its host could be read in two ways")
    user, _, place = authority.rpartition("@")
    _require_no_password(text, user)
    host = _get_host(place)
    if scheme not in (*_ENCRYPTED_SCHEMES, *_LOOPBACK_SCHEMES):
        _refuse(text, f"'{scheme}' is not among them")
    if not host or host.startswith("-") or user.startswith("-") or not slash or not path:
        _refuse(text, "it names no repository")
    if scheme in _LOOPBACK_SCHEMES and not is_loopback(host):
        _refuse(text, f"'{scheme}' sends everything readable to all")
    return Address(text, scheme, host)


def _parse_scp(text: str) -> Address:
    """Parse `user@host:path`."""
    place, colon, path = text.partition(":")
    user, _, host = place.rpartition("@")
    if not colon or "/" in place or not host or not path:
        _refuse(text, "unknown form")
    if host.lstrip("[").startswith("-") or user.startswith("-") or path.startswith("-"):
        _refuse(text, "a part of it looks like an option")
    _require_no_password(text, f"{host}:{path}" if "@" in path and not user else user)
    return Address(text, "ssh", host)


def _get_host(place: str) -> str:
    """Return the host without the port; an IPv6 address is in brackets."""
    if place.startswith("["):
        return place[1:].partition("]")[0]
    return place.partition(":")[0]


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine."""
    if host.lower() in ("localhost", "::1"):
        return True
    parts = host.split(".")
    return len(parts) == 4 and parts[0] == "127" and all(part.isascii() and part.isdigit() for part in parts)


def _require_no_password(text: str, user: str) -> None:
    """Refuse passwords: they would be in the store's config and in the output of `git remote -v`."""
    if ":" in user or redact.find_secrets(text):
        raise ReflectError(
            "the address of a remote may not hold a password or a token", CREDENTIAL_HINT, "usage", EXIT_USAGE
        )


def get_host(text: str) -> str:
    """Return the host of an address; empty for a folder, or for an address we would not have set."""
    try:
        return parse(text).host
    except ReflectError:
        return ""


def format_url(text: str) -> str:
    """Return an address for messages, without a password that may already be in the config."""
    scheme, separator, rest = text.partition("://")
    authority, slash, path = rest.partition("/")
    user, at, host = authority.rpartition("@")
    if not separator or not at or ":" not in user:
        return text
    return f"{scheme}://{user.partition(':')[0]}@{host}{slash}{path}"


def _refuse(text: str, why: str) -> NoReturn:
    said = "".join(c if c.isprintable() else "?" for c in text[:80])
    raise ReflectError(f"'{said}' is not a remote address: {why}", f"one of {ALLOWED_FORMS}", "usage", EXIT_USAGE)
