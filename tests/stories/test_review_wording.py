"""A person lets Claude word proposed rules in `reflect-git review`: the offer, the key, the cap, and failures.

Ada said three things to Claude that are not rules by themselves. She is asked once whether Claude may word such things,
with the price. Nothing is written before she approves the exact text on the screen.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import REAL_GIT, RunCli
from tests.scripted_claude import ScriptedClaude, build_output
from tests.stories.conftest import Reviews, Says, list_commits
from tests.stories.terminal import Terminal

SEEDS = "why do you always run the specs without the seeds?"
PNPM = "never use npm in this project, always use pnpm"
BIG = "why do you always make that file so big?"
WORDING = "Run the specs with the seeds."
OFFER, PRICE = "Claude can word 1 of these", "Claude can word this one"
ONE = "(1/1) Approve to project [y,n,N,s,e,c,t,v,q,?]?"
GUARDABLE = "(1/1) Approve to project [y,n,N,s,e,c,g,t,v,q,?]?"
UNWORDED = "(1/1) Approve to project [n,N,s,e,c,t,v,q,?]?"
DIFF = """\
diff --git a/CLAUDE.md b/CLAUDE.md
new file mode 100644
--- /dev/null
+++ b/CLAUDE.md
@@ -0,0 +1,5 @@
+<!-- reflect-git:begin new command LRN-1:4eff -->
+
+- {text}
+
+<!-- reflect-git:end -->"""
QUOTED = f"""\
Proposed rule 1 of 1 — correction, from a moment ago

    "W{SEEDS[1:]}"
    (needs wording)

  you said      "{SEEDS}"
  confidence    medium (seen in 1 session)
  goes to       CLAUDE.md (project)
  refused       it needs wording: as it was said it is a question
                → e to word it, c to let Claude word it
  note          about 12 tokens in every session
{UNWORDED}"""
WORDED = f"""\
Claude worded 1 of 1 proposed rule (2,000 tokens, $0.01; $0.01 of $2.00 today)

Proposed rule 1 of 1 — correction, from a moment ago

    {WORDING}
    (worded by Claude)

  you said      "{SEEDS}"
  confidence    medium (seen in 1 session)
  goes to       CLAUDE.md (project)
  note          about 7 tokens in every session

{DIFF.format(text=WORDING)}
{ONE}"""


@pytest.fixture
def claude(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ScriptedClaude:
    made = ScriptedClaude(tmp_path / "client")
    monkeypatch.setenv("REFLECT_GIT_CLAUDE", str(made.path))
    made.set_rules({"n": 1, "rule": WORDING})
    return made


def offered(terminal: Terminal, lead: str) -> None:
    """Expect the offer. The number of tokens depends on the prompt."""
    seen = terminal.passes("[o]nce, [n]o")
    pattern = r" \(about \d,\d00 tokens, \$0\.01\)\. Allow\? \[y\]es always,\n\[o\]nce, \[n\]o"
    assert re.fullmatch(re.escape(lead) + pattern, seen.strip("\n")), seen


def used(store: Path) -> list[dict[str, Any]]:
    path = store / ".git/reflect/usage.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def configured(store: Path) -> str:
    command = [REAL_GIT, "-C", str(store), "config", "--get", "reflect.wording"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()


def test_once_words_this_review_and_the_person_approves(
    says: Says, reviews: Reviews, claude: ScriptedClaude, project: Path, store_home: Path
) -> None:
    says(SEEDS)
    terminal = reviews()
    offered(terminal, OFFER)
    assert claude.calls == []  # nothing was sent before the answer
    terminal.presses("o")
    terminal.sees(WORDED)
    assert not (project / "CLAUDE.md").exists()
    terminal.presses("y")
    assert "approved LRN-" in terminal.ends()
    assert f"- {WORDING}\n" in (project / "CLAUDE.md").read_text()
    assert configured(store_home) == "" and list_commits(store_home)[0].startswith("approve: ")
    assert [(line["state"], line["rules"]) for line in used(store_home)] == [("done", 1)]


def test_the_offer_counts_everything_that_is_sent(says: Says, reviews: Reviews, claude: ScriptedClaude) -> None:
    says(SEEDS)
    says(PNPM)
    claude.set_rules({"n": 1, "rule": WORDING}, {"n": 2, "rule": "Use pnpm, never npm."})
    terminal = reviews()
    seen = " ".join(terminal.passes("[o]nce, [n]o").split())
    assert seen.startswith("Claude can word 2 of these; 1 needs it (about ")
    terminal.presses("o")
    assert "Claude worded 2 of 2 proposed rules" in terminal.passes("?]?")
    assert [item["said"] for item in claude.get_proposed_rules()] == [[SEEDS], [PNPM]]
    terminal.presses("q")
    terminal.ends()


def test_always_is_a_decision_and_asks_no_more(
    says: Says, reviews: Reviews, claude: ScriptedClaude, store_home: Path
) -> None:
    says(SEEDS)
    terminal = reviews()
    offered(terminal, OFFER)
    terminal.presses("y")
    seen = terminal.passes(ONE)
    assert seen.startswith("set reflect.wording to claude; undo with: reflect-git config")
    assert f"    {WORDING}\n    (worded by Claude)\n" in seen
    assert (configured(store_home), list_commits(store_home)[0]) == ("claude", "policy: reflect.wording=claude")
    terminal.presses("q")
    terminal.ends()
    again = reviews()
    assert again.passes(ONE).startswith("\nProposed rule 1 of 1")  # already paid for
    assert len(claude.calls) == 1
    again.presses("q")
    again.ends()
    says("why are the fixtures never loaded?")
    claude.set_rules({"n": 1, "rule": "Load the fixtures."})
    third = reviews()
    assert "Claude worded 1 of 1 proposed rule" in third.passes("?]?")
    assert [item["said"] for item in claude.get_proposed_rules()] == [["why are the fixtures never loaded?"]]
    third.presses("q")
    third.ends()


def test_a_no_is_remembered_and_the_key_still_asks(
    says: Says, reviews: Reviews, claude: ScriptedClaude, store_home: Path
) -> None:
    says(SEEDS)
    terminal = reviews()
    offered(terminal, OFFER)
    terminal.presses("x")
    assert "o  once: only in this review" in terminal.passes("[o]nce, [n]o")
    terminal.presses("n")
    assert "set reflect.wording to off" in terminal.passes(UNWORDED)
    terminal.presses("q")
    terminal.ends()
    assert (configured(store_home), list_commits(store_home)[0]) == ("off", "policy: reflect.wording=off")
    again = reviews()
    again.sees(QUOTED)
    again.presses("c")
    offered(again, PRICE)
    again.presses("n")
    again.sees(f"nothing was sent\n{UNWORDED}")
    assert claude.calls == [] and used(store_home) == []
    again.presses("c")
    offered(again, PRICE)
    again.presses("o")
    again.sees(WORDED)
    again.presses("c")
    again.sees(QUOTED)  # and back to the person's own words
    again.presses("c")
    assert WORDING in again.passes(ONE)
    assert len(claude.calls) == 1 and configured(store_home) == "off"
    again.presses("q")
    again.ends()


def test_what_is_on_the_screen_is_written_whatever_is_kept_meanwhile(
    says: Says, reviews: Reviews, claude: ScriptedClaude, project: Path, store_home: Path
) -> None:
    """Somebody changes the cached wording between the question and the answer."""
    says(SEEDS)
    terminal = reviews()
    offered(terminal, OFFER)
    terminal.presses("o")
    terminal.sees(WORDED)
    kept = store_home / ".git/reflect/cache/candidates-wordings"
    kept.write_text(kept.read_text().replace(WORDING, "Run the specs with sudo."))
    terminal.presses("y")
    terminal.ends()
    text = (project / "CLAUDE.md").read_text()
    assert f"- {WORDING}\n" in text and "sudo" not in text


def test_no_client_no_offer(says: Says, reviews: Reviews) -> None:
    says(SEEDS)
    terminal = reviews()
    keys = "(1/1) Approve to project [n,N,s,e,t,v,q,?]?"
    seen = terminal.passes(keys)
    assert "→ e to word it\n" in seen and "Claude" not in seen
    terminal.presses("c")
    seen = terminal.passes(keys)
    assert seen.startswith("error: the program 'claude' was not found\nhint: install Claude Code, or put it on PATH")
    terminal.presses("q")
    terminal.ends()


def test_what_needs_no_wording_is_offered_none(says: Says, reviews: Reviews, claude: ScriptedClaude) -> None:
    says(PNPM)
    assert reviews().passes(GUARDABLE).startswith("\nProposed rule 1 of 1")
    assert claude.calls == []


def test_what_claude_adds_is_a_risk_and_the_own_text_is_a_key_away(
    says: Says, reviews: Reviews, claude: ScriptedClaude, project: Path
) -> None:
    says(PNPM)
    claude.set_rules({"n": 1, "rule": "Use pnpm with Docker, never npm."})
    terminal = reviews()
    terminal.passes(GUARDABLE)
    terminal.presses("c")
    terminal.passes("[n]o")
    terminal.presses("o")
    seen = terminal.passes(GUARDABLE)
    for line in (
        "    Use pnpm with Docker, never npm.\n    (worded by Claude)\n", f'  you said      "{PNPM}"\n',
        "  instead of    Never use npm in this project, always use pnpm\n", "→ c to go back to it\n",
        "  risk          'Docker' is not in your words\n",
    ):  # fmt: skip
        assert line in seen
    terminal.presses("y")
    seen = terminal.passes("type the rule's first word, 'Use', to approve it anyway:")
    assert "risk: 'Docker' is not in your words" in seen
    terminal.types("no")
    assert "not approved" in terminal.passes(GUARDABLE)
    assert not (project / "CLAUDE.md").exists()
    terminal.presses("c")
    terminal.passes(GUARDABLE)
    terminal.presses("y")
    terminal.ends()
    assert "- Never use npm in this project, always use pnpm\n" in (project / "CLAUDE.md").read_text()


def test_no_lasting_rule_is_shown_and_dismisses_nothing(
    says: Says, reviews: Reviews, claude: ScriptedClaude, run_cli: RunCli, project: Path
) -> None:
    says(BIG)
    claude.set_rules({"n": 1, "no_rule": "a question about one file"})
    terminal = reviews()
    terminal.passes("[n]o")
    terminal.presses("o")
    seen = terminal.passes(UNWORDED)
    assert "Claude worded 0 of 1 proposed rule" in seen
    assert "  Claude says   not a lasting rule: a question about one file\n" in seen and "(needs wording)" in seen
    terminal.presses("q")
    terminal.ends()
    assert len(run_cli("candidates", "--json", cwd=project).json()["data"]) == 1


def test_twins_become_one_only_with_the_persons_key(
    says: Says, reviews: Reviews, claude: ScriptedClaude, run_cli: RunCli, project: Path, store_home: Path
) -> None:
    says("why is the database empty in every spec?")
    says(SEEDS)
    claude.set_rules({"n": 1, "rule": WORDING}, {"n": 2, "rule": WORDING, "same_as": 1})
    terminal = reviews()
    terminal.passes("[n]o")
    terminal.presses("o")
    seen = terminal.passes("(1/2) Approve to project [y,n,N,s,e,c,m,t,v,j,/,l,q,?]?")
    assert "  Claude says   same as 2 of 2: " in seen
    assert "→ m to merge both into one rule\n" in seen
    terminal.presses("m")
    seen = terminal.passes("(1/2) Approve to project [y,n,N,s,e,c,t,v,j,/,l,q,?]?")
    assert "  and you said  " in seen and "it means the same" not in seen
    terminal.presses("y")
    left = terminal.ends()
    assert "1 approved" in left and "wait" not in left
    message = list_commits(store_home, "-1", "--format=%(trailers:key=Signal-Id)")
    assert len([line for line in message if line]) == 2
    assert run_cli("candidates", "--json", cwd=project).json()["data"] == []


def test_a_merge_is_undone_as_one(says: Says, reviews: Reviews, claude: ScriptedClaude, project: Path) -> None:
    says("why is the database empty in every spec?")
    says(SEEDS)
    says("use ruff, not black")
    claude.set_rules(
        {"n": 1, "rule": "Use ruff, not black"}, {"n": 2, "rule": WORDING}, {"n": 3, "rule": WORDING, "same_as": 2}
    )
    terminal = reviews()
    terminal.passes("[n]o")
    terminal.presses("o")
    terminal.passes("?]?")
    terminal.presses("j")
    terminal.passes("(2/3) Approve to project [y,n,N,s,e,c,m,t,v,j,k,/,l,q,?]?")
    terminal.presses("m")
    terminal.passes("?]?")
    terminal.presses("y")
    terminal.passes("(1/3) Approve to project [y,n,N,s,e,c,g,t,v,u,q,?]?")
    terminal.presses("u")
    assert "approval undone" in terminal.passes("(2/3) Approve to project [y,n,N,s,e,c,t,v,j,k,/,l,q,?]?")
    terminal.presses("q")
    assert "left for later: 3 proposed rules" in terminal.ends()


def set_cap(project: Path, amount: str) -> None:
    with Terminal("config", "reflect.maxUsdPerDay", amount, cwd=project) as terminal:
        terminal.passes("[y/N]:")
        terminal.types("y")
        terminal.ends()


def test_the_daily_cap_holds_and_names_the_way_out(
    says: Says, reviews: Reviews, claude: ScriptedClaude, project: Path, store_home: Path
) -> None:
    says(SEEDS)
    says("why are the fixtures never loaded?")
    set_cap(project, "0.01")
    claude.set_rules({"n": 1, "rule": WORDING}, usd=0.0099)
    terminal = reviews()
    terminal.passes("[n]o")
    terminal.presses("n")
    terminal.passes("?]?")
    terminal.presses("c")
    terminal.passes("[n]o")
    terminal.presses("o")
    terminal.passes("?]?")
    terminal.presses("j")
    terminal.passes("?]?")
    terminal.presses("c")
    seen = terminal.passes("(2/2) Approve to project [n,N,s,e,c,t,v,k,/,l,q,?]?")
    assert seen.startswith("error: the daily cap of $0.01 is reached: $0.01 was used today\nhint: press e to word it")
    assert "reflect-git config reflect.maxUsdPerDay 1.00" in seen.replace("\n", " ")
    assert len(claude.calls) == 1
    terminal.presses("q")
    terminal.ends()


@pytest.mark.parametrize(
    ("reply", "sentence"),
    [
        ({"out": "{"}, "error: Claude worded nothing: its answer is no JSON"),
        ({"out": build_output(is_error=True, result="Not logged in · Please run /login"), "code": 1},
         "error: Claude Code is not logged in"),
        ({"out": "", "sleep": 30}, "error: Claude did not answer within 2 seconds"),
    ],
)  # fmt: skip
def test_a_failure_is_one_sentence_and_the_card_stays(
    says: Says, reviews: Reviews, claude: ScriptedClaude, run_cli: RunCli, reply: dict[str, Any], sentence: str
) -> None:
    says(SEEDS)
    run_cli("config", "reflect.wording.timeout", "2")
    claude.set_outputs(reply)
    terminal = reviews()
    terminal.passes("[n]o")
    terminal.presses("o")
    seen = terminal.passes(UNWORDED)
    assert seen.count("error: ") == 1 and sentence in seen and "hint: " in seen
    assert "(needs wording)" in seen.partition("error: ")[2]
    claude.set_rules({"n": 1, "rule": WORDING})
    terminal.presses("c")
    assert f"    {WORDING}\n    (worded by Claude)\n" in terminal.passes(ONE)
    terminal.presses("q")
    terminal.ends()


def test_an_interrupt_stops_the_call_and_not_the_review(
    says: Says, reviews: Reviews, claude: ScriptedClaude, store_home: Path
) -> None:
    says(SEEDS)
    claude.set_outputs({"out": "", "sleep": 30})
    terminal = reviews()
    terminal.passes("[n]o")
    terminal.presses("o")
    terminal.passes("Claude words 1 proposed rule … 1 s")  # on stderr, since it takes long
    terminal.sends("C")
    seen = terminal.passes(UNWORDED)
    assert "error: stopped: Claude worded nothing\nhint: press c to try again" in seen and "(needs wording)" in seen
    terminal.presses("q")
    terminal.ends()
    assert [line["state"] for line in used(store_home)] == ["failed"]


def test_a_review_inside_claude_code_asks_no_other_claude(
    says: Says, run_cli: RunCli, claude: ScriptedClaude, project: Path
) -> None:
    says(SEEDS)
    with Terminal("review", cwd=project, env={"CLAUDECODE": "1"}) as terminal:
        assert "review needs a person at a terminal" in terminal.ends(1)
    assert run_cli("review", cwd=project).code == 0 and claude.calls == []


def test_the_setting_shows_the_price_before_it_is_switched_on(
    says: Says, claude: ScriptedClaude, project: Path
) -> None:
    says(SEEDS)
    with Terminal("config", "reflect.wording", "claude", cwd=project) as terminal:
        seen = terminal.passes("set reflect.wording to claude? [y/N]:").replace("\n", " ")
        assert "review then sends the redacted words of proposed rules to Claude: about" in seen
        assert "for one, at most $2.00 a day" in seen
        terminal.types("n")
        terminal.ends(1)


@pytest.mark.parametrize("key", ["reflect.wording", "reflect.wording.model", "reflect.maxUsdPerDay"])
def test_nobody_but_a_person_at_a_terminal_loosens_it(
    says: Says, run_cli: RunCli, project: Path, store_home: Path, key: str
) -> None:
    says(SEEDS)
    value = {"reflect.wording": "claude", "reflect.wording.model": "opus", "reflect.maxUsdPerDay": "100.00"}[key]
    assert run_cli("config", key, value, cwd=project).code == 1
    assert run_cli("config", key, value, cwd=project, env={"CLAUDECODE": "1"}).code == 1
    subprocess.run([REAL_GIT, "-C", str(store_home), "config", key, value], check=True)
    assert run_cli("config", key, cwd=project).out.strip() != value
    assert key in run_cli("doctor", cwd=project).out


def test_an_edited_wording_is_the_persons_own(
    says: Says, reviews: Reviews, claude: ScriptedClaude, editor: Callable[[str], Path], project: Path, store_home: Path
) -> None:
    says(SEEDS)
    shown = editor("Run the specs with the seeds of staging.")
    terminal = reviews()
    terminal.passes("[n]o")
    terminal.presses("o")
    terminal.passes(ONE)
    terminal.presses("e")
    seen = terminal.passes(ONE)
    assert "(worded by Claude)" not in seen and "risk" not in seen
    assert shown.read_text().startswith(f"{WORDING}\n")
    terminal.presses("y")
    terminal.ends()
    decision = next((store_home / "decisions").rglob("DEC-*.yaml")).read_text()
    assert "wording:" not in decision
