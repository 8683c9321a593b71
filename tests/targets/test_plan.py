"""One Plan for preview, write and revert, and its diff for people."""

from __future__ import annotations

import random
import subprocess
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from reflect_git.errors import ReflectError
from reflect_git.targets import block, plan
from reflect_git.targets.plan import Plan, Rule, format_diff, get_changed_lines
from reflect_git.targets.safe_text import make_safe
from reflect_git.targets.target_files import Target
from reflect_git.targets.target_page import CATEGORY_TITLES, UnfitFileError
from tests.counters import count
from tests.targets import samples
from tests.targets.test_improvements import ITEM

RULE = Rule("LRN-20260211-aaaaaaaa", "Use pnpm, not npm.", "command")
OTHER = Rule("LRN-20260212-bbbbbbbb", "Run the linter.", "command")
CLAUDE = Target("project", "CLAUDE.md")
RULES = Target("rules", ".claude/rules/reflect/x.md")
IMPROVEMENTS = Target("improvements", ".claude/improvements.md")
BASES = [
    None,
    b"",
    b"a\n",
    b"no end",
    b"a\r\nb\r\n",
    b"\xef\xbb\xbfa\r\nb",
    b"x\ry\x0cz\xe2\x80\xa8\n",
    b"```\nopen",
    b"-- x",
    b"++ y\n",
]


def git_applies(made: Plan, folder: Path) -> bytes | None:
    """Return the file after git has applied the diff to the old contents."""
    folder.mkdir(exist_ok=True)
    file = folder / made.path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.unlink(missing_ok=True)
    if made.before is not None:
        file.write_bytes(made.before)
    command = ["git", "apply", "--unsafe-paths", "--whitespace=nowarn", "-"]
    done = subprocess.run(
        command, cwd=folder, input=format_diff(made, made.path).encode(), capture_output=True, check=False
    )
    assert done.returncode == 0, (done.stderr, format_diff(made, made.path))
    return file.read_bytes() if file.exists() else None


@pytest.mark.parametrize("base", BASES, ids=repr)
def test_git_applies_the_diff_to_the_same_bytes(base: bytes | None, tmp_path: Path) -> None:
    made = plan.add(CLAUDE, base, RULE)
    assert git_applies(made, tmp_path / "w") == made.after
    back = plan.remove(CLAUDE, made.after, RULE)
    assert back.after == base
    assert git_applies(back, tmp_path / "w") == base


@pytest.mark.parametrize(
    "path", ["a b/CLAUDE.md", "with space.md", 'quo"te.md', "ümlaut.md", "back\\slash.md", "tab\t.md", "a/b/c.md"]
)
def test_odd_names_are_quoted_as_git_does(path: str, tmp_path: Path) -> None:
    made = plan.add(Target("project", path), b"a\n", RULE)
    assert git_applies(made, tmp_path / "w") == made.after
    assert get_changed_lines(made)[0]


@pytest.mark.parametrize("path", ["~/.claude/CLAUDE.md", "/srv/claude/CLAUDE.md"])
def test_a_file_is_called_what_people_call_it(path: str) -> None:
    made = plan.add(Target("global", "CLAUDE.md"), None, RULE)
    name = path.lstrip("/")
    told = format_diff(made, path)
    assert told.splitlines()[0] == f"diff --git a/{name} b/{name}" and f"\n+++ b/{name}\n" in told
    plan.check_plan(made)


def test_the_diff_as_it_is_shown() -> None:
    made = plan.add(CLAUDE, b"no end", RULE)
    assert format_diff(made, made.path).splitlines() == [
        "diff --git a/CLAUDE.md b/CLAUDE.md",
        "--- a/CLAUDE.md",
        "+++ b/CLAUDE.md",
        "@@ -1 +1,7 @@",
        "-no end",
        "\\ No newline at end of file",
        "+no end",
        "+",
        "+<!-- reflect-git:begin eof=6a88 command LRN-20260211-aaaaaaaa:39a4 -->",
        "+",
        "+- Use pnpm, not npm.",
        "+",
        "+<!-- reflect-git:end -->",
    ]
    assert get_changed_lines(made)[1] == ["no end"]


def test_hashes_and_nothing_to_do() -> None:
    made = plan.add(CLAUDE, None, RULE)
    assert made.before_sha256 is None
    assert made.after_sha256 == sha256(made.after or b"").hexdigest()
    still = made._replace(before=made.after)
    assert format_diff(still, still.path) == ""
    assert get_changed_lines(still) == ([], [])


def test_an_empty_file_comes_and_goes() -> None:
    for before, after in ((None, b""), (b"", None)):
        made = Plan(CLAUDE, before, after, RULE.id, "add")
        assert "file mode 100644" in format_diff(made, made.path)
        assert get_changed_lines(made) == ([], [])


@given(samples.instruction_files(), samples.texts, samples.categories)
def test_every_plan_passes_its_check(base: bytes, text: str, category: str) -> None:
    found = block.find_block(base)
    assume(make_safe(text)[0] and not (found and (found.pair or found.problems)))
    rule = RULE._replace(text=text, category=category)
    first = plan.add(CLAUDE, base, rule)
    samples.require_untouched(base, first.after or b"", rule.id)
    both = plan.add(CLAUDE, first.after, OTHER)
    assert both.after is not None
    changed = plan.replace(CLAUDE, both.after, OTHER, OTHER._replace(text="Other words", category="naming"))
    assert changed.after != both.after
    alone = plan.remove(CLAUDE, both.after, rule)
    assert plan.remove(CLAUDE, alone.after, OTHER).after == base


@pytest.mark.slow
@settings(max_examples=10_000)
@given(samples.instruction_files() | st.none(), samples.texts, samples.categories)
def test_approve_and_revert_give_back_the_bytes_deep(base: bytes | None, text: str, category: str) -> None:
    found = block.find_block(base)
    assume(make_safe(text)[0] and not (found and (found.pair or found.problems)))
    rule = RULE._replace(text=text, category=category)
    added = plan.add(CLAUDE, base, rule)
    samples.require_untouched(base or b"", added.after or b"", rule.id)
    assert plan.remove(CLAUDE, added.after, rule).after == base
    count("plans of an approval and its revert")


@pytest.mark.parametrize(
    "tamper",
    [
        lambda data: b"sneaked in\n" + data,
        lambda data: data.replace(b"mine\n", b""),
        lambda data: data.replace(b"mine\n", b"mine!\n"),
        lambda data: data.replace(b"mine\n", b"mine\r\n"),
        lambda data: data.replace(b"mine\nyours\n", b"yours\nmine\n"),
        lambda data: data.replace(b"- Run the linter.", b"- Run it."),
        lambda data: data.replace(b"bbbbbbbb", b"cccccccc"),
        lambda data: data + b"- one more\n",
        lambda data: b"\xef\xbb\xbf" + data,
        lambda data: data.replace(b"theirs\n", b"theirs\n\x0c\n"),
    ],
)
def test_a_plan_that_touches_more_is_stopped(tamper: object) -> None:
    base = plan.add(CLAUDE, b"mine\nyours\n\ntheirs\n", OTHER).after
    made = plan.add(CLAUDE, base, RULE)
    plan.check_plan(made)
    assert callable(tamper)
    with pytest.raises(ReflectError) as caught:
        plan.check_plan(made._replace(after=tamper(made.after)))
    assert caught.value.code == "bug"


def test_a_rule_takes_the_place_of_another() -> None:
    base = plan.add(CLAUDE, b"a\n", RULE).after
    assert base
    made = plan.replace(CLAUDE, base, RULE, OTHER)
    assert (made.learning, made.replaces) == (OTHER.id, RULE.id)
    assert made.after
    assert plan.replace(CLAUDE, made.after, OTHER, RULE).after == base


def test_rules_files_come_change_and_go(tmp_path: Path) -> None:
    rule = RULE._replace(paths=("src/**",))
    made = plan.add(RULES, None, rule)
    assert made.after
    assert git_applies(made, tmp_path / "w") == made.after
    changed = plan.replace(RULES, made.after, rule, rule._replace(text="Other words"))
    assert changed.after != made.after
    gone = plan.remove(RULES, made.after, rule)
    assert gone.after is None
    assert git_applies(gone, tmp_path / "w") is None
    with pytest.raises(ReflectError) as caught:
        plan.add(RULES, b"mine\n", rule)
    assert caught.value.code == "duplicate"
    with pytest.raises(ReflectError):
        plan.check_plan(Plan(RULES, b"mine\n", None, rule.id, "remove"))


@pytest.mark.parametrize(
    "base", [None, b"", b"# Project Improvements\n\n## Pending\n\n## Applied\n", b"no end"], ids=repr
)
def test_improvements_come_move_and_go(base: bytes | None, tmp_path: Path) -> None:
    made = plan.add(IMPROVEMENTS, base, ITEM)
    assert made.after
    assert git_applies(made, tmp_path / "w") == made.after
    moved = plan.move(IMPROVEMENTS, made.after, ITEM.id, "Applied")
    assert git_applies(moved, tmp_path / "w") == moved.after
    assert moved.after
    other = ITEM._replace(details="Other words")
    changed = plan.replace(IMPROVEMENTS, made.after, ITEM, other)
    assert changed.after
    assert plan.replace(IMPROVEMENTS, changed.after, other, ITEM).after == made.after
    assert plan.move(IMPROVEMENTS, moved.after, ITEM.id, "Pending").after == made.after
    assert plan.remove(IMPROVEMENTS, made.after, ITEM).after == base


def test_a_file_that_is_no_text_is_named() -> None:
    with pytest.raises(UnfitFileError) as caught:
        plan.add(CLAUDE, b"\xff", RULE)
    assert caught.value.message == "'CLAUDE.md' cannot be changed: file is not UTF-8: byte 1 cannot be read"


def _twenty(base: bytes | None, category: str | None = "command") -> tuple[list[Rule], bytes | None]:
    """Approve twenty learnings into one file: in one section, or in several."""
    names = list(CATEGORY_TITLES)
    rules = [
        Rule(f"LRN-202602{day:02d}-{day:0>8}", f"Rule number {day}.", category or names[day % 5])
        for day in range(1, 21)
    ]
    data = base
    for rule in rules:
        data = plan.add(CLAUDE, data, rule).after
    return rules, data


@pytest.mark.parametrize("seed", range(100))
def test_twenty_taken_back_in_any_order_leave_the_base(seed: int) -> None:
    base = BASES[seed % len(BASES)]
    rules, data = _twenty(base, "command" if seed % 2 else None)
    random.Random(seed).shuffle(rules)
    for rule in rules:
        data = plan.remove(CLAUDE, data, rule).after
    assert data == base


@pytest.mark.slow
@settings(max_examples=10_000)
@given(samples.instruction_files() | st.none(), samples.texts)
def test_an_improvement_gives_back_the_bytes_deep(base: bytes | None, text: str) -> None:
    _give_back_an_improvement(base, text)
    count("plans of an improvement and its revert")


@given(samples.instruction_files() | st.none(), samples.texts)
def test_an_improvement_gives_back_the_bytes(base: bytes | None, text: str) -> None:
    _give_back_an_improvement(base, text)


def _give_back_an_improvement(base: bytes | None, text: str) -> None:
    assume(make_safe(text)[0])
    item = ITEM._replace(title=text, details=text, action=text)
    try:
        added = plan.add(IMPROVEMENTS, base, item)
    except ReflectError as error:  # an open fence that swallows everything: nothing is written there
        assert error.code == "no-place"
        return
    assert plan.remove(IMPROVEMENTS, added.after, item).after == base


@given(samples.instruction_files(), samples.texts, samples.texts, samples.categories, samples.categories)
def test_what_was_replaced_comes_back_in_its_place(base: bytes, old: str, new: str, was: str, becomes: str) -> None:
    found = block.find_block(base)
    assume(make_safe(old)[0] and make_safe(new)[0] and not (found and (found.pair or found.problems)))
    first, second = RULE._replace(text=old, category=was), OTHER._replace(text=new, category=becomes)
    before = plan.add(CLAUDE, base, first).after
    assert before
    after = plan.replace(CLAUDE, before, first, second).after
    assert after and plan.replace(CLAUDE, after, second, first).after == before
