"""Entry point and handlers for Claude Code's hook events.

Hooks are silent, always exit with 0, do not use the network, and import only the standard library.
"""

from __future__ import annotations

import os
import select
import sys
import time
from _signal import SIG_DFL, SIGALRM, SIGCHLD, alarm
from _signal import signal as on_signal  # `signal` makes enums of its numbers: 1.5 ms

from reflect_git import paths
from reflect_git.errors import ReflectError
from reflect_git.records import json_form

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from types import FrameType
    from typing import Any, Optional

    from reflect_git.records.schema import Signal
    from reflect_git.store.repository import Store

    Event = Mapping[str, Any]
    Env = Mapping[str, str]

INPUT_LIMIT = 1 << 20
INPUT_SECONDS = 2.0
HOOK_SECONDS = 8  # the client would wait ten; a starved machine needs some of them to acknowledge a capture
DETACHED_SECONDS = 900
# While the client waits; the rest of a long transcript is mined afterwards.
MINING_SECONDS = 1.3
BATON_BYTES = 1 << 20  # of the transcript that are read for open todos while the client waits


def main() -> int:
    """Read the event and handle it. Never raise an error: it must not disturb the session."""
    env = os.environ
    on_signal(SIGCHLD, SIG_DFL)  # a parent that ignores it would take our children's exit codes
    on_signal(SIGALRM, _exit_on_alarm)
    alarm(HOOK_SECONDS)
    os.umask(0o077)
    try:
        handle_event(env, read_input(0))
    except (ReflectError, OSError, ValueError, RecursionError, MemoryError) as error:
        log_error(env, f"{type(error).__name__}: {error}")
    except BaseException as error:  # a bug of ours is ours to read, not the session's to suffer
        log_error(env, f"bug: {type(error).__name__}: {error}")
    return 0


def _exit_on_alarm(_number: int, _frame: Optional[FrameType]) -> None:
    os._exit(0)


def handle_event(env: Env, data: bytes) -> None:
    event = parse_event(data)
    name = str(event.get("hook_event_name"))
    handle = HANDLERS.get(name)
    if handle is None:
        return
    if env.get("REFLECT_GIT_OFF") == "1":
        _skip_session(name, event, env)
        return
    if name == "PreCompact" and _has_nothing_new(event, env):
        return
    if name == "UserPromptSubmit" and not (_may_be_noticed(event, env) or _has_kept_answers(env)):
        return
    from reflect_git.capture import service

    try:
        store = service.open_store(env)
    except ReflectError as error:
        if error.code == "git-missing" and name == "SessionStart" and event.get("source") != "compact":
            _print_json({"systemMessage": f"reflect-git captures nothing: {error.message}; {error.hint}"})
        raise
    here = str(event.get("cwd") or "")
    folder = env.get("CLAUDE_PROJECT_DIR") or here
    capturing = service.is_capturing(store, env, folder, time.time()) and not service.is_ignored(store, here)
    if capturing or name in UNCONDITIONAL_EVENTS:
        handle(store, event, folder, env)


def _skip_session(name: str, event: Event, env: Env) -> None:
    """Mark the ending session as not captured, if a store exists, and tell the mod; capture nothing."""
    if name == "Band":
        _print(json_form.dumps({"off": True}).decode())
    elif name == "SessionEnd":
        from reflect_git.capture import service, sessions

        if os.path.isdir(os.path.join(service.locate_store(env), ".git")):
            sessions.skip_session(service.open_store(env, create=False), _get_transcript(event))


def _has_nothing_new(event: Event, env: Env) -> bool:
    """Return whether a compaction needs no work. Does not open the store, which takes half of a hook's time."""
    if paths.may_configure_home(env):
        return False
    from reflect_git.store.local import session_state

    git_dir = os.path.join(paths.store_home(env), ".git")
    transcript = _get_transcript(event)
    try:
        with open(os.path.join(git_dir, "config"), "rb") as file:
            may_speak = b"keep" in file.read()  # reflect.compact.keep
        return not may_speak and os.stat(transcript).st_size == session_state.get_consumed(git_dir, transcript)
    except OSError:
        return False


def _may_be_noticed(event: Event, env: Env) -> bool:
    """Return whether a person is present, and the prompt is short enough to be a correction."""
    from reflect_git.capture.notice import get_prompt

    return env.get("CLAUDE_CODE_SESSION_ATTENDED") != "0" and bool(get_prompt(event))


def _has_kept_answers(env: Env) -> bool:
    """Return whether an answer given in /keep waits. Does not open the store."""
    from reflect_git.store.local import mod_state

    return mod_state.has_kept_answers(os.path.join(paths.store_home(env), ".git", "reflect"))


def read_input(descriptor: int) -> bytes:
    """Read stdin, at most 1 MiB and for at most two seconds."""
    chunks, size, deadline = [], 0, time.monotonic() + INPUT_SECONDS
    poll = select.poll()
    poll.register(descriptor, select.POLLIN | select.POLLHUP)
    while size <= INPUT_LIMIT:
        left = deadline - time.monotonic()
        if left <= 0 or not poll.poll(left * 1000):
            break
        chunk = os.read(descriptor, 65536)
        if not chunk:
            break
        chunks.append(chunk)
        size += len(chunk)
    if size > INPUT_LIMIT:
        raise ReflectError("hook input is larger than 1 MiB")
    return b"".join(chunks)


def parse_event(data: bytes) -> dict[str, Any]:
    """Parse one JSON object. Refuse duplicate keys, since two readers could see two different events."""
    event = json_form.loads(data.decode("utf-8", "replace"), _build_unique_dict)
    if not isinstance(event, dict):
        raise ReflectError("hook input is not an object")
    return event


def _build_unique_dict(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ReflectError("hook input has a key twice")
    return found


def handle_failure(store: Store, event: Event, folder: str, env: Env) -> None:
    """Handle PostToolUseFailure: capture the failed tool call, and tell Claude if it should stop trying."""
    from reflect_git.capture import service
    from reflect_git.capture.failure import build_facts

    facts = build_facts(event, paths.home_dir(env))
    if facts is not None:
        service.capture_signal(store, {**facts, "project": service.get_project(store, folder)}, env)
    if "hint" in store.get_values("reflect.escalate"):
        from reflect_git.capture import escalation

        text = escalation.build_hint(event, paths.projects_dir(env))
        if text and _is_first_to_print(store, event):
            _print_json({"hookSpecificOutput": {"hookEventName": "PostToolUseFailure", "additionalContext": text}})


def handle_stop_failure(store: Store, event: Event, folder: str, env: Env) -> None:
    """Handle StopFailure: the client gave up on a turn. In print mode it kills us instead of waiting."""
    from reflect_git.capture import service
    from reflect_git.capture.failure import build_stop_facts
    from reflect_git.platform.processes import start_session

    start_session()
    facts = build_stop_facts(event, paths.home_dir(env))
    service.capture_signal(store, {**facts, "project": service.get_project(store, folder)}, env)


def handle_pre_compact(store: Store, event: Event, folder: str, env: Env) -> None:
    """Handle PreCompact: mine the transcript.

    Output becomes part of the summariser's prompt, so nothing is printed unless the user turned it on.
    """
    from reflect_git.capture import sessions

    transcript = _get_transcript(event)
    finished = sessions.mine_session(store, env, transcript, "PreCompact", folder, MINING_SECONDS)
    if store.is_enabled("reflect.compact.keep", False):
        from reflect_git.capture.compaction_note import get_typed_corrections

        kept = "\n".join(get_typed_corrections(sessions.load_session_signals(store, transcript)))
        if kept and _is_first_to_print(store, event):
            _print(kept)
    if not finished:
        _run_detached(lambda: sessions.mine_session(store, env, transcript, "PreCompact", folder))


def handle_session_start(store: Store, event: Event, folder: str, env: Env) -> None:
    """Handle SessionStart: record the session, remind the user of open questions, and tidy up in the background."""
    from reflect_git.capture import sessions

    transcript = _get_transcript(event)
    is_compacted = event.get("source") == "compact"
    context = ""
    if (is_compacted or event.get("source") == "resume") and store.get_setting("reflect.baton") == "resume":
        context = _build_baton(store, transcript, env)
    elif is_compacted:
        context = _build_compaction_note(store, transcript)
    if context and not _is_first_to_print(store, event):
        context = ""
    if is_compacted:
        _print_session_start(context)
        return
    attended = env.get("CLAUDE_CODE_SESSION_ATTENDED") != "0"
    if attended and env.get("CLAUDE_PLUGIN_ROOT") and event.get("source") != "clear":  # a mod hears nothing of that
        from reflect_git.store.local import mod_state

        mod_state.mark(store, str(event.get("session_id")), mod_state.STARTED)
    _apply_kept_answers(store, env)
    message = sessions.build_welcome(store, attended)
    sessions.record_start(store, transcript, folder, env.get("CLAUDE_PID", ""))
    if attended and not message:
        message = sessions.build_reminder(store, time.time(), _get_review_commands(env), folder)
    _print_session_start(context, message)
    _run_detached(lambda: _run_background_work(store, env, folder))


def _run_background_work(store: Store, env: Env, folder: str) -> None:
    from reflect_git.capture import sessions
    from reflect_git.guards import rebuild
    from reflect_git.store.local import mod_state

    # First, because the session may soon make a call that a new guard is about. Deciding needs a newer Python.
    if sys.version_info >= (3, 10) and rebuild.is_outdated(store):
        from reflect_git.rules import derived_files
        from reflect_git.store.reading import reader

        derived_files.refresh_guards(store, env, reader.scan(store))
    sessions.run_background_work(store, env, folder)
    rebuild.delete_old_firings(store, time.time())
    mod_state.delete_old_marks(store, time.time())


def _build_compaction_note(store: Store, transcript: str) -> str:
    from reflect_git.capture import sessions
    from reflect_git.capture.compaction_note import format_note, get_typed_sentences

    return format_note(get_typed_sentences(sessions.load_session_signals(store, transcript)), os.urandom(8).hex())


def _build_baton(store: Store, transcript: str, env: Env) -> str:
    """Return the user's words and the open todos of a continued session, for the model."""
    if sys.version_info < (3, 10):
        return ""
    from reflect_git.capture import sessions
    from reflect_git.capture.compaction_note import get_typed_sentences
    from reflect_git.judge import baton, messages

    said = get_typed_sentences(sessions.load_session_signals(store, transcript))
    todos = messages.find_open_todos(store, env, transcript, BATON_BYTES)
    return baton.format_injected(said, todos, os.urandom(8).hex())


def _print_session_start(context: str, message: str = "") -> None:
    """Print one document for both readers. Of two, the client would parse none and show the model their text."""
    output = {"hookEventName": "SessionStart", "additionalContext": context} if context else {}
    document = {"hookSpecificOutput": output, "systemMessage": message}
    _print_json({name: value for name, value in document.items() if value})


def _evaluate_if_due(store: Store, env: Env, folder: str) -> None:
    """Have the judge score what is due, if a person switched that on at a terminal."""
    if sys.version_info < (3, 10) or store.get_setting("reflect.evaluate") != "auto":
        return
    from reflect_git.judge import evaluate
    from reflect_git.rules.context import load_context
    from reflect_git.store.reading import reader

    evaluate.evaluate_if_due(load_context(store, env, reader.scan(store), folder))


def handle_session_end(store: Store, event: Event, folder: str, env: Env) -> None:
    """Handle SessionEnd: mine the transcript, tidy up and sync.

    The launcher started us in the background, and the client is about to exit.
    """
    from reflect_git.capture import sessions
    from reflect_git.platform.processes import lower_priority, start_session

    is_alone = start_session()
    alarm(DETACHED_SECONDS)
    sessions.end_session(store, env, _get_transcript(event), "SessionEnd", folder)
    _apply_kept_answers(store, env)
    lower_priority(is_alone)  # a review may wait for what was mined, nobody for the rest
    sessions.run_background_work(store, env, folder)
    sessions.sync_after_session(store, env)
    _evaluate_if_due(store, env, folder)


def handle_prompt(store: Store, event: Event, folder: str, env: Env) -> None:
    """Handle UserPromptSubmit: store a strong correction at once, and tell the person. Nothing reaches the model."""
    from reflect_git.capture import notice, service
    from reflect_git.records.ids import utc_precise

    _apply_kept_answers(store, env)
    if env.get("CLAUDE_PLUGIN_ROOT"):
        from reflect_git.store.local import mod_state

        mod_state.mark(store, str(event.get("session_id")), mod_state.PROMPTED)
    if store.get_setting("reflect.notice") == "off" or not _may_be_noticed(event, env):
        return
    service.try_load_phrases(store)
    facts = notice.build_facts(notice.get_prompt(event), event, utc_precise(), paths.projects_dir(env))
    if facts is None:
        return
    facts["project"] = service.get_project(store, folder)
    signal = service.store_signal(store, facts, env)
    if signal is not None:
        if notice.is_shown(notice.get_prompt(event)):
            line = notice.format_line(signal["content"], _get_review_command(env))
            _print(json_form.dumps({"systemMessage": line}).decode())
        _run_detached(lambda: _commit_and_count(store, env, folder, signal))


def _commit_and_count(store: Store, env: Env, folder: str, signal: Signal) -> None:
    from reflect_git.capture import sessions
    from reflect_git.store import append
    from reflect_git.store.local import corrections

    corrections.add_corrections(store, paths.find_top(folder) or folder, [signal])
    append.commit_pending(store, HOOK_SECONDS)
    sessions.update_waiting_count(store, env, folder, time.time())


def _get_review_command(env: Env) -> str:
    """Return how to review. The variable is set for a plugin's hooks alone; entries in the settings bring no skill."""
    return "/reflect" if env.get("CLAUDE_PLUGIN_ROOT") else "'reflect-git review' in a terminal"


def _get_review_commands(env: Env) -> str:
    """Return all ways to review."""
    command = _get_review_command(env)
    return f"{command} or 'reflect-git review'" if command == "/reflect" else command


def handle_answer(store: Store, event: Event, folder: str, env: Env) -> None:
    """Handle PostToolUse of AskUserQuestion: store a person's answer to one of our questions."""
    if event.get("tool_name") == "AskUserQuestion":
        from reflect_git.store.local import asked_questions

        asked_questions.save_answers(store, event, folder)


def _apply_kept_answers(store: Store, env: Env) -> None:
    """Start the program for answers to /keep that wait. Deciding needs packages that hooks do without."""
    from reflect_git.store.local import mod_state

    program = os.path.join(env.get("CLAUDE_PLUGIN_ROOT", ""), "bin", "reflect-git")
    if os.path.isabs(program) and mod_state.has_kept_answers(store.private):
        _run_detached(lambda: os.execve(program, [program, "keep", "--wait", "2"], dict(env)))


def handle_band(store: Store, event: Event, folder: str, env: Env) -> None:
    """Answer the mod, not the client: print the content of the band above the prompt."""
    from reflect_git.capture import band
    from reflect_git.store.local import mod_state
    from reflect_git.store.reading import reader

    session, error = str(event.get("session_id")), event.get("error")
    mod_state.mark(store, session, mod_state.FAILED if error else mod_state.SEEN, str(error or ""))
    if error or store.get_setting("reflect.mod") == "off":
        _print(json_form.dumps({"off": True}).decode())
        return
    top = paths.find_top(folder) or folder
    _refresh_count(store, env, top)
    noted = band.find_last_noted(reader.scan(store), session)
    _print(json_form.dumps({"noted": noted, "count": band.count_questions(store, top)}).decode())


def _refresh_count(store: Store, env: Env, top: str) -> None:
    """Count the questions of a review here again, if anything changed since the last count."""
    from reflect_git.store import pending
    from reflect_git.store.reading import waiting_counts

    if waiting_counts.is_exact(store, top, time.time()) and not pending.list_pending(store):
        return
    if sys.version_info >= (3, 10):
        from reflect_git.rules import queue

        queue.refresh_counts(env, top)
    else:  # generating the questions needs a newer Python
        from reflect_git.capture import sessions

        sessions.update_waiting_count(store, env, top, time.time(), waiting_counts.BEST)


def check_stop(root: str) -> None:
    """Handle Stop for the guards of a store: a required command may be missing."""
    from reflect_git.guards import stop

    os.umask(0o077)
    data = read_input(0)
    event = parse_event(data)
    answer = stop.decide(event, data, root, os.environ, lambda: _read_last_entries(_get_transcript(event)))
    _print_json(answer)


STOP_BYTES = 8 << 20
STOP_SECONDS = 2.0


def _read_last_entries(transcript: str) -> list[dict[str, Any]]:
    """Return the entries at the end of a transcript; none if they cannot all be read in time."""
    from reflect_git.capture.transcript.lines import LineReader, open_transcript, parse_line

    descriptor = open_transcript(transcript, paths.projects_dir(os.environ))
    try:
        start = max(0, os.fstat(descriptor).st_size - STOP_BYTES)
        reader = LineReader(descriptor, start, time.monotonic() + STOP_SECONDS)
        entries = [parse_line(line) for _, _, line in reader if line]
        return [entry for entry in entries if entry] if reader.finished else []
    finally:
        os.close(descriptor)


def _get_transcript(event: Event) -> str:
    path = event.get("transcript_path")
    if not isinstance(path, str) or not path or "\0" in path:
        raise ReflectError("hook input names no transcript")
    return path


def _is_first_to_print(store: Store, event: Event) -> bool:
    """Return whether this is the first of our hooks to print for this event.

    A user may have both the plugin and the entries in the settings.
    """
    from reflect_git.platform import files
    from reflect_git.records.ids import digest

    names = ("hook_event_name", "session_id", "prompt_id", "trigger", "source", "tool_use_id")
    moment = (str(event.get(name)) for name in names)
    size = str(os.path.getsize(_get_transcript(event)))
    return files.create_exclusive(store.private_path("cache", f".tmp-spoken-{digest(*moment, size)[:20]}"))


def _print_json(document: Mapping[str, Any]) -> None:
    """Print the JSON document of this event, unless all its values are empty."""
    if any(document.values()):
        import json

        _print(json.dumps(document))


def _print(text: str) -> None:
    if text:
        os.write(1, f"{text}\n".encode("utf-8", "replace"))


def _run_detached(work: Callable[[], object]) -> None:
    """Run `work` in a detached process, so that the client does not wait for it."""
    from reflect_git.platform.processes import detach

    if not detach():
        return
    alarm(DETACHED_SECONDS)
    try:
        work()
    except BaseException as error:
        log_error(os.environ, f"{type(error).__name__}: {error}")
    os._exit(0)


def log_error(env: Env, line: str) -> None:
    """Add a line to the log that `doctor` reads: in the store, or next to it if there is no store."""
    from reflect_git.capture import service
    from reflect_git.redact import redact

    try:
        root = service.locate_store(env)
    except (ReflectError, OSError):
        root = paths.store_home(env)
    log = os.path.join(root, ".git", "reflect", "log")
    if not os.path.isdir(os.path.dirname(log)):
        log = f"{root}.log"
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    text = f"{stamp} hook: {' '.join(redact(line).split())[:400]}\n"
    try:
        descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
        try:
            os.write(descriptor, text.encode("utf-8", "replace"))
        finally:
            os.close(descriptor)
    except OSError:
        pass


HANDLERS: dict[str, Callable[[Store, Event, str, Env], None]] = {
    "UserPromptSubmit": handle_prompt,
    "PostToolUseFailure": handle_failure,
    "StopFailure": handle_stop_failure,
    "PreCompact": handle_pre_compact,
    "SessionStart": handle_session_start,
    "SessionEnd": handle_session_end,
    "PostToolUse": handle_answer,
    "Band": handle_band,
}
# An answer counts, and the mod gets one, whether or not capture is on.
UNCONDITIONAL_EVENTS = ("PostToolUse", "Band")
