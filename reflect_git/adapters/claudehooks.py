"""Our hooks in the text of Claude Code's settings: found, added and taken out, every other byte left where it is."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from shlex import quote
from typing import Any

from reflect_git.adapters import jsonedit
from reflect_git.adapters.jsonedit import Entry
from reflect_git.errors import ReflectError

Hooks = dict[str, list[dict[str, Any]]]

MARK = "# reflect-git"
MALFORMED = "settings-malformed"
DOCUMENT = ""  # in a list of what we made: the file itself
_IN_PLUGIN = '"$CLAUDE_PLUGIN_ROOT/hooks/launch.sh"'
_BOM = b"\xef\xbb\xbf"


def has_ours(data: bytes | None) -> bool:
    return bool(data) and MARK.encode() in (data or b"") and bool(_ours(_value(_decode(data or b"")[1])))


def hooks_for(plugin_hooks: bytes, launcher: str) -> Hooks:
    """The hooks of the plugin as a settings file says them: by absolute path, and marked as ours."""
    hooks: Hooks = json.loads(plugin_hooks)["hooks"]
    for groups in hooks.values():
        for handler in (handler for group in groups for handler in group["hooks"]):
            handler["command"] = f"{handler['command'].replace(_IN_PLUGIN, quote(launcher))} {MARK}"
    return hooks


def with_hooks(data: bytes | None, hooks: Hooks, made: Sequence[str] | None) -> tuple[bytes, list[str]]:
    """Settings that have these hooks and no others of ours, and which containers we made for that.

    `made` is what an earlier call made, which goes with the old ones; None where nobody remembers.
    """
    bom, text = _decode(data or b"")
    if not text.strip(jsonedit.BLANK):
        added, new = _add("{}\n", hooks)
        return bom + added.encode(), [*new, DOCUMENT]
    if _ours(_value(text)) == _ours({"hooks": hooks}):
        return data or b"", list(made or ())
    _require_containers(text, hooks)
    added, new = _add(_remove(text, made), hooks)
    return bom + added.encode(), [*new, *(name for name in made or () if name == DOCUMENT)]


def without_hooks(data: bytes | None, made: Sequence[str] | None, blank: str | None) -> bytes | None:
    """Settings without our hooks; `blank` if we made the document and nothing else is in it by now.

    `made` is None where nobody remembers: what our hooks leave empty goes with them then.
    """
    if data is None or MARK.encode() not in data:
        return data
    bom, text = _decode(data)
    _value(text)
    left = _remove(text, made)
    if made and DOCUMENT in made and left != text and _value(left) == {}:
        return None if blank is None else bom + blank.encode()
    return bom + left.encode()


def _decode(data: bytes) -> tuple[bytes, str]:
    bom = _BOM if data.startswith(_BOM) else b""
    try:
        return bom, data[len(bom) :].decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[len(bom) :][: error.start].decode("utf-8")
        raise _malformed("it is not UTF-8", before, len(before)) from None


def _value(text: str) -> Any:
    try:
        value = jsonedit.parse(text)
    except ValueError as error:
        said = str(getattr(error, "msg", error))
        raise _malformed(said[:1].lower() + said[1:], text, int(getattr(error, "pos", 0))) from None
    except RecursionError:
        raise _malformed("it is nested too deeply", text, 0) from None
    if not isinstance(value, dict):
        raise _malformed("an object is expected", text, jsonedit.root(text))
    return value


def _malformed(what: str, text: str, position: int) -> ReflectError:
    """What is wrong and where; whoever knows the name of the file puts it before."""
    line, column = jsonedit.line_and_column(text, position)
    said = f"cannot be read: {what} (line {line}, column {column})"
    return ReflectError(said, "mend that place and run it again", code=MALFORMED)


def _is_ours(handler: Any) -> bool:
    command = handler.get("command") if isinstance(handler, dict) else None
    return isinstance(command, str) and "/hooks/launch.sh" in command and command.rstrip().endswith(MARK)


def _ours(settings: Any) -> list[tuple[str, str, str]]:
    """Event, matcher and command of each hook of ours; a time-out that a person changed makes it no other hook."""
    hooks = settings.get("hooks")
    groups = [
        (event, group)
        for event, listed in (hooks.items() if isinstance(hooks, dict) else ())
        for group in (listed if isinstance(listed, list) else ())
        if isinstance(group, dict) and isinstance(group.get("hooks"), list)
    ]
    return sorted(
        (event, str(group.get("matcher", "")), handler["command"])
        for event, group in groups
        for handler in group["hooks"]
        if _is_ours(handler)
    )


def _require_containers(text: str, hooks: Hooks) -> None:
    """Where something else stands in our place, it is a person's to say what it means."""
    top = jsonedit.find(text, jsonedit.root(text), "hooks")
    if top >= 0 and text[top] != "{":
        raise _malformed("'hooks' is not an object", text, top)
    for event in hooks if top >= 0 else ():
        listed = jsonedit.find(text, top, event)
        if listed >= 0 and text[listed] != "[":
            raise _malformed(f"'hooks.{event}' is not a list", text, listed)


def _add(text: str, hooks: Hooks) -> tuple[str, list[str]]:
    """From the beginning of the document to its end, and taken out from the end: each cut finds what its append left.

    In another order an entry could come between a container and the beginning of its line, which tells its indentation.
    """
    root = jsonedit.root(text)
    top = jsonedit.find(text, root, "hooks")
    if top < 0:
        return jsonedit.append(text, root, hooks, "hooks"), ["hooks", *hooks]
    there = {event: jsonedit.find(text, top, event) for event in hooks}
    for event in sorted((event for event in hooks if there[event] >= 0), key=lambda event: there[event]):
        for group in hooks[event]:
            text = jsonedit.append(text, jsonedit.find(text, top, event), group)
    made = [event for event in hooks if there[event] < 0]
    for event in made:
        text = jsonedit.append(text, top, hooks[event], event)
    return text, made


def _remove(text: str, made: Sequence[str] | None) -> str:
    while True:
        place = _last_of_ours(text, made)
        if place is None:
            return text
        text = jsonedit.cut(text, *place)


def _last_of_ours(text: str, made: Sequence[str] | None) -> tuple[int, int] | None:
    """The container and the index of what has to go first: a hook of ours, or what would be left empty around it."""
    root = jsonedit.root(text)
    for top, hooks in _containers(text, root, "{", "hooks"):
        for index, event in _containers(text, hooks.value, "["):
            for number, group in _containers(text, event.value, "{"):
                for _, listed in _containers(text, group.value, "[", "hooks"):
                    handlers = jsonedit.entries(text, listed.value)
                    mine = [i for i, one in enumerate(handlers) if _is_ours(jsonedit.value_at(text, one.value))]
                    if not mine:
                        continue
                    if len(handlers) > 1:
                        return listed.value, mine[-1]
                    if len(jsonedit.entries(text, event.value)) > 1 or not _made(event.key, made):
                        return event.value, number
                    if len(jsonedit.entries(text, hooks.value)) > 1 or not _made("hooks", made):
                        return hooks.value, index
                    return root, top
    return None


def _made(name: str, made: Sequence[str] | None) -> bool:
    return made is None or name in made


def _containers(text: str, opening: int, kind: str, key: str = "") -> Iterator[tuple[int, Entry]]:
    """The entries that are objects or arrays, the last one first, each with its index."""
    for index, entry in reversed(list(enumerate(jsonedit.entries(text, opening)))):
        if text[entry.value] == kind and key in ("", entry.key):
            yield index, entry
