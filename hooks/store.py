#!/usr/bin/env python3
"""The store's interface for scripts: `python3 -I -S hooks/store.py append '{…}'`.

Each command prints one JSON document on stdout; see USAGE. Arguments are parsed by hand, because argparse would cost a
capture 8 ms. Modules that only some commands need are imported by those commands.
"""

from __future__ import annotations

import os
import sys

# The package is next to this folder in a checkout, and around it (reflect_git/data/hooks) when installed.
_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(
    0, _ROOT if os.path.isdir(os.path.join(_ROOT, "reflect_git")) else os.path.dirname(os.path.dirname(_ROOT))
)

from reflect_git import paths  # noqa: E402
from reflect_git.capture import service  # noqa: E402
from reflect_git.errors import EXIT_BUG, EXIT_INTERRUPTED, EXIT_USAGE, ReflectError  # noqa: E402
from reflect_git.records import schema  # noqa: E402
from reflect_git.records.ids import plural, utc_precise  # noqa: E402

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from reflect_git.store.reading.reader import Scan, Snapshot
    from reflect_git.store.repository import Store

    Options = dict[str, list[str]]

USAGE = """\
store.py append '{…}' | -            store one signal (a JSON object; - reads it from stdin)
store.py query [--status WORD] [--type WORD] [--since TIME] [--tag WORD]… [--session ID|current] [--project P]
store.py get ID                      the record of an id, or of its unique beginning
store.py update ID '{…}'             change the status of a signal: {"status": …, "related": […], "reason": …}
store.py archive BEFORE [STATUS]     archive signals that are older
store.py stats [--format statusline] counts, as JSON or as one short line
store.py promote ID TARGET CONTENT   record an approved text; TARGET is a path, or KIND:PATH
"""
FILTERS = ("status", "type", "since", "tag", "session", "project")
# The fields that a caller may set; we fill the rest of a signal.
FACTS = (
    "type", "content", "context", "category", "tags", "confidence", "source", "session_id", "project", "meta",
    "timestamp", "trust",
)  # fmt: skip
TARGET_KINDS = ("project", "project-local", "global", "rules", "global-rules", "improvements", "agents", "dir")
OWN_WORDS = ("user_typed", "user_feedback")
WAIT = 5.0


def main(words: Sequence[str]) -> int:
    """Run a command and map each kind of error to a JSON document and an exit code."""
    os.umask(0o077)
    try:
        run_command(words)
        sys.stdout.flush()
        return 0
    except ReflectError as error:
        return print_error(error)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        where = f" '{error.filename}'" if isinstance(error.filename, str) else ""
        return print_error(ReflectError(f"{(error.strerror or str(error)).lower()}{where}", code="system"))
    except RecursionError:
        return print_error(usage_error("the entry is nested too deeply"))
    except KeyboardInterrupt:
        return print_error(ReflectError("interrupted", code="interrupted", exit_code=EXIT_INTERRUPTED))
    except Exception as error:
        said = f"bug: {type(error).__name__}: {error}".partition("\n")[0]
        return print_error(ReflectError(said, "please report it", "bug", EXIT_BUG))


def run_command(words: Sequence[str]) -> None:
    """Look up the command and run it."""
    name = words[0] if words else ""
    if name in ("-h", "--help", "help"):
        sys.stdout.write(USAGE)
        return
    step = COMMANDS.get(name)
    if step is None:
        raise usage_error(
            f"'{name}' is not a store command" if name else "a command is missing", f"one of: {', '.join(COMMANDS)}"
        )
    step(words[1:])


def print_result(data: Any) -> None:
    """Print the result of a command."""
    print_document({"schema_version": 1, "data": data})


def print_error(error: ReflectError) -> int:
    """Print an error document and return its exit code."""
    print_document({"schema_version": 1, "error": {"code": error.code, "message": error.message, "hint": error.hint}})
    return error.exit_code


def print_document(document: Mapping[str, Any]) -> None:
    """Print a JSON document as UTF-8, whatever the locale; escape lone surrogates, which UTF-8 cannot encode."""
    import json  # takes 10 ms, which a capture saves

    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace") + b"\n")


def usage_error(message: str, hint: str = "see 'store.py --help'") -> ReflectError:
    """Return a usage error."""
    return ReflectError(message, hint, "usage", EXIT_USAGE)


def append(words: Sequence[str]) -> None:
    """Store one signal and print its id and commit."""
    (text,) = parse_positional(words, "append '{…}' | -", 1)
    facts = read_object(text)
    store = service.open_store(os.environ)
    signal, commit = service.capture_signal(store, build_facts(store, facts), os.environ, WAIT)
    where = f'"{commit}"' if commit else "null"
    sys.stdout.write('{"schema_version":1,"data":{"id":"%s","commit":%s}}\n' % (signal["id"], where))


def build_facts(store: Store, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that the caller may set.

    A caller can lower its trust; only a person at a terminal can raise it.
    """
    facts = {name: given[name] for name in FACTS if name in given}
    if facts.get("trust") in OWN_WORDS and not is_person():
        raise ReflectError(
            f"trust '{facts['trust']}' needs a person at a terminal",
            "leave 'trust' out, or say 'assistant'",
            code="trust",
        )
    if facts.get("trust") in OWN_WORDS:  # typed at a terminal, so no hook is its source
        facts.pop("source", None)
    if isinstance(facts.get("project"), str):
        facts["project"] = service.get_project(store, facts["project"])
    return facts


def is_person() -> bool:
    """Return whether a person is at the terminal.

    Never true inside Claude Code, because a model can have a terminal.
    """
    return sys.stdin.isatty() and sys.stdout.isatty() and not is_inside_client()


def is_inside_client() -> bool:
    """Return whether Claude Code started us.

    Also check the processes above us: a command can unset the client's variables.
    """
    from reflect_git.platform import processes

    return processes.is_client_environment(os.environ) or processes.has_client_parent()


def read_object(text: str) -> dict[str, Any]:
    """Return a JSON object from the command line or, for '-', from stdin."""
    from reflect_git.hook import parse_event, read_input

    try:
        return parse_event(read_input(sys.stdin.fileno()) if text == "-" else os.fsencode(text))
    except ReflectError as error:
        raise usage_error(error.message.replace("hook input", "the entry")) from error
    except ValueError:
        raise usage_error("the entry is not a JSON object") from None


def query(words: Sequence[str]) -> None:
    """Print the signals that match the filters."""
    from reflect_git.store import api

    options = parse_options(words, FILTERS)
    require_one_of("status", options, schema.STATUSES)
    require_one_of("type", options, schema.TYPES)
    since = get_last(options, "since")
    session = get_last(options, "session")
    store, snapshot = open_snapshot()
    print_result(
        api.query(
            snapshot.signals,
            status=get_last(options, "status"),
            kind=get_last(options, "type"),
            tags=options["tag"],
            since=service.parse_since(since) if since else "",
            project=find_project_key(store, get_last(options, "project")),
            session=get_current_session() if session == "current" else session,
        )
    )


def get_current_session() -> str:
    """Return the id of the current session; raise a usage error outside a session."""
    session = os.environ.get("CLAUDE_CODE_SESSION_ID", "")
    if not session:
        raise usage_error("there is no current session here", "give its id to --session")
    return session


def find_project_key(store: Store, text: str) -> str:
    """Return the key of the project that a folder is in, as signals store it: with '~' for the home folder."""
    found = service.get_project(store, text) if os.sep in text or text in (".", "..") else None
    return redact_text(str(found["key"]), paths.home_dir(os.environ)) if found else text


def get(words: Sequence[str]) -> None:
    """Print one record."""
    from reflect_git.store import api

    (identity,) = parse_positional(words, "get ID", 1)
    print_result(api.get(open_snapshot()[1], identity))


def update(words: Sequence[str]) -> None:
    """Change the status of a signal."""
    from reflect_git.store import api

    identity, text = parse_positional(words, "update ID '{…}'", 2)
    fields = read_object(text)
    related = fields.get("related", [])
    if not isinstance(related, list) or not all(isinstance(other, str) for other in related):
        raise usage_error("'related' is not a list of ids")
    fields = {**fields, "reason": redact_text(str(fields.get("reason", "")))}
    store, snapshot = open_snapshot()
    road = service.get_channel(os.environ, is_person())
    print_result(api.update(store, snapshot, identity, fields, service.get_author(store, road), utc_precise()))


def archive(words: Sequence[str]) -> None:
    """Archive signals older than a given time."""
    from reflect_git.store import api

    before, status = (*parse_positional(words, "archive BEFORE [STATUS]", 1, 2), "")[:2]
    if status and status not in schema.STATUSES:
        raise usage_error(f"'{status}' is not a status", f"one of: {', '.join(schema.STATUSES)}")
    moment = service.parse_since(before)
    store, snapshot = open_snapshot()
    by = service.get_author(store, service.get_channel(os.environ, is_person()))
    print_result(api.archive(store, snapshot, moment, status, by, utc_precise()))


def stats(words: Sequence[str]) -> None:
    """Print counts as JSON or as one short line."""
    from reflect_git.store import api

    options = parse_options(words, ("format",))
    require_one_of("format", options, ("json", "statusline"))
    counts = api.stats(scan_store())
    if get_last(options, "format") != "statusline":
        print_result(counts)
        return
    waiting = counts["status"].get("captured", 0)
    sys.stdout.write(f"{plural(waiting, 'signal')} waiting\n" if waiting else "no signals waiting\n")


def promote(words: Sequence[str]) -> None:
    """Record an approved text."""
    from reflect_git.store import api

    identity, place, content = parse_positional(words, "promote ID TARGET CONTENT", 3)
    target = parse_target(place)
    if not content.strip():
        raise usage_error("an approval needs a text")
    if redact_text(content) != content or redact_text(place) != place:
        raise ReflectError("the text holds a secret", "say it without the secret", code="secret")
    store, snapshot = open_snapshot()
    # A model that removed the client's environment variables must not use the policy for scripts.
    env = {**os.environ, "CLAUDECODE": "1"} if is_inside_client() else os.environ
    by = service.get_author(store, service.require_approval(store, env, is_person(), snapshot.history.decisions))
    print_result(api.promote(store, snapshot, identity, target, content, by, utc_precise()))


def parse_target(text: str) -> schema.Target:
    """Parse a target: `CLAUDE.md` is a project file, an absolute path a global one, `rules:x.md` names its kind."""
    if not text.strip() or not text.isprintable():
        raise usage_error(f"{text!r} is not a target", "a path, or KIND:PATH")
    kind, colon, path = text.partition(":")
    if colon and path and kind in TARGET_KINDS:
        return {"kind": kind, "path": path}
    return {"kind": "global" if text.startswith(("/", "~")) else "project", "path": text}


def redact_text(text: str, home: str = "") -> str:
    """Return a text without secrets, and with '~' for `home`."""
    from reflect_git.redact import redact

    return redact(text, home)


def open_snapshot() -> tuple[Store, Snapshot]:
    """Return the store, after recovery, and all its records. Files edited by a person need the CLI's reader."""
    from reflect_git.store.reading import reader

    store = service.open_recovered_store(os.environ)
    return store, reader.read(store)


def scan_store() -> Scan:
    """Return a scan of the store after recovery."""
    from reflect_git.store.reading import reader

    return reader.scan(service.open_recovered_store(os.environ))


def parse_positional(words: Sequence[str], form: str, least: int, most: int = 0) -> Sequence[str]:
    """Return the positional arguments; raise a usage error if their number is wrong."""
    if not least <= len(words) <= (most or least):
        raise usage_error(f"expected: store.py {form}")
    return words


def parse_options(words: Sequence[str], names: Sequence[str]) -> Options:
    """Parse `--name value` and `--name=value`; each option may be repeated."""
    found: Options = {name: [] for name in names}
    rest = list(words)
    while rest:
        flag, equals, value = rest.pop(0).partition("=")
        if flag[:2] != "--" or flag[2:] not in found:
            raise usage_error(f"there is no option '{flag}'", f"one of: {', '.join('--' + name for name in names)}")
        if not equals and not rest:
            raise usage_error(f"'{flag}' needs a value")
        found[flag[2:]].append(value if equals else rest.pop(0))
    return found


def get_last(options: Options, name: str) -> str:
    """Return the last value of an option; empty if it was not given."""
    return options[name][-1] if options[name] else ""


def require_one_of(name: str, options: Options, words: Sequence[str]) -> None:
    """Raise a usage error if an option's value is not one of `words`."""
    if options[name] and get_last(options, name) not in words:
        raise usage_error(f"'{get_last(options, name)}' is not a {name}", f"one of: {', '.join(words)}")


COMMANDS = {
    "append": append, "query": query, "get": get, "update": update, "archive": archive, "stats": stats,
    "promote": promote,
}  # fmt: skip

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
