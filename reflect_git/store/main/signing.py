"""Sign decisions with ssh or gpg, with the key and the programs of the person's own git configuration.

`git fast-import` cannot sign, so the commit it made is made once more by `git commit-tree -S`.
"""

from __future__ import annotations

import os

from reflect_git.errors import ReflectError
from reflect_git.platform import files
from reflect_git.platform.git import COMMITTER, SETTINGS, SYNC_CONFIG, GitError
from reflect_git.store.repository import MAIN, PURGES_FOLDER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from reflect_git.store.repository import Store

SETTING = "reflect.sign"
GOOD, BAD, UNKNOWN = "signed", "BAD", "unknown"
_FORMATS = {"ssh": "ssh", "gpg": "openpgp"}
_SIGN_SECONDS = 120.0  # a person may have to touch a key or type a passphrase
_TRIAL_SECONDS = 15.0  # before it is switched off: who is there touches the key, an agent that is dead never answers
_MAX_KEY_BYTES = 1 << 16


def is_required(store: Store, paths: Iterable[str]) -> bool:
    """Return whether a commit with these files has to be signed."""
    return is_on(store.get_setting(SETTING)) and any(
        path.startswith(("decisions/", f"{PURGES_FOLDER}/")) for path in paths
    )


def is_on(value: object) -> bool:
    """Return whether this value of the setting turns signing on."""
    return value in _FORMATS


def require_working(store: Store, kind: str, seconds: float = _SIGN_SECONDS) -> None:
    """Raise an error if signing does not work, before it is turned on. The trial commit has no ref.

    A person who cannot sign could not record any decision.
    """
    try:
        sign_commit(store, str(store.git.resolve(MAIN)), kind, seconds)
    except ReflectError as error:
        said = error.message.partition(": ")[2]
        hint = "name a key of yours: git config --global user.signingKey KEY"
        raise ReflectError(f"nothing can be signed: {said}", hint, code="sign") from None


def is_working(store: Store) -> bool:
    """Return whether signing works now, with the configured key and programs, within a short time."""
    try:
        require_working(store, store.get_setting(SETTING), _TRIAL_SECONDS)
    except ReflectError:
        return False
    return True


def sign_commit(store: Store, commit: str, kind: str = "", seconds: float = _SIGN_SECONDS) -> str:
    """Return a signed copy of a commit, with this `kind` of signature or the store's. No ref points to it yet."""
    kind = kind or store.get_setting(SETTING)
    data = next(store.git.blobs([commit]))
    head, _, message = data.partition(b"\n\n")
    fields = [line.split(b" ", 1) for line in head.split(b"\n")]
    tree = next(value.decode("ascii") for name, value in fields if name == b"tree")
    parents = [word for name, value in fields if name == b"parent" for word in ("-p", value.decode("ascii"))]
    settings = store.git.get_user_config()
    name, _, mail = COMMITTER.rstrip(">").partition(" <")
    config = (
        f"gpg.format={_FORMATS[kind]}", f"user.name={name}", f"user.email={mail}",
        "i18n.commitEncoding=UTF-8", *SYNC_CONFIG,
    )  # fmt: skip
    try:
        made = store.git.run(
            "commit-tree", f"-S{_get_key(kind, settings)}", tree, *parents, "-F", "-", stdin=message, config=config,
            profile=SETTINGS, seconds=seconds,
        )  # fmt: skip
    except GitError as error:
        said = error.result.err.decode("utf-8", "replace").strip().rpartition("\n")[2] or "no answer"
        raise ReflectError(
            f"the decision could not be signed: {said}",
            f"see 'git config user.signingKey', or do without: reflect-git config --unset {SETTING}", code="sign",
        ) from error  # fmt: skip
    return made.out.decode("ascii").strip()


def _get_key(kind: str, settings: Mapping[str, Sequence[str]]) -> str:
    """Return the user's key. By default gpg would look for a key of the committer, which is reflect-git."""
    chosen = (settings.get("user.signingkey") or [""])[-1]
    if chosen or kind == "ssh":
        return chosen
    return (settings.get("user.email") or [""])[-1]


def verify_commits(store: Store, commits: Sequence[str]) -> dict[str, str]:
    """Return commit → result of checking its signature. All of these commits have one."""
    if not commits:
        return {}
    asked = "".join(f"{one}\n" for one in commits).encode("ascii")
    asking = ("log", "--no-walk=unsorted", "--stdin", "--format=%H %G? %GK")
    out = store.git.run(*asking, stdin=asked, config=_get_signers_config(store), profile=SETTINGS).out.decode(
        "ascii", "replace"
    )
    return {line[:40]: _parse_result(*line[41:].partition(" ")[::2]) for line in out.splitlines()}


def _parse_result(letter: str, key: str) -> str:
    """Map git's letter to good (also if expired since), bad (also if the key was revoked), or unknown.

    `U` means, for gpg, a known key that nobody vouched for; for ssh, any key that is not listed.
    """
    if letter in ("G", "X", "Y") or (letter == "U" and not key.startswith("SHA256:")):
        return GOOD
    return BAD if letter in ("B", "R") else UNKNOWN


def _get_signers_config(store: Store) -> tuple[str, ...]:
    """Return the config for allowed ssh signers; without the user's own file, trust only their own key."""
    settings = store.git.get_user_config()
    if settings.get("gpg.ssh.allowedsignersfile"):
        return ()
    public = _read_public_key(store, (settings.get("user.signingkey") or [""])[-1])
    if not public:
        return ()
    path = store.private_path("cache", "signers")
    files.write_atomic(path, f'* namespaces="git" {public}\n'.encode(), sync=False)
    return (f"gpg.ssh.allowedSignersFile={path}",)


def _read_public_key(store: Store, key: str) -> str:
    """Return the public key: `key::ssh-…`, the key itself, or from a file or the .pub file next to it."""
    text = key.removeprefix("key::") if key.startswith(("key::", "ssh-")) else ""
    if not text and key:
        path = os.path.join(store.env.get("HOME", ""), key[2:]) if key.startswith("~/") else key
        for name in (f"{path}.pub", path):
            data = (files.read_if_exists(name, _MAX_KEY_BYTES) if os.path.isabs(name) else None) or b""
            text = text or data.decode("utf-8", "replace").strip()
    return " ".join(text.split()[:2]) if text.startswith(("ssh-", "ecdsa-", "sk-")) else ""
