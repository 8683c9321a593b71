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
from reflect_git.cli.output.console import Console, Ended
from reflect_git.cli.review.screen import (
    APPROVED,
    ELSEWHERE,
    NEVER,
    NO,
    SKIPPED,
    Answer,
    Deck,
    chosen_numbers,
    contradicted,
)
from reflect_git.cli.review.wordings import Wordings
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.platform.instruction_files import Changed
from reflect_git.records.ids import plural
from reflect_git.rules import dismiss
from reflect_git.rules.approve import Proposal, Request

if TYPE_CHECKING:
    from reflect_git.cli.review.screen import Desk

KEYS = {
    "y": "approve as shown; one commit changes the file",
    "n": "dismiss; may return after 3 sessions",
    "N": "dismiss for good",
    "s": "skip; ask again in the next review",
    "e": "edit the text, then show it again",
    "c": "switch between Claude's wording and your own, then show it again",
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
_TARGETS = {
    "project": "CLAUDE.md of this project",
    "project-local": "CLAUDE.local.md: this project, for you alone",
    "global": "~/.claude/CLAUDE.md: all projects",
    "rules[:topic]": "a file of its own in .claude/rules/reflect",
    "global-rules": "the same in ~/.claude/rules/reflect",
    "improvements": ".claude/improvements.md; Claude Code does not read it",
    "agents": "AGENTS.md of this project",
    "dir:PATH": "CLAUDE.md in a folder of this project",
}
_ON_TARGETS = {
    "project": "for everyone in this project, once you commit the file",
    "project-local": "only for you in this project; keep the file out of git",
    "global": "only for you, in all projects",
    "rules[:topic]": "like project, in a file named after the topic or the rule",
    "global-rules": "like global, in a separate file",
    "improvements": "a to-do for people, not for Claude Code",
    "agents": "like project, also for other agents",
    "dir:PATH": "only when Claude Code works in that folder, as in dir:packages/web",
    "q": "keep the target (so does Enter)",
}
_WEAK_AT_ONCE = 10
_UNDONE = {APPROVED: "approval", NO: "dismissal", NEVER: "dismissal", SKIPPED: "skip"}


class Dialogue:
    def __init__(self, desk: Desk, console: Console) -> None:
        self.desk = desk
        self.console = console
        self.wordings = Wordings(desk, console)
        desk.has_client = self.wordings.has_client
        self.weak = desk.sitting.gathered.weak
        self.deck = Deck(desk.sitting.gathered.strong, desk.sitting.gathered.more)
        self._weak_seen = 0
        self._request: Request | None = None  # another target or wording for the card on the desk
        self._proposal: Proposal | None = None
        self._actions: dict[str, Callable[[], bool]] = {
            "y": self._approve, "t": self._choose_target, "e": self._edit, "r": self._replace,
            "c": self._have_worded, "m": self._merge,
            "n": lambda: self._dismiss(NO), "N": lambda: self._dismiss(NEVER), "s": self._skip, "v": self._show_signals,
            "j": lambda: self._go(self.deck.next(), "next"), "k": lambda: self._go(self.deck.previous(), "previous"),
            "w": self._see_weak, "l": self._list, "u": self._undo, "?": self._help,
        }  # fmt: skip

    def run(self) -> None:
        """Until everything is answered, or the person has enough."""
        try:
            while self._has_more():
                self.wordings.prepare(self.deck)
                number, request = f"{self.deck.at + 1} of {len(self.deck.cards)}", self._wanted()
                self._proposal = self.desk.lay_out(request, number, self.wordings.notes_on(request, self.deck))
                self.desk.sitting.keep()
                while not self._obey():
                    pass
        except Ended:
            pass

    def _has_more(self) -> bool:
        """Return whether a candidate is left to show. After the last one, offer the weak ones."""
        while not self.deck.open():
            if not self._weak_left():
                return False
            self._offer_weak()
        return True

    def _offer_weak(self) -> None:
        keys = ["w", *(["u"] if self.deck.answers else []), "q", "?"]
        goes = self.desk.goes_in(self.weak[self._weak_seen])
        typed = self.console.key(f"{self.weak_line(goes)} [{','.join(keys)}]? ")
        if typed == "q":
            raise Ended
        if typed in keys and typed != "?":
            self._do(typed)
        else:
            self._help_on(keys)

    def weak_line(self, goes: str) -> str:
        count = self._weak_left()
        return f"{plural(count, 'unlikely one')}, expiring unreviewed in {goes}: w to see"

    def _obey(self) -> bool:
        """Read one key and act on it. Return True if a candidate should be shown now."""
        to = self._proposal.to if self._proposal else "another target"
        place = f"({self.deck.at + 1}/{len(self.deck.cards)})"
        typed = self.console.key(f"{place} Approve to {printable(to)} [{','.join(self._usable())}]? ")
        if typed == "q":
            raise Ended
        if typed.startswith("/"):
            return self._search(typed[1:].strip())
        if typed in self._actions:
            return self._do(typed)
        if len(typed) > 1:
            self.desk.say(f"no key '{printable(typed)}'")
        return self._help()

    def _do(self, key: str) -> bool:
        try:
            return self._actions[key]()
        except ReflectError as error:
            self.desk.say_error(error)
            return isinstance(error, Changed)  # then the change is made and shown anew

    def _usable(self) -> list[str]:
        usable = {
            "y": self._proposal is not None and not self._proposal.is_refused, "/": len(self.deck.open()) > 1,
            "r": bool(contradicted(self._proposal)), "c": self.wordings.has_client,
            "m": self.wordings.place_of_same(self._wanted(), self.deck) is not None,
            "j": self.deck.next() is not None, "k": self.deck.previous() is not None, "w": self._weak_left() > 0,
            "l": len(self.deck.open()) > 1, "u": bool(self.deck.answers),
        }  # fmt: skip
        return [key for key in KEYS if usable.get(key, True)]

    def _wanted(self) -> Request:
        if self._request is None:
            self._request = self.wordings.request_for(self.deck.card)
        return self._request

    def _note(self, answer: Answer) -> bool:
        self.deck.answer(answer._replace(request=self._request))
        self._request = None
        return True

    def _approve(self) -> bool:
        proposal = self._proposal
        if proposal is None or proposal.is_refused:
            self.desk.say("cannot approve: see 'refused' above for the keys that help")
            self.console.expect_new_word()
            return False
        if proposal.is_risky and not self._accepts_risk(proposal):
            self.desk.say("not approved")
            return False
        return self._carry_out(proposal)

    def _accepts_risk(self, proposal: Proposal) -> bool:
        for found in proposal.findings:
            if found.kind == "risk":
                self.desk.say(click.style(f"risk: {printable(found.message)}", fg="red", bold=True))
        return self.console.types_first_word(proposal.learning["text"], "approve it anyway")

    def _carry_out(self, proposal: Proposal) -> bool:
        learning = self.desk.carry_out(proposal)
        others = {each.id for each in proposal.request.joined} if learning else set()
        joined = tuple(at for at in self.deck.open() if self.deck.cards[at].id in others) if others else ()
        return self._note(Answer(self.deck.at, APPROVED if learning else ELSEWHERE, learning, joined=joined))

    def _skip(self) -> bool:
        card, store = self.deck.card, self.desk.sitting.store
        first_seen = dismiss.unseen(store, card)
        dismiss.not_now(store, [card])
        self.desk.say("skipped; asked again in the next review")
        return self._note(Answer(self.deck.at, SKIPPED, first_seen=first_seen))

    def _dismiss(self, said: str) -> bool:
        card = self.deck.card
        decision, _ = dismiss.dismiss(self.desk.sitting.store, card, self.desk.person(card), said == NEVER)
        self.desk.say(said if said == NEVER else f"{said}; may return after 3 sessions")
        return self._note(Answer(self.deck.at, said, decision))

    def _undo(self) -> bool:
        if not self.deck.answers:
            self.desk.say("no answer to undo")
            return False
        answer = self.deck.answers[-1]
        card, store = self.deck.cards[answer.at], self.desk.sitting.store
        if answer.said == APPROVED:
            self.desk.take_back(answer.record)
        elif answer.said == SKIPPED:
            dismiss.forget_seen(store, answer.first_seen)
        elif answer.record:
            dismiss.reopen(store, card, answer.record, self.desk.person(card))
        self._request = self.deck.take_back().request
        self.desk.say(f"{_UNDONE.get(answer.said, 'answer')} undone")
        return True

    def _choose_target(self) -> bool:
        self.desk.say(*(f"  {name:<13}  {meaning}" for name, meaning in _TARGETS.items()), hang=17)
        while (typed := self.console.line("target [name,q,?]? ")) not in ("", "q"):
            if typed == "?":
                self.desk.explain(_ON_TARGETS)
                continue
            try:
                return self._take(self._wanted()._replace(to=typed, supersedes=()))
            except ReflectError as error:
                if error.exit_code != EXIT_USAGE:  # no slip of the fingers: another key may be the way out
                    raise
                self.desk.say_error(error)
        return False

    def _edit(self) -> bool:
        request = self._wanted()
        fields = console.fields_of(self._proposal.learning) if self._proposal else {}
        text = console.written(fields) if fields else request.text or request.candidate.text
        advice = [
            *console.ADVICE,
            "",
            *candidate_view.wrap(f"You said: {request.candidate.quote}", candidate_view.width() - 2),
        ]
        saved = self.console.edit(self.desk.sitting.store, text, advice)
        if not saved or saved == text:
            self.desk.say("nothing was changed")
            return False
        # Other words may contradict something else.
        request = request._replace(supersedes=(), is_own=True, wording=None)
        return self._take(console.applied(request, saved) if fields else request._replace(text=saved))

    def _have_worded(self) -> bool:
        """Show the card in Claude's words, or in the person's own again; `y` then answers what is shown."""
        request = self._wanted()._replace(supersedes=(), is_own=False, text="", wording=None)
        if self._wanted().wording:
            return self._take(request)
        if not self.wordings.word_card(self.deck.card):
            self.desk.say("nothing was sent")
            return False
        worded = self.wordings.request_for(self.deck.card)
        return self._take(request._replace(text=worded.text, wording=worded.wording)) if worded.text else True

    def _merge(self) -> bool:
        """Answer another card with the same rule, if the person agrees with Claude that both mean it."""
        request = self._wanted()
        at = self.wordings.place_of_same(request, self.deck)
        if at is None:
            self.desk.say("no other one that Claude thinks is the same")
            return False
        return self._take(request._replace(joined=(*request.joined, self.deck.cards[at])))

    def _replace(self) -> bool:
        rule = contradicted(self._proposal)
        if not rule:
            self.desk.say("no conflicting rule to replace")
            return False
        return self._take(self._wanted()._replace(supersedes=(rule,)))

    def _take(self, request: Request) -> bool:
        """Use the request if a change can be made from it; else the error is shown and the screen stays."""
        self.desk.propose(request)
        self._request = request
        return True

    def _list(self) -> bool:
        """List the candidates. The current one is shown again afterwards, since the next key answers it."""
        self.choose()
        return True

    def choose(self) -> bool:
        """Show everything undecided, a line each, and take one answer to several of them; False for Enter alone."""
        try:
            return self._answer_listed()
        except ReflectError as error:
            self.desk.say_error(error)
            return True

    def _answer_listed(self) -> bool:
        numbers = {str(at + 1): at for at in self.deck.open()}
        for number, at in numbers.items():
            card = self.deck.cards[at]
            head = f"{number:>3}  {card.target:<13}  "
            text = self.wordings.request_for(card).text or candidate_view.brief(card)
            self.desk.say(head + one_line(text, candidate_view.width() - len(head)))
        while typed := self.console.line("y 1,3-5 approve, n 2 dismiss, 4 show, Enter back: "):
            if typed in numbers:
                return self._go(numbers[typed], "such")
            key = next((each for each in ("yes", "no", "y", "n") if typed.lower().startswith(each)), "")
            chosen = chosen_numbers(typed[len(key) :], numbers) if key else []
            if chosen:
                (self._approve_several if key.startswith("y") else self._dismiss_several)(chosen)
                return True
            self.desk.say("type y or n and numbers from the list, such as 'y 1,3-5'")
        return False

    def _dismiss_several(self, chosen: Sequence[int]) -> bool:
        cards = [self.deck.cards[at] for at in chosen]
        decisions, _ = dismiss.dismiss_all(self.desk.sitting.store, cards, self.desk.person(cards[0]))
        for at, decision in zip(chosen, decisions, strict=True):
            self.deck.at, self._request = at, None
            self._note(Answer(at, NO, decision))
        self.desk.say(f"dismissed {len(cards)}; each may return after 3 sessions")
        return True

    def _approve_several(self, chosen: Sequence[int]) -> bool:
        """Show the change of each and ask once. Refused, risky and replacing ones are left out: each needs a look."""
        found: list[tuple[int, Proposal]] = []
        for at in chosen:
            made = self._plain(at, [proposal for _, proposal in found])
            found += [(at, made)] if made else []
        if not found:
            self.desk.say("none approved: review each of them on its own")
            return False
        for at, proposal in found:
            self.desk.say("", click.style(f"{at + 1} → {printable(self.desk.destination(proposal))}", bold=True), "")
            self.desk.say(*candidate_view.text_lines(proposal.learning["text"]), "")
            self.desk.show_change(proposal.diff)
        self.desk.say("")
        if len(found) < len(chosen):
            self.desk.say(f"{plural(len(chosen) - len(found), 'other')} left out: review each on its own")
        if not self.console.confirms(f"approve {plural(len(found), 'rule')}, one commit each"):
            self.desk.say("nothing was approved")
            return False
        return self._carry_out_all(found)

    def _plain(self, at: int, earlier: Sequence[Proposal]) -> Proposal | None:
        """Propose a candidate for a joint approval, after the earlier ones; None if it cannot be approved that way."""
        request = self._wanted() if at == self.deck.at else self.wordings.request_for(self.deck.cards[at])
        try:
            made = self.desk.propose(request, earlier)
        except ReflectError:
            return None
        return None if made.is_refused or made.is_risky or made.replaced else made

    def _carry_out_all(self, found: Iterable[tuple[int, Proposal]]) -> bool:
        """Approve the changes as they were shown. If a file changed meanwhile, the rest is shown again."""
        for at, shown in found:
            self.deck.at, self._request = at, shown.request
            self._carry_out(shown)
        return True

    def _show_signals(self) -> bool:
        self.desk.show_signals(self.deck.card)
        return False

    def _go(self, at: int | None, which: str) -> bool:
        if at is None:
            self.desk.say(f"no {which} one")
            return False
        self.deck.at, self._request = at, None
        return True

    def _search(self, words: str) -> bool:
        words = words or self.console.line("search for? ")
        at = self.deck.search(words) if words else None
        if at is None:
            self.desk.say(f"no undecided one contains '{printable(words)}'")
            return False
        return self._go(at, "such")

    def _weak_left(self) -> int:
        return len(self.weak) - self._weak_seen

    def _see_weak(self) -> bool:
        if not self._weak_left():
            self.desk.say("no more unlikely ones")
            return False
        end = min(self._weak_seen + _WEAK_AT_ONCE, len(self.weak))
        count, self._weak_seen = end - self._weak_seen, end
        if self.deck.add(self.weak[end - count : end]):
            self._request = None
            return True
        self.desk.say(f"{plural(count, 'unlikely one')} added at the end")
        return False

    def _help(self) -> bool:
        self._help_on(self._usable())
        return False

    def _help_on(self, keys: Iterable[str]) -> None:
        self.desk.explain({key: KEYS[key] for key in keys})
