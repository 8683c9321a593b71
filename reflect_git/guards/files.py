"""Find the files that a shell command reads or writes, with the text that it writes where the line says it."""

from __future__ import annotations

from reflect_git.guards.options import has_option, split_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Optional

    from reflect_git.guards.shell import Command

    Write = tuple[str, Optional[str]]

_REMOVERS = frozenset("rm unlink shred truncate touch rmdir trash sponge vim vi nvim nano ed ex emacs dos2unix".split())
_COPIERS = frozenset("cp install rsync ln scp ditto".split())
_READERS = frozenset(
    "cat less more head tail bat batcat nl tac od xxd hexdump strings base64 source . sort uniq cut paste diff cmp vim "
    "vi nvim nano emacs view open code zcat md5sum sha256sum glow column rev fold pr".split()
)
_SEARCHERS = frozenset("grep egrep fgrep rg ag ack sed awk gawk jq yq".split())
_IN_PLACE = "--in-place|--inplace|--write|--fix|--fix-only|--edit|--overwrite"
_IN_PLACE_LETTER = {
    "sed": "-i",
    "gsed": "-i",
    "perl": "-i",
    "ruby": "-i",
    "yq": "-i",
    "json": "-I",
    "gofmt": "-w",
    "goimports": "-w",
    "prettier": "-w",
    "clang-format": "-i",
    "autopep8": "-i",
    "sort": "-o",
    "xmlstarlet": "-L",
    "ex": "-s",
    "crudini": "--set",
}


def find_writes(command: Command) -> list[Write]:
    """Return the files that a command creates, changes or removes; a text is given where it is known."""
    name = command.name
    text = command.output
    found: list[Write] = [(path, text) for path in command.writes if not path.startswith("/dev/")]
    arguments, options = split_words(command)
    if name == "tee":
        found += [(path, command.stdin) for path in arguments]
    elif name in _REMOVERS:
        found += [(path, None) for path in arguments]
    elif name == "mv":
        found += [(path, None) for path in _get_targets(arguments, options) + arguments]
    elif name in _COPIERS:
        found += [(path, None) for path in _get_targets(arguments, options)]
    elif name == "dd":
        found += [(arg[3:], None) for arg in arguments if arg.startswith("of=")]
    elif name in ("curl", "wget"):
        found += [(value, None) for option, value in options if option in ("-o", "--output", "-O", "--output-document")]
    elif name == "git" and arguments[:1] in (["rm"], ["mv"]) and not has_option(command, "--cached"):
        found += [(path, None) for path in arguments[1:]]
    elif name == "find" and "-delete" in command.args:
        names = [
            command.args[at + 1] for at, arg in enumerate(command.args[:-1]) if arg in ("-name", "-path", "-iname")
        ]
        found += [("/".join([arguments[0] if arguments else ".", *names]), None)]
    elif name == "patch":
        found += [(path, None) for path in arguments[:1]]
    found += [(path, None) for path in _find_in_place(command, arguments, options)]
    if name.startswith(("python", "node", "ruby", "perl", "deno", "bun")):
        found += [(path, None) for path in _find_in_code(command, options)]
    return [(path, text) for path, text in found if path]


def _get_targets(arguments: list[str], options: list[tuple[str, str]]) -> list[str]:
    """Return the files that are written by a command whose last argument is the target."""
    target = next((value for option, value in options if option in ("-t", "--target-directory")), "")
    sources = arguments
    if not target:
        if len(arguments) < 2:
            return []
        target, sources = arguments[-1], arguments[:-1]
    if ":" in target[2:]:
        return []  # another machine
    last = target.rstrip("/").rsplit("/", 1)[-1]
    found = [target]
    if target[-1:] == "/" or "." not in last.lstrip(".") or len(sources) > 1:
        found += [target.rstrip("/") + "/" + source.rstrip("/").rsplit("/", 1)[-1] for source in sources]
    return found


def _find_in_place(command: Command, arguments: list[str], options: list[tuple[str, str]]) -> list[str]:
    """Return the files that are changed in place: `sed -i`, `prettier --write`, `jupyter nbconvert --inplace`."""
    name = command.name
    letter = _IN_PLACE_LETTER.get(name, "")
    if not has_option(command, _IN_PLACE + ("|" + letter if letter else "")):
        return ["".join(arguments[1:2])] if name in ("gawk", "awk") and "inplace" in command.args else []
    if name in ("sed", "gsed") and not has_option(command, "-e|--expression|-f|--file"):
        return arguments[1:]
    if name in ("perl", "ruby"):
        return arguments[1:] if arguments else []
    if name == "sort":
        return [value for option, value in options if option == "-o"] or arguments[:1]
    values = [command.args[at + 1] for at, arg in enumerate(command.args[:-1]) if arg in ("-f", "--file")]
    return arguments + values


def _find_in_code(command: Command, options: list[tuple[str, str]]) -> list[str]:
    """Return the files that code given to an interpreter writes."""
    args = command.args
    code = next((args[at + 1] for at, arg in enumerate(args[:-1]) if arg in ("-c", "-e", "--eval")), command.stdin)
    if not code or not any(word in code for word in ("open", "write", "rite", "unlink", "remove", "rmSync")):
        return []
    from reflect_git.guards.scripts import find_written_files

    return find_written_files(code)


def find_reads(command: Command) -> list[str]:
    """Return the files whose content a command reads."""
    name = command.name
    found = list(command.reads)
    arguments, options = split_words(command)
    if name in _READERS:
        found += arguments
    elif name in _SEARCHERS:
        has_script = has_option(command, "-e|--regexp|--expression|-f|--file|--from-file")
        given = arguments if has_script else arguments[1:]
        is_recursive = name in ("rg", "ag", "ack") or ("grep" in name and has_option(command, "-r|-R|--recursive"))
        found += given or (["."] if is_recursive and not command.sources else [])
    elif name in ("cp", "mv", "rsync", "scp", "install"):
        found += arguments[:-1]
    elif name == "curl":
        found += [value[value.find("@") + 1 :] for _, value in options if "@" in value and value[:1] in "@fF"]
        found += [value for option, value in options if option in ("-T", "--upload-file")]
    elif name == "git" and arguments[:1] in (["show"], ["diff"], ["blame"], ["cat-file"]):
        found += [arg.rsplit(":", 1)[-1] for arg in arguments[1:]]
    elif name in ("tar", "zip", "gpg", "openssl"):
        found += arguments
    if name.startswith("python") or name in ("node", "ruby"):
        code = " ".join(command.args) if "-c" in command.args or "-e" in command.args else command.stdin or ""
        if "open(" in code or "read" in code:
            from reflect_git.guards.scripts import find_read_files

            found += find_read_files(code)
    return [path for path in found if path and not path.startswith("/dev/")]
