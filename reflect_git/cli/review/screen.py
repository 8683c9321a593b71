"""The screen of a review: show a candidate with its change, and carry the change out.

A proposal is always checked against the current rules and files, including those just approved.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import click

from reflect_git.candidates.candidate import Lazily
from reflect_git.candidates.gate import CONTRADICTION, EXCEPTION, REFUSED
from reflect_git.candidates.matcher import matcher_for
from reflect_git.cli.context import Front, age, printable
from reflect_git.cli.output import candidate_view
from reflect_git.cli.review_setup import find_approver, show_diff
from reflect_git.errors import ReflectError
from reflect_git.records.named_tuple import NamedTuple
from reflect_git.rules import learnings_index, project_files, queue
from reflect_git.rules.approve import NEEDS_WORDING, Proposal, Request, carry_out, propose_after
from reflect_git.rules.approver import Wish
from reflect_git.store import expiry

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reflect_git.candidates.gate import Finding
    from reflect_git.candidates.gather import Candidate
    from reflect_git.records.schema import By, Signal
    from reflect_git.rules.approve import Request
    from reflect_git.rules.queue import Queue

_KEYS = {
    "needs-wording": "e to word it, c to let Claude word it", "question": "e to word it", "added": "e to take it out",
    "secret": "e to take it out", "full": "t to choose another target", "mixed-script": "e to retype it",
    "elsewhere": "t and 'global' to use it in all projects",
    EXCEPTION: "y to keep both; or t and 'global', then r to replace that rule",
}  # fmt: skip


class Desk:
    def __init__(self, front: Front, here: Queue, diff_filter: str = "") -> None:
        self.front = front
        self.sitting = here
        self._changed: dict[str, set[str]] = {}  # files of the project in the order they were changed, and by what
        self._filter = diff_filter
        self._tried: dict[tuple[str, str], Candidate] = {}
        self.has_client = False  # whether Claude can be asked for a wording

    def lay_out(self, request: Request, number: str, notes: Sequence[tuple[str, str, str]] = ()) -> Proposal | None:
        """Show a candidate with all that a person needs to answer; the change, if one can be made.

        `notes` are (name, text, way out) of what a model says about it.
        """
        candidate = self._with_backtest(request.candidate, request.text)
        proposal, trouble = self._attempt(request)
        text = proposal.learning["text"] if proposal else request.text or candidate.text
        is_quote = candidate.needs_wording and not request.text
        shown = (
            [*candidate_view.text_lines(f'"{text}"'), "    (needs wording)"]
            if is_quote
            else candidate_view.text_lines(text)
        )
        shown = [*shown, "    (worded by Claude)"] if request.wording else shown
        self.say("", self._headline(candidate, number), "", *shown, "")
        self.say(*candidate_view.facts(candidate, proposal.findings if proposal else ()))
        for other in request.joined:
            self.say(*candidate_view.field("and you said", f'"{other.quote}"'))
        for name, said, way_out in notes:
            self.say(*candidate_view.field(name, said), *([candidate_view.way(way_out, None)] if way_out else []))
        if trouble is not None:
            self.say(*candidate_view.field("refused", trouble.message, "red"))
            self.say(candidate_view.way(_way_on(trouble), "red"))
        if proposal is not None:
            self.say(*candidate_view.field("goes to", self.destination(proposal)))
            for old in proposal.replaced:
                self.say(*candidate_view.field("replaces", f"{old['id']}: {old['text']}"))
            ways = [self._way_out(found, proposal) for found in proposal.findings]
            for at, found in enumerate(proposal.findings):  # the same advice for several stands below the last of them
                self.say(*candidate_view.finding_lines(found, ways[at] if ways[at] not in ways[at + 1 :] else ""))
            if not is_quote:  # nobody is shown a file with a text that cannot be approved
                self.say("")
                self.show_change(proposal.diff)
        return proposal

    def propose(self, request: Request, earlier: Sequence[Proposal] = ()) -> Proposal:
        """Return the change that a request makes, after the changes in `earlier`."""
        project = self._foreign_project(request.candidate)
        if project and not (request.to or request.candidate.target).startswith("global"):
            raise ReflectError(
                f"you said it in another project, '{project}'",
                "t and 'global'; or quit and run review in that project", code="other-project",
            )  # fmt: skip
        return propose_after(self.sitting, request, earlier)

    def _attempt(self, request: Request) -> tuple[Proposal | None, ReflectError | None]:
        try:
            return self.propose(request), None
        except ReflectError as error:
            return None, error

    def _with_backtest(self, candidate: Candidate, text: str) -> Candidate:
        """Add the backtest of the text that is shown; made when it is first looked at."""
        matcher = matcher_for(candidate, text)
        shown = (candidate.id, matcher["pattern"] if matcher else "")
        if shown not in self._tried:
            self._tried[shown] = queue.tried(self.sitting, candidate._replace(matcher=matcher))
        return self._tried[shown]

    def _way_out(self, found: Finding, proposal: Proposal) -> str:
        if found.code == NEEDS_WORDING and not self.has_client:
            return "e to word it"
        return _way_out(found, proposal)

    def _headline(self, candidate: Candidate, number: str) -> str:
        parts = [candidate.type.replace("_", " "), candidate_view.last_said(candidate)]
        parts += ["unlikely"] if candidate.tier == "weak" else []
        project = self._foreign_project(candidate)
        parts += [f"in {printable(project)}"] if project else []
        return click.style(f"Proposed rule {number} — {', '.join(parts)}", bold=True)

    def _foreign_project(self, candidate: Candidate) -> str:
        """Return the name of the candidate's project if it is another one, else an empty text."""
        project = candidate.project
        return "" if project is None or project["key"] in self.sitting.place.keys else project["name"]

    def destination(self, proposal: Proposal) -> str:
        path = self.sitting.place.label_of(proposal.plans[0].target)
        return f"{path} ({proposal.to})"

    def show_change(self, diff: str) -> None:
        """Show a diff in colour, through the user's filter for `git add -p`."""
        if self._filter and self.front.uses_color(True):
            import subprocess  # few have a filter

            shell = ["/bin/sh", "-c", self._filter]
            done = subprocess.run(shell, input=printable(diff), capture_output=True, text=True, check=False)
            if done.returncode == 0 and done.stdout:
                self.front.out(done.stdout.rstrip("\n"))
                return
        show_diff(self.front, diff)

    def person(self, candidate: Candidate) -> By:
        """Return the person at the terminal."""
        return find_approver(self.front, self.sitting, Wish(candidate.id, candidate.text, candidate.target))[0]

    def carry_out(self, proposal: Proposal) -> str:
        """Approve the change as shown and return the rule's id.

        Return an empty text if the candidate was answered elsewhere meanwhile.
        """
        self.renew()
        candidate = proposal.request.candidate
        if not self._still_waits(candidate):
            self.say(f"{candidate.id} was answered elsewhere in the meantime")
            return ""
        by, _ = find_approver(self.front, self.sitting, Wish(candidate.id, proposal.learning["text"], proposal.to))
        done = carry_out(self.sitting, proposal, by)
        self.say(f"approved {done.learning} into '{printable(done.target)}'")
        for plan in proposal.plans:
            if not plan.target.is_global:
                self.note_change(self.sitting.place.label_of(plan.target), done.learning)
        self.renew()
        learnings_index.write(self.sitting.store, self.sitting.scan)
        return done.learning

    def note_change(self, path: str, learning: str = "") -> None:
        """Remember a changed file of the project, and the rule that changed it, if it can still be reverted."""
        self._changed.setdefault(path, set()).add(learning)

    @property
    def changed(self) -> list[str]:
        """Files of the project to commit, in the order they were changed."""
        return [path for path, changes in self._changed.items() if changes]

    def renew(self) -> None:
        """Read the store and files again."""
        place, store = self.sitting.place, self.sitting.store
        self.sitting = self.sitting.replace(scan=self.front.scan(store), said=project_files.baselines(place))

    def settled(self, said: str, changed: str = "") -> None:
        """Report an answer about a rule and read everything again. `changed` is a changed file of the project."""
        self.say(said)
        if changed:
            self.note_change(changed)
        self.renew()
        learnings_index.write(self.sitting.store, self.sitting.scan)

    def _still_waits(self, candidate: Candidate) -> bool:
        columns = self.sitting.scan.columns
        wanted = set(candidate.signals)
        return any(
            status == "captured"
            for identity, status in zip(columns["id"], columns["status"], strict=True)
            if identity in wanted
        )

    def take_back(self, learning: str) -> None:
        """Undo an approval of this review: remove the rule from its file and reopen its signals."""
        from reflect_git.rules import revert

        self.renew()
        rule = self.sitting.scan.history.learnings[learning]
        by, _ = find_approver(self.front, self.sitting, Wish(learning, rule["text"], rule["target"]["kind"]))
        self.show_change(revert.take_back(self.sitting, learning, by).diff)
        for changes in self._changed.values():
            changes.discard(learning)
        self.renew()
        learnings_index.write(self.sitting.store, self.sitting.scan)

    def show_signals(self, candidate: Candidate) -> None:
        for signal in self._signals_of(candidate):
            self.say(*candidate_view.signal_lines(signal))

    def _signals_of(self, candidate: Candidate) -> list[Signal]:
        scan, wanted = self.sitting.scan, set(candidate.signals)
        return scan.whole(row for row in scan.rows if scan.columns["id"][row] in wanted)

    def goes_in(self, candidate: Candidate) -> str:
        """Format how long until a candidate expires."""
        ttl, shown = expiry.lifetime(self.sitting.store), expiry.shown(self.sitting.store)
        ends = [expiry.goes_on(signal, ttl, shown) for signal in self._signals_of(candidate)]
        return age(max(0.0, max(ends) - time.time()))

    def say(self, *lines: str, hang: int = 0) -> None:
        for line in lines:
            self.front.tell(line, hang)

    def explain(self, meanings: Mapping[str, str]) -> None:
        """Print each key with its meaning."""
        wide = max(map(len, meanings))
        lines = (click.style(f"{key:<{wide}}  {said}", fg="red", bold=True) for key, said in meanings.items())
        self.say(*lines, hang=wide + 2)

    def say_error(self, error: ReflectError) -> None:
        self.say(click.style("error: ", fg="red", bold=True) + printable(error.message))
        if error.hint:
            self.say(click.style(f"hint: {printable(error.hint)}", fg="yellow"))


def contradicted(proposal: Proposal | None) -> str:
    """Return the one rule that contradicts the proposal, if nothing else prevents it."""
    against = [found for found in proposal.findings if found.kind == REFUSED] if proposal else []
    return _rule_in(against[0]) if [found.code for found in against] == [CONTRADICTION] else ""


def _rule_in(found: Finding) -> str:
    return found.way_out.rpartition(" ")[2]


def _way_out(found: Finding, proposal: Proposal) -> str:
    """Suggest keys if there are any, else a complete command."""
    if found.code == CONTRADICTION:
        if contradicted(proposal):
            return "r to replace that rule"
        rules = [_rule_in(each) for each in proposal.findings if each.code == CONTRADICTION]
        wanted = " ".join(f"--supersedes {rule}" for rule in rules)
        return f"to replace it: reflect-git approve {proposal.request.candidate.id} --to {proposal.to} {wanted}"
    if found.code == "duplicate":
        return "n to dismiss it, e to reword it"
    return _KEYS.get(found.code, found.way_out) if found.way_out else ""


def _way_on(trouble: ReflectError) -> str:
    return "t and 'global'" if trouble.code == "no-project" else trouble.hint or "t to choose another target"


APPROVED, SKIPPED, NO, NEVER = "approved", "skipped", "dismissed", "dismissed for good"
ELSEWHERE = "answered elsewhere"


class Answer(NamedTuple):
    """`record` is the learning or the decision it made; `first_seen` the signals that a skip marked as seen.

    `request` is what stood on the screen: another wording or target comes back with the card. `joined` are the places
    of cards that were answered by the same rule.
    """

    at: int
    said: str
    record: str = ""
    first_seen: tuple[str, ...] = ()
    request: Request | None = None
    joined: tuple[int, ...] = ()


class Deck:
    def __init__(self, *cards: Sequence[Candidate]) -> None:
        self.cards = _joined(cards)
        self.answers: list[Answer] = []
        self.at = 0

    @property
    def card(self) -> Candidate:
        return self.cards[self.at]

    def open(self) -> list[int]:
        """Return the positions of cards without an answer."""
        answered = {at for answer in self.answers for at in (answer.at, *answer.joined)}
        return [at for at in range(len(self.cards)) if at not in answered]

    def next(self) -> int | None:
        return min((at for at in self.open() if at > self.at), default=None)

    def previous(self) -> int | None:
        return max((at for at in self.open() if at < self.at), default=None)

    def answer(self, answer: Answer) -> None:
        """Note it and go on to the next open one; behind the last, to the first that was left."""
        self.answers.append(answer)
        following = self.next()
        self.at = following if following is not None else min(self.open(), default=self.at)

    def take_back(self) -> Answer:
        """Forget the last answer and go back to its card."""
        answer = self.answers.pop()
        self.at = answer.at
        return answer

    def add(self, cards: Sequence[Candidate]) -> bool:
        """Append cards. Return True if the current card is answered, so that the first new one is next."""
        goes_on = self.at not in self.open()
        if goes_on:
            self.at = len(self.cards)
        self.cards = _joined((self.cards, cards))
        return goes_on

    def search(self, words: str) -> int | None:
        """Find the next open card with these words in its text or quote; wrap around at the end."""
        open_cards = self.open()
        order = [at for at in open_cards if at > self.at] + [at for at in open_cards if at <= self.at]
        wanted = words.casefold()
        for at in order:
            if wanted in f"{self.cards[at].text}\n{self.cards[at].quote}".casefold():
                return at
        return None

    def count(self, said: str) -> int:
        return sum(answer.said == said for answer in self.answers)


def _joined(parts: Sequence[Sequence[Candidate]]) -> Sequence[Candidate]:
    """Return one sequence of all parts. Candidates are still made when they are looked at: there may be thousands."""
    places = [(part, at) for part in parts for at in range(len(part))]
    return Lazily(len(places), lambda at: places[at][0][places[at][1]])


def chosen_numbers(typed: str, offered: Mapping[str, int]) -> list[int]:
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
