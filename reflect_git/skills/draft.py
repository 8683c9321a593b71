"""Draft a skill: decide whether a skill is the right answer, write a SKILL.md, and check it."""

from __future__ import annotations

import os
import re
import unicodedata
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from reflect_git import paths
from reflect_git.errors import EXIT_DECISION, EXIT_USAGE, ReflectError
from reflect_git.platform import files, syntax, yaml_loose
from reflect_git.records.ids import digest, fingerprint, plural
from reflect_git.records.named_tuple import NamedTuple
from reflect_git.records.yaml_form import RecordError, quote_text
from reflect_git.redact import redact
from reflect_git.skills.detect import MIN_STEPS, Workflow
from reflect_git.targets.markdown import count_front_matter_lines, split_lines
from reflect_git.targets.target_files import SKILL_FILE

if TYPE_CHECKING:
    from reflect_git.records.schema import Decision
    from reflect_git.store.repository import Store

PROBLEM, RISK = "problem", "risk"
_FOLDER = "skills"
_SCAFFOLD = "scaffold"
_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")
_RESERVED = frozenset(
    ["con", "prn", "aux", "nul", *(f"{name}{number}" for name in ("com", "lpt") for number in range(10))]
)
_DRAFT_NOTE = "<!-- draft:"
_MAX_DESCRIPTION = 1536
_MAX_BODY_LINES = 500
_MAX_BYTES = 1 << 18
_RULE_SENTENCES = 2
_TITLE_WORDS = 2
_RISKY_FIELDS = ("hooks", "allowed-tools")
_LIVE_COMMAND = re.compile(r"!`[^`\n]*`|^[ \t]*(?:`{3,}|~{3,})[ \t]*!", re.MULTILINE)
_ENFORCED = re.compile(r"\b(?:never|always|must|do not|don't)\b", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?](?:\s|$)|\n")


class Finding(NamedTuple):
    """Something wrong with a skill. `kind`: a problem prevents deployment, a risk needs a typed yes."""

    kind: str
    message: str


class Gap(NamedTuple):
    """The reason for a skill: repeated steps, the root cause of an incident, or a request.

    `purposes` are empty unless the steps were observed. `scope` is project, global or agent:NAME.
    """

    key: str
    title: str
    text: str
    commands: tuple[str, ...] = ()
    purposes: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    scope: str = "project"


class Draft(NamedTuple):
    """A SKILL.md that is not deployed. `scaffold_sha` is the hash of the text that the program wrote."""

    name: str
    path: str
    text: str
    scaffold_sha: str
    key: str

    @property
    def is_edited(self) -> bool:
        return fingerprint(self.text.encode()) != self.scaffold_sha


def build_workflow_gap(flow: Workflow) -> Gap:
    """Describe repeated steps as a gap."""
    title = ", ".join(map(_shorten_command, flow.commands))
    seen = f"{plural(flow.sessions, 'session')} from {flow.first[:10]} to {flow.last[:10]}"
    cost = [f"about {flow.tokens} tokens were written each time"] if flow.tokens else []
    return Gap(
        flow.key, title, f"Steps that were repeated in {seen}: {title}.", flow.commands, flow.purposes,
        (seen, *cost), "project" if flow.project else "global",
    )  # fmt: skip


def _shorten_command(command: str) -> str:
    """Return program and action of a command."""
    return " ".join(word for word in command.split()[:_TITLE_WORDS] if not word.startswith("-"))


def build_cause_gap(made: Decision) -> Gap:
    """Describe the root cause of an incident as a gap."""
    meta = made["meta"]
    text = f"{meta['change']} Why: {meta['why']}"
    return Gap(made["subject"], meta["change"], text, sources=(f"root cause {made['id']}",), scope=meta["scope"])


def build_request_gap(about: str) -> Gap:
    """Describe what a person asked for as a gap."""
    return Gap(digest(about)[:8], about, about, sources=("asked for by a person",))


def choose_answer(gap: Gap) -> tuple[str, str]:
    """Return what fits a gap, skill or something smaller, and the row of the decision table that says so."""
    if gap.scope.startswith("agent:"):
        return "agent", f"it concerns one agent: put it into the agent's file with --to {gap.scope}"
    if len(gap.commands) >= MIN_STEPS:
        return "skill", f"a workflow of {len(gap.commands)} steps that was repeated: a skill"
    if len(_SENTENCE_END.findall(gap.title.strip() + "\n")) > _RULE_SENTENCES:
        return "skill", "a workflow or knowledge of a domain: a skill"
    if _ENFORCED.search(gap.title):
        return "guard", "it must be enforced: a rule with a guard"
    return "rule", "one or two sentences: a rule"


def require_skill(gap: Gap) -> str:
    """Return the row of the decision table; raise if it names something smaller than a skill."""
    answer, row = choose_answer(gap)
    if answer != "skill":
        hints = {
            "rule": "propose it as a rule: reflect-git capture --type convention --content TEXT, then review",
            "guard": "propose it as a rule, then: reflect-git guard LRN",
            "agent": "approve it for that agent: reflect-git review",
        }
        raise ReflectError(f"not a skill: {row}", hints[answer], "not-a-skill", EXIT_DECISION)
    return row


def check_name(name: str) -> str:
    """Return a name that a folder can have on every system; raise if it cannot."""
    if not _NAME.fullmatch(name) or name in _RESERVED or name.endswith("-"):
        hint = "use 1 to 64 lower-case letters, digits and '-', as in deploy-docs"
        raise ReflectError(f"'{name}' cannot be the name of a skill", hint, "usage", EXIT_USAGE)
    return name


def build_name(gap: Gap) -> str:
    """Build a name from the last words of the steps, such as `build-test-deploy`."""
    words = [_shorten_command(command).split()[-1] for command in gap.commands] or gap.title.split()[:4]
    plain = unicodedata.normalize("NFKD", "-".join(words)).encode("ascii", "ignore").decode().lower()
    return re.sub("[^a-z0-9]+", "-", plain)[:40].strip("-") or f"skill-{gap.key}"


def neutralise(text: str) -> str:
    """Return observed text in a form that Claude Code does not run when it loads a skill."""
    return _LIVE_COMMAND.sub(lambda found: found[0].replace("!", "! ", 1), text)


def render_scaffold(gap: Gap, name: str) -> str:
    """Write the SKILL.md of a gap: its steps with the commands as they were run, and where they were seen."""
    template = Path(paths.resource_path("templates", "skill", SKILL_FILE)).read_text(encoding="utf-8")
    steps = [_format_command(command) for command in gap.commands] or [gap.text]
    fields = {
        "{name}": name,
        "{description}": quote_text(" ".join(gap.text.split())[:_MAX_DESCRIPTION]),
        "{title}": name.replace("-", " ").capitalize(),
        "{steps}": "\n".join(f"{number}. {neutralise(step)}" for number, step in enumerate(steps, 1)),
        "{sources}": "\n".join(f"- {neutralise(source)}" for source in gap.sources),
    }
    return re.sub("|".join(map(re.escape, fields)), lambda found: fields[found[0]], template)


def _format_command(command: str) -> str:
    """Return a command as inline code, whatever backticks it has."""
    line = " ".join(command.split())
    longest = max((len(run) for run in re.findall("`+", line)), default=0)
    fence, room = "`" * (longest + 1), " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{room}{line}{room}{fence}"


def write_draft(store: Store, gap: Gap, name: str) -> Draft:
    """Write the scaffold of a skill into the store; raise if there is a draft with this name."""
    folder = store.private_path(_FOLDER, name)
    path = os.path.join(folder, SKILL_FILE)
    if os.path.lexists(path):
        raise ReflectError(f"there is a draft '{name}'", f"edit it: reflect-git skills edit {name}", "exists")
    text = render_scaffold(gap, name)
    files.make_private_dirs(folder, store.private)
    sha = fingerprint(text.encode())
    files.write_atomic(os.path.join(folder, _SCAFFOLD), f"{sha} {gap.key}\n".encode())
    files.write_atomic(path, text.encode())
    return Draft(name, path, text, sha, gap.key)


def load_draft(store: Store, name: str) -> Draft:
    """Read a draft; raise if there is none with this name."""
    folder = store.private_path(_FOLDER, check_name(name))
    path = os.path.join(folder, SKILL_FILE)
    data = files.read_if_exists(path, _MAX_BYTES)
    if data is None:
        raise ReflectError(f"there is no draft '{name}'", "list them: reflect-git skills list", "missing")
    sha, _, key = (files.read_if_exists(os.path.join(folder, _SCAFFOLD)) or b"").decode().strip().partition(" ")
    return Draft(name, path, data.decode("utf-8", "replace"), sha, key)


def list_drafts(store: Store) -> list[Draft]:
    """List the drafts, by name."""
    names = files.list_names(store.private_path(_FOLDER))
    return [load_draft(store, name) for name in sorted(names) if _NAME.fullmatch(name)]


def remove_draft(store: Store, name: str) -> None:
    files.remove_tree(store.private_path(_FOLDER, name))


def check_skill(path: str) -> list[Finding]:
    """Check the SKILL.md at a path, and the scripts beside it."""
    data = files.read_if_exists(path, _MAX_BYTES)
    if data is None:
        raise ReflectError(f"there is no file '{path}'", "give the path of a SKILL.md or its folder", "missing")
    folder = os.path.dirname(path)
    return [*check_text(data.decode("utf-8", "replace"), os.path.basename(folder)), *_check_scripts(folder)]


def check_text(text: str, name: str) -> list[Finding]:
    """Check the text of a SKILL.md: its fields, length and secrets, and what runs without being asked."""
    lines = split_lines(text)
    end = count_front_matter_lines(lines)
    found: list[Finding] = []
    try:
        front = yaml_loose.parse_edited("".join(lines[1 : end - 1]).encode()) if end else {}
    except RecordError as error:
        return [Finding(PROBLEM, f"the front matter cannot be read: {error}")]
    if not end:
        found.append(Finding(PROBLEM, "there is no front matter: begin with ---, name and description"))
    for field in ("name", "description"):
        if end and (not isinstance(front.get(field), str) or not front[field].strip()):
            found.append(Finding(PROBLEM, f"the front matter has no {field}"))
    if front.get("name") and front["name"] != name:
        found.append(Finding(PROBLEM, f"the name is '{front['name']}', and the folder is '{name}'"))
    if len(str(front.get("description") or "")) > _MAX_DESCRIPTION:
        found.append(Finding(PROBLEM, f"the description has more than {_MAX_DESCRIPTION} characters"))
    if len(lines) - end >= _MAX_BODY_LINES:
        found.append(Finding(PROBLEM, f"the body has {len(lines) - end} lines, and {_MAX_BODY_LINES} are too many"))
    if not "".join(lines[end:]).strip():
        found.append(Finding(PROBLEM, "the body is empty"))
    if _DRAFT_NOTE in text:
        found.append(Finding(PROBLEM, "the note to the editor is still there: follow it and delete it"))
    if redact(text) != text:
        found.append(Finding(PROBLEM, "it contains a secret"))
    found += [Finding(RISK, f"the front matter has '{field}'") for field in _RISKY_FIELDS if field in front]
    if match := _LIVE_COMMAND.search(text):
        found.append(Finding(RISK, f"Claude Code runs a command when it loads the skill: {match[0].strip()[:60]}"))
    return found


def _check_scripts(folder: str) -> Iterator[Finding]:
    for top, _, names in os.walk(folder):
        for name in sorted(names):
            if name.endswith((".sh", ".py")):
                path = os.path.join(top, name)
                if why := syntax.find_syntax_error(path):
                    yield Finding(PROBLEM, f"{os.path.relpath(path, folder)}: {why}")


def has_problem(found: Sequence[Finding]) -> bool:
    return any(one.kind == PROBLEM for one in found)
