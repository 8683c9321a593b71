"""Parse shell commands into a normal form, to tell two attempts at one thing from two different things.

This is not a shell. It finds the program that matters, what it was asked to do, in which folder, and whether its exit
code was visible. It strips variables, wrappers such as `sudo` or `timeout 60`, runners such as `uv run`, and paths.
"""

from __future__ import annotations

from reflect_git.redact import redact_ends

TYPE_CHECKING = False
if TYPE_CHECKING:
    from re import Pattern
    from typing import Any, Optional

_TEXT_LIMIT = 2000
_REDACT_LIMIT = 32 << 10
_CACHE_SIZE = 64
_MARKER_QUOTES = "-'\"\\ "
_OPERATORS = frozenset(("&&", "||", "|", ";", "\n", "&"))
_REDIRECTIONS = frozenset((">", ">>", "<", "1>", "2>", "2>>", "&>", "&>>"))
_token_pattern: Optional[Pattern[str]] = None

AUXILIARY_PROGRAMS = frozenset(
    "cd pushd popd pwd echo printf export source . eval set unset sleep true clear date : nvm fnm".split()
)
EXPLORING_PROGRAMS = frozenset(
    """ls cat head tail find grep egrep rg fd ag ack wc stat du df tree file which whereis type test [ [[ diff cmp cut
    sort uniq awk jq sed ps pgrep lsof kill pkill rm rmdir less more basename dirname readlink realpath strings xxd tr
    md5sum sha256sum tee xargs yes env printenv id whoami uname hostname command hash nl column comm
    pg_isready nc ping""".split()
)
FILE_PROGRAMS = frozenset("mkdir cp mv touch chmod chown ln tar unzip zip".split())
_READ_ONLY_PROGRAMS = AUXILIARY_PROGRAMS | EXPLORING_PROGRAMS
_MINOR_PROGRAMS = (_READ_ONLY_PROGRAMS | FILE_PROGRAMS, _READ_ONLY_PROGRAMS, AUXILIARY_PROGRAMS)
_WRAPPERS = frozenset(
    "sudo doas env time nohup command exec nice ionice stdbuf timeout gtimeout caffeinate xvfb-run".split()
)
_SHELLS = frozenset(("bash", "sh", "zsh", "dash", "fish"))
_NODE_RUNNERS = frozenset(("npx", "bunx", "pnpx"))
_SCRIPT_HOSTS = frozenset(("python", "node", "ruby", "perl", "php", "deno", "bun", "tsx", "ts-node", "osascript"))
_INLINE_OPTIONS = frozenset(("-c", "-e", "-p", "--eval", "-r", "--print"))
_NODE_MANAGERS = frozenset(("npm", "pnpm", "yarn", "bun"))
_RUNNER_ACTIONS = {
    **dict.fromkeys("uv poetry pipenv rye pdm hatch pixi conda mamba devbox".split(), ("run",)),
    **dict.fromkeys(_NODE_MANAGERS, ("exec", "dlx", "x")),
    "bundle": ("exec",),
    "python": ("-m",),
}
_ALIASES = {"nodejs": "node", "gmake": "make", "gradlew": "gradle", "mvnw": "mvn", "py": "python", "gsed": "sed"}
_OPTIONS_WITH_VALUE = frozenset(
    "-C -c -f -n -w -p -u --prefix --cwd --dir --filter --context --namespace --profile --file --project".split()
)
_FOLDER_OPTIONS = frozenset("-C -f --file --prefix --cwd --dir --manifest-path --project-directory".split())
TOOLS_WITH_ACTIONS = frozenset(
    """git docker podman kubectl cargo go gh glab aws gcloud az terraform tofu make just task brew apt apt-get dnf yum
    apk pip uv poetry pipenv pdm rye conda systemctl service rails bundle gem rake dotnet flutter dart helm mix gradle
    mvn swift xcodebuild xcrun composer artisan supabase vercel netlify wrangler prisma alembic manage.py bazel nx turbo
    lerna deno snap adb pod sqlx ansible jj hg svn fly flyctl heroku firebase op vault ng expo eas rustup nvm pyenv asdf
    mise tox nox invoke golangci-lint ruff js nix claude ssh sbt stack cabal zig hugo""".split()
)
_TOOLS_WITH_NESTED_ACTIONS = frozenset(
    "gh glab aws gcloud az".split()
)  # `gh pr view` and `gh pr edit` do different things
_PURPOSE_WORDS = {
    "test": "test tests pytest jest vitest mocha rspec phpunit playwright cypress tox nox ctest unittest spec nextest",
    "lint": "lint eslint ruff flake8 pylint golangci-lint clippy biome rubocop shellcheck oxlint stylelint ktlint",
    "types": "tsc mypy pyright typecheck type-check vue-tsc check-types basedpyright typecheck",
    "format": "fmt format prettier black gofmt rustfmt",
    "build": "build compile webpack vite rollup esbuild assemble",
    "install": "install i ci add sync",
    "migrate": "migrate migration migrations alembic",
    "start": "start dev serve up runserver",
}
_PURPOSE_OF = {word: purpose for purpose, words in _PURPOSE_WORDS.items() for word in words.split()}


class SimpleCommand:
    """One simple command: the operator before it, and its words without redirections."""

    __slots__ = ("hides_errors", "operator", "words")

    def __init__(self, operator: str) -> None:
        self.operator = operator
        self.words: list[str] = []
        self.hides_errors = False

    @property
    def program(self) -> str:
        """Return the name of the program, without wrappers and path."""
        first = self.words[0]
        if first.isalpha() and first not in _WRAPPERS:
            return _ALIASES.get(first, first)
        rest = strip_wrappers(self.words)
        name = _get_program_name(rest[0]) if rest else ""
        return "source" if name == "python" and rest[1:3] == ["-m", "venv"] else name


class Command:
    """A parsed command line; `tool` and `action` say what was wanted, and the rest is computed on demand."""

    __slots__ = (
        "_essence",
        "_main",
        "_parts",
        "action",
        "full_text",
        "inline",
        "purpose",
        "script",
        "text",
        "tool",
        "words",
    )  # fmt: skip

    def __init__(self, text: str) -> None:
        self.full_text = text
        self.text = text[:_TEXT_LIMIT]
        line = _inline_message(self.text)
        self._parts = split_commands(line)
        self._essence = ""
        self._main = _find_main_part(self._parts)
        self.words = strip_wrappers(self._main.words)
        self.script, self.inline = "", "<<" in line
        self.tool, self.action = self._find_tool()
        self.purpose = _find_purpose(self.words)

    def get_redacted(self) -> Command:
        """Return the same command without secrets, for display: redacted as a whole, then parsed."""
        return parse_command(redact_ends(self.full_text, _REDACT_LIMIT))

    @property
    def main(self) -> str:
        """Return the part of the line that matters."""
        return " ".join(self._main.words)

    @property
    def essence(self) -> str:
        """Return the whole command without the parts that only shape its output."""
        if not self._essence:
            self._essence = " && ".join(" ".join(part.words) for part in self._parts if _is_essential(part, self._main))
        return self._essence

    @property
    def folder(self) -> str:
        """Return the folder that the command runs in; empty if it is not given."""
        return _find_folder(self._parts, self._main)

    @property
    def hides_errors(self) -> bool:
        """Return whether the command's errors are sent to /dev/null."""
        return self._main.hides_errors

    @property
    def hides_exit_code(self) -> bool:
        """Return whether the exit code may come from something else."""
        return _is_exit_code_hidden(self._parts, self._main, self.text)

    @property
    def family(self) -> str:
        """Return tool and action, such as `git push`."""
        return f"{self.tool} {self.action}".strip()

    @property
    def is_read_only(self) -> bool:
        """Return whether the command only looks around; `sed -i` does not."""
        return self.tool in _READ_ONLY_PROGRAMS and not (self.tool == "sed" and any(w[:2] == "-i" for w in self.words))

    def _find_tool(self) -> tuple[str, str]:
        words = _unwrap_runner(self.words)
        if not words:
            return "", ""
        tool, rest = _get_program_name(words[0]), words[1:]
        if tool == "docker-compose":
            tool, rest = "docker", ["compose", *rest]
        if tool in _NODE_MANAGERS:
            return "js", _get_node_action(rest)
        if tool in _SHELLS or tool in _SCRIPT_HOSTS:
            return self._find_script(tool, rest)
        if "/" in words[0] and "." in tool:
            self.script = tool
        return tool, _get_action(rest, tool in _TOOLS_WITH_NESTED_ACTIONS) if tool in TOOLS_WITH_ACTIONS else ""

    def _find_script(self, tool: str, rest: list[str]) -> tuple[str, str]:
        """Return the script that an interpreter runs; an inline script has no name."""
        self.inline = self.inline or any(word in _INLINE_OPTIONS for word in rest[:3])
        named = next((word for word in rest if not word.startswith("-")), "")
        if self.inline or not named:
            return tool, ""
        script = _get_program_name(named)
        if script in TOOLS_WITH_ACTIONS:  # `php artisan`: a framework's program, not somebody's script
            return script, _get_action(rest[rest.index(named) + 1 :])
        self.script = script
        return script, ""


def _inline_message(text: str) -> str:
    """Replace a message passed by `"$(cat <<EOF` with its first line: Claude Code commits that way."""
    before, sign, rest = text.partition("$(cat <<")
    if not sign:
        return text
    marker, _, body = rest.partition("\n")
    title = body.lstrip().partition("\n")[0]
    after = body.partition(f"\n{marker.strip(_MARKER_QUOTES)}")[2].lstrip()
    return f"{before}{title.replace(chr(34), chr(39))}{after[1:] if after[:1] == ')' else after}"


def split_commands(text: str) -> list[SimpleCommand]:
    """Split a line into simple commands. Here-documents are ignored."""
    text = text.partition("<<")[0].replace("\\\n", " ")
    parts = [SimpleCommand("")]
    for token in _get_token_pattern().findall(text):
        if token in _OPERATORS:
            parts.append(SimpleCommand(token))
        else:
            _add_token(parts[-1], token)
    return [part for part in parts if part.words]


def _get_token_pattern() -> Pattern[str]:
    """Return the token pattern, compiled on first use. `2>&1` and `&>log` do not end a command."""
    global _token_pattern
    if _token_pattern is None:
        import re  # most hooks see no command

        quoted = r"""\"(?:[^"\\]|\\.)*"?|'[^']*'?"""
        _token_pattern = re.compile(
            rf"""&&|\|\||[|;\n]|(?<!>)&(?!>)|(?:[^\s"'\\|&;]|\\.|\\$|{quoted}|(?<=>)&|&(?=>))+""", re.DOTALL
        )
    return _token_pattern


def _add_token(part: SimpleCommand, token: str) -> None:
    """Add a token to a command, without its quotes; redirections are left out."""
    words = part.words
    if words and words[-1] in _REDIRECTIONS:
        sign = words.pop()
        part.hides_errors = part.hides_errors or (sign[:1] in "2&" and token == "/dev/null")
        return
    if ">" in token or token[0] == "<":
        bare = token.lstrip("0123456789&")
        if bare[:1] in ("<", ">") and token not in _REDIRECTIONS:
            part.hides_errors = part.hides_errors or (token[:1] in "2&" and bare.endswith("/dev/null"))
            return
    words.append(_unquote(token) if "'" in token or '"' in token or "\\" in token else token.strip("(){}") or token)


def _unquote(token: str) -> str:
    if token[0] in "\"'" and token[-1] == token[0] and token.count(token[0]) == 2:
        return token[1:-1]
    return token.replace("'", "").replace('"', "").replace("\\", "")


def strip_wrappers(words: list[str]) -> list[str]:
    """Return the words without assignments and wrappers."""
    at = 0
    while at < len(words):
        word = words[at]
        is_assignment = "=" in word and word.partition("=")[0].isidentifier()
        if not is_assignment and (_get_program_name(word) not in _WRAPPERS or at + 1 == len(words)):
            break
        at += 1
        while not is_assignment and at < len(words) and (words[at][:1] == "-" or words[at][:1].isdigit()):
            at += 1
    return words[at:]


def _get_program_name(word: str) -> str:
    """Return the name of a program: `/usr/bin/python3.11` → `python`."""
    name = word.rstrip("/").rpartition("/")[2]
    name = name.rstrip("0123456789.") or name if name[:6] == "python" or name[:3] in ("pip", "py3") else name
    return _ALIASES.get(name, name)


def _unwrap_runner(words: list[str]) -> list[str]:
    """Return the command that a runner runs: `uv run pytest`, `npx jest`, `bundle exec rspec`."""
    tool = _get_program_name(words[0]) if words else ""
    if tool in _NODE_RUNNERS:
        rest = words[1:]
    elif tool in _RUNNER_ACTIONS:
        verb = words[1] if tool == "python" and len(words) > 1 else next(iter(_drop_options(words[1:])), "")
        if verb not in _RUNNER_ACTIONS[tool]:
            return words
        rest = words[words.index(verb, 1) + 1 :]
    else:
        return words
    rest = rest[next((at for at, word in enumerate(rest) if word[:1] != "-"), len(rest)) :]
    return _unwrap_runner(rest) if rest else words


def _get_node_action(rest: list[str]) -> str:
    plain = [word for word in _drop_options(rest) if word != "run"]
    plain = plain[2:] if plain[:1] == ["workspace"] else plain  # skip the name of the workspace too
    action = plain[0] if plain else "install"
    return {"i": "install", "ci": "install", "add": "install", "t": "test", "tst": "test"}.get(action, action)


def _drop_options(rest: list[str]) -> list[str]:
    kept, skip = [], False
    for word in rest:
        if not skip and word[:1] not in ("-", "+"):  # the action of `cargo +stable test` is `test`
            kept.append(word)
        skip = not skip and word in _OPTIONS_WITH_VALUE
    return kept


def _get_action(rest: list[str], is_nested: bool = False) -> str:
    """Return the subcommand; two words for tools with nested subcommands."""
    plain = _drop_options(rest)
    if is_nested or plain[:1] == ["compose"]:
        return " ".join(plain[:2])
    return plain[0] if plain else ""


def _find_main_part(parts: list[SimpleCommand]) -> SimpleCommand:
    """Return the part that matters: a program rather than a look around, a look around rather than `cd`."""
    if not parts:
        return SimpleCommand("")
    programs = [part.program for part in parts]
    for boring in _MINOR_PROGRAMS:
        for part, program in zip(parts, programs):
            if program not in boring:
                return part
    return parts[0]


def _find_folder(parts: list[SimpleCommand], main: SimpleCommand) -> str:
    """Return the folder that a command runs in, from an option or an earlier `cd`."""
    for at, word in enumerate(main.words[:-1]):
        if word in _FOLDER_OPTIONS:
            return main.words[at + 1]
    before = parts[: parts.index(main)] if main in parts else []
    moves = [part.words[1] for part in before if part.words[0] in ("cd", "pushd") and len(part.words) > 1]
    return moves[-1] if moves else ""


def _is_exit_code_hidden(parts: list[SimpleCommand], main: SimpleCommand, text: str) -> bool:
    """Return whether something after the main part hides its exit code."""
    if main not in parts:
        return False
    after = [part.operator for part in parts[parts.index(main) + 1 :]]
    piped = "|" in after and "pipefail" not in text
    return piped or "||" in after or ";" in after or "\n" in after or text.rstrip().endswith("&") or main.hides_errors


def _is_essential(part: SimpleCommand, main: SimpleCommand) -> bool:
    """Return whether a part belongs to the essence of a command."""
    if part is main:
        return True
    return part.operator in ("", "&&", ";", "\n") and part.program not in ("echo", "printf", "true", "sleep", "pwd")


def _find_purpose(words: list[str]) -> str:
    """Return what a command is for, such as test, lint or build; empty if unknown."""
    for word in words[:5]:
        name = _get_program_name(word)
        if word[:1] == "-" or ("/" in word and word is not words[0]):
            continue
        found = _PURPOSE_OF.get(name) or _PURPOSE_OF.get(stem(name))
        if found:
            return found
    return ""


def stem(word: str) -> str:
    """Return a name up to its first separator: `test:unit` → `test`."""
    for sign in ":-_.":
        word = word.partition(sign)[0]
    return word


_command_cache: dict[str, Command] = {}


def parse_command(given: Any) -> Command:
    """Return the parsed command, cached: several detectors look at one call, and agents repeat commands."""
    text = given if type(given) is str else ""
    found = _command_cache.get(text)
    if found is None:
        if len(_command_cache) >= _CACHE_SIZE:
            _command_cache.clear()
        found = _command_cache[text] = Command(text)
    return found
