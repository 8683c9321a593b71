"""The second part of a review: what was decided on own machines and is not in the files here yet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import click

from reflect_git.cli.context import format_age, one_line, printable
from reflect_git.cli.output import candidate_view
from reflect_git.cli.output.console import Console, InputEnded
from reflect_git.cli.review_setup import find_approver
from reflect_git.errors import ReflectError
from reflect_git.platform.instruction_files import FileChanged
from reflect_git.records.ids import plural
from reflect_git.rules import arrivals, file_changes
from reflect_git.rules import arrivals as arrived
from reflect_git.rules.approve import target_of
from reflect_git.rules.approver import ApprovalRequest
from reflect_git.rules.arrivals import ADD, CHANGE, REMOVE, Arrival
from reflect_git.rules.derived_files import refresh_derived_files
from reflect_git.rules.write_change import build_diff

if TYPE_CHECKING:
    from reflect_git.candidates.gate import Finding
    from reflect_git.cli.review.screen import ReviewScreen
    from reflect_git.records.schema import DecisionAuthor, Learning
    from reflect_git.rules.arrivals import Wording
    from reflect_git.rules.project_files import Place
    from reflect_git.rules.write_change import Step
    from reflect_git.targets.target_files import Target

APPLIED, REMOVED, DECLINED, CHOSEN = "applied here", "removed here", "declined here", "chosen"
_ACTION_WORDS = {ADD: "approved", CHANGE: "changed", REMOVE: "reverted"}
_KEY_HELP = {
    "y": "change the file as shown, in one commit",
    "a": "apply all of them, after one question",
    "n": "not on this machine; the others keep it",
    "s": "skip; ask again in the next review",
    "q": "quit; keep the rest for later",
    "?": "this help",
}


class ArrivalsReview:
    def __init__(self, screen: ReviewScreen, console: Console, found: Sequence[Arrival]) -> None:
        self._screen = screen
        self._console = console
        self._arrivals = list(found)
        self._skipped_ids: set[str] = set()
        self.answers: list[str] = []

    @property
    def open_count(self) -> int:
        """Count the decisions that are not in the files here yet."""
        return len(self._arrivals)

    def run(self) -> None:
        """Until each was taken over or left for another time; `q` ends the whole review."""
        while left := [one for one in self._arrivals if one.decision["id"] not in self._skipped_ids]:
            total = len(self.answers) + len(self._arrivals)
            number = f"{total - len(left) + 1} of {total}"
            place = f"({number.replace(' of ', '/')})"
            if left[0].wordings:
                self._show_wordings(left[0], number)
                self._ask_wording(left[0], place)
            else:
                self._show_rule(left[0], number)
                self._ask_rule(left, place)

    def _show_rule(self, one: Arrival, number: str) -> None:
        self._screen.print_lines("", click.style(f"Rule {number} — {format_headline(one)}", bold=True), "")
        self._screen.print_lines(*candidate_view.format_text(one.learning["text"]), "")
        self._screen.print_lines(
            *candidate_view.format_field(
                "into" if one.kind == ADD else "in", self._format_target(target_of(one.learning))
            )
        )
        self._screen.print_lines(*candidate_view.format_field("rule", one.learning["id"]))
        for found in one.risks:
            self._screen.print_lines(click.style(f"risk: {printable(found.message)}", fg="red", bold=True))
            self._screen.print_lines(
                *([candidate_view.format_way_out(found.hint, "red")] if found.code == "contradiction" else ())
            )
        if one.trouble:
            self._screen.print_lines(*candidate_view.format_field("refused", one.trouble.message, "red"))
            self._screen.print_lines(
                *([candidate_view.format_way_out(one.trouble.hint, "red")] if one.trouble.hint else ())
            )
        else:
            self._screen.print_lines("")
            self._screen.show_change(one.diff)

    def _show_wordings(self, one: Arrival, number: str) -> None:
        self._screen.print_lines("", click.style(f"Rule {number} — {format_headline(one)}", bold=True), "")
        self._screen.print_lines(*candidate_view.format_field("in", self._format_target(target_of(one.learning))))
        self._screen.print_lines(*candidate_view.format_field("rule", one.learning["id"]))
        for key, wording in enumerate(one.wordings, 1):
            made = wording.decision
            where = "here" if made["machine"] == self._screen.queue.store.machine else f"on {made['machine']}"
            self._screen.print_lines("", f"{key}  {where}, {format_age(made['timestamp'])} ago", "")
            self._screen.print_lines(*candidate_view.format_text(wording.learning["text"]), "")
            for found in wording.findings:
                self._screen.print_lines(click.style(f"risk: {printable(found.message)}", fg="red", bold=True))
            if wording.steps:
                self._screen.show_change(wording.diff)
            else:
                self._screen.print_lines("the file here has this wording")

    def _ask_wording(self, one: Arrival, place: str) -> None:
        """Until one of them holds, or it is left for another time."""
        numbers = {str(key): wording for key, wording in enumerate(one.wordings[:9], 1)}
        keys = [*numbers, "s", "q", "?"]
        while True:
            typed = self._console.read_key(f"{place} Which wording [{','.join(keys)}]? ")
            if typed == "q":
                raise InputEnded
            if typed == "s":
                self._skipped_ids.add(one.decision["id"])
                return
            if typed not in numbers:
                meanings = dict.fromkeys(numbers, "use this wording on all your machines, in one commit")
                self._print_help(keys, {**_KEY_HELP, **meanings})
            elif not self._confirm_risks(numbers[typed].findings, numbers[typed].learning):
                self._screen.print_lines("nothing was changed")
            elif self._use_wording(one, numbers[typed]):
                return

    def _use_wording(self, one: Arrival, wording: Wording) -> bool:
        """Apply the chosen wording. Return True if the remaining ones have to be shown again."""
        try:
            done = arrivals.resolve_reword_conflict(self._screen.queue, wording, self._find_author(wording.learning))
        except FileChanged as error:
            self._reload()
            self._print_changed(error, [one])
            return True
        except ReflectError as error:
            self._screen.print_error(error)
            return False
        self.answers.append(CHOSEN)
        self._screen.print_lines(f"amended {one.learning['id']}, commit {done.commit[:10]}")
        self._note_changes(wording.steps)
        self._reload()
        return True

    def _format_target(self, target: Target) -> str:
        return format_target(self._screen.queue.place, target)

    def _ask_rule(self, left: Sequence[Arrival], place: str) -> None:
        """Ask until there is an answer, or until the change has to be shown again."""
        able = [one for one in left if one.trouble is None]
        harmless = [one for one in able if not one.risks]
        out = {key for key, offered in (("y", left[0] in able), ("a", len(harmless) > 1), ("n", left[0].kind == ADD))
               if not offered}  # fmt: skip
        keys = [key for key in _KEY_HELP if key not in out]
        while True:
            asked = "Remove" if left[0].kind == REMOVE else "Apply"
            typed = self._console.read_key(f"{place} {asked} it here [{','.join(keys)}]? ")
            if typed == "q":
                raise InputEnded
            if typed not in keys or typed == "?":
                self._print_help(keys)
            elif typed == "s":
                self._skipped_ids.add(left[0].decision["id"])
                return
            elif typed == "n":
                if self._decline(left[0]):
                    return
            elif typed == "y" and not self._confirm_risks(left[0].risks, left[0].learning):
                self._screen.print_lines("nothing was changed")
            elif self._apply([left[0]] if typed == "y" else harmless):
                return

    def _decline(self, one: Arrival) -> bool:
        try:
            decision, _ = arrived.decline(self._screen.queue, one, self._find_author(one.learning))
        except ReflectError as error:  # the store is busy, say: the question stays, and so does the review
            self._screen.print_error(error)
            return False
        self._screen.print_lines(f"declined on this machine, {decision}")
        self.answers.append(DECLINED)
        self._reload()
        return True

    def _reload(self) -> None:
        self._screen.reload()
        queue = self._screen.queue
        refresh_derived_files(queue.store, queue.env, queue.scan)
        self._arrivals = arrived.list_arrivals(self._screen.queue)

    def _confirm_risks(self, risks: Sequence[Finding], learning: Learning) -> bool:
        """Have the rule's first word typed if there is a risk."""
        return not risks or self._console.confirm_first_word(learning["text"], "apply it anyway")

    def _apply(self, chosen: Sequence[Arrival]) -> bool:
        """Apply the chosen decisions. Return True if the remaining ones have to be shown again."""
        if len(chosen) > 1 and not self._confirm_all(chosen):
            return False
        try:
            done = arrived.apply_arrivals(self._screen.queue, chosen, self._find_author(chosen[0].learning))
        except FileChanged as error:
            self._reload()
            self._print_changed(error, chosen)
            return True
        except ReflectError as error:
            self._screen.print_error(error)
            return False
        else:
            self.answers += [REMOVED if one.kind == REMOVE else APPLIED for one in chosen]
            self._screen.print_lines(f"{_format_result(chosen)}, commit {done.commit[:10]}")
            self._note_changes([step for one in chosen for step in one.steps])
        self._reload()
        return True

    def _note_changes(self, steps: Sequence[Step]) -> None:
        for step in steps:
            if not step.plan.target.is_global:
                self._screen.note_change(step.plan.path)

    def _print_changed(self, error: FileChanged, chosen: Sequence[Arrival]) -> None:
        """Say that the files changed since the diff was shown, and whether anything is left to apply."""
        left = {one.decision["id"] for one in self._arrivals}
        is_left = any(one.decision["id"] in left for one in chosen)
        then = "here is what would change now" if is_left else "nothing left to do"
        self._screen.print_lines(printable(f"{error.message}: {then}"))

    def _confirm_all(self, chosen: Sequence[Arrival]) -> bool:
        """Show the total change of each file and ask once."""
        for step in file_changes.plan_file_changes(self._screen.queue.place, [one.change for one in chosen]).steps:
            self._screen.print_lines(
                "", *candidate_view.format_field("into", self._format_target(step.plan.target)), ""
            )
            self._screen.show_change(build_diff(self._screen.queue.place, [step.plan]))
        return self._console.confirm(f"apply {plural(len(chosen), 'rule')}")

    def _find_author(self, learning: Learning) -> DecisionAuthor:
        wish = ApprovalRequest(learning["id"], learning["text"], learning["target"]["kind"])
        return find_approver(self._screen.cli, self._screen.queue, wish)[0]

    def _print_help(self, keys: Sequence[str], meanings: Mapping[str, str] = _KEY_HELP) -> None:
        self._screen.print_keys({key: meanings[key] for key in keys})


def _format_result(chosen: Sequence[Arrival]) -> str:
    what = chosen[0].learning["id"] if len(chosen) == 1 else plural(len(chosen), "rule")
    return f"removed {what}" if all(one.kind == REMOVE for one in chosen) else f"applied {what}"


def format_headline(one: Arrival) -> str:
    if one.wordings:
        return f"reworded differently on {plural(len(one.wordings), 'machine')}"
    where = "here" if one.is_own else f"on {one.decision['machine']}"
    return f"{_ACTION_WORDS[one.kind]} {where}, {format_age(one.decision['timestamp'])} ago"


def format_target(place: Place, target: Target) -> str:
    """Return the display path of a target, which tells the project's file from the one for all projects."""
    return place.label(place.unresolved_path(target))


def format_list(place: Place, found: Sequence[Arrival]) -> Iterator[str]:
    """Yield two lines for each decision, if nobody can be asked."""
    room = candidate_view.text_width()
    for number, one in enumerate(found, 1):
        head = f"{format_headline(one)} → {format_target(place, target_of(one.learning))}"
        yield f"{number:>3}  {one_line(head, room - 5)}"
        yield f"     {one_line(printable(one.learning['text']), room - 5)}"
