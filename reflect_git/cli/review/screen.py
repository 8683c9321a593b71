"""The screen of a review: show a candidate with its change, and carry the change out.

A proposal is always checked against the current rules and files, including those just approved.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace as dataclass_replace
from typing import TYPE_CHECKING

import click

from reflect_git.candidates import describe
from reflect_git.candidates.candidate import LazyCandidates
from reflect_git.candidates.matcher import get_candidate_matcher
from reflect_git.cli import guard_dialog
from reflect_git.cli.context import CliContext, format_duration, printable
from reflect_git.cli.output import candidate_view
from reflect_git.cli.review_setup import find_approver, print_diff
from reflect_git.errors import ReflectError
from reflect_git.records.named_tuple import NamedTuple
from reflect_git.rules import project_files, queue
from reflect_git.rules.approve import NEEDS_WORDING, Proposal, Request, plan_approval_after, write_approval
from reflect_git.rules.approver import ApprovalRequest
from reflect_git.rules.derived_files import refresh_derived_files
from reflect_git.rules.dismiss import AnsweredElsewhere, list_waiting
from reflect_git.rules.guarding import guards
from reflect_git.store import expiry

if TYPE_CHECKING:
    from reflect_git.candidates.gate import Finding
    from reflect_git.candidates.gather import Candidate
    from reflect_git.cli.output.console import Console
    from reflect_git.records.schema import DecisionAuthor, Learning, Signal
    from reflect_git.rules.guarding.guard_backtest import Backtest
    from reflect_git.rules.guarding.guards import GuardPlan
    from reflect_git.rules.queue import Queue


class ReviewScreen:
    def __init__(self, cli: CliContext, here: Queue, diff_filter: str = "") -> None:
        self.cli = cli
        self.queue = here
        self._changes_by_file: dict[
            str, set[str]
        ] = {}  # files of the project in the order they were changed, and by what
        self._diff_filter = diff_filter
        self._backtests: dict[tuple[str, str], Candidate] = {}
        self._guardable: dict[str, bool] = {}
        self.has_client = False  # whether Claude can be asked for a wording

    def show_candidate(
        self, request: Request, number: str, notes: Sequence[tuple[str, str, str]] = ()
    ) -> Proposal | None:
        """Show a candidate with all that a person needs to answer; the change, if one can be made.

        `notes` are (name, text, way out) of what a model says about it.
        """
        candidate = self._add_backtest(request.candidate, request.text)
        proposal, trouble = self._try_propose(request)
        text = proposal.learning["text"] if proposal else request.text or candidate.text
        is_quote = candidate.needs_wording and not request.text
        shown = (
            [*candidate_view.format_text(f'"{text}"'), "    (needs wording)"]
            if is_quote
            else candidate_view.format_text(text)
        )
        shown = [*shown, "    (worded by Claude)"] if request.wording else shown
        self.print_lines("", self._format_headline(candidate, number), "", *shown, "")
        self.print_lines(*candidate_view.format_facts(candidate, proposal.findings if proposal else ()))
        for other in request.joined:
            self.print_lines(*candidate_view.format_field("and you said", f'"{other.quote}"'))
        for name, said, way_out in notes:
            self.print_lines(
                *candidate_view.format_field(name, said),
                *([candidate_view.format_way_out(way_out, None)] if way_out else []),
            )
        if trouble is not None:
            self.print_lines(*candidate_view.format_field("refused", trouble.message, "red"))
            self.print_lines(candidate_view.format_way_out(_format_error_hint(trouble), "red"))
        if proposal is not None:
            self.print_lines(*candidate_view.format_field("goes to", self.format_destination(proposal)))
            for old in proposal.replaced:
                self.print_lines(*candidate_view.format_field("replaces", f"{old['id']}: {old['text']}"))
            ways = [self._format_way_out(found, proposal) for found in proposal.findings]
            for at, found in enumerate(proposal.findings):  # the same advice for several stands below the last of them
                self.print_lines(
                    *candidate_view.format_finding(found, ways[at] if ways[at] not in ways[at + 1 :] else "")
                )
            if not is_quote:  # nobody is shown a file with a text that cannot be approved
                self.print_lines("")
                self.show_change(proposal.diff)
        return proposal

    def propose(self, request: Request, earlier: Sequence[Proposal] = ()) -> Proposal:
        """Return the change that a request makes, after the changes in `earlier`."""
        project = self._get_other_project(request.candidate)
        if project and not (request.to or request.candidate.target).startswith("global"):
            raise ReflectError(
                f"you said it in another project, '{project}'",
                "t and 'global'; or quit and run review in that project", code="other-project",
            )  # fmt: skip
        return plan_approval_after(self.queue, request, earlier)

    def _try_propose(self, request: Request) -> tuple[Proposal | None, ReflectError | None]:
        try:
            return self.propose(request), None
        except ReflectError as error:
            return None, error

    def _add_backtest(self, candidate: Candidate, text: str) -> Candidate:
        """Add the backtest of the text that is shown; made when it is first looked at."""
        matcher = get_candidate_matcher(candidate, text)
        shown = candidate.id, text
        if shown not in self._backtests:
            with_matcher = candidate._replace(matcher=matcher)
            guard_matcher = guards.derive(text or candidate.text)
            self._backtests[shown] = (
                with_matcher._replace(backtest=queue.backtest_matcher(self.queue, guard_matcher))
                if guard_matcher
                else queue.with_backtest(self.queue, with_matcher)
            )
        return self._backtests[shown]

    def _format_way_out(self, found: Finding, proposal: Proposal) -> str:
        if found.code == NEEDS_WORDING and not self.has_client:
            return "e to word it"
        return _format_way_out(found, proposal)

    def _format_headline(self, candidate: Candidate, number: str) -> str:
        parts = [candidate.type.replace("_", " "), candidate_view.format_last_seen(candidate)]
        parts += ["unlikely"] if candidate.tier == "weak" else []
        project = self._get_other_project(candidate)
        parts += [f"in {printable(project)}"] if project else []
        return click.style(f"Proposed rule {number} — {', '.join(parts)}", bold=True)

    def _get_other_project(self, candidate: Candidate) -> str:
        """Return the name of the candidate's project if it is another one, else an empty text."""
        project = candidate.project
        return "" if project is None or project["key"] in self.queue.place.keys else project["name"]

    def format_destination(self, proposal: Proposal) -> str:
        path = self.queue.place.label_of(proposal.plans[0].target)
        return f"{path} ({proposal.to})"

    def show_change(self, diff: str) -> None:
        """Show a diff in colour, through the user's filter for `git add -p`."""
        if self._diff_filter and self.cli.uses_color(True):
            import subprocess  # few have a filter

            shell = ["/bin/sh", "-c", self._diff_filter]
            done = subprocess.run(shell, input=printable(diff), capture_output=True, text=True, check=False)
            if done.returncode == 0 and done.stdout:
                self.cli.print_line(done.stdout.rstrip("\n"))
                return
        print_diff(self.cli, diff)

    def can_guard(self, rule: Learning) -> bool:
        """Return whether a rule's text names calls that a guard can match."""
        if rule["target"]["kind"] == "improvements" or "skill" in rule["meta"]:
            return False
        if rule["text"] not in self._guardable:
            self._guardable[rule["text"]] = guards.derive(rule["text"]) is not None
        return self._guardable[rule["text"]]

    def choose_guard(self, console: Console, rule: Learning, mode: str = "") -> tuple[GuardPlan, Backtest] | None:
        """Let the person choose a mode and mark wrong matches; None if they cancel."""
        names = dict(guard_dialog.MODE_KEYS)
        while not mode:
            typed = console.read_key(f"Guard it: watch, hint, ask or deny; Enter: hint [{','.join(names)},q,?]? ")
            if typed == "q":
                return None
            mode = names.get(typed, "" if typed else guards.DEFAULT_MODE)
            if not mode:
                help_texts = {key: guards.MODE_HELP[name] for key, name in names.items()}
                self.print_keys({**help_texts, "q": "cancel"})
        plan = guards.plan_guard(self.queue, rule, mode)
        self.print_lines(*candidate_view.format_field("mode", f"{mode}: {guards.MODE_HELP[mode]}"))
        self.print_lines(*candidate_view.format_field("will sync", plan.synced_text))
        agreed = guard_dialog.confirm_matches(self.cli, self.queue, plan, console.read_line, self.print_lines)
        if agreed is not None and not agreed[1].matches and not console.confirm("guard it"):
            return None
        return agreed

    def write_guard(self, learning: str, plan: GuardPlan, found: Backtest) -> None:
        """Guard a rule that is in force, as the person chose."""
        rule = self.queue.scan.history.learnings[learning]
        by = guard_dialog.find_guard_author(self.cli, self.queue, "a guard")
        guard_dialog.write_and_compile(self.cli, self.queue, dataclass_replace(plan, rule=rule), found, by)
        self.print_lines(f"guarded {learning} ({plan.mode})")
        self.reload()

    def find_author(self, candidate: Candidate) -> DecisionAuthor:
        """Return the person at the terminal."""
        return find_approver(self.cli, self.queue, ApprovalRequest(candidate.id, candidate.text, candidate.target))[0]

    def is_still_waiting(self, candidate: Candidate) -> bool:
        """Read the store again, and say so if another process answered this question."""
        self.reload()
        if list_waiting(self.queue.scan, candidate.signals):
            return True
        self.print_lines(AnsweredElsewhere(candidate.id).message)
        return False

    def apply_proposal(self, proposal: Proposal) -> str:
        """Approve the change as shown and return the rule's id.

        Return an empty text if the candidate was answered elsewhere meanwhile.
        """
        candidate = proposal.request.candidate
        if not self.is_still_waiting(candidate):
            return ""
        by, _ = find_approver(
            self.cli, self.queue, ApprovalRequest(candidate.id, proposal.learning["text"], proposal.to)
        )
        try:
            done = write_approval(self.queue, proposal, by)
        except AnsweredElsewhere as error:
            self.print_lines(error.message)
            return ""
        self.print_lines(f"approved {done.learning} into '{printable(done.target)}'")
        for plan in proposal.plans:
            if not plan.target.is_global:
                self.note_change(self.queue.place.label_of(plan.target), done.learning)
        self.reload()
        refresh_derived_files(self.queue.store, self.cli.env, self.queue.scan)
        return done.learning

    def note_change(self, path: str, learning: str = "") -> None:
        """Remember a changed file of the project, and the rule that changed it, if it can still be reverted."""
        self._changes_by_file.setdefault(path, set()).add(learning)

    @property
    def changed_files(self) -> list[str]:
        """Files of the project to commit, in the order they were changed."""
        return [path for path, changes in self._changes_by_file.items() if changes]

    def reload(self) -> None:
        """Read the store and files again."""
        place, store = self.queue.place, self.queue.store
        self.queue = self.queue.replace(scan=self.cli.scan(store), said=project_files.load_statements(place))

    def finish_answer(self, said: str, changed: str = "") -> None:
        """Report an answer about a rule and read everything again. `changed_files` is a changed file of the project."""
        self.print_lines(said)
        if changed:
            self.note_change(changed)
        self.reload()
        refresh_derived_files(self.queue.store, self.cli.env, self.queue.scan)

    def undo_approval(self, learning: str) -> None:
        """Undo an approval of this review: remove the rule from its file and reopen its signals."""
        from reflect_git.rules import revert

        self.reload()
        rule = self.queue.scan.history.learnings[learning]
        by, _ = find_approver(self.cli, self.queue, ApprovalRequest(learning, rule["text"], rule["target"]["kind"]))
        self.show_change(revert.revert_approval(self.queue, learning, by).diff)
        for changes in self._changes_by_file.values():
            changes.discard(learning)
        self.reload()
        refresh_derived_files(self.queue.store, self.cli.env, self.queue.scan)

    def show_signals(self, candidate: Candidate) -> None:
        for signal in self._load_signals(candidate):
            self.print_lines(*candidate_view.format_signal(signal))

    def _load_signals(self, candidate: Candidate) -> list[Signal]:
        scan, wanted = self.queue.scan, set(candidate.signals)
        return scan.get_signals(row for row in scan.rows if scan.columns["id"][row] in wanted)

    def format_expiry(self, candidate: Candidate) -> str:
        """Format how long until a candidate expires."""
        ttl, shown = expiry.get_ttl_days(self.queue.store), expiry.load_shown_ids(self.queue.store)
        ends = [expiry.get_expiry_time(signal, ttl, shown) for signal in self._load_signals(candidate)]
        return format_duration(max(0.0, max(ends) - time.time()))

    def print_lines(self, *lines: str, hang: int = 0) -> None:
        for line in lines:
            self.cli.print_text(line, hang)

    def print_keys(self, meanings: Mapping[str, str]) -> None:
        """Print each key with its meaning."""
        wide = max(map(len, meanings))
        lines = (click.style(f"{key:<{wide}}  {said}", fg="red", bold=True) for key, said in meanings.items())
        self.print_lines(*lines, hang=wide + 2)

    def print_error(self, error: ReflectError) -> None:
        self.print_lines(click.style("error: ", fg="red", bold=True) + printable(error.message))
        if error.hint:
            self.print_lines(click.style(f"hint: {printable(error.hint)}", fg="yellow"))


def find_contradicted_rule(proposal: Proposal | None) -> str:
    """Return the one rule that contradicts the proposal, if nothing else prevents it."""
    return describe.find_contradicted_rule(proposal.findings) if proposal else ""


def _format_way_out(found: Finding, proposal: Proposal) -> str:
    return describe.format_way_out(found, proposal.findings, proposal.request.candidate.id, proposal.to)


def _format_error_hint(trouble: ReflectError) -> str:
    return "t and 'global'" if trouble.code == "no-project" else trouble.hint or "t to choose another target"


APPROVED, SKIPPED, DISMISSED, DISMISSED_FOR_GOOD = "approved", "skipped", "dismissed", "dismissed for good"
ANSWERED_ELSEWHERE = "answered elsewhere"


class Answer(NamedTuple):
    """`record` is the learning or the decision it made; `first_seen` the signals that a skip marked as seen.

    `request` is what stood on the screen: another wording or target comes back with the card. `joined_positions` are
    the places of cards that were answered by the same rule.
    """

    position: int
    outcome: str
    record: str = ""
    first_seen: tuple[str, ...] = ()
    request: Request | None = None
    joined_positions: tuple[int, ...] = ()


class ReviewCursor:
    def __init__(self, *cards: Sequence[Candidate]) -> None:
        self.cards = _chain_lazily(cards)
        self.answers: list[Answer] = []
        self.position = 0

    @property
    def card(self) -> Candidate:
        return self.cards[self.position]

    def list_open(self) -> list[int]:
        """Return the positions of cards without an answer."""
        answered = {at for answer in self.answers for at in (answer.position, *answer.joined_positions)}
        return [at for at in range(len(self.cards)) if at not in answered]

    def find_next(self) -> int | None:
        return min((at for at in self.list_open() if at > self.position), default=None)

    def find_previous(self) -> int | None:
        return max((at for at in self.list_open() if at < self.position), default=None)

    def add_answer(self, answer: Answer) -> None:
        """Note it and go on to the next open one; behind the last, to the first that was left."""
        self.answers.append(answer)
        following = self.find_next()
        self.position = following if following is not None else min(self.list_open(), default=self.position)

    def pop_answer(self) -> Answer:
        """Forget the last answer and go back to its card."""
        answer = self.answers.pop()
        self.position = answer.position
        return answer

    def add_cards(self, cards: Sequence[Candidate]) -> bool:
        """Append cards. Return True if the current card is answered, so that the first new one is next."""
        goes_on = self.position not in self.list_open()
        if goes_on:
            self.position = len(self.cards)
        self.cards = _chain_lazily((self.cards, cards))
        return goes_on

    def search(self, words: str) -> int | None:
        """Find the next open card with these words in its text or quote; wrap around at the end."""
        open_cards = self.list_open()
        order = [at for at in open_cards if at > self.position] + [at for at in open_cards if at <= self.position]
        wanted = words.casefold()
        for at in order:
            if wanted in f"{self.cards[at].text}\n{self.cards[at].quote}".casefold():
                return at
        return None

    def count_outcome(self, said: str) -> int:
        return sum(answer.outcome == said for answer in self.answers)


def _chain_lazily(parts: Sequence[Sequence[Candidate]]) -> Sequence[Candidate]:
    """Return one sequence of all parts. Candidates are still made when they are looked at: there may be thousands."""
    places = [(part, at) for part in parts for at in range(len(part))]
    return LazyCandidates(len(places), lambda at: places[at][0][places[at][1]])


def parse_numbers(typed: str, offered: Mapping[str, int]) -> list[int]:
    """Parse '1,3-5' into the places of the offered numbers; nothing if any part is not among them."""
    chosen: list[int] = []
    for part in typed.replace(",", " ").split():
        first, dash, last = part.partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()) or int(last or first) > len(offered) + 10_000:
            return []
        numbers = [str(number) for number in range(int(first), int(last or first) + 1)]
        known = [offered[number] for number in numbers if number in offered]
        if not known or (not dash and len(known) != 1):
            return []
        chosen += known
    return list(dict.fromkeys(chosen))
