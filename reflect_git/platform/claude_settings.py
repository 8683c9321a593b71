"""Read and edit Claude Code's settings file: our plugin, our hooks, and copies of the plugin.

The editor changes only the bytes of our own entries and keeps the format of the rest.
"""

from __future__ import annotations

import glob
import json
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from shlex import quote
from typing import Any

from reflect_git.errors import ReflectError
from reflect_git.platform import faults, files
from reflect_git.records import json_form
from reflect_git.records.named_tuple import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

_NAME = "reflect-git"
_PLUGIN_PREFIX = f"{_NAME}@"
_ORPHAN_MARKER = ".orphaned_at"  # the client writes this into a copy whose plugin was uninstalled or updated
_SCOPE_FILES = {"project": "settings.json", "local": "settings.local.json"}
_MAX_BYTES = 4 << 20


def get_settings_path(config_dir: str) -> str:
    """Return the path of the user's settings file."""
    return os.path.join(config_dir, "settings.json")


def read_settings(path: str) -> Optional[bytes]:
    """Return the file's bytes, following links; None if there is no file."""
    return files.read_if_exists(os.path.realpath(path), _MAX_BYTES)


def has_plugin(data: Optional[bytes]) -> bool:
    """Return whether these settings enable our plugin, from any marketplace."""
    enabled = _load_mapping(data, "enabledPlugins")
    return any(name.startswith(_PLUGIN_PREFIX) and on is True for name, on in enabled.items())


def find_projects_with_plugin(config_dir: str) -> list[tuple[str, str]]:
    """List (folder, scope) of the projects that enable our plugin for themselves.

    The scope is 'project' for everyone who works there and 'local' for this user. The client lists installed plugins;
    the project's own settings say whether the plugin is on.
    """
    installed = _load_mapping(_read_file(os.path.join(config_dir, "plugins", "installed_plugins.json")), "plugins")
    ours = [each for name, each in installed.items() if name.startswith(_PLUGIN_PREFIX) and isinstance(each, list)]
    listed = [one for each in ours for one in each if isinstance(one, dict)]
    found = [(str(one.get("projectPath") or ""), str(one.get("scope"))) for one in listed]
    named = [(folder, scope) for folder, scope in found if scope in _SCOPE_FILES and os.path.isabs(folder)]
    return [(folder, scope) for folder, scope in named if _is_plugin_enabled(folder, scope)]


def _is_plugin_enabled(folder: str, scope: str) -> bool:
    return has_plugin(_read_file(os.path.join(folder, ".claude", _SCOPE_FILES[scope])))


def _read_file(path: str) -> Optional[bytes]:
    """Return a file's bytes; None if it is missing or unreadable."""
    try:
        return files.read_if_exists(path, _MAX_BYTES)
    except (OSError, ValueError):
        return None


def has_marketplace(data: Optional[bytes]) -> bool:
    """Return whether these settings contain the marketplace that ships with our plugin."""
    return _NAME in _load_mapping(data, "extraKnownMarketplaces")


def get_marketplace_folder(data: Optional[bytes]) -> str:
    """Return the folder that the marketplace was added from; empty if it was not added from a folder."""
    known = _load_mapping(data, "extraKnownMarketplaces").get(_NAME)
    source = known.get("source") if isinstance(known, dict) else None
    path = source.get("path") if isinstance(source, dict) and source.get("source") == "directory" else None
    return path if isinstance(path, str) else ""


def _load_mapping(data: Optional[bytes], name: str) -> dict[str, Any]:
    """Return a mapping from the settings; empty, without parsing, if they do not mention us."""
    if not data or _NAME.encode() not in data:
        return {}
    try:
        settings = json_form.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return {}
    found = settings.get(name) if isinstance(settings, dict) else None
    return found if isinstance(found, dict) else {}


def list_plugin_copies(config_dir: str, left_over: bool = False) -> list[str]:
    """List the client's copies of the plugin, one for each version. `left_over`: only those no longer used."""
    found = glob.glob(os.path.join(glob.escape(config_dir), "plugins", "cache", "*", _NAME, "*", ""))
    kept = [path.rstrip("/") for path in sorted(found)]
    return [path for path in kept if os.path.exists(os.path.join(path, _ORPHAN_MARKER))] if left_over else kept


def require_replaceable(path: str, home: str) -> str:
    """Return the real path of a settings file; raise an error if we may not replace it."""
    real = os.path.realpath(path)
    homes = [os.path.realpath(folder) + os.sep for folder in (home, os.path.dirname(path))]
    if not real.startswith(tuple(homes)):
        raise _foreign_error(path, f"is a link to '{real}', outside your home folder", "change that file yourself")
    try:
        status = os.stat(real)
    except FileNotFoundError:
        if os.path.islink(path):
            raise _foreign_error(
                path, f"is a link to '{real}', which is not there", "make that file or remove it"
            ) from None
        return real
    if not os.access(os.path.dirname(real), os.W_OK):
        raise _foreign_error(path, "is in a folder that cannot be written to", "see who owns that folder")
    if not stat.S_ISREG(status.st_mode):
        raise _foreign_error(path, "is not a file", "move it away")
    if status.st_uid != os.geteuid():
        raise _foreign_error(path, "belongs to another user", "run as its owner")
    if status.st_nlink > 1:
        what = f"has {status.st_nlink} hard links; replacing it would separate them"
        raise _foreign_error(
            path, what, f"make the others symbolic links to it, or separate it: {_format_copy_command(real)}"
        )
    if not status.st_mode & stat.S_IWUSR:
        raise _foreign_error(path, "is read-only", f"allow it: chmod u+w '{path}'")
    return real


def _format_copy_command(path: str) -> str:
    import shlex  # rarely needed

    return "cp -p {0} {1} && mv {1} {0}".format(shlex.quote(path), shlex.quote(f"{path}.copy"))


def replace_settings(path: str, home: str, before: Optional[bytes], after: Optional[bytes]) -> bool:
    """Replace `before` with `after` atomically; return False if the file has changed since."""
    real = require_replaceable(path, home)
    if after is None:
        if read_settings(path) != before:
            return False
        files.remove(real)
    else:
        mode = files.PRIVATE_FILE if before is None else stat.S_IMODE(os.stat(real).st_mode)
        files.make_private_dirs(os.path.dirname(real))
        staged = _write_staged(real, after, mode)
        if read_settings(path) != before:
            files.remove(staged)
            return False
        files.rename(staged, real)
    files.sync_directory(os.path.dirname(real))
    return True


def get_staging_path(path: str) -> str:
    """Return the temporary path next to the real file.

    The name is fixed, so the next run overwrites the leftovers of a kill.
    """
    folder, name = os.path.split(os.path.realpath(path))
    return os.path.join(folder, f".{name}.reflect-git")


def _write_staged(path: str, data: bytes, mode: int) -> str:
    staged = get_staging_path(path)
    faults.point("write", staged)
    descriptor = os.open(
        staged, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, files.PRIVATE_FILE
    )
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fchmod(descriptor, mode)
            faults.point("sync", staged)
            os.fsync(descriptor)
    except BaseException:
        files.discard(staged)
        raise
    return staged


def _foreign_error(path: str, what: str, hint: str) -> ReflectError:
    return ReflectError(f"'{path}' {what}", hint, code="settings-foreign")


Hooks = dict[str, list[dict[str, Any]]]
Test = Callable[[Any], bool]

HOOK_MARK = "# reflect-git"
GUARD_MARK = "/.git/reflect/guard"
CALL_EVENT, STOP_EVENT = "PreToolUse", "Stop"  # the events of guards
_GUARD_TOOLS = "Bash|Read|Grep|Edit|Write|NotebookEdit|mcp__.*"
_GUARD_SECONDS = 5
MALFORMED_CODE = "settings-malformed"
DOCUMENT = ""  # means the file itself, in the list of containers we created
_PLUGIN_LAUNCHER = '"$CLAUDE_PLUGIN_ROOT/hooks/launch.sh"'
_BOM = b"\xef\xbb\xbf"


def has_our_hooks(data: bytes | None) -> bool:
    """Return whether these settings have hooks of ours."""
    return bool(data) and HOOK_MARK.encode() in (data or b"") and bool(_list_hooks_in(data, _is_our_hook))


def list_guard_entries(data: bytes | None) -> list[tuple[str, list[str]]]:
    """List event, program and arguments of every guard entry in these settings."""
    if not data or GUARD_MARK.encode() not in data:
        return []
    return [(event, words) for event, _, words in _list_hooks_in(data, _is_guard_entry)]


def _list_hooks_in(data: bytes | None, is_ours: Test) -> list[tuple[str, str, list[str]]]:
    return _list_our_hooks(_parse_object(_decode(data or b"")[1]), is_ours)


def build_hooks(plugin_hooks: bytes, launcher: str) -> Hooks:
    """Return the plugin's hooks for a settings file: with absolute paths, and marked as ours."""
    hooks: Hooks = json.loads(plugin_hooks)["hooks"]
    for groups in hooks.values():
        for handler in (handler for group in groups for handler in group["hooks"]):
            handler["command"] = f"{handler['command'].replace(_PLUGIN_LAUNCHER, quote(launcher))} {HOOK_MARK}"
    return hooks


def build_guard_hooks(script: str, events: Sequence[str] = (CALL_EVENT,)) -> Hooks:
    """Return the entries that run the script of the guards before a tool call, or at the end of a turn.

    They have to end with 0 whatever happens to the script: a shell that cannot read its script ends with 2, which
    Claude Code takes as a refusal of the call.
    """
    path = quote(script)
    built: Hooks = {}
    for event in events:
        run, matcher = (path, {"matcher": _GUARD_TOOLS}) if event == CALL_EVENT else (f"{path} stop", {})
        line = f"[ -f {path} ] && [ -r {path} ] && [ -x {path} ] && exec {run}; exit 0"
        handler = {"type": "command", "command": "/bin/sh", "args": ["-c", line], "timeout": _GUARD_SECONDS}
        built[event] = [{**matcher, "hooks": [handler]}]
    return built


def add_guard_entry(
    data: bytes | None, script: str, made: Sequence[str] | None, events: Sequence[str] = (CALL_EVENT,)
) -> tuple[bytes, list[str]]:
    """Return the settings with one guard entry for each event, and the containers we created; as `add_hooks`."""
    return add_hooks(data, build_guard_hooks(script, events), made, _is_guard_entry)


def remove_guard_entry(data: bytes | None, made: Sequence[str] | None, blank: str | None) -> bytes | None:
    """Return the settings without the guard entry; as `remove_hooks`."""
    if data is None or GUARD_MARK.encode() not in data:
        return data
    return _remove_hooks(data, made, blank, _is_guard_entry)


def add_hooks(
    data: bytes | None, hooks: Hooks, made: Sequence[str] | None, is_ours: Test | None = None
) -> tuple[bytes, list[str]]:
    """Return the settings with exactly these hooks of ours, and the containers we created for them.

    `made` lists the containers that an earlier call created; they are removed with the old hooks. None if unknown.
    """
    is_ours = is_ours or _is_our_hook
    bom, text = _decode(data or b"")
    if not text.strip(WHITESPACE):
        added, new = _insert_hooks("{}\n", hooks)
        return bom + added.encode(), [*new, DOCUMENT]
    if _list_our_hooks(_parse_object(text), is_ours) == _list_our_hooks({"hooks": hooks}, is_ours):
        return data or b"", list(made or ())
    _require_containers(text, hooks)
    left = _cut_hooks(text, made, is_ours)
    added, new = _insert_hooks(left, hooks)
    # A container that we created for other hooks of ours is still ours.
    kept = [name for name in made or () if name not in new and (name == DOCUMENT or _has_container(left, name))]
    return bom + added.encode(), [*new, *kept]


def remove_hooks(data: bytes | None, made: Sequence[str] | None, blank: str | None) -> bytes | None:
    """Return the settings without our hooks; `blank` if we created the document and nothing else is left in it.

    `made` is None if unknown: then containers that our hooks leave empty are removed too.
    """
    if data is None or HOOK_MARK.encode() not in data:
        return data
    return _remove_hooks(data, made, blank, _is_our_hook)


def _remove_hooks(data: bytes, made: Sequence[str] | None, blank: str | None, is_ours: Test) -> bytes | None:
    bom, text = _decode(data)
    _parse_object(text)
    left = _cut_hooks(text, made, is_ours)
    if made and DOCUMENT in made and left != text and _parse_object(left) == {}:
        return None if blank is None else bom + blank.encode()
    return bom + left.encode()


def _decode(data: bytes) -> tuple[bytes, str]:
    bom = _BOM if data.startswith(_BOM) else b""
    try:
        return bom, data[len(bom) :].decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[len(bom) :][: error.start].decode("utf-8")
        raise _malformed_error("it is not UTF-8", before, len(before)) from None


def _parse_object(text: str) -> Any:
    try:
        value = parse_json(text)
    except ValueError as error:
        said = str(getattr(error, "msg", error))
        raise _malformed_error(said[:1].lower() + said[1:], text, int(getattr(error, "pos", 0))) from None
    except RecursionError:
        raise _malformed_error("it is nested too deeply", text, 0) from None
    if not isinstance(value, dict):
        raise _malformed_error("an object is expected", text, find_root(text))
    return value


def _malformed_error(what: str, text: str, position: int) -> ReflectError:
    """Return an error with the position; the caller adds the file name in front."""
    line, column = get_line_and_column(text, position)
    said = f"cannot be read: {what} (line {line}, column {column})"
    return ReflectError(said, "correct it and try again", code=MALFORMED_CODE)


def _is_our_hook(handler: Any) -> bool:
    command = handler.get("command") if isinstance(handler, dict) else None
    return isinstance(command, str) and "/hooks/launch.sh" in command and command.rstrip().endswith(HOOK_MARK)


def _is_guard_entry(handler: Any) -> bool:
    given = handler.get("args") if isinstance(handler, dict) else None
    line = given[1] if isinstance(given, list) and len(given) == 2 else None
    return isinstance(line, str) and line.startswith("[ -") and GUARD_MARK in line and line.endswith("; exit 0")


def _list_our_hooks(settings: Any, is_ours: Test) -> list[tuple[str, str, list[str]]]:
    """List event, matcher and words of our hooks. Ignores the timeout, which a person may have changed."""
    hooks = settings.get("hooks")
    groups = [
        (event, group)
        for event, listed in (hooks.items() if isinstance(hooks, dict) else ())
        for group in (listed if isinstance(listed, list) else ())
        if isinstance(group, dict) and isinstance(group.get("hooks"), list)
    ]
    return sorted(
        (event, str(group.get("matcher", "")), [str(handler.get("command")), *map(str, handler.get("args") or ())])
        for event, group in groups
        for handler in group["hooks"]
        if is_ours(handler)
    )


def _require_containers(text: str, hooks: Hooks) -> None:
    """Raise an error if `hooks`, or the entry of an event, has the wrong type; a person has to fix that."""
    top = find_value(text, find_root(text), "hooks")
    if top >= 0 and text[top] != "{":
        raise _malformed_error("'hooks' is not an object", text, top)
    for event in hooks if top >= 0 else ():
        listed = find_value(text, top, event)
        if listed >= 0 and text[listed] != "[":
            raise _malformed_error(f"'hooks.{event}' is not a list", text, listed)


def _insert_hooks(text: str, hooks: Hooks) -> tuple[str, list[str]]:
    """Add the hooks from the start of the document to its end; return the text and the containers created.

    `_cut_hooks` works backwards, so each cut matches its append. In another order an entry could end up between a
    container and the start of its line, which gives the indentation.
    """
    root = find_root(text)
    top = find_value(text, root, "hooks")
    if top < 0:
        return append_entry(text, root, hooks, "hooks"), ["hooks", *hooks]
    there = {event: find_value(text, top, event) for event in hooks}
    for event in sorted((event for event in hooks if there[event] >= 0), key=lambda event: there[event]):
        for group in hooks[event]:
            text = append_entry(text, find_value(text, top, event), group)
    made = [event for event in hooks if there[event] < 0]
    for event in made:
        text = append_entry(text, top, hooks[event], event)
    return text, made


def _has_container(text: str, name: str) -> bool:
    """Return whether `hooks` is there, or the list of an event in it."""
    top = find_value(text, find_root(text), "hooks")
    return top >= 0 and (name == "hooks" or (text[top] == "{" and find_value(text, top, name) >= 0))


def _cut_hooks(text: str, made: Sequence[str] | None, is_ours: Test) -> str:
    """Remove our hooks, the last one first."""
    while True:
        place = _find_last_entry(text, made, is_ours)
        if place is None:
            return text
        text = remove_entry(text, *place)


def _find_last_entry(text: str, made: Sequence[str] | None, is_ours: Test) -> tuple[int, int] | None:
    """Return container and index of the next entry to remove: a hook of ours, or a container it would leave empty."""
    root = find_root(text)
    for top, hooks in _iter_containers(text, root, "{", "hooks"):
        for index, event in _iter_containers(text, hooks.value, "["):
            for number, group in _iter_containers(text, event.value, "{"):
                for _, listed in _iter_containers(text, group.value, "[", "hooks"):
                    handlers = list_entries(text, listed.value)
                    mine = [i for i, one in enumerate(handlers) if is_ours(get_value(text, one.value))]
                    if not mine:
                        continue
                    if len(handlers) > 1:
                        return listed.value, mine[-1]
                    if len(list_entries(text, event.value)) > 1 or not _was_created(event.key, made):
                        return event.value, number
                    if len(list_entries(text, hooks.value)) > 1 or not _was_created("hooks", made):
                        return hooks.value, index
                    return root, top
    return None


def _was_created(name: str, made: Sequence[str] | None) -> bool:
    return made is None or name in made


def _iter_containers(text: str, opening: int, kind: str, key: str = "") -> Iterator[tuple[int, Entry]]:
    """Yield the entries that are objects or arrays with their index, the last one first."""
    for index, entry in reversed(list(enumerate(list_entries(text, opening)))):
        if text[entry.value] == kind and key in ("", entry.key):
            yield index, entry


WHITESPACE = " \t\n\r"
_DEFAULT_INDENT = "  "  # the indentation that Claude Code writes


class Entry(NamedTuple):
    """A member of an object (`start` is that of its key) or an item of an array (`key` is empty)."""

    key: str
    start: int
    value: int
    end: int


def _refuse_constant(word: str) -> Any:
    raise ValueError(word)


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)


def parse_json(text: str) -> Any:
    """Return the document's value; raise a ValueError with line and column (`json.JSONDecodeError`)."""
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError:
        raise
    except ValueError as error:
        raise json.JSONDecodeError(f"{error} is not JSON", text, max(0, text.find(str(error)))) from None


def find_root(text: str) -> int:
    """Return the position of the document's value."""
    return _skip_whitespace(text, 0)


def get_value(text: str, position: int) -> Any:
    """Return the value that starts at a position."""
    return _DECODER.raw_decode(text, position)[0]


def get_line_and_column(text: str, position: int) -> tuple[int, int]:
    """Return line and column of a position, both counted from 1."""
    return text.count("\n", 0, position) + 1, position - text.rfind("\n", 0, position)


def list_entries(text: str, opening: int) -> list[Entry]:
    """List the entries of the object or array that opens at a position, in a text that `parse` accepts."""
    found: list[Entry] = []
    position = _skip_whitespace(text, opening + 1)
    while text[position] not in "}]":
        start, key = position, ""
        if text[opening] == "{":
            key, position = _DECODER.raw_decode(text, position)
            position = _skip_whitespace(text, _skip_whitespace(text, position) + 1)
        end = _DECODER.raw_decode(text, position)[1]
        found.append(Entry(key, start, position, end))
        position = _skip_whitespace(text, end)
        if text[position] == ",":
            position = _skip_whitespace(text, position + 1)
    return found


def find_value(text: str, opening: int, key: str) -> int:
    """Return the position of a key's value, or -1. Of duplicate keys the last one counts, as in every JSON reader."""
    return next((entry.value for entry in reversed(list_entries(text, opening)) if entry.key == key), -1)


def append_entry(text: str, opening: int, value: Any, key: str = "") -> str:
    """Add one entry at the end of an object or array, in the format of the document."""
    there = list_entries(text, opening)
    newline, unit = _detect_newline(text), _detect_indent(text)
    if there:
        gap = _get_gap_before(text, there[-1].start)
        lead = "," + (gap if gap or len(there) > 1 else _detect_space(text))
        base = _get_indent(text, there[-1].start)
        return _insert_text(text, there[-1].end, lead + _format_entry(text, key, value, newline + base, unit))
    outer = newline + _get_indent(text, opening)
    if not _is_multiline(text):
        return _insert_text(text, opening + 1, _format_entry(text, key, value, newline, unit))
    return _insert_text(text, opening + 1, outer + unit + _format_entry(text, key, value, outer + unit, unit) + outer)


def remove_entry(text: str, opening: int, index: int) -> str:
    """Remove one entry. Undoes an `append` completely, even if the container has other new entries."""
    there = list_entries(text, opening)
    entry = there[index]
    if index:
        return text[: there[index - 1].end] + text[entry.end :]
    if len(there) > 1:
        return text[: entry.start] + text[there[1].start :]
    lead, rest = text[opening + 1 : entry.start], text[entry.end :]
    outer = _detect_newline(lead) + _get_indent(text, opening)
    if lead.startswith(("\n", "\r\n")) and rest.startswith(outer):
        rest = rest[len(outer) :]
    return text[: opening + 1] + rest


def _insert_text(text: str, position: int, added: str) -> str:
    return text[:position] + added + text[position:]


def _skip_whitespace(text: str, position: int) -> int:
    while position < len(text) and text[position] in WHITESPACE:
        position += 1
    return position


def _get_gap_before(text: str, position: int) -> str:
    """Return the white space before an entry; if it spans several lines, only the last line break and indent."""
    start = position
    while text[start - 1] in WHITESPACE:
        start -= 1
    gap = text[start:position]
    line = gap.rfind("\n")
    if line > 0:
        return gap[line - 1 :] if gap[line - 1] == "\r" else gap[line:]
    return gap


def _get_indent(text: str, position: int) -> str:
    """Return the white space at the start of a position's line."""
    start = text.rfind("\n", 0, position) + 1
    end = start
    while text[end : end + 1] in (" ", "\t"):
        end += 1
    return text[start:end]


def _detect_newline(text: str) -> str:
    line = text.find("\n")
    return "\r\n" if line > 0 and text[line - 1] == "\r" else "\n"


def _is_multiline(text: str) -> bool:
    """Return whether the document spans several lines; an empty document will."""
    return "\n" in text.strip(WHITESPACE) or not list_entries(text, find_root(text))


def _detect_indent(text: str) -> str:
    """Return one step of indentation: that of the first entry on a line of its own."""
    opening = find_root(text)
    for entry in list_entries(text, opening):
        gap = _get_gap_before(text, entry.start)
        own = gap[gap.rfind("\n") + 1 :]
        if "\n" in gap and own.startswith(_get_indent(text, opening)) and own != _get_indent(text, opening):
            return own[len(_get_indent(text, opening)) :]
    return _DEFAULT_INDENT


def _detect_space(text: str) -> str:
    """Return the space that a one-line document puts after commas and colons."""
    opening = find_root(text)
    for entry in list_entries(text, opening):
        return " " if text[entry.value - 1] == " " else ""
    return " "


def _format_entry(text: str, key: str, value: Any, newline: str, unit: str) -> str:
    if _is_multiline(text):
        shown = json.dumps(value, ensure_ascii=False, indent=unit).replace("\n", newline)
        return f"{json.dumps(key, ensure_ascii=False)}: {shown}" if key else shown
    space = _detect_space(text)
    shown = json.dumps(value, ensure_ascii=False, separators=("," + space, ":" + space))
    return f"{json.dumps(key, ensure_ascii=False)}:{space}{shown}" if key else shown
