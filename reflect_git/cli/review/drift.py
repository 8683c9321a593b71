"""The first part of a review: rules that differ from their files, text that Claude wrote, and records removed with git.

Changes by Claude come first. Nothing is written until the person answers, and each answer is stored at once.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import click

from reflect_git import audit
from reflect_git.cli.confirm import find_revert_author
from reflect_git.cli.context import format_age, one_line, printable
from reflect_git.cli.output import candidate_view
from reflect_git.cli.output.console import Console, InputEnded
from reflect_git.cli.review_setup import find_approver
from reflect_git.errors import ReflectError
from reflect_git.platform.instruction_files import FileChanged
from reflect_git.records.history import get_decision_name
from reflect_git.records.ids import plural
from reflect_git.rules import project_commits, restore, revert
from reflect_git.rules.approver import ApprovalRequest
from reflect_git.rules.drift import drift, resolve_drift
from reflect_git.rules.drift.drift import Difference, Drift
from reflect_git.rules.drift.line_owner import Passage
from reflect_git.rules.drift.questions import find_questions, format_what_happened
from reflect_git.rules.restore import Removal
from reflect_git.rules.write_change import build_diff, require_not_refused
from reflect_git.store.main import user_git
from reflect_git.targets.plan import find_text_line

if TYPE_CHECKING:
    from reflect_git.cli.review.screen import ReviewScreen
    from reflect_git.rules.project_files import Place

    DriftItem = Difference | Passage | Removal
    from reflect_git.records.schema import DecisionAuthor
    from reflect_git.rules.amend import Amendment
    from reflect_git.rules.revert import RevertPlan
    from reflect_git.targets.plan import Plan

_KEY_HELP = {
    "b": "change the file as shown, in one commit",
    "f": "adopt the file's wording, in one commit",
    "x": "retire the rule, in one commit",
    "i": "ignore here until it changes",
    "s": "skip; ask again in the next review",
    "q": "quit; keep the rest for later",
    "?": "this help",
}
_WRITE_KEYS = "bfx"  # offered only where the card is able to
# What the project's own git history explains is reported, not asked.
_BRANCH_NOTES = {
    "missing": "missing",
    "different": "worded differently",
    drift.RETURNED: "still present but no longer in force",
}


class DriftReview:
    def __init__(self, screen: ReviewScreen, console: Console, asked: Sequence[DriftItem]) -> None:
        self._screen = screen
        self._console = console
        self._items = list(asked)
        self._seen_marks: set[str] = set()
        self.answers: list[str] = []

    @property
    def open_count(self) -> int:
        """Count the differences that have no answer yet."""
        skipped = len(self._seen_marks) - len(self.answers)
        return skipped + len(self._list_unseen())

    def run(self) -> bool:
        """Until each was answered or left for another time; `q` ends the whole review. True if anything was asked."""
        while left := self._list_unseen():
            one, number = left[0], f"{len(self._seen_marks) + 1} of {len(self._seen_marks) + len(left)}"
            card = _build_card(self._screen, one)
            self._screen.print_lines("", click.style(f"Change {number} — {card.headline}", bold=True), "")
            card.show()
            self._ask_card(card, one.key, f"({number.replace(' of ', '/')})")
        return bool(self._seen_marks)

    def _list_unseen(self) -> list[DriftItem]:
        return [one for one in self._items if one.key not in self._seen_marks]

    def _ask_card(self, card: RuleCard | PassageCard | RemovalCard, mark: str, place: str) -> None:
        """Ask until there is an answer, or until the card has to be shown again."""
        while True:
            keys = [key for key in _KEY_HELP if key not in _WRITE_KEYS or key in card.write_keys]
            typed = self._console.read_key(f"{place} {card.question} [{','.join(keys)}]? ")
            if typed == "q":
                raise InputEnded
            if typed == "s":
                self._seen_marks.add(mark)
                return
            if typed not in keys or typed == "?":
                self._print_help(card, keys)
            elif self._apply_answer(card, mark, typed):
                return

    def _apply_answer(self, card: RuleCard | PassageCard | RemovalCard, mark: str, key: str) -> bool:
        """Carry out an answer. After each change of a file, check the others again, so that every diff is current."""
        try:
            said = card.answer(key, self._console)
        except FileChanged as error:
            self._screen.print_error(error)
            self._reload()
            return True
        except ReflectError as error:
            self._screen.print_error(error)
            return False
        if said:
            self._seen_marks.add(mark)
            self.answers.append(said)
            self._reload()
        return bool(said)

    def _reload(self) -> None:
        self._screen.reload()
        self._items = find_questions(self._screen.queue)[1]

    def _print_help(self, card: RuleCard | PassageCard | RemovalCard, keys: Sequence[str]) -> None:
        self._screen.print_keys({key: card.key_help.get(key) or _KEY_HELP[key] for key in keys})


def _build_card(screen: ReviewScreen, one: DriftItem) -> RuleCard | PassageCard | RemovalCard:
    """Return the card for a difference."""
    if isinstance(one, Removal):
        return RemovalCard(screen, one)

    return RuleCard(screen, one) if isinstance(one, Difference) else PassageCard(screen, one)


def format_list(place: Place, asked: Sequence[DriftItem]) -> Iterator[str]:
    """Yield two lines for each difference, if nobody can be asked."""
    room = candidate_view.text_width()
    for number, one in enumerate(asked, 1):
        yield f"{number:>3}  {one_line(format_headline(one), room - 5)}"
        yield f"     {one_line(_format_item(place, one), room - 5)}"


def _format_item(place: Place, one: DriftItem) -> str:
    if isinstance(one, Removal):
        return ", ".join(map(restore.get_revert_name, one.decisions))
    text = "\n".join(one.lines) if isinstance(one, Passage) else one.learning["text"]
    return f"{place.label(one.file.path)}: {text}"


def format_notes(place: Place, found: Drift) -> Iterator[str]:
    """Yield notes on differences that are fine, and on those that cannot be asked."""
    for trouble in found.troubles:
        yield click.style(printable(trouble), fg="yellow")
    for kind, words in _BRANCH_NOTES.items():
        ones = [one for one in found.branch_differences if one.found.kind == kind]
        files = ", ".join(dict.fromkeys(place.label(one.file.path) for one in ones))
        if ones:
            summary = f"{plural(len(ones), 'rule')} {words} on this branch"
            yield printable(f"{summary} ({files}); nothing to do")
    if found.foreign_count:
        yield f"{plural(found.foreign_count, 'entry', 'entries')} from another store: left alone"


def format_headline(one: DriftItem) -> str:
    did = format_what_happened(one)
    call = None if isinstance(one, Removal) else one.call
    return f"{did} in session {call.session[:8]}, {format_age(call.timestamp)} ago" if call else did


RESTORED, AMENDED, RETIRED, IGNORED = "put back", "amended", "retired", "ignored"
_MAX_LINES = 20
# A rule that is gone from its file has no wording there to keep: it can be retired.
_ADOPT_KEYS = {"missing": "x", "different": "f"}
_QUESTIONS = {drift.RETURNED: "Remove it"}


class RuleCard:
    """A rule that differs from its file. `write_keys`: which of the keys that write something can do so."""

    key_help: Mapping[str, str] = {}

    def __init__(self, screen: ReviewScreen, one: Difference) -> None:
        self._screen, self._difference = screen, one
        self._plan, self._error = self._plan_restore()
        self.headline = format_headline(one)
        self.question = _QUESTIONS.get(one.found.kind, "Put it back")
        self.write_keys = ("b" if self._plan else "") + (
            _ADOPT_KEYS[one.found.kind] if resolve_drift.can_adopt(one) else ""
        )

    def _plan_restore(self) -> tuple[Plan | None, ReflectError | None]:
        try:
            return resolve_drift.plan_rule_restore(self._screen.queue, self._difference), None
        except ReflectError as error:
            return None, error

    def show(self) -> None:
        one, found = self._difference, self._difference.found
        is_skill = "skill" in one.learning["meta"]  # the diff below says more than two whole files
        shown = one.learning["title"] if is_skill else found.approved or one.learning["text"]
        self._screen.print_lines(*_format_texts(shown), "")
        if found.live and found.kind == "different" and not is_skill:
            self._screen.print_lines(
                *(line for part in found.live.splitlines() for line in candidate_view.format_field("now reads", part))
            )
        path = self._screen.queue.place.label(one.file.path)
        where = f"{path}, line {find_text_line(one.file.data, found)}" if found.line else path
        self._screen.print_lines(*candidate_view.format_field("in" if found.line else "gone from", where))
        self._screen.print_lines(*candidate_view.format_field("rule", one.learning["id"]))
        if self._error:
            self._screen.print_lines(*candidate_view.format_field("refused", self._error.message, "red"))
            self._screen.print_lines(
                *([candidate_view.format_way_out(self._error.hint, "red")] if self._error.hint else ())
            )
        if self._plan:
            self._screen.print_lines("")
            self._screen.show_change(build_diff(self._screen.queue.place, [self._plan]))

    def answer(self, key: str, console: Console) -> str:
        if key == "i":
            drift.ignore_difference(self._screen.queue.store, self._difference.key)
            self._screen.print_lines("ignored here until it changes")
            return IGNORED
        self._screen.reload()
        return self._restore() if key == "b" else self._adopt_file(console)

    def _restore(self) -> str:
        if self._plan is None:
            return ""
        done = resolve_drift.write_rule_restore(self._screen.queue, self._difference, self._plan, self._find_author())
        self._finish_answer(f"put {done.learning} back into '{printable(done.target)}'", done.target)
        return RESTORED

    def _adopt_file(self, console: Console) -> str:
        ctx, one = self._screen.queue, self._difference
        if one.found.kind == "missing":
            resolve_drift.withdraw_rule(ctx, one, self._find_author())
            self._finish_answer(f"retired {one.learning['id']}")
            return RETIRED
        amendment = resolve_drift.plan_adoption(ctx, one)
        require_not_refused(amendment.findings)
        if not self._confirm_adoption(amendment, console):
            self._screen.print_lines("nothing was changed")
            return ""
        done = resolve_drift.write_adoption(ctx, one, amendment, self._find_author())
        self._finish_answer(f"amended {one.learning['id']} to the file's wording", done.target)
        return AMENDED

    def _confirm_adoption(self, amendment: Amendment, console: Console) -> bool:
        """Show a change of the file before asking, and have the rule's first word typed if there is a risk."""
        for found in amendment.findings:
            if found.kind == "mended":
                self._screen.print_lines(*candidate_view.format_finding(found, ""))
        if amendment.diff:
            self._screen.show_change(amendment.diff)
            if not console.confirm("change the file like this"):
                return False
        risks = [found for found in amendment.findings if found.kind == "risk"]
        for found in risks:
            self._screen.print_lines(click.style(f"risk: {printable(found.message)}", fg="red", bold=True))
        return not risks or console.confirm_first_word(amendment.new["text"], "keep it anyway")

    def _find_author(self) -> DecisionAuthor:
        learning = self._difference.learning
        wish = ApprovalRequest(learning["id"], learning["text"], learning["target"]["kind"])
        return find_approver(self._screen.cli, self._screen.queue, wish)[0]

    def _finish_answer(self, said: str, changed: str = "") -> None:
        self._screen.finish_answer(said, "" if self._difference.file.target.is_global else changed)


class PassageCard:
    """Lines that Claude wrote by itself."""

    key_help: Mapping[str, str] = {}

    def __init__(self, screen: ReviewScreen, passage: Passage) -> None:
        self._screen, self._passage = screen, passage
        self.headline = format_headline(passage)
        self.write_keys = "b" if passage.plan else ""
        self.question = "Remove it" if passage.plan else "Ignore it"

    def show(self) -> None:
        passage = self._passage
        for line in passage.lines[:_MAX_LINES]:
            self._screen.print_lines(*_format_texts(line))
        if len(passage.lines) > _MAX_LINES:
            self._screen.print_lines(f"    … and {plural(len(passage.lines) - _MAX_LINES, 'more line')}")
        self._screen.print_lines(
            "", *candidate_view.format_field("in", self._screen.queue.place.label(passage.file.path))
        )
        if passage.call.prompt:
            self._screen.print_lines(*candidate_view.format_field("you typed", f'"{_shorten(passage.call.prompt)}"'))
        if passage.plan:
            self._screen.print_lines("")
            self._screen.show_change(build_diff(self._screen.queue.place, [passage.plan]))
        else:
            self._screen.print_lines(
                *candidate_view.format_field("note", "changed since, so it cannot be removed exactly: edit the file")
            )

    def answer(self, key: str, console: Console) -> str:
        if key == "i":
            drift.ignore_difference(self._screen.queue.store, self._passage.key)
            self._screen.print_lines("ignored here until it changes")
            return IGNORED
        self._screen.reload()
        target = self._passage.file.target
        wish = ApprovalRequest(target.path, "\n".join(self._passage.lines), target.kind)
        by, _ = find_approver(self._screen.cli, self._screen.queue, wish)
        done = resolve_drift.remove_passage(self._screen.queue, self._passage, by)
        changed = "" if target.is_global else done.target
        self._screen.finish_answer(f"removed it from '{printable(done.target)}'", changed)
        return RESTORED


def _format_texts(text: str) -> Iterator[str]:
    for line in text.splitlines():
        yield from candidate_view.format_text(line)


def _shorten(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= 200 else f"{flat[:199]}…"


KEPT_IN_FORCE, REMOVALS_RETIRED = "left in force", "retired"
_MAX_DECISIONS = 20


class RemovalCard:
    """`write_keys`: which of the keys that write something can do so."""

    question = "Retire it"
    key_help: Mapping[str, str] = {
        "x": "retire it: revert what the commit removed",
        "i": "keep it in force; do not ask again",
    }

    def __init__(self, screen: ReviewScreen, removal: Removal) -> None:
        self._screen, self._removal = screen, removal
        self._ctx = project_commits.with_project_of(screen.queue, removal.decisions)
        self._reversal, self._error = self._propose_revert()
        self.headline = format_what_happened(removal)
        self.write_keys = "x" if self._reversal else ""

    def _propose_revert(self) -> tuple[RevertPlan | None, ReflectError | None]:
        try:
            return revert.plan_revert(self._ctx, self._removal.selection), None
        except ReflectError as error:
            return None, error

    def show(self) -> None:
        screen, history = self._screen, self._ctx.scan.history
        for made in self._removal.decisions[:_MAX_DECISIONS]:
            screen.print_lines(*candidate_view.format_text(revert.describe_decisions(history, [made])))
            screen.print_lines(
                *candidate_view.format_field(
                    get_decision_name(made), f"{restore.get_revert_name(made)}, in force again"
                ),
                "",
            )
        if len(self._removal.decisions) > _MAX_DECISIONS:
            screen.print_lines(f"    … and {len(self._removal.decisions) - _MAX_DECISIONS} more", "")
        if self._error:
            screen.print_error(self._error)
        if self._reversal:
            screen.print_lines(
                *(line for note in self._reversal.notes for line in candidate_view.format_field("note", note))
            )
            screen.show_change(self._reversal.diff)

    def answer(self, key: str, _: Console) -> str:
        cli, commit = self._screen.cli, self._removal.commit
        by = find_revert_author(cli, self._ctx)
        if key == "i" or self._reversal is None:
            audit.accept_removed(self._ctx.store, cli.env, time.time(), cli.scan, commit, by)
            self._screen.finish_answer("kept in force")
            return KEPT_IN_FORCE
        done = revert.write_revert(self._ctx, self._reversal, by)
        user_git.delete_removed(self._ctx.store, commit)
        self._screen.finish_answer(f"retired it, commit {done.commit[:10]}", self._get_changed_file(done.target))
        return REMOVALS_RETIRED

    def _get_changed_file(self, target: str) -> str:
        """Return the target if it is a file of the current project, else an empty text."""
        is_here = self._ctx.place.root == self._screen.queue.place.root
        return target if is_here and not target.startswith(("/", "~")) else ""
