"""Run the words of a command in a `_State`: record the program, then the programs that it starts itself.

`sudo npm i` runs `sudo` and `npm`; `python -m pip` runs `python` and `pip`; `bash -c '…'` runs what the text says.
"""

from __future__ import annotations

from reflect_git.guards.shell import Command, get_program_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

    from reflect_git.guards.shell import _State

SHELLS = frozenset("bash sh zsh dash ksh ash mksh fish".split())
INTERPRETERS = frozenset("python python3 python2 pypy pypy3 node nodejs deno bun ruby perl php".split())
# Wrapper → its options that take a value, and how many words come before the command.
WRAPPERS: dict[str, tuple[str, int]] = {
    "sudo": ("-u -g -h -p -C -T -r -t -D -R -U --user --group --host --prompt --chdir --chroot", 0),
    "doas": ("-u -C", 0),
    "env": ("-u -C --unset --chdir", 0),
    "time": ("-f -o --format --output", 0),
    "gtime": ("-f -o --format --output", 0),
    "nohup": ("", 0),
    "nice": ("-n --adjustment", 0),
    "ionice": ("-c -n -p --class --classdata", 0),
    "timeout": ("-s -k --signal --kill-after", 1),
    "gtimeout": ("-s -k --signal --kill-after", 1),
    "stdbuf": ("-i -o -e --input --output --error", 0),
    "unbuffer": ("", 0),
    "setsid": ("", 0),
    "exec": ("-a", 0),
    "command": ("", 0),
    "builtin": ("", 0),
    "noglob": ("", 0),
    "caffeinate": ("-t -w", 0),
    "chrt": ("", 1),
    "taskset": ("-c --cpu-list", 1),
    "strace": ("-e -o -p -s -u -E", 0),
    "ltrace": ("-e -o -p -s -u", 0),
    "valgrind": ("", 0),
    "flock": ("-w -E --timeout --wait --conflict-exit-code", 1),
    "chroot": ("--userspec --groups", 1),
    "fakeroot": ("", 0),
    "proxychains": ("-f", 0),
    "cross-env": ("", 0),
    "dotenv": ("-e -f -v -c --file", 0),
    "direnv": ("", 0),
    "firejail": ("", 0),
    "arch": ("-arch", 0),
    "npx": ("-p --package -w --workspace --prefix --cache", 0),
    "pnpx": ("-p --package", 0),
    "bunx": ("-p --package", 0),
    "uvx": ("--from --with -p --python --index-url --extra-index-url --env-file --with-requirements", 0),
    "corepack": ("", 0),
    "busybox": ("", 0),
    "entr": ("", 0),
    "xvfb-run": ("-n -s -e -f -p -w", 0),
    "dbus-run-session": ("", 0),
    "systemd-run": ("-p -u --unit --property --slice --uid --gid", 0),
    "watchexec": ("-w -e -i -f --watch --exts --ignore --filter --debounce", 0),
    "xargs": ("-I -n -P -L -d -E -s -a --max-args --max-procs --max-lines --delimiter --arg-file --replace", 0),
}
# Program and subcommands that run what follows, with the options that take a value.
_RUNNERS: dict[str, tuple[tuple[str, ...], str]] = {
    "uv": (
        ("run", "tool run"),
        (
            "--with --with-editable --with-requirements -p --python --env-file --extra --group "
            "--only-group --no-group --index --index-url --extra-index-url --package --project --directory --from -w"
        ),
    ),
    "poetry": (("run",), "-C -P --directory --project"),
    "pipenv": (("run",), ""),
    "pdm": (("run",), "-p --project"),
    "rye": (("run",), ""),
    "hatch": (("run", "env run"), "-e --env"),
    "pixi": (("run",), "-e --environment --manifest-path"),
    "conda": (("run",), "-n -p --name --prefix"),
    "mamba": (("run",), "-n -p --name --prefix"),
    "micromamba": (("run",), "-n -p --name --prefix"),
    "pipx": (("run",), "--spec --python --index-url --pip-args"),
    "npm": (("exec", "x"), "-w --workspace -p --package --prefix -C"),
    "pnpm": (("exec", "dlx"), "-C --dir --filter -F --package"),
    "yarn": (("exec", "dlx"), "--cwd -p --package"),
    "bun": (("x",), "--cwd"),
    "bundle": (("exec",), "--gemfile"),
    "mise": (("exec", "x"), "-C --cd"),
    "asdf": (("exec",), ""),
    "nvm": (("exec", "run"), ""),
    "fnm": (("exec",), "--using"),
    "volta": (("run",), "--node --npm --yarn"),
    "direnv": (("exec",), ""),
    "op": (("run",), "--env-file --account"),
    "doppler": (("run",), "-p -c --project --config -t --token"),
    "infisical": (("run",), "--env --path --projectId"),
    "aws-vault": (("exec",), "-d --duration"),
    "chamber": (("exec",), ""),
    "git": (("bisect run",), "-C -c --git-dir --work-tree"),
    "coverage": (("run",), "--source --omit --include --rcfile --context --data-file"),
    "rustup": (("run",), ""),
    "opam": (("exec",), "--switch"),
    "docker": (
        ("exec", "compose exec", "container exec"),
        (
            "-e -u -w --env --user --workdir --env-file -f --file -p "
            "--project-name --profile --index --context -H --detach-keys"
        ),
    ),
    "podman": (("exec",), "-e -u -w --env --user --workdir --env-file"),
    "docker-compose": (("exec",), "-e -u -w --env --user --workdir -f --file -p --project-name --index"),
    "kubectl": (("exec",), "-n -c --namespace --container --context --kubeconfig"),
}
# Runners whose first word behind the subcommand is a place, not the command.
_WITH_PLACE = frozenset("docker podman docker-compose kubectl aws-vault chamber direnv fnm rustup nvm".split())
_REMOTE = frozenset("docker podman docker-compose kubectl ssh".split())
_SSH_VALUES = frozenset("-b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w".split())
# Commands of yarn that are not programs; `yarn prettier` runs the program.
_YARN_OWN = frozenset(
    "add audit autoclean bin cache check config constraints create dedupe explain generate-lock-entry global help "
    "import info init install licenses link list login logout node npm outdated owner pack patch plugin policies prune "
    "publish rebuild remove run search set stage tag team test unlink unplug up upgrade upgrade-interactive version "
    "versions why workspace workspaces dev build start lint format serve preview deploy".split()
)
# Programs that run a text as shell: with these options, or words of their own.
_STRING_RUNNERS = frozenset("su script runuser nix-shell nodemon concurrently watch parallel tmux ssh".split())
_STRING_OPTIONS = ("-c", "--command", "--run", "--exec", "-x")
_DECLARE = frozenset("export declare typeset local readonly".split())
_NOT_RUN = ("-v", "-V", "--version", "--help")


def run_words(state: _State, command: Command, words: list[str]) -> None:
    """Record a command and everything that it runs; expand functions and aliases of this command line."""
    if words[0] in state.aliases:
        alias = state.aliases.pop(words[0])
        state.read_text(alias + " " + _quote(words[1:]))
        state.aliases[words[0]] = alias
        return
    if words[0] in state.functions:
        _call_function(state, words)
        return
    while words[0][:1] == "$" and "SUDO" in words[0].upper() and len(words) > 1:
        words = words[1:]  # `$SUDO npm i`, where SUDO may be empty
    command.program, command.args = words[0], words[1:]
    command.name = get_program_name(words[0])
    if state.exported:
        command.env = {**state.exported, **command.env}
    command.folder = state.folder
    state.add(command)
    _apply_builtin(state, command)
    command.output = _get_output(command)
    for inner, is_remote in _find_inner(state, command):
        if inner:
            nested = Command(inner, state.folder)
            nested.stdin, nested.sources, nested.env = command.stdin, command.sources, _get_env(command)
            nested.outer = (*command.outer, command.name)
            before, state.is_remote = state.is_remote, state.is_remote or is_remote
            state.depth += 1
            if state.depth < 12:
                run_words(state, nested, inner)
            state.depth -= 1
            state.is_remote = before


def _call_function(state: _State, words: list[str]) -> None:
    """Read the body of a function with the words of its call as parameters."""
    body = state.functions.pop(words[0])  # a function that calls itself is read once
    keys = [str(at) for at in range(1, 10)] + ["@", "*"]
    saved = {key: state.variables[key] for key in keys if key in state.variables}
    _set_parameters(state, words[1:])
    state.read_text(body)
    for key in keys:
        state.variables.pop(key, None)
    state.variables.update(saved)
    state.functions[words[0]] = body


def _set_parameters(state: _State, values: list[str]) -> None:
    """Set `$1`, `$2`, … and `$@`."""
    for at in range(1, 10):
        state.variables[str(at)] = values[at - 1] if at <= len(values) else ""
    state.variables["@"] = "\x1f".join(values)
    state.variables["*"] = " ".join(values)


def _get_folder(folder: str, command: Command) -> str:
    """Return the folder after a `cd`."""
    places = [arg for arg in command.args if arg[:1] != "-"]
    if not places:
        return folder if command.args or command.name == "pushd" else "~"
    if places[0][:1] in ("/", "~", "$") or places[0][1:2] == ":":
        return places[0]
    return (folder + "/" if folder else "") + places[0]


def _declare(state: _State, command: Command) -> None:
    """Set the variables of `export A=b` and its relatives."""
    for arg in command.args:
        key, equals, value = arg.partition("=")
        if equals:
            state.variables[key] = value
        if command.name == "export" or "-x" in command.args:
            state.exported[key] = state.variables.get(key, "")


def _apply_builtin(state: _State, command: Command) -> None:
    """Apply what `cd`, `export` and `alias` change for the commands behind them."""
    name, args = command.name, command.args
    if name in ("cd", "pushd"):
        state.folder = _get_folder(state.folder, command)
    elif name in _DECLARE:
        _declare(state, command)
    elif name == "alias":
        for arg in args:
            key, equals, value = arg.partition("=")
            if equals:
                state.aliases[key] = value
    elif name == "unset":
        for arg in args:
            state.variables.pop(arg, None)
            state.exported.pop(arg, None)
    elif name == "set" and "--" in args:
        _set_parameters(state, args[args.index("--") + 1 :])
    elif name == "read" and command.stdin is not None and args and args[-1][:1] != "-":
        state.variables[args[-1]] = command.stdin.split("\n", 1)[0]


def _get_output(command: Command) -> Optional[str]:
    """Return what a command prints, if the line alone says it."""
    name, args = command.name, command.args
    if name == "echo":
        while args and args[0] in ("-n", "-e", "-E", "-ne", "-en"):
            args = args[1:]
        return " ".join(args) + "\n"
    if name == "printf" and args:
        return _format(args[0] if args[0] != "--" else "".join(args[1:2]), args[1:])
    if name in ("cat", "tee", "base64") and command.stdin is not None:
        return command.stdin if name != "base64" and (name == "tee" or not args or args == ["-"]) else None
    if name in ("which", "command", "type") and args:
        asked = args[1:] if args[0] in ("-v", "-V", "-p", "-P", "-a") else args
        is_question = name == "which" or args[0] in ("-v", "-p", "-P")
        return asked[0] + "\n" if len(asked) == 1 and is_question else None
    return None


def _format(form: str, values: list[str]) -> str:
    """Return what printf prints for `%s` and the usual escapes."""
    form = form[:4000].replace("\\n", "\n").replace("\\t", "\t")
    count = form.count("%s")
    if not count:
        return form
    made = ""
    while (values or not made) and len(made) < 4000:
        part = form
        for value in (values[:count] + [""] * count)[:count]:
            part = part.replace("%s", value, 1)
        made += part
        values = values[count:]
    return made


def _get_env(command: Command) -> dict[str, str]:
    """Return the environment of what a command runs: `env A=b npm i` adds to it."""
    if command.name not in ("env", "sudo", "cross-env"):
        return dict(command.env)
    made = dict(command.env)
    for arg in command.args:
        name, equals, value = arg.partition("=")
        if equals and name.isidentifier():
            made[name] = value
        elif arg[:1] != "-":
            break
    return made


def _find_inner(state: _State, command: Command) -> list[tuple[list[str], bool]]:
    """Return the words of the commands that a command runs; read the texts that it runs as shell."""
    name, args = command.name, command.args
    if name in SHELLS:
        _read_shell(state, command)
    elif name == "eval":
        state.read_text(" ".join(args))
    elif name == "trap":
        if args and args[0] not in ("-", "") and len(args) > 1:
            state.read_text(args[0])
    elif name in INTERPRETERS or name.startswith("python3."):
        return _find_in_interpreter(state, command)
    elif name == "find":
        return [(words, False) for words in _find_exec(args, ("-exec", "-execdir", "-ok", "-okdir"))]
    elif name in ("fd", "fdfind"):
        return [(words, False) for words in _find_exec(args, ("-x", "-X", "--exec", "--exec-batch"))]
    elif name in _STRING_RUNNERS:
        _read_string(state, command)
        return [(_skip_options(args, frozenset(("-j", "-n", "-I", "--jobs"))), False)] if name == "parallel" else []
    elif name in WRAPPERS:
        inner = _unwrap(state, command)
        if inner or name not in _RUNNERS:
            return [(inner, False)]
    if name in _RUNNERS or (name == "git" and args):
        return _unwrap_runner(state, command)
    return []


def _read_shell(state: _State, command: Command) -> None:
    """Read what `bash -c TEXT` or a shell that reads its input runs."""
    args = command.args
    for at, arg in enumerate(args):
        if arg[:1] == "-" and arg[:2] != "--" and arg[-1:] == "c" and at + 1 < len(args):
            saved = dict(state.variables), state.folder
            _set_parameters(state, args[at + 3 :])
            state.read_text(args[at + 1])
            state.variables, state.folder = saved
            return
        if arg[:1] not in ("-", "+") and args[at - 1 : at] not in (["-o"], ["-O"]) and "-s" not in args[:at]:
            return  # a script
    if command.stdin is not None:
        state.read_text(command.stdin)


def _read_string(state: _State, command: Command) -> None:
    """Read the text that `su -c`, `watch`, `ssh`, `concurrently` and the like run as shell."""
    name, args = command.name, command.args
    texts: list[str] = []
    if name == "ssh":
        texts = [" ".join(_skip_options(args, _SSH_VALUES)[1:])]
    elif name == "watch":
        texts = [" ".join(_skip_options(args, frozenset(("-n", "--interval"))))]
    elif name in ("concurrently", "parallel", "tmux"):
        texts = [arg for arg in args if " " in arg and arg[:1] != "-"]
    else:
        texts = [args[at + 1] for at, arg in enumerate(args[:-1]) if arg in _STRING_OPTIONS]
    before, state.is_remote = state.is_remote, state.is_remote or name == "ssh"
    for text in texts:
        state.read_text(text)
    state.is_remote = before


def _find_in_interpreter(state: _State, command: Command) -> list[tuple[list[str], bool]]:
    """Return the module that `python -m` runs, or the commands that the given code starts."""
    name, args = command.name, command.args
    if name == "php" and args[:1] and args[0].endswith(".phar"):
        return [([args[0].removesuffix(".phar"), *args[1:]], False)]
    code = None
    for at, arg in enumerate(args):
        if name.startswith(("python", "pypy")) and arg[:1] == "-" and arg[-1:] == "m" and arg[:2] != "--":
            module = args[at + 1 : at + 2]
            return [([module[0].split(".")[0], *args[at + 2 :]], False)] if module else []
        if arg in ("-c", "-e", "--eval", "-p", "-r", "-pe", "-ne", "-nle", "-lne") and at + 1 < len(args):
            code = args[at + 1]
            break
        if arg[:1] != "-" and args[at - 1 : at] not in (["-W"], ["-X"]):
            return [] if name not in _RUNNERS else _unwrap_runner(state, command)
    code = command.stdin if code is None else code
    if not code:
        return []
    from reflect_git.guards.scripts import find_started_commands

    found: list[tuple[list[str], bool]] = []
    for started in find_started_commands(code):
        if isinstance(started, str):
            state.read_text(started)
        else:
            found.append((started, False))
    return found


def _find_exec(args: list[str], options: tuple[str, ...]) -> list[list[str]]:
    """Return the commands that `find -exec … ;` runs."""
    found: list[list[str]] = []
    place = args[0] if args and args[0][:1] not in ("-", "(", "!") else "."
    for option in ("-name", "-iname", "-path", "-wholename"):
        if option in args[:-1]:
            place += "/" + args[args.index(option) + 1]
    for at, arg in enumerate(args):
        if arg in options:
            words: list[str] = []
            for word in args[at + 1 :]:
                if word in (";", "+"):
                    break
                words.append(word.replace("{}", place))
            found.append(words)
    return found


def _skip_options(args: list[str], with_value: frozenset[str]) -> list[str]:
    """Return the words from the first one that is not an option."""
    at = 0
    while at < len(args):
        arg = args[at]
        if arg == "--":
            return args[at + 1 :]
        if arg[:1] != "-" or arg == "-":
            return args[at:]
        at += 2 if arg in with_value else 1
    return []


def _unwrap(state: _State, command: Command) -> list[str]:
    """Return the words of the command that a wrapper runs."""
    name, args = command.name, command.args
    if name == "command" and args[:1] and args[0] in ("-v", "-V"):
        return []
    values, places = WRAPPERS[name]
    for option in ("-c", "--call", "-S", "--split-string"):
        if option in args[:-1] and name in ("npx", "flock", "env"):
            state.read_text(" ".join(args[args.index(option) + 1 :]) if name == "env" else args[args.index(option) + 1])
            return []
    words = _skip_options(args, frozenset(values.split()))[places:]
    while words and name in ("env", "sudo", "cross-env", "dotenv"):
        key, equals, _ = words[0].partition("=")
        if words[0] != "--" and not (equals and key.isidentifier()):
            break
        words = words[1:]
    if name in ("npx", "uvx", "pnpx", "bunx") and words:
        words = [_get_package_name(words[0]), *words[1:]]
    if name == "xargs" and words and command.stdin is not None and "-I" not in " ".join(args[:4]):
        words = words + command.stdin.split()[:50]
    return words


def _get_package_name(word: str) -> str:
    """Return the program of `prettier@3` or `@scope/tool@1`."""
    if "/" in word[1:] and word[:1] != "@":
        return word
    at = word.find("@", 1)
    return word[:at] if at > 0 else word


def _unwrap_runner(state: _State, command: Command) -> list[tuple[list[str], bool]]:
    """Return what `uv run`, `pnpm exec`, `docker exec` and the like run."""
    name, args = command.name, command.args
    subcommands, values = _RUNNERS[name]
    with_value = frozenset(values.split())
    words = _skip_options(args, with_value)
    if name == "git":
        _read_git(state, words)
    if name == "yarn" and words and words[0] not in _YARN_OWN:
        words = words[1:] if words[0] in subcommands else words
        return [(_skip_options(words, with_value), False)]
    for subcommand in subcommands:
        given = subcommand.split()
        rest = words
        for word in given:
            rest = _skip_options(rest, with_value)
            if rest[:1] != [word]:
                break
            rest = rest[1:]
        else:
            if name == "uv" and "-m" in rest[:3]:
                rest = ["python", *rest]
            rest = _skip_options(rest, with_value) if rest[:1] != ["python"] else rest
            if name in _WITH_PLACE:
                rest = _skip_options(rest[1:], with_value)
            if name in ("pnpm", "npm", "yarn", "bun", "pipx") and rest:
                rest = [_get_package_name(rest[0]), *rest[1:]]
            return [(rest, name in _REMOTE)]
    return []


def _read_git(state: _State, words: list[str]) -> None:
    """Read the texts that git itself runs as shell."""
    if words[:2] == ["submodule", "foreach"]:
        state.read_text(" ".join(_skip_options(words[2:], frozenset())))
    elif words[:1] == ["rebase"]:
        for option in ("-x", "--exec"):
            if option in words[:-1]:
                state.read_text(words[words.index(option) + 1])


def _quote(words: list[str]) -> str:
    """Return words as a shell would read them back."""
    return " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)
