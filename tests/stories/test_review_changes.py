"""`reflect-git review`: a rule that differs from its file, and what Claude wrote there by itself."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from reflect_git.store.repository import Store
from tests.conftest import RunCli
from tests.faults import git
from tests.rules.project_edits import ClaudeEditor, approve, create_store_with_rule, make_project
from tests.rules.queues import capture_signal
from tests.stories.conftest import Reviews, list_commits
from tests.stories.terminal import Terminal

NOBODY = ("-c", "user.name=reflect-git", "-c", "user.email=reflect-git@localhost")
Reword = Callable[[str, str], None]


@pytest.fixture
def project(home: Path) -> Path:
    return make_project(home / "shop")


@pytest.fixture
def store(store_home: Path, project: Path) -> Store:
    return create_store_with_rule(store_home, project)


@pytest.fixture
def claude(home: Path, project: Path) -> ClaudeEditor:
    return ClaudeEditor(home, project, "5a1b2c3d-0000-4000-8000-000000000001")


@pytest.fixture
def reword(project: Path, store: Store) -> Reword:
    """Edit CLAUDE.md as the person."""

    def edit(old: str, new: str) -> None:
        text = (project / "CLAUDE.md").read_text(encoding="utf-8")
        assert old in text
        (project / "CLAUDE.md").write_text(text.replace(old, new), encoding="utf-8")

    return edit


def changed(headline: str, question: str) -> str:
    return f"""
Change 1 of 1 — {headline}

    Use pnpm, not npm

  now reads     Use yarn, not npm
  in            CLAUDE.md, line 7
  rule          LRN-1

diff --git a/CLAUDE.md b/CLAUDE.md
--- a/CLAUDE.md
+++ b/CLAUDE.md
@@ -4,6 +4,6 @@

 <!-- reflect-git:begin convention LRN-1:899c -->

-- Use yarn, not npm
+- Use pnpm, not npm

 <!-- reflect-git:end -->
(1/1) {question} [b,f,i,s,q,?]?
"""


BY_HAND = changed("you changed this rule", "Put it back")
BY_CLAUDE = changed("Claude changed this rule in session 5a1b2c3d, a moment ago", "Put it back")


def test_it_is_put_back_in_one_commit(reword: Reword, reviews: Reviews, project: Path, store_home: Path) -> None:
    before = (project / "CLAUDE.md").read_bytes()
    reword("pnpm", "yarn")
    terminal = reviews()
    terminal.sees(BY_HAND)
    terminal.types("b")
    terminal.exits_with("""
        put LRN-1 back into 'CLAUDE.md'

        1 put back
        undo the last answer with: reflect-git undo
        """)
    assert (project / "CLAUDE.md").read_bytes() == before
    assert list_commits(store_home)[:2] == ["apply: Use pnpm, not npm", "approve: Use pnpm, not npm"]
    assert "Approved-By: terminal" in list_commits(store_home, "--format=%b", "-1")
    reviews().exits_with("Nothing to reflect on.")


def test_what_was_put_back_is_undone_and_the_rule_stays(
    reword: Reword, reviews: Reviews, run_cli: RunCli, project: Path
) -> None:
    reword("pnpm", "yarn")
    changed_file = (project / "CLAUDE.md").read_bytes()
    terminal = reviews()
    terminal.passes("(1/1) Put it back [b,f,i,s,q,?]?")
    terminal.types("b")
    terminal.ends()
    with Terminal("undo", cwd=project) as undo:
        assert "reverted the change of the file for 'Use pnpm, not npm' in 'CLAUDE.md' of shop" in undo.ends()
    assert (project / "CLAUDE.md").read_bytes() == changed_file
    assert [rule["text"] for rule in run_cli("rules", "--json", cwd=project).json()["data"]] == ["Use pnpm, not npm"]


def test_it_is_made_so_for_good(reword: Reword, reviews: Reviews, project: Path, store_home: Path) -> None:
    reword("pnpm", "yarn")
    terminal = reviews()
    terminal.sees(BY_HAND)
    terminal.types("f")
    terminal.exits_with("""
        amended LRN-1 to the file's wording

        1 amended
        undo the last answer with: reflect-git undo
        """)
    assert "- Use yarn, not npm\n" in (project / "CLAUDE.md").read_text(encoding="utf-8")
    assert list_commits(store_home)[0] == "amend: Use yarn, not npm"
    reviews().exits_with("Nothing to reflect on.")


def test_it_is_left_until_it_changes_again(reword: Reword, reviews: Reviews, store_home: Path) -> None:
    before = list_commits(store_home)
    reword("pnpm", "yarn")
    terminal = reviews()
    terminal.sees(BY_HAND)
    terminal.types("i")
    terminal.exits_with("""
        ignored here until it changes

        1 ignored
        """)
    reviews().exits_with("Nothing to reflect on.")
    reword("yarn", "bun")
    reviews().sees(BY_HAND.replace("yarn", "bun"))
    assert list_commits(store_home) == before


def test_not_now_and_quitting_decide_nothing(reword: Reword, reviews: Reviews, store_home: Path) -> None:
    before = list_commits(store_home)
    reword("pnpm", "yarn")
    for key in ("s", "q"):
        terminal = reviews()
        terminal.sees(BY_HAND)
        terminal.types(key)
        terminal.exits_with("left for later: 1 changed rule; continue with: reflect-git review")
    assert list_commits(store_home) == before


def test_help_tells_what_each_key_comes_to(reword: Reword, reviews: Reviews) -> None:
    reword("pnpm", "yarn")
    terminal = reviews()
    terminal.sees(BY_HAND)
    for typed in ("?", "y"):
        terminal.types(typed)
        terminal.sees("""
            b  change the file as shown, in one commit
            f  adopt the file's wording, in one commit
            i  ignore here until it changes
            s  skip; ask again in the next review
            q  quit; keep the rest for later
            ?  this help
            (1/1) Put it back [b,f,i,s,q,?]?
            """)


def test_interrupted_nothing_is_decided(reword: Reword, reviews: Reviews, store_home: Path) -> None:
    before = list_commits(store_home)
    reword("pnpm", "yarn")
    terminal = reviews()
    terminal.sees(BY_HAND)
    terminal.sends("C")
    terminal.exits_with(
        """
        left for later: 1 changed rule; continue with: reflect-git review
        interrupted
        """,
        code=130,
    )
    assert list_commits(store_home) == before


def test_what_is_gone_is_taken_back_for_good(
    project: Path, store: Store, reviews: Reviews, store_home: Path, run_cli: RunCli
) -> None:
    (project / "CLAUDE.md").write_text("# Shop\n\nOur own text.\n", encoding="utf-8")
    terminal = reviews()
    terminal.sees("""
        Change 1 of 1 — you removed this rule

            Use pnpm, not npm

          gone from     CLAUDE.md
          rule          LRN-1

        diff --git a/CLAUDE.md b/CLAUDE.md
        --- a/CLAUDE.md
        +++ b/CLAUDE.md
        @@ -1,3 +1,9 @@
         # Shop

         Our own text.
        +
        +<!-- reflect-git:begin convention LRN-1:899c -->
        +
        +- Use pnpm, not npm
        +
        +<!-- reflect-git:end -->
        (1/1) Put it back [b,x,i,s,q,?]?
        """)
    terminal.types("x")
    terminal.exits_with("""
        retired LRN-1

        1 retired
        undo the last answer with: reflect-git undo
        """)
    assert run_cli("rules", "--json", cwd=project).json()["data"] == []
    assert (project / "CLAUDE.md").read_text(encoding="utf-8") == "# Shop\n\nOur own text.\n"
    assert list_commits(store_home)[0] == "revert: Use pnpm, not npm"
    reviews().exits_with("Nothing to reflect on.")


def test_what_claude_changed_comes_first_and_is_taken_back(
    reword: Reword, store: Store, project: Path, claude: ClaudeEditor, reviews: Reviews
) -> None:
    approve(store, project, "run `make check` before a commit")
    reword("make check", "make all")
    claude.edit(project / "CLAUDE.md", "pnpm", "yarn")
    capture_signal(store, "use rg, not grep")
    terminal = reviews()
    seen = terminal.passes("(1/2) Put it back [b,f,i,s,q,?]?")
    opening, _, shown = seen.partition("\n")
    assert opening == "to review: 2 changed rules, 1 proposed rule"
    assert shown.startswith("\nChange 1 of 2 — Claude changed this rule in session 5a1b2c3d, a moment ago\n")
    terminal.types("b")
    seen = terminal.passes("(2/2) Put it back [b,f,i,s,q,?]?")
    assert seen.startswith("put LRN-1 back into 'CLAUDE.md'\n\nChange 2 of 2 — you changed this rule\n")
    terminal.types("b")
    seen = terminal.passes("(1/1) Approve to project [y,n,N,s,e,g,t,v,q,?]?")
    assert seen.startswith("put LRN-1 back into 'CLAUDE.md'\n\nProposed rule 1 of 1 ")
    text = (project / "CLAUDE.md").read_text(encoding="utf-8")
    assert ("Use pnpm, not npm" in text, "make check" in text) == (True, True)


def test_claude_s_words_are_kept_only_by_a_typed_word(
    store: Store, project: Path, claude: ClaudeEditor, reviews: Reviews, store_home: Path
) -> None:
    claude.edit(project / "CLAUDE.md", "pnpm", "yarn")
    terminal = reviews()
    terminal.sees(BY_CLAUDE)
    asked = """
        risk: it rests on words that are not your own: from the assistant
        type the rule's first word, 'Use', to keep it anyway:
        """
    terminal.types("f")
    terminal.sees(asked)
    terminal.types("yes")
    terminal.sees("""
        nothing was changed
        (1/1) Put it back [b,f,i,s,q,?]?
        """)
    terminal.types("f")
    terminal.sees(asked)
    terminal.types("use")
    terminal.exits_with("""
        amended LRN-1 to the file's wording

        1 amended
        undo the last answer with: reflect-git undo
        """)
    assert list_commits(store_home)[0] == "amend: Use yarn, not npm"


def test_what_has_to_be_mended_is_shown_before_it_is_written(reword: Reword, reviews: Reviews, project: Path) -> None:
    reword("Use pnpm, not npm", "Read @notes.md first")
    terminal = reviews()
    terminal.passes("(1/1) Put it back [b,f,i,s,q,?]?")
    terminal.types("f")
    terminal.sees("""
          changed       quoted '@notes.md' so that Claude does not import it
        diff --git a/CLAUDE.md b/CLAUDE.md
        --- a/CLAUDE.md
        +++ b/CLAUDE.md
        @@ -2,8 +2,8 @@

         Our own text.

        -<!-- reflect-git:begin convention LRN-1:899c -->
        +<!-- reflect-git:begin convention LRN-1:4f52 -->

        -- Read @notes.md first
        +- Read `@notes.md` first

         <!-- reflect-git:end -->
        change the file like this [y,n]?
        """)
    terminal.types("n")
    terminal.sees("""
        nothing was changed
        (1/1) Put it back [b,f,i,s,q,?]?
        """)
    assert "- Read @notes.md first" in (project / "CLAUDE.md").read_text(encoding="utf-8")


WRITTEN = """
Change 1 of 1 — Claude wrote this by itself in session 5a1b2c3d, a moment ago

    - Always use yarn.

  in            CLAUDE.md
  you typed     "please fix the checkout page"

diff --git a/CLAUDE.md b/CLAUDE.md
--- a/CLAUDE.md
+++ b/CLAUDE.md
@@ -2,7 +2,5 @@

 Our own text.
-
-- Always use yarn.

 <!-- reflect-git:begin convention LRN-1:899c -->

(1/1) Remove it [b,i,s,q,?]?
"""


@pytest.fixture
def yarn(store: Store, project: Path, claude: ClaudeEditor) -> None:
    """Let Claude write a rule of its own while it works on something else."""
    claude.say("please fix the checkout page")
    claude.edit(project / "CLAUDE.md", "Our own text.", "Our own text.\n\n- Always use yarn.")


@pytest.mark.usefixtures("yarn")
def test_what_claude_wrote_by_itself_is_taken_back(reviews: Reviews, project: Path, store_home: Path) -> None:
    terminal = reviews()
    terminal.sees(WRITTEN)
    terminal.types("b")
    terminal.exits_with("""
        removed it from 'CLAUDE.md'

        1 put back
        undo the last answer with: reflect-git undo
        """)
    assert "yarn" not in (project / "CLAUDE.md").read_text(encoding="utf-8")
    assert list_commits(store_home)[0] == "revert: what Claude wrote into CLAUDE.md"


@pytest.mark.usefixtures("yarn")
def test_an_audit_takes_the_answer_to_claudes_edit_for_ours(
    reviews: Reviews, run_cli: RunCli, project: Path, store_home: Path
) -> None:
    terminal = reviews()
    terminal.sees(WRITTEN)
    terminal.types("b")
    terminal.ends()
    assert any(line.startswith("Session: 5a1b2c3d") for line in list_commits(store_home, "-1", "--format=%b"))
    assert _forged(run_cli, project) == []
    with Terminal("undo", cwd=project) as undo:
        undo.ends()
    assert _forged(run_cli, project) == []


@pytest.mark.usefixtures("yarn")
def test_an_audit_reports_another_session_than_the_one_that_wrote(
    reviews: Reviews, run_cli: RunCli, project: Path, store_home: Path
) -> None:
    terminal = reviews()
    terminal.sees(WRITTEN)
    terminal.types("b")
    terminal.ends()
    forged = re.sub("(?m)^Session: .*", "Session: ffffffff", git(store_home, "log", "-1", "--format=%B", "main"))
    git(store_home, *NOBODY, "commit", "-q", "--amend", "-m", forged)
    (found,) = _forged(run_cli, project)
    assert "'Session: ffffffff'" in found["message"]


def _forged(run_cli: RunCli, project: Path) -> list[dict[str, str]]:
    found = run_cli("audit", "--json", cwd=project).json()["data"]["findings"]
    return [one for one in found if one["code"] == "trailer-forged"]


@pytest.mark.usefixtures("yarn")
def test_what_claude_wrote_by_itself_is_kept(reviews: Reviews, store_home: Path) -> None:
    before = list_commits(store_home)
    terminal = reviews()
    terminal.sees(WRITTEN)
    terminal.types("i")
    terminal.exits_with("""
        ignored here until it changes

        1 ignored
        """)
    reviews().exits_with("Nothing to reflect on.")
    assert list_commits(store_home) == before


@pytest.mark.usefixtures("yarn")
def test_what_cannot_be_taken_back_exactly_is_only_shown(reword: Reword, reviews: Reviews) -> None:
    reword("Our own text.", "Our text.")
    terminal = reviews()
    terminal.sees("""
        Change 1 of 1 — Claude wrote this by itself in session 5a1b2c3d, a moment ago

            - Always use yarn.

          in            CLAUDE.md
          you typed     "please fix the checkout page"
          note          changed since, so it cannot be removed exactly: edit the file
        (1/1) Ignore it [i,s,q,?]?
        """)


def test_a_file_that_changed_since_is_shown_anew(reword: Reword, reviews: Reviews, project: Path) -> None:
    reword("pnpm", "yarn")
    terminal = reviews()
    terminal.sees(BY_HAND)
    reword("Our own text.", "Another text.\n\nAnd more of it.")
    terminal.types("b")
    seen = terminal.passes("(1/1) Put it back [b,f,i,s,q,?]?")
    assert "was changed meanwhile hint: look at the change again Change 1 of 1 — you changed" in " ".join(seen.split())
    assert "  in            CLAUDE.md, line 9\n" in seen
    terminal.types("b")
    terminal.ends()
    text = (project / "CLAUDE.md").read_text(encoding="utf-8")
    assert ("Another text." in text, "- Use pnpm, not npm\n" in text) == (True, True)


def test_another_branch_is_told_and_not_asked(store: Store, reviews: Reviews, project: Path, store_home: Path) -> None:
    before = list_commits(store_home)
    git(project, "switch", "-q", "-c", "old", "HEAD~1")
    reviews().exits_with("""
        1 rule missing on this branch (CLAUDE.md); nothing to do
        Nothing to reflect on.
        """)
    git(project, "switch", "-q", "main")
    reviews().exits_with("Nothing to reflect on.")
    assert list_commits(store_home) == before


def test_what_another_branch_has_in_other_words_or_still_is_told_as_such(
    store: Store, reviews: Reviews, project: Path, store_home: Path
) -> None:
    git(project, "switch", "-q", "-c", "other")
    file = project / "CLAUDE.md"
    file.write_text(file.read_text(encoding="utf-8").replace("pnpm", "yarn"), encoding="utf-8")
    git(project, "-c", "user.name=Ada", "-c", "user.email=a@example.com", "commit", "-qam", "yarn")
    before = list_commits(store_home)
    reviews().exits_with("""
        1 rule worded differently on this branch (CLAUDE.md); nothing to do
        Nothing to reflect on.
        """)
    assert list_commits(store_home) == before
    git(project, "switch", "-q", "main")
    with Terminal("revert", "last", cwd=project) as terminal:
        terminal.ends()
    git(project, "-c", "user.name=Ada", "-c", "user.email=a@example.com", "commit", "-qam", "without")
    git(project, "switch", "-q", "other")
    reviews().exits_with("""
        1 rule still present but no longer in force on this branch (CLAUDE.md); nothing
        to do
        Nothing to reflect on.
        """)


def test_marks_that_cannot_be_read_are_told(reword: Reword, reviews: Reviews) -> None:
    reword("<!-- reflect-git:end -->\n", "")
    reviews().exits_with("""
        CLAUDE.md:5: a block of ours begins and never ends
        Nothing to reflect on.
        """)


@pytest.mark.usefixtures("yarn")
def test_without_a_terminal_they_are_listed(reword: Reword, run_cli: RunCli, project: Path) -> None:
    reword("pnpm", "yarn")
    result = run_cli("review", cwd=project)
    assert (result.code, result.out) == (0, """\
  1  Claude wrote this by itself in session 5a1b2c3d, a moment ago
     CLAUDE.md: - Always use yarn.
  2  you changed this rule
     CLAUDE.md: Use pnpm, not npm
Nothing to reflect on.
""")  # fmt: skip
    assert result.err == "answer these in a terminal: reflect-git review\n"


def test_inside_claude_code_nobody_answers(reword: Reword, run_cli: RunCli, project: Path, store_home: Path) -> None:
    before = list_commits(store_home)
    reword("pnpm", "yarn")
    result = run_cli("review", cwd=project, env={"CLAUDECODE": "1"})
    assert (result.code, result.out, list_commits(store_home)) == (1, "", before)
    assert "reflect-git review' in a terminal" in result.err
