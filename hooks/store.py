#!/usr/bin/env python3
"""The store for scripts: `python3 -I -S hooks/store.py append '{…}'`. One JSON document on stdout; see USAGE.

Arguments are read by hand (argparse would cost a capture 8 ms), and what only the others need is imported by them.
"""

from __future__ import annotations

import os
import sys

# Beside the package in a checkout, inside it (reflect_git/data/hooks) when installed.
_UP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, _UP if os.path.isdir(os.path.join(_UP, "reflect_git")) else os.path.dirname(os.path.dirname(_UP)))

from reflect_git import paths, workflow  # noqa: E402
from reflect_git.errors import EXIT_BUG, EXIT_INTERRUPTED, EXIT_USAGE, ReflectError  # noqa: E402
from reflect_git.model import schema  # noqa: E402
from reflect_git.model.counts import plural  # noqa: E402
from reflect_git.model.ids import utc_precise  # noqa: E402

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from reflect_git.store.reading import Scan, Snapshot
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
# What a caller may say of a moment; the rest of a signal is ours to fill.
FACTS = (
    "type", "content", "context", "category", "tags", "confidence", "source", "session_id", "project", "meta",
    "timestamp", "trust",
)  # fmt: skip
TARGET_KINDS = ("project", "project-local", "global", "rules", "global-rules", "improvements", "agents", "dir")
OWN_WORDS = ("user_typed", "user_feedback")
WAIT = 5.0


def main(words: Sequence[str]) -> int:
    """The whole error policy of this front."""
    os.umask(0o077)
    try:
        run(words)
        sys.stdout.flush()
        return 0
    except ReflectError as error:
        return refuse(error)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        where = f" '{error.filename}'" if isinstance(error.filename, str) else ""
        return refuse(ReflectError(f"{(error.strerror or str(error)).lower()}{where}", code="system"))
    except RecursionError:
        return refuse(usage("the entry is nested too deeply"))
    except KeyboardInterrupt:
        return refuse(ReflectError("interrupted", code="interrupted", exit_code=EXIT_INTERRUPTED))
    except Exception as error:
        said = f"bug: {type(error).__name__}: {error}".partition("\n")[0]
        return refuse(ReflectError(said, "please report it", "bug", EXIT_BUG))


def run(words: Sequence[str]) -> None:
    name = words[0] if words else ""
    if name in ("-h", "--help", "help"):
        sys.stdout.write(USAGE)
        return
    step = STEPS.get(name)
    if step is None:
        raise usage(
            f"'{name}' is not a store command" if name else "a command is missing", f"one of: {', '.join(STEPS)}"
        )
    step(words[1:])


def answer(data: Any) -> None:
    write({"schema_version": 1, "data": data})


def refuse(error: ReflectError) -> int:
    write({"schema_version": 1, "error": {"code": error.code, "message": error.message, "hint": error.hint}})
    return error.exit_code


def write(document: Mapping[str, Any]) -> None:
    """UTF-8 whatever the locale; half a surrogate pair, which UTF-8 has no bytes for, as its escape."""
    import json  # 10 ms that a capture does without

    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    sys.stdout.buffer.write(text.encode("utf-8", "backslashreplace") + b"\n")


def usage(message: str, hint: str = "see 'store.py --help'") -> ReflectError:
    return ReflectError(message, hint, "usage", EXIT_USAGE)


def append(words: Sequence[str]) -> None:
    (text,) = positional(words, "append '{…}' | -", 1)
    facts = read_object(text)
    store = workflow.open_store(os.environ)
    signal, commit = workflow.capture(store, facts_of(store, facts), os.environ, WAIT)
    where = f'"{commit}"' if commit else "null"
    sys.stdout.write('{"schema_version":1,"data":{"id":"%s","commit":%s}}\n' % (signal["id"], where))


def facts_of(store: Store, given: Mapping[str, Any]) -> dict[str, Any]:
    """What the caller may say. Trust can be lowered by saying so; only a person at a terminal can raise it."""
    facts = {name: given[name] for name in FACTS if name in given}
    if facts.get("trust") in OWN_WORDS and not is_person():
        raise ReflectError(
            f"trust '{facts['trust']}' needs a person at a terminal",
            "leave 'trust' out, or say 'assistant'",
            code="trust",
        )
    if isinstance(facts.get("project"), str):
        facts["project"] = workflow.project_of(store, facts["project"])
    return facts


def is_person() -> bool:
    """Inside Claude Code a terminal counts for nothing, since a model can have one."""
    return sys.stdin.isatty() and sys.stdout.isatty() and not is_inside_client()


def is_inside_client() -> bool:
    """Ask the processes above us, too: a command can remove the variables that the client gives to its shell."""
    from reflect_git.adapters import ancestry

    return ancestry.is_marked(os.environ) or ancestry.is_client_above()


def read_object(text: str) -> dict[str, Any]:
    """A JSON object from the command line or, with '-', from stdin."""
    from reflect_git.hook import parse, read_input

    try:
        return parse(read_input(sys.stdin.fileno()) if text == "-" else os.fsencode(text))
    except ReflectError as error:
        raise usage(error.message.replace("hook input", "the entry")) from error
    except ValueError:
        raise usage("the entry is not a JSON object") from None


def query(words: Sequence[str]) -> None:
    from reflect_git.store import memory

    options = parse_options(words, FILTERS)
    one_of("status", options, schema.STATUSES)
    one_of("type", options, schema.TYPES)
    since = last(options, "since")
    session = last(options, "session")
    store, snapshot = opened()
    answer(
        memory.query(
            snapshot.signals, status=last(options, "status"), kind=last(options, "type"), tags=options["tag"],
            since=workflow.parse_since(since) if since else "", project=project_key(store, last(options, "project")),
            session=current_session() if session == "current" else session,
        )
    )  # fmt: skip


def current_session() -> str:
    session = os.environ.get("CLAUDE_CODE_SESSION_ID", "")
    if not session:
        raise usage("there is no current session here", "give its id to --session")
    return session


def project_key(store: Store, text: str) -> str:
    """A folder stands for the project it is in, under the key as signals have it: with '~' for the home folder."""
    found = workflow.project_of(store, text) if os.sep in text or text in (".", "..") else None
    return redacted(str(found["key"]), paths.home_dir(os.environ)) if found else text


def get(words: Sequence[str]) -> None:
    from reflect_git.store import memory

    (identity,) = positional(words, "get ID", 1)
    answer(memory.get(opened()[1], identity))


def update(words: Sequence[str]) -> None:
    from reflect_git.store import memory

    identity, text = positional(words, "update ID '{…}'", 2)
    fields = read_object(text)
    related = fields.get("related", [])
    if not isinstance(related, list) or not all(isinstance(other, str) for other in related):
        raise usage("'related' is not a list of ids")
    fields = {**fields, "reason": redacted(str(fields.get("reason", "")))}
    store, snapshot = opened()
    road = workflow.road_of(os.environ, is_person())
    answer(memory.update(store, snapshot, identity, fields, workflow.author(store, road), utc_precise()))


def archive(words: Sequence[str]) -> None:
    from reflect_git.store import memory

    before, status = (*positional(words, "archive BEFORE [STATUS]", 1, 2), "")[:2]
    if status and status not in schema.STATUSES:
        raise usage(f"'{status}' is not a status", f"one of: {', '.join(schema.STATUSES)}")
    moment = workflow.parse_since(before)
    store, snapshot = opened()
    by = workflow.author(store, workflow.road_of(os.environ, is_person()))
    answer(memory.archive(store, snapshot, moment, status, by, utc_precise()))


def stats(words: Sequence[str]) -> None:
    from reflect_git.store import memory

    options = parse_options(words, ("format",))
    one_of("format", options, ("json", "statusline"))
    counts = memory.stats(scanned())
    if last(options, "format") != "statusline":
        answer(counts)
        return
    waiting = counts["status"].get("captured", 0)
    sys.stdout.write(f"{plural(waiting, 'signal')} waiting\n" if waiting else "no signals waiting\n")


def promote(words: Sequence[str]) -> None:
    from reflect_git.store import memory

    identity, place, content = positional(words, "promote ID TARGET CONTENT", 3)
    target = target_of(place)
    if not content.strip():
        raise usage("an approval needs a text")
    if redacted(content) != content or redacted(place) != place:
        raise ReflectError("the text holds a secret", "say it without the secret", code="secret")
    store, snapshot = opened()
    # The policy for scripts is none for a model that removed the mark of the client.
    env = {**os.environ, "CLAUDECODE": "1"} if is_inside_client() else os.environ
    by = workflow.author(store, workflow.require_approval(store, env, is_person(), snapshot.history.decisions))
    answer(memory.promote(store, snapshot, identity, target, content, by, utc_precise()))


def target_of(text: str) -> schema.Target:
    """`CLAUDE.md` is a file of the project, an absolute path a global one; `rules:testing.md` names the kind itself."""
    if not text.strip() or not text.isprintable():
        raise usage(f"{text!r} is not a target", "a path, or KIND:PATH")
    kind, colon, path = text.partition(":")
    if colon and path and kind in TARGET_KINDS:
        return {"kind": kind, "path": path}
    return {"kind": "global" if text.startswith(("/", "~")) else "project", "path": text}


def redacted(text: str, home: str = "") -> str:
    from reflect_git.adapters.redact import redact

    return redact(text, home)


def opened() -> tuple[Store, Snapshot]:
    """The swept store and all that is in it; files that a person edited need the command line's reader."""
    from reflect_git.store import reading

    store = workflow.open_swept(os.environ)
    return store, reading.read(store)


def scanned() -> Scan:
    from reflect_git.store import reading

    return reading.scan(workflow.open_swept(os.environ))


def positional(words: Sequence[str], form: str, least: int, most: int = 0) -> Sequence[str]:
    if not least <= len(words) <= (most or least):
        raise usage(f"expected: store.py {form}")
    return words


def parse_options(words: Sequence[str], names: Sequence[str]) -> Options:
    """`--name value` and `--name=value`; each may be repeated."""
    found: Options = {name: [] for name in names}
    rest = list(words)
    while rest:
        flag, equals, value = rest.pop(0).partition("=")
        if flag[:2] != "--" or flag[2:] not in found:
            raise usage(f"there is no option '{flag}'", f"one of: {', '.join('--' + name for name in names)}")
        if not equals and not rest:
            raise usage(f"'{flag}' needs a value")
        found[flag[2:]].append(value if equals else rest.pop(0))
    return found


def last(options: Options, name: str) -> str:
    return options[name][-1] if options[name] else ""


def one_of(name: str, options: Options, words: Sequence[str]) -> None:
    if options[name] and last(options, name) not in words:
        raise usage(f"'{last(options, name)}' is not a {name}", f"one of: {', '.join(words)}")


STEPS = {
    "append": append, "query": query, "get": get, "update": update, "archive": archive, "stats": stats,
    "promote": promote,
}  # fmt: skip

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
