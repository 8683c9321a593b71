"""The notation of `guard --match`: each mark applies to the calls that it is for, and to no others."""

from __future__ import annotations

import pytest

from reflect_git.errors import ReflectError
from reflect_git.guards.form import add_exceptions, build_matcher, describe_matcher, find_problem
from reflect_git.guards.match import Call, find_match


@pytest.mark.parametrize(
    ("pattern", "applies", "does_not"),
    [
        ("npm|yarn add", ["npm add zod", "cd web && sudo yarn add zod"], ["npm run add", "pnpm add a", "echo npm add"]),
        ("npm install", ["npm i zod"], ["npm ci"]),
        ("npm run test:*", ["npm run test:unit"], ["npm run lint"]),
        ("rm -rf", ["rm -fr a", "rm -r -f a", "rm --recursive --force a"], ["rm -r a", "rm -f a"]),
        ("git push --force", ["git push -f", "git push origin +topic"], ["git push", "git push --force-with-lease"]),
        ("sed -i|--in-place", ["sed -i.bak s/a/b/ x", "sed --in-place s/a/b/ x"], ["sed s/a/b/ x"]),
        ("pytest -n=auto", ["pytest -n auto", "pytest -nauto"], ["pytest -n 4", "pytest"]),
        ("cargo build !--locked", ["cargo build", "cargo b --release"], ["cargo build --release --locked"]),
        ("git push ... main|master", ["git push origin main", "git push origin HEAD:main"], ["git push origin main-x"]),
        ("terraform apply ... !*.plan", ["terraform apply"], ["terraform apply prod.plan"]),
        ("jest !*", ["npx jest --ci"], ["npx jest a.test.js"]),
        ("curl|wget | sh|bash", ["curl -s x.sh | sudo bash"], ["curl -s x.sh > a; bash a", "sh a.sh"]),
        ("AWS_PROFILE=prod aws", ["AWS_PROFILE=prod aws s3 ls"], ["aws s3 ls", "AWS_PROFILE=dev aws s3 ls"]),
        ("git commit on:main", ["git switch main && git commit -m x"], ["git switch -c a && git commit -m x"]),
        ("git commit text:co-authored-by: .*bot", ["git commit -m 'x\n\nCo-Authored-By: A Bot'"], ["git commit -m x"]),
        ("cat|head <file", ["cat a.txt", "head -3 a.txt"], ["cat > a.txt", "make | head -3"]),
        ("echo >file", ["echo x >> a.txt"], ["echo x"]),
        ("pytest by:uv", ["uv run pytest -q"], ["pytest -q", "poetry run pytest"]),
    ],
)  # fmt: skip
def test_each_mark(pattern: str, applies: list[str], does_not: list[str]) -> None:
    matcher = build_matcher(match=[pattern])
    assert find_problem(matcher) == "" and describe_matcher(matcher)
    assert [line for line in applies if not find_match(matcher, Call("Bash", {"command": line}))] == []
    assert [line for line in does_not if find_match(matcher, Call("Bash", {"command": line}))] == []


def test_an_exception_has_the_same_notation() -> None:
    matcher = add_exceptions(build_matcher(match=["pytest"]), ["pytest by:uv", "pytest --co"])
    for line, applies in (("pytest", True), ("uv run pytest", False), ("pytest --co -q", False)):
        assert bool(find_match(matcher, Call("Bash", {"command": line}))) is applies


@pytest.mark.parametrize("pattern", ["", "--force", "| sh", "!x", "A=b", "git commit text:"])
def test_a_pattern_without_a_program_or_text_is_refused(pattern: str) -> None:
    with pytest.raises(ReflectError):
        build_matcher(match=[pattern])
