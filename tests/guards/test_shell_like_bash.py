"""The parser finds the commands that bash really runs: generated lines, run with programs that log how they are called."""

from __future__ import annotations

import os
import random
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from reflect_git.guards.shell import parse_commands

PROGRAMS = ("npm", "yarn", "pip", "kubectl", "rspec")
ARGS = (
    "install", "-g", "--force", "'a b'", '"c;d"', "x\\ y", "'npm install'", '"yarn && pip"', "a#b", "$'t\\tx'", "--x=1",
    '"it\'s"', "'$HOME'", "f{1,2}", '"a\\"b"', "/tmp/x", "*.nothing", "'|'", '"$(true)"',
)  # fmt: skip
DECOYS = (
    "echo npm install", "echo 'yarn; pip' > note.txt", "# npm install\n", "printf '%s\\n' kubectl >> note.txt",
    "cat > note.txt <<'EOF'\nnpm install\n$(pip x)\nEOF\n", "true 'rspec | npm'", ': "npm"', "command -v npm > /dev/null",
    "cat <<-'X' | wc -l > note.txt\n\tyarn add\n\tX\n", "X='npm install'", "[ npm = yarn ]", "[[ npm == pip || -n $PATH ]]",
)  # fmt: skip


class Lines:
    """Make command lines of which every branch runs."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.count = 0

    def name(self) -> str:
        """Return a new name for a variable or function."""
        self.count += 1
        return f"v{self.count}"

    def simple(self) -> str:
        """Return a call of one of the logged programs."""
        words = [self.random.choice(PROGRAMS), *self.random.choices(ARGS, k=self.random.randrange(4))]
        redirects = (
            "",
            "",
            "",
            " > out.txt",
            " 2>&1",
            " &> out.txt",
            " < /dev/null",
            " >> out.txt 2>/dev/null",
            " <<< word",
        )
        return (
            self.random.choice(("", "", "", "A=b ", "A='npm x' B=c ")) + " ".join(words) + self.random.choice(redirects)
        )

    def plain(self) -> str:
        """Return a call without quotes and redirects, for places where quoting is hard."""
        return f"{self.random.choice(PROGRAMS)} {self.random.choice(('install', '-rf', 'a b', ''))}".strip()

    def line(self, depth: int) -> str:
        """Return a command, in which other commands are nested up to a depth."""
        if depth <= 0:
            return self.simple()
        makers: list[Callable[[int], str]] = [
            self.joined, self.grouped, self.looped, self.wrapped, self.quoted, self.expanded, self.fed, self.decoyed,
        ]  # fmt: skip
        return self.random.choice(makers)(depth - 1)

    def joined(self, depth: int) -> str:
        first, second = self.line(depth), self.line(depth)
        forms = (
            f"{first}\n{second}", f"true && {{ {first}\n}}", f"false || ( {first}\n)", f"{{ {first}\n}}; {second}",
            f"! false && {{ {second}\n}}", f"( {first}\n) && {{ {second}\n}}", f"{{ {first}\n}} & wait; {second}",
        )  # fmt: skip
        return self.random.choice(forms)

    def grouped(self, depth: int) -> str:
        inner = self.line(depth)
        forms = (
            f"( {inner}\n)", f"{{ {inner}\n}} > out.txt", f"if true; then {inner}\nfi", f"if false; then :; else {inner}\nfi",
            f"if false; then :; elif true; then\n{inner}\nfi", f"case abc in x) ;; a*|b) {inner}\n;; esac",
            f"case 'z' in\n (z) {inner}\n;;\nesac", f"if [[ -n x && 1 < 2 ]]; then\n{inner}\nfi", f"(( 1 + (2) )) && {{ {inner}\n}}",
        )  # fmt: skip
        return self.random.choice(forms)

    def looped(self, depth: int) -> str:
        name, inner = self.name(), self.line(depth)
        forms = (
            f"for {name} in a b; do {inner}\ndone", f"while true; do {inner}\nbreak; done",
            f"until false; do {inner}\nbreak\ndone", f"for {name} in npm pip; do ${name} go; done",
            f"for {name} in 1 2\ndo\n{inner}\ndone > out.txt", f"for (({name}=0; {name}<1; {name}++)); do {inner}\ndone",
            f"{name}() {{ {inner}\n}}\n{name} arg", f"function {name} {{\n{inner}\n}}\n{name}",
            f'{name}() {{ npm "$@"; }}; {name} one "two three"', f"{name}() {{ $1 $2; }}; {name} yarn add",
        )  # fmt: skip
        return self.random.choice(forms)

    def wrapped(self, depth: int) -> str:
        inner = self.plain()
        forms = (
            f"env A=b {inner}", f"timeout 5 {inner}", f"timeout -s KILL 5 {inner}", f"nohup {inner} > out.txt 2>&1", f"nice -n 5 {inner}",
            f"sudo {inner}", f"sudo -u me {inner}", f"command {inner}", f"( exec {inner} )", f"time {inner}", f"echo one two | xargs {inner}",
            f"find . -maxdepth 0 -exec {inner} {{}} \\;", f"find . -maxdepth 0 -exec {inner} {{}} +", f"env -i PATH=\"$PATH\" LOG=\"$LOG\" {inner}",
            f"echo x | xargs -n 1 {inner}", f"stdbuf -o L {inner}", f"setsid -w {inner}", f"./bin/{inner}", f"\\{inner}",
        )  # fmt: skip
        return self.random.choice(forms)

    def quoted(self, depth: int) -> str:
        inner = self.plain()
        forms = (
            f"bash -c '{inner}'", f'sh -c "{inner}; {self.plain()}"', f'eval "{inner}"', f"eval {inner}", f"bash -ec '{inner}' name arg",
            f"bash <<'EOF'\n{inner}\nEOF\n", f"bash <<EOF\n{inner}\nEOF\n", f"echo '{inner}' | bash", f"bash -s <<< '{inner}'",
            f"cat <<'EOF' | sh\n{inner}\nEOF\n", f"printf '%s\\n' '{inner}' | sh", f"( trap '{inner}' EXIT )",
            f"bash -c 'for x in 1; do {inner}; done'", f"sudo bash -c '{inner}'", f"bash -c \"bash -c '{inner}'\"",
        )  # fmt: skip
        return self.random.choice(forms)

    def expanded(self, depth: int) -> str:
        name, inner = self.name(), self.line(depth)
        forms = (
            f'echo "$( {inner}\n)" > out.txt', f"{name}=$( {inner}\n)", f"{name}=`{self.plain()}`", f'{name}="{self.plain()}"; ${name}',
            f"{name}=npm; ${{{name}}} run", f"${{{name}:-yarn}} add", f'{name}=(pip install); "${{{name}[@]}}" rich',
            f"cat <( {inner}\n) > out.txt", f": `echo $( {self.plain()} )`", f'[ -z "$( {inner}\n)" ]', f"{{npm,install}}",
            f"{name}=$(echo kubectl); ${name} get", f"$(command -v npm) run", f"{name}=a; npm ${name} \"${name} b\" '${name}'",
            f"cat > out.txt <<EOF\ntext $( {self.plain()} )\nEOF\n", f"echo $(( 1 + $(echo 2) )) > out.txt; {inner}",
        )  # fmt: skip
        return self.random.choice(forms)

    def fed(self, depth: int) -> str:
        inner = self.line(depth)
        forms = (
            f"echo x | {{ {inner}\n}}", f"{{ {inner}\n}} | cat > out.txt", f"{{ {inner}\n}} 2>&1 | tee out.txt > /dev/null",
            f"{self.simple()} \\\n  | cat > out.txt", f"echo x |\n ( {inner}\n)", f"> out.txt {self.plain()}", f"{{ {inner}\n}} |& cat > out.txt",
            f"echo a b | while read -r x; do {inner}\ndone",
        )  # fmt: skip
        return self.random.choice(forms)

    def decoyed(self, depth: int) -> str:
        first, second = self.random.choices(DECOYS, k=2)
        return f"{first}\n{self.line(depth)}\n{second}"


@pytest.fixture
def sandbox(tmp_path: Path) -> Path:
    """Return a folder with programs that write their name and words to `$LOG`."""
    programs = tmp_path / "bin"
    programs.mkdir()
    logger = (
        '#!/bin/sh\n{ printf "%s" "${0##*/}"; for word do printf "\\037%s" "$word"; done; printf "\\036"; } >> "$LOG"\n'
    )
    for name in PROGRAMS:
        (programs / name).write_text(logger, encoding="utf-8")
        (programs / name).chmod(0o755)
    sudo = programs / "sudo"
    sudo.write_text('#!/bin/sh\n[ "$1" = -u ] && shift 2\nexec "$@"\n', encoding="utf-8")
    sudo.chmod(0o755)
    return tmp_path


def _run(line: str, folder: Path) -> set[tuple[str, ...]]:
    """Return the calls that bash makes for a line."""
    log = folder / "log"
    log.write_bytes(b"")
    env = {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}", "LOG": str(log), "HOME": str(folder), "LC_ALL": "C.UTF-8"}
    subprocess.run(["bash", "-c", line + "\nwait"], cwd=folder, env=env, check=False, capture_output=True, timeout=20)
    calls = log.read_text(encoding="utf-8").split("\036")
    return {tuple(word for word in call.split("\037") if word) for call in calls if call}


def _parse(line: str) -> set[tuple[str, ...]]:
    """Return the calls of the logged programs that the parser finds."""
    found = [command for command in parse_commands(line) if command.name in PROGRAMS]
    return {tuple(word for word in (command.name, *command.args) if word not in ("", "$()")) for command in found}


def _find_differences(seeds: range, folder: Path) -> list[str]:
    different = []
    for seed in seeds:
        line = Lines(seed).line(seed % 4)
        ran, found = _run(line, folder), _parse(line)
        if ran != found:
            different.append(f"--- seed {seed}\n{line}\nran   {sorted(ran)}\nfound {sorted(found)}")
    return different


def test_finds_what_bash_runs(sandbox: Path) -> None:
    different = _find_differences(range(220), sandbox)
    assert len(different) <= 2, "\n".join(different)


@pytest.mark.slow
def test_finds_what_bash_runs_in_many_lines(sandbox: Path) -> None:
    different = _find_differences(range(1000, 3000), sandbox)
    assert len(different) <= 20, "\n".join(different)
