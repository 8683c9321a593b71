"""--to: which file a learning is written to."""

from __future__ import annotations

import pytest

from reflect_git.errors import ReflectError
from reflect_git.targets.target_files import ExistingFiles, Target, get_target_for_file, resolve_target

ID = "LRN-20260211-4c8d2a1f"


def around(*existing: str, blocks: tuple[str, ...] = ()) -> ExistingFiles:
    return ExistingFiles(frozenset(existing) | frozenset(blocks), frozenset(blocks))


@pytest.mark.parametrize(
    ("surroundings", "path", "opening"),
    [
        (around(), "CLAUDE.md", ""),
        (around("AGENTS.md"), "CLAUDE.md", "@AGENTS.md\n"),
        (around("AGENTS.md", "CLAUDE.md"), "CLAUDE.md", ""),
        (around(".claude/CLAUDE.md"), ".claude/CLAUDE.md", ""),
        (around("CLAUDE.md", ".claude/CLAUDE.md"), "CLAUDE.md", ""),
        (around("CLAUDE.md", blocks=(".claude/CLAUDE.md",)), ".claude/CLAUDE.md", ""),
        (around(blocks=("CLAUDE.md", ".claude/CLAUDE.md")), "CLAUDE.md", ""),
        (around("CLAUDE.local.md", blocks=("AGENTS.md",)), "CLAUDE.md", "@AGENTS.md\n"),
    ],
)
def test_project(surroundings: ExistingFiles, path: str, opening: str) -> None:
    assert resolve_target("project", surroundings, ID) == Target("project", path, opening)


@pytest.mark.parametrize(
    ("to", "path", "form"),
    [
        ("project-local", "CLAUDE.local.md", "block"),
        ("global", "CLAUDE.md", "block"),
        ("rules", ".claude/rules/reflect/use-pnpm-4c8d2a1f.md", "rules"),
        ("rules:Package managers", ".claude/rules/reflect/package-managers-4c8d2a1f.md", "rules"),
        ("global-rules", "rules/reflect/use-pnpm-4c8d2a1f.md", "rules"),
        ("improvements", ".claude/improvements.md", "improvements"),
        ("agents", "AGENTS.md", "block"),
        ("agent:reviewer", ".claude/agents/reviewer.md", "block"),
        ("dir:packages/api", "packages/api/CLAUDE.md", "block"),
        ("dir:./packages//api/", "packages/api/CLAUDE.md", "block"),
    ],
)
def test_the_others(to: str, path: str, form: str) -> None:
    target = resolve_target(to, around("AGENTS.md"), ID, "Use pnpm")
    assert (target.kind, target.path, target.form, target.opening) == (to.partition(":")[0], path, form, "")
    assert target.is_global == to.startswith("global")


def test_a_new_file_beside_agents_imports_it() -> None:
    assert resolve_target("dir:.", around("AGENTS.md"), ID) == Target("dir", "CLAUDE.md", "@AGENTS.md\n")
    assert resolve_target("dir:a", around("a/AGENTS.md"), ID) == Target("dir", "a/CLAUDE.md", "@AGENTS.md\n")
    assert resolve_target("dir:a", around("a/AGENTS.md", "a/CLAUDE.md"), ID) == Target("dir", "a/CLAUDE.md")


@pytest.mark.parametrize(
    "to",
    ["", "nowhere", "project:x", "dir:", "dir", "global:y", "Project", "agent", "agent:", "agent:../x", "agent:a/b"],
)
def test_what_is_no_target(to: str) -> None:
    with pytest.raises(ReflectError) as caught:
        resolve_target(to, around(), ID)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("folder", ["..", "../x", "a/../../b", "/etc", "~/x", "a\0b"])
def test_folders_outside_the_project(folder: str) -> None:
    with pytest.raises(ReflectError) as caught:
        resolve_target(f"dir:{folder}", around(), ID)
    assert caught.value.code == "outside"


def test_without_a_project_only_global_targets() -> None:
    nowhere = ExistingFiles(has_project=False)
    assert resolve_target("global", nowhere, ID).path == "CLAUDE.md"
    for to in ("project", "rules", "improvements", "dir:x"):
        with pytest.raises(ReflectError) as caught:
            resolve_target(to, nowhere, ID)
        assert caught.value.code == "no-project"


@pytest.mark.parametrize(
    ("path", "is_global", "kind"),
    [
        ("CLAUDE.md", False, "project"),
        (".claude/CLAUDE.md", False, "project"),
        ("CLAUDE.local.md", False, "project-local"),
        ("AGENTS.md", False, "agents"),
        (".claude/improvements.md", False, "improvements"),
        ("a/CLAUDE.md", False, "dir"),
        (".claude/agents/reviewer.md", False, "agent"),
        (".claude/rules/reflect/x.md", False, "rules"),
        ("CLAUDE.md", True, "global"),
        ("rules/reflect/x.md", True, "global-rules"),
    ],
)
def test_a_file_tells_by_its_name_which_target_it_is(path: str, is_global: bool, kind: str) -> None:
    assert get_target_for_file(path, is_global) == Target(kind, path)
