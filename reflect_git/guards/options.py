"""Split the words of a command into options and arguments, as far as the options of common programs are known."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from reflect_git.guards.shell import Command

# Options that take the next word as their value.
_NODE = (
    "--registry --prefix --cwd -C --dir --filter -F --workspace -w --loglevel --cache --tag --access --otp --userconfig "
    "--omit --include --depth --script-shell --node-options --store-dir --reporter"
)
_WITH_VALUE = {
    "git": "-C -c --git-dir --work-tree --namespace --exec-path --config-env -m --message -F --file --author --date "
    "--trailer -o --push-option --repo --receive-pack -n --max-count --format --pretty --since --until --grep -b -B "
    "--onto -s --strategy -X --fixup --squash --reuse-message --reedit-message --cleanup --depth --branch",
    "npm": _NODE,
    "pnpm": _NODE,
    "yarn": _NODE.replace("-w ", ""),
    "bun": _NODE,
    "npx": "-p --package",
    "docker": "-H --host --context -c --config -l --log-level -f --file -p --project-name --profile --env-file -e --env -v "
    "--volume --name --network -w --workdir -u --user -t --tag --build-arg --target --platform -m --memory --cpus --mount "
    "--entrypoint --project-directory --filter --format -n --since --tail --until",
    "docker-compose": "-f --file -p --project-name --profile --env-file --project-directory",
    "podman": "-f --file -e --env -v --volume --name -t --tag --network",
    "kubectl": "-n --namespace --context --kubeconfig --cluster --user -l --selector -f --filename -o --output -k "
    "--kustomize -c --container --as --token -s --server --grace-period --timeout --field-selector -p --patch --type",
    "helm": "-n --namespace --kube-context --kubeconfig -f --values --set --set-string --version --timeout -o --output",
    "gh": "-R --repo -t --title -b --body -B --base -H --head -F --field -f --raw-field -X --method -q --jq --json -l "
    "--label -a --assignee --limit -L -s --state -m --milestone --template --hostname --notes --body-file --author",
    "glab": "-R --repo -t --title -d --description -b --target-branch -s --source-branch",
    "aws": "--profile --region --output --query --endpoint-url --ca-bundle --cli-read-timeout --color",
    "gcloud": "--project --account --region --zone --format --configuration --filter",
    "az": "-g --resource-group -n --name --subscription -o --output -l --location --query",
    "pytest": "-n --numprocesses -k -m -p -c -o -W --maxfail --dist --tb --durations --rootdir --cov-report "
    "--timeout --ignore --deselect --junitxml --log-level --basetemp --confcutdir --import-mode --randomly-seed",
    "cargo": "--manifest-path -p --package --features -F --target --profile -j --jobs --bin --example --test --bench "
    "--target-dir --color --registry --index --token -Z --config --message-format",
    "go": "-C -run -bench -timeout -count -tags -o -mod -ldflags -gcflags -p -parallel -cpu -coverprofile -covermode -exec",
    "make": "-C -f -I -o -W --directory --file --makefile",
    "pip": "-r --requirement -c --constraint -i --index-url --extra-index-url -e --editable -t --target --python "
    "--prefix --root --log --proxy --timeout --cache-dir -f --find-links --format",
    "uv": "--directory --project --config-file --cache-dir --python -p --index-url --color",
    "poetry": "-C --directory -P --project -G --group --source --python",
    "terraform": "-chdir -var -var-file -target -out -state -backend-config",
    "psql": "-h --host -U --username -d --dbname -p --port -c --command -f --file -v --set -o --output -P -F -R -T -L",
    "mysql": "-h --host -u --user -P --port -D --database -e --execute -S --socket",
    "redis-cli": "-h -p -a -n -u --user --pass -s",
    "curl": "-H --header -d --data --data-raw --data-binary --data-urlencode -o --output -X --request -u --user -F --form "
    "-A --user-agent -e --referer -b --cookie -c --cookie-jar -T --upload-file -x --proxy -m --max-time --retry "
    "--connect-timeout -w --write-out -K --config --cacert --cert -E --key --resolve -D --dump-header --url",
    "wget": "-O --output-document -P --directory-prefix -o -a -t -T -U --header --post-data --tries --timeout -i",
    "ssh": "-b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w",
    "scp": "-c -D -F -i -J -l -o -P -S -X",
    "rsync": "-e --rsh --exclude --include --filter -f --max-size --log-file",
    "rg": "-e --regexp -f --file -g --glob --iglob -t --type -T --type-not -A -B -C -m --max-count -M --sort -r "
    "--replace -j -E -d --max-depth --after-context --before-context --context --color",
    "grep": "-e --regexp -f --file -A -B -C -m --max-count --include --exclude --exclude-dir --color --label -d -D "
    "--after-context --before-context --context",
    "sed": "-e --expression -f --file -l --line-length",
    "awk": "-f -v -F -i --include",
    "gawk": "-f -v -F -i --include",
    "jq": "-f --from-file --indent -L",
    "head": "-n -c --lines --bytes",
    "tail": "-n -c --lines --bytes -s --pid",
    "tee": "",
    "rm": "",
    "mv": "-t --target-directory -S --suffix",
    "cp": "-t --target-directory -S --suffix",
    "ln": "-t --target-directory -S --suffix",
    "install": "-t --target-directory -m --mode -o --owner -g --group",
    "tar": "-f --file -C --directory -X --exclude -T --transform -I",
    "chmod": "--reference",
    "chown": "--reference --from",
    "rake": "-f -C -I -r",
    "bundle": "--gemfile --path --without --with -j",
    "mvn": "-f --file -pl --projects -P -s",
    "gradle": "-p -b -c -I -x --exclude-task --tests",
    "systemctl": "-H --host -M --machine -n --lines -t --type -p",
    "apt": "-o -c -t",
    "apt-get": "-o -c -t",
    "brew": "",
    "crontab": "-u",
    "touch": "-t -d -r",
    "truncate": "-s -r",
    "dotnet": "-c --configuration -f --framework -r --runtime -o --output --project -v --verbosity",
    "twine": "-r --repository --repository-url -u --username -p --password --config-file",
    "vercel": "-t --token -S --scope",
    "flyctl": "-a --app -c --config -r --region",
    "fly": "-a --app -c --config -r --region",
    "heroku": "-a --app -r --remote",
    "alembic": "-c --config -n --name -x",
    "flask": "-A --app -e --env-file",
    "prettier": "--config --parser --ignore-path",
    "eslint": "-c --config --ext --rule --parser --format -f -o --ignore-path --max-warnings --plugin --cache-location",
    "ruff": "--config --select --ignore --line-length --target-version",
    "mypy": "--config-file -p -m -c --python-version",
    "vitest": "-t --testNamePattern --project --config -c --reporter --dir --root -r --environment --workspace -w",
    "jest": "-t --testNamePattern -c --config --maxWorkers -w --reporters --rootDir --projects --coverageDirectory",
    "ansible-playbook": "-i --inventory -l --limit -e --extra-vars -u --user -t --tags --vault-password-file",
    "pulumi": "-s --stack -C --cwd --config-file",
    "sudo": "-u -g -h -p -C -T -r -t -D -R --user --group",
    "nbconvert": "--to --output --output-dir --template",
    "jupyter": "--to --output --output-dir --template --port --ip",
    "journalctl": "-u -n -t -p --unit --since --until",
    "supabase": "--project-ref --db-url --workdir",
}
_SAME = {
    "pip3": "pip",
    "python3": "python",
    "egrep": "grep",
    "fgrep": "grep",
    "gsed": "sed",
    "py.test": "pytest",
    "mvnw": "mvn",
    "gradlew": "gradle",
    "tofu": "terraform",
    "pnpx": "npx",
    "bunx": "npx",
    "ripgrep": "rg",
    "nerdctl": "podman",
}
# Programs whose long options have one dash, so that letters are never joined.
ONE_DASH = frozenset(
    "go java javac find terraform tofu gcc clang cc g++ ffmpeg ffprobe openssl xcodebuild packer".split()
)
_WITHOUT_VALUE = frozenset(
    "--verbose --quiet --silent --debug --force --yes --help --version --dry-run --all --json --watch --recursive "
    "--global --dev --save-dev --release --fix --write --check --no-cache --staged --cached --color --insecure".split()
)
_CACHE: dict[str, frozenset[str]] = {}


def get_options_with_value(name: str) -> frozenset[str]:
    """Return the options of a program that take the next word as their value."""
    name = _SAME.get(name, name)
    if name not in _CACHE:
        _CACHE[name] = frozenset(_WITH_VALUE.get(name, "").split())
    return _CACHE[name]


def _get_with_value(command: Command) -> frozenset[str]:
    """Return the options of a command that take a value; `-s` and `-n` of git mean something else in some subcommands."""
    with_value = get_options_with_value(command.name)
    if command.name == "git" and ("tag" in command.args[:3] or "commit" in command.args[:3]):
        return with_value - {"-s", "-n"}
    return with_value


def split_words(command: Command) -> tuple[list[str], list[tuple[str, str]]]:
    """Return the arguments and the options of a command; an option is a pair of its name and its value or "".

    A value is what follows `=`, or the next word if the option takes one.
    """
    with_value = _get_with_value(command)
    arguments: list[str] = []
    options: list[tuple[str, str]] = []
    args, at = command.args, 0
    while at < len(args):
        word = args[at]
        at += 1
        if word == "--":
            arguments += args[at:]
            break
        if word[:1] != "-" or word == "-":
            arguments.append(word)
            continue
        name, equals, value = word.partition("=")
        if equals:
            options.append((name, value))
        elif _takes_next(word, with_value, command.name) and at < len(args):
            options.append((word, args[at]))
            at += 1
        else:
            options.append((word, ""))
    return arguments, options


def _takes_next(word: str, with_value: frozenset[str], name: str) -> bool:
    """Return whether an option takes the next word: `-m`, and `-am` of git as well."""
    if word in with_value:
        return True
    if word[:2] == "--" or len(word) < 3 or name in ONE_DASH:
        return False
    for at, letter in enumerate(word[1:], 1):
        if "-" + letter in with_value:
            return at == len(word) - 1
        if not letter.isalpha():
            return False
    return False


def find_arguments(command: Command, count: int) -> list[list[str]]:
    """Return the possible lists of arguments: two if an unknown option may take a value."""
    plain, _ = split_words(command)
    if count == 0 or _SAME.get(command.name, command.name) in _WITH_VALUE:
        return [plain]
    other: list[str] = []
    was_option = False
    for word in command.args:
        is_option = word[:1] == "-"
        if not is_option and not was_option:
            other.append(word)
        was_option = is_option and "=" not in word and word not in _WITHOUT_VALUE and word[:5] != "--no-"
    return [plain, other] if other != plain else [plain]


def has_option(command: Command, spec: str, looks_behind: bool = False) -> bool:
    """Return whether a command has an option, given as `-f|--force` or with a value as `-n=auto|--workers=auto`.

    `looks_behind`: also behind `--`, as in `cargo clippy -- -D warnings`.
    """
    return any(_has_one(command, wanted, looks_behind) for wanted in spec.split("|"))


def _has_one(command: Command, wanted: str, looks_behind: bool) -> bool:
    """Return whether a command has one option in one of the forms in which it can be written."""
    from reflect_git.guards.globs import matches_word

    name, equals, value = wanted.partition("=")
    is_short = len(name) == 2 and name[:1] == "-"
    with_value = _get_with_value(command)
    args = command.args
    for at, word in enumerate(args):
        if word == "--" and not looks_behind:
            return False
        if word[:1] != "-" or (at and args[at - 1] in with_value):
            continue
        given, has_equals, given_value = word.partition("=")
        if given == name:
            following = given_value if has_equals else "".join(args[at + 1 : at + 2])
            if not equals or matches_word(value, following):
                return True
        elif is_short and word[:2] != "--" and command.name not in ONE_DASH:
            if equals:
                if word.startswith(name) and matches_word(value, word[2:].lstrip("=")):
                    return True
            elif _has_letter(word, name[1], with_value):
                return True
    return command.name in ONE_DASH and len(name) > 2 and _has_one_dash(args, name.lstrip("-"), value)


def _has_one_dash(args: list[str], name: str, value: str) -> bool:
    """Return whether `-race` or `--race` is among the words, with the value if one is given."""
    for at, word in enumerate(args):
        given, _, given_value = word.partition("=")
        if (
            word[:1] == "-"
            and given.lstrip("-") == name
            and (not value or value in (given_value, *args[at + 1 : at + 2]))
        ):
            return True
    return False


def _has_letter(word: str, letter: str, with_value: frozenset[str]) -> bool:
    """Return whether joined short options such as `-rf` contain a letter; what follows an option's letter is its value."""
    for given in word[1:]:
        if given == letter:
            return True
        if not given.isalpha() or "-" + given in with_value:
            return False
    return False
