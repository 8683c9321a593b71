"""The dialogue of `reflect-git review`: one candidate after the other, each answer stored at once.

A candidate is shown with the change it would make; whatever alters that change (another target, another wording) shows
it again, so that `y` always answers what stands on the screen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import click

from reflect_git.cli.context import one_line, printable
from reflect_git.cli.output import candidate_view, console
from reflect_git.cli.output.console import Console, InputEnded
from reflect_git.cli.review.screen import (
    ANSWERED_ELSEWHERE,
    APPROVED,
    DISMISSED,
    DISMISSED_FOR_GOOD,
    SKIPPED,
    Answer,
    ReviewCursor,
    find_contradicted_rule,
    parse_numbers,
)
from reflect_git.cli.review.wordings import Wordings
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.platform.instruction_files import FileChanged
from reflect_git.records.ids import plural
from reflect_git.rules import dismiss
from reflect_git.rules.approve import Proposal, Request

if TYPE_CHECKING:
    from reflect_git.cli.review.screen import ReviewScreen

KEY_HELP = {
    "y": "approve as shown; one commit changes the file",
    "n": "dismiss; may return after 3 sessions",
    "N": "dismiss for good",
    "s": "skip; ask again in the next review",
    "e": "edit the text, then show it again",
    "c": "switch between Claude's wording and your own, then show it again",
    "g": "approve and guard it: choose a mode, see what it would have matched",
    "m": "merge it with the one that Claude thinks is the same, then show it again",
    "t": "choose another target, then show it again",
    "r": "replace the conflicting rule, then show it again",
    "v": "show the signals behind it",
    "j": "go to the next one; this one stays undecided",
    "k": "go to the previous one; this one stays undecided",
    "/": "search the undecided ones",
    "w": "add the unlikely ones at the end",
    "l": "list the undecided ones; answer several at once",
    "u": "undo the last answer",
    "q": "quit; keep the rest for later",
    "?": "this help",
}
_TARGET_NAMES = {
    "project": "CLAUDE.md of this project",
    "project-local": "CLAUDE.local.md: this project, for you alone",
    "global": "~/.claude/CLAUDE.md: all projects",
    "rules[:topic]": "a file of its own in .claude/rules/reflect",
    "global-rules": "the same in ~/.claude/rules/reflect",
    "improvements": ".claude/improvements.md; Claude Code does not read it",
    "agents": "AGENTS.md of this project",
    "agent:NAME": "a file in .claude/agents",
    "dir:PATH": "CLAUDE.md in a folder of this project",
}
_TARGET_HELP = {
    "project": "for everyone in this project, once you commit the file",
    "project-local": "only for you in this project; keep the file out of git",
    "global": "only for you, in all projects",
    "rules[:topic]": "like project, in a file named after the topic or the rule",
    "global-rules": "like global, in a separate file",
    "improvements": "a to-do for people, not for Claude Code",
    "agents": "like project, also for other agents",
    "agent:NAME": "only for this subagent of Claude Code, as in agent:reviewer",
    "dir:PATH": "only when Claude Code works in that folder, as in dir:packages/web",
    "q": "keep the target (so does Enter)",
}
_WEAK_BATCH = 10
_UNDO_NAMES = {APPROVED: "approval", DISMISSED: "dismissal", DISMISSED_FOR_GOOD: "dismissal", SKIPPED: "skip"}


class ReviewLoop:
    def __init__(self, screen: ReviewScreen, console: Console) -> None:
        self.screen = screen
        self.console = console
        self.wordings = Wordings(screen, console)
        screen.has_client = self.wordings.has_client
        self.weak = screen.queue.candidates.weak
        self.cursor = ReviewCursor(screen.queue.candidates.strong, screen.queue.candidates.more)
        self._weak_seen = 0
        self._request: Request | None = None  # another target or wording for the card on the desk
        self._proposal: Proposal | None = None
        self._actions: dict[str, Callable[[], bool]] = {
            "y": self._approve,
            "t": self._choose_target,
            "e": self._edit,
            "r": self._replace_rule,
            "c": self._switch_wording,
            "g": self._guard,
            "m": self._merge,
            "n": lambda: self._dismiss(DISMISSED),
            "N": lambda: self._dismiss(DISMISSED_FOR_GOOD),
            "s": self._skip,
            "v": self._show_signals,
            "j": lambda: self._go_to(self.cursor.find_next(), "next"),
            "k": lambda: self._go_to(self.cursor.find_previous(), "previous"),
            "w": self._add_weak,
            "l": self._show_list,
            "u": self._undo,
            "?": self._print_help,
        }

    def run(self) -> None:
        """Until everything is answered, or the person has enough."""
        try:
            while self._has_more():
                self.wordings.word_next_cards(self.cursor)
                number, request = f"{self.cursor.position + 1} of {len(self.cursor.cards)}", self._get_request()
                self._proposal = self.screen.show_candidate(
                    request, number, self.wordings.format_notes(request, self.cursor)
                )
                self.screen.queue.write_cache()
                while not self._handle_key():
                    pass
        except InputEnded:
            pass

    def _has_more(self) -> bool:
        """Return whether a candidate is left to show. After the last one, offer the weak ones."""
        while not self.cursor.list_open():
            if not self._count_weak_left():
                return False
            self._offer_weak()
        return True

    def _offer_weak(self) -> None:
        keys = ["w", *(["u"] if self.cursor.answers else []), "q", "?"]
        goes = self.screen.format_expiry(self.weak[self._weak_seen])
        typed = self.console.read_key(f"{self.format_weak_line(goes)} [{','.join(keys)}]? ")
        if typed == "q":
            raise InputEnded
        if typed in keys and typed != "?":
            self._run_action(typed)
        else:
            self._print_keys(keys)

    def format_weak_line(self, goes: str) -> str:
        count = self._count_weak_left()
        return f"{plural(count, 'unlikely one')}, expiring unreviewed in {goes}: w to see"

    def _handle_key(self) -> bool:
        """Read one key and act on it. Return True if a candidate should be shown now."""
        to = self._proposal.to if self._proposal else "another target"
        place = f"({self.cursor.position + 1}/{len(self.cursor.cards)})"
        typed = self.console.read_key(f"{place} Approve to {printable(to)} [{','.join(self._list_usable_keys())}]? ")
        if typed == "q":
            raise InputEnded
        if typed.startswith("/"):
            return self._search(typed[1:].strip())
        if typed in self._actions:
            return self._run_action(typed)
        if len(typed) > 1:
            self.screen.print_lines(f"no key '{printable(typed)}'")
        return self._print_help()

    def _run_action(self, key: str) -> bool:
        try:
            return self._actions[key]()
        except ReflectError as error:
            self.screen.print_error(error)
            return isinstance(error, FileChanged)  # then the change is made and shown anew

    def _list_usable_keys(self) -> list[str]:
        usable = {
            "y": self._proposal is not None and not self._proposal.is_refused,
            "/": len(self.cursor.list_open()) > 1,
            "r": bool(find_contradicted_rule(self._proposal)),
            "c": self.wordings.has_client,
            "g": self._can_guard(),
            "m": self.wordings.find_same_card(self._get_request(), self.cursor) is not None,
            "j": self.cursor.find_next() is not None,
            "k": self.cursor.find_previous() is not None,
            "w": self._count_weak_left() > 0,
            "l": len(self.cursor.list_open()) > 1,
            "u": bool(self.cursor.answers),
        }
        return [key for key in KEY_HELP if usable.get(key, True)]

    def _get_request(self) -> Request:
        if self._request is None:
            self._request = self.wordings.build_request(self.cursor.card)
        return self._request

    def _record_answer(self, answer: Answer) -> bool:
        self.cursor.add_answer(answer._replace(request=self._request))
        self._request = None
        return True

    def _approve(self) -> bool:
        proposal = self._proposal
        if proposal is None or proposal.is_refused:
            if not self.screen.is_still_waiting(self.cursor.card):  # its rule is in the file now
                return self._record_answer(Answer(self.cursor.position, ANSWERED_ELSEWHERE))
            self.screen.print_lines("cannot approve: see 'refused' above for the keys that help")
            self.console.expect_new_word()
            return False
        if proposal.is_risky and not self._confirm_risk(proposal):
            self.screen.print_lines("not approved")
            return False
        return self._apply_proposal(proposal)

    def _can_guard(self) -> bool:
        """Return whether the text on the screen names calls that a guard can match."""
        proposal = self._proposal
        return proposal is not None and not proposal.is_refused and self.screen.can_guard(proposal.learning)

    def _guard(self) -> bool:
        """Approve as shown, then guard the rule: nothing is approved if the person cancels."""
        proposal = self._proposal
        if proposal is None or not self._can_guard():
            self.screen.print_lines("cannot guard it: it names no command, file or content, or cannot be approved")
            return False
        agreed = self.screen.choose_guard(self.console, proposal.learning)
        if agreed is None or (proposal.is_risky and not self._confirm_risk(proposal)):
            self.screen.print_lines("not approved")
            return False
        shown = self._apply_proposal(proposal)
        learning = self.cursor.answers[-1].record
        if learning:
            self.screen.write_guard(learning, *agreed)
        return shown

    def _confirm_risk(self, proposal: Proposal) -> bool:
        for found in proposal.findings:
            if found.kind == "risk":
                self.screen.print_lines(click.style(f"risk: {printable(found.message)}", fg="red", bold=True))
        return self.console.confirm_first_word(proposal.learning["text"], "approve it anyway")

    def _apply_proposal(self, proposal: Proposal) -> bool:
        learning = self.screen.apply_proposal(proposal)
        others = {each.id for each in proposal.request.joined} if learning else set()
        joined = tuple(at for at in self.cursor.list_open() if self.cursor.cards[at].id in others) if others else ()
        return self._record_answer(
            Answer(
                self.cursor.position, APPROVED if learning else ANSWERED_ELSEWHERE, learning, joined_positions=joined
            )
        )

    def _skip(self) -> bool:
        card, store = self.cursor.card, self.screen.queue.store
        first_seen = dismiss.list_unseen(store, card)
        dismiss.mark_seen(store, [card])
        self.screen.print_lines("skipped; asked again in the next review")
        return self._record_answer(Answer(self.cursor.position, SKIPPED, first_seen=first_seen))

    def _dismiss(self, said: str) -> bool:
        card = self.cursor.card
        author = self.screen.find_author(card)
        try:
            decision, _ = dismiss.dismiss(self.screen.queue.store, card, author, said == DISMISSED_FOR_GOOD)
        except dismiss.AnsweredElsewhere as error:
            self.screen.print_lines(error.message)
            return self._record_answer(Answer(self.cursor.position, ANSWERED_ELSEWHERE))
        self.screen.print_lines(said if said == DISMISSED_FOR_GOOD else f"{said}; may return after 3 sessions")
        return self._record_answer(Answer(self.cursor.position, said, decision))

    def _undo(self) -> bool:
        if not self.cursor.answers:
            self.screen.print_lines("no answer to undo")
            return False
        answer = self.cursor.answers[-1]
        card, store = self.cursor.cards[answer.position], self.screen.queue.store
        if answer.outcome == APPROVED:
            self.screen.undo_approval(answer.record)
        elif answer.outcome == SKIPPED:
            dismiss.mark_unseen(store, answer.first_seen)
        elif answer.record:
            dismiss.reopen(store, card, answer.record, self.screen.find_author(card))
        self._request = self.cursor.pop_answer().request
        self.screen.print_lines(f"{_UNDO_NAMES.get(answer.outcome, 'answer')} undone")
        return True

    def _choose_target(self) -> bool:
        self.screen.print_lines(*(f"  {name:<13}  {meaning}" for name, meaning in _TARGET_NAMES.items()), hang=17)
        while (typed := self.console.read_line("target [name,q,?]? ")) not in ("", "q"):
            if typed == "?":
                self.screen.print_keys(_TARGET_HELP)
                continue
            try:
                return self._set_request(self._get_request()._replace(to=typed, supersedes=()))
            except ReflectError as error:
                if error.exit_code != EXIT_USAGE:  # no slip of the fingers: another key may be the way out
                    raise
                self.screen.print_error(error)
        return False

    def _edit(self) -> bool:
        request = self._get_request()
        fields = console.get_improvement_fields(self._proposal.learning) if self._proposal else {}
        text = console.format_fields(fields) if fields else request.text or request.candidate.text
        advice = [
            *console.EDIT_ADVICE,
            "",
            *candidate_view.wrap(f"You said: {request.candidate.quote}", candidate_view.text_width() - 2),
        ]
        saved = self.console.edit_text(self.screen.queue.store, text, advice)
        if not saved or saved == text:
            self.screen.print_lines("nothing was changed")
            return False
        # Other words may contradict something else.
        request = request._replace(supersedes=(), is_own=True, wording=None)
        return self._set_request(console.apply_fields(request, saved) if fields else request._replace(text=saved))

    def _switch_wording(self) -> bool:
        """Show the card in Claude's words, or in the person's own again; `y` then answers what is shown."""
        request = self._get_request()._replace(supersedes=(), is_own=False, text="", wording=None)
        if self._get_request().wording:
            return self._set_request(request)
        if not self.wordings.word_card(self.cursor.card):
            self.screen.print_lines("nothing was sent")
            return False
        worded = self.wordings.build_request(self.cursor.card)
        return self._set_request(request._replace(text=worded.text, wording=worded.wording)) if worded.text else True

    def _merge(self) -> bool:
        """Answer another card with the same rule, if the person agrees with Claude that both mean it."""
        request = self._get_request()
        at = self.wordings.find_same_card(request, self.cursor)
        if at is None:
            self.screen.print_lines("no other one that Claude thinks is the same")
            return False
        return self._set_request(request._replace(joined=(*request.joined, self.cursor.cards[at])))

    def _replace_rule(self) -> bool:
        rule = find_contradicted_rule(self._proposal)
        if not rule:
            self.screen.print_lines("no conflicting rule to replace")
            return False
        return self._set_request(self._get_request()._replace(supersedes=(rule,)))

    def _set_request(self, request: Request) -> bool:
        """Use the request if a change can be made from it; else the error is shown and the screen stays."""
        self.screen.propose(request)
        self._request = request
        return True

    def _show_list(self) -> bool:
        """List the candidates. The current one is shown again afterwards, since the next key answers it."""
        self.answer_from_list()
        return True

    def answer_from_list(self) -> bool:
        """Show everything undecided, a line each, and take one answer to several of them; False for Enter alone."""
        try:
            return self._read_list_answer()
        except ReflectError as error:
            self.screen.print_error(error)
            return True

    def _read_list_answer(self) -> bool:
        numbers = {str(at + 1): at for at in self.cursor.list_open()}
        for number, at in numbers.items():
            card = self.cursor.cards[at]
            head = f"{number:>3}  {card.target:<13}  "
            text = self.wordings.build_request(card).text or candidate_view.format_brief(card)
            self.screen.print_lines(head + one_line(text, candidate_view.text_width() - len(head)))
        while typed := self.console.read_line("y 1,3-5 approve, n 2 dismiss, 4 show, Enter back: "):
            if typed in numbers:
                return self._go_to(numbers[typed], "such")
            key = next((each for each in ("yes", "no", "y", "n") if typed.lower().startswith(each)), "")
            chosen = parse_numbers(typed[len(key) :], numbers) if key else []
            if chosen:
                (self._approve_several if key.startswith("y") else self._dismiss_several)(chosen)
                return True
            self.screen.print_lines("type y or n and numbers from the list, such as 'y 1,3-5'")
        return False

    def _dismiss_several(self, chosen: Sequence[int]) -> bool:
        cards = [self.cursor.cards[at] for at in chosen]
        decisions, _ = dismiss.dismiss_all(self.screen.queue.store, cards, self.screen.find_author(cards[0]))
        for at, decision in zip(chosen, decisions, strict=True):
            self.cursor.position, self._request = at, None
            self._record_answer(Answer(at, DISMISSED, decision))
        self.screen.print_lines(f"dismissed {len(cards)}; each may return after 3 sessions")
        return True

    def _approve_several(self, chosen: Sequence[int]) -> bool:
        """Show the change of each and ask once. Refused, risky and replacing ones are left out: each needs a look."""
        found: list[tuple[int, Proposal]] = []
        for at in chosen:
            made = self._propose_plain(at, [proposal for _, proposal in found])
            found += [(at, made)] if made else []
        if not found:
            self.screen.print_lines("none approved: review each of them on its own")
            return False
        for at, proposal in found:
            self.screen.print_lines(
                "", click.style(f"{at + 1} → {printable(self.screen.format_destination(proposal))}", bold=True), ""
            )
            self.screen.print_lines(*candidate_view.format_text(proposal.learning["text"]), "")
            self.screen.show_change(proposal.diff)
        self.screen.print_lines("")
        if len(found) < len(chosen):
            self.screen.print_lines(f"{plural(len(chosen) - len(found), 'other')} left out: review each on its own")
        if not self.console.confirm(f"approve {plural(len(found), 'rule')}, one commit each"):
            self.screen.print_lines("nothing was approved")
            return False
        return self._apply_proposals(found)

    def _propose_plain(self, at: int, earlier: Sequence[Proposal]) -> Proposal | None:
        """Propose a candidate for a joint approval, after the earlier ones; None if it cannot be approved that way."""
        request = (
            self._get_request() if at == self.cursor.position else self.wordings.build_request(self.cursor.cards[at])
        )
        try:
            made = self.screen.propose(request, earlier)
        except ReflectError:
            return None
        return None if made.is_refused or made.is_risky or made.replaced else made

    def _apply_proposals(self, found: Iterable[tuple[int, Proposal]]) -> bool:
        """Approve the changes as they were shown. If a file changed meanwhile, the rest is shown again."""
        for at, shown in found:
            self.cursor.position, self._request = at, shown.request
            self._apply_proposal(shown)
        return True

    def _show_signals(self) -> bool:
        self.screen.show_signals(self.cursor.card)
        return False

    def _go_to(self, at: int | None, which: str) -> bool:
        if at is None:
            self.screen.print_lines(f"no {which} one")
            return False
        self.cursor.position, self._request = at, None
        return True

    def _search(self, words: str) -> bool:
        words = words or self.console.read_line("search for? ")
        at = self.cursor.search(words) if words else None
        if at is None:
            self.screen.print_lines(f"no undecided one contains '{printable(words)}'")
            return False
        return self._go_to(at, "such")

    def _count_weak_left(self) -> int:
        return len(self.weak) - self._weak_seen

    def _add_weak(self) -> bool:
        if not self._count_weak_left():
            self.screen.print_lines("no more unlikely ones")
            return False
        end = min(self._weak_seen + _WEAK_BATCH, len(self.weak))
        count, self._weak_seen = end - self._weak_seen, end
        if self.cursor.add_cards(self.weak[end - count : end]):
            self._request = None
            return True
        self.screen.print_lines(f"{plural(count, 'unlikely one')} added at the end")
        return False

    def _print_help(self) -> bool:
        self._print_keys(self._list_usable_keys())
        return False

    def _print_keys(self, keys: Iterable[str]) -> None:
        self.screen.print_keys({key: KEY_HELP[key] for key in keys})
