"""The dialogue of `reflect-git review`: one candidate after the other, each answer stored at once.

A candidate is shown with the change it would make; whatever alters that change (another target, another wording) shows
it again, so that `y` always answers what stands on the screen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import click

from reflect_git.adapters.live import Changed
from reflect_git.cli import drafts, portrait
from reflect_git.cli.console import Console, Ended
from reflect_git.cli.deck import APPROVED, ELSEWHERE, NEVER, NO, NOT_NOW, Answer, Deck
from reflect_git.cli.desk import contradicted
from reflect_git.cli.front import printable
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.model.counts import plural
from reflect_git.sitting import dismiss
from reflect_git.sitting.approve import Proposal, Request

if TYPE_CHECKING:
    from reflect_git.cli.desk import Desk

KEYS = {
    "y": "approve it as shown: the file is changed, in one commit",
    "t": "choose another target, then look again",
    "e": "edit the text, then look again",
    "r": "replace the rule that it contradicts, then look again",
    "n": "not now: it comes in the next review",
    "d": "no: asked once more after three further sessions",
    "D": "never: not asked again",
    "s": "show the signals behind it",
    "j": "leave it undecided, see the next one; it comes again in this review",
    "k": "leave it undecided, see the one before",
    "/": "search for words in what is undecided",
    "w": "see the weak ones, too, behind the others",
    "a": "approve all undecided ones of this category, after one question",
    "u": "undo the last answer",
    "q": "quit: what is undecided waits",
    "?": "this help",
}
_TARGETS = {
    "project": "CLAUDE.md of this project",
    "project-local": "CLAUDE.local.md: this project, for you alone",
    "global": "~/.claude/CLAUDE.md: all projects",
    "rules[:topic]": "a file of its own in .claude/rules/reflect",
    "global-rules": "the same in ~/.claude/rules/reflect",
    "improvements": ".claude/improvements.md, which Claude Code does not read",
    "agents": "AGENTS.md of this project",
    "dir:PATH": "CLAUDE.md in a folder of this project",
}
_ON_TARGETS = {
    "project": "for everybody who works in this project, once you commit the file",
    "project-local": "for you in this project: keep the file out of git",
    "global": "for you in all projects",
    "rules[:topic]": "as project, in a file named after the topic, or the rule",
    "global-rules": "as global, in a file of its own",
    "improvements": "work on the project itself: for people, not for Claude Code",
    "agents": "as project, for other agents, too",
    "dir:PATH": "read when Claude Code works in that folder: dir:packages/web",
    "q": "or Enter alone leaves the target as it is",
}
_WEAK_AT_ONCE = 10


class Dialogue:
    def __init__(self, desk: Desk, console: Console) -> None:
        self.desk = desk
        self.console = console
        self.weak = desk.sitting.gathered.weak
        self.deck = Deck(desk.sitting.gathered.strong)
        self._weak_seen = 0
        self._request: Request | None = None  # another target or wording for the card on the desk
        self._proposal: Proposal | None = None
        self._actions: dict[str, Callable[[], bool]] = {
            "y": self._approve, "t": self._choose_target, "e": self._edit, "r": self._replace,
            "n": self._not_now,
            "d": lambda: self._dismiss(NO), "D": lambda: self._dismiss(NEVER), "s": self._show_signals,
            "j": lambda: self._go(self.deck.next(), "next"), "k": lambda: self._go(self.deck.previous(), "previous"),
            "w": self._see_weak, "a": self._approve_group, "u": self._undo, "?": self._help,
        }  # fmt: skip

    def run(self) -> None:
        """Until everything is answered, or the person has enough."""
        try:
            while self._has_more():
                number = f"{self.deck.at + 1} of {len(self.deck.cards)}"
                self._proposal = self.desk.lay_out(self._wanted(), number)
                self.desk.sitting.keep()
                while not self._obey():
                    pass
        except Ended:
            pass

    def _has_more(self) -> bool:
        """Is there one to show? Behind the last, weak ones are offered."""
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
        return f"{plural(count, 'weak one')}: w to see, {portrait.by_itself(count)} in {goes}"

    def _obey(self) -> bool:
        """One key; True if a candidate is to be shown now."""
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
            self.desk.say(f"only one letter is expected, got '{printable(typed)}'")
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
            "r": bool(contradicted(self._proposal)),
            "j": self.deck.next() is not None, "k": self.deck.previous() is not None, "w": self._weak_left() > 0,
            "a": len(self.deck.group()) > 1, "u": bool(self.deck.answers),
        }  # fmt: skip
        return [key for key in KEYS if usable.get(key, True)]

    def _wanted(self) -> Request:
        if self._request is None:
            self._request = Request(self.deck.card)
        return self._request

    def _note(self, answer: Answer) -> bool:
        self.deck.answer(answer._replace(request=self._request))
        self._request = None
        return True

    def _approve(self) -> bool:
        proposal = self._proposal
        if proposal is None or proposal.is_refused:
            self.desk.say("it is refused as it stands: the way out is above")
            return False
        if proposal.is_risky and not self._typed_yes(proposal):
            self.desk.say("not approved; it is still undecided")
            return False
        return self._carry_out(proposal)

    def _typed_yes(self, proposal: Proposal) -> bool:
        for found in proposal.findings:
            if found.kind == "risk":
                self.desk.say(click.style(f"risk: {printable(found.message)}", fg="red", bold=True))
        return self.console.line("type 'yes' to approve it all the same: ") == "yes"

    def _carry_out(self, proposal: Proposal) -> bool:
        learning = self.desk.carry_out(proposal)
        return self._note(Answer(self.deck.at, APPROVED if learning else ELSEWHERE, learning))

    def _not_now(self) -> bool:
        card, store = self.deck.card, self.desk.sitting.store
        first_seen = dismiss.unseen(store, card)
        dismiss.not_now(store, [card])
        self.desk.say("not now: it comes again")
        return self._note(Answer(self.deck.at, NOT_NOW, first_seen=first_seen))

    def _dismiss(self, said: str) -> bool:
        card = self.deck.card
        decision, _ = dismiss.dismiss(self.desk.sitting.store, card, self.desk.person(card), said == NEVER)
        self.desk.say(f"{said}: {decision}")
        return self._note(Answer(self.deck.at, said, decision))

    def _undo(self) -> bool:
        if not self.deck.answers:
            self.desk.say("there is no answer to undo")
            return False
        answer = self.deck.answers[-1]
        card, store = self.deck.cards[answer.at], self.desk.sitting.store
        if answer.said == APPROVED:
            self.desk.take_back(answer.record)
        elif answer.said == NOT_NOW:
            dismiss.forget_seen(store, answer.first_seen)
        elif answer.record:
            dismiss.reopen(store, card, answer.record, self.desk.person(card))
        self._request = self.deck.take_back().request
        self.desk.say(f"took '{answer.said}' back")
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
        fields = drafts.fields_of(self._proposal.learning) if self._proposal else {}
        text = drafts.written(fields) if fields else request.text or request.candidate.text
        advice = [*drafts.ADVICE, "", *portrait.wrap(f"You said: {request.candidate.quote}", portrait.width() - 2)]
        saved = self.console.edit(self.desk.sitting.store, text, advice)
        if not saved or saved == text:
            self.desk.say("nothing was changed")
            return False
        request = request._replace(supersedes=())  # other words may contradict something else
        return self._take(drafts.applied(request, saved) if fields else request._replace(text=saved))

    def _replace(self) -> bool:
        rule = contradicted(self._proposal)
        if not rule:
            self.desk.say("there is no one rule to replace")
            return False
        return self._take(self._wanted()._replace(supersedes=(rule,)))

    def _take(self, request: Request) -> bool:
        """Only if a change can be made of it: else the error is told, and what is on the screen stays."""
        self.desk.propose(request)
        self._request = request
        return True

    def _approve_group(self) -> bool:
        """Each of them is shown with its change; what is refused, risky, of another project or to replace a rule is
        left out."""
        group = self.deck.group()
        found: list[tuple[int, Proposal]] = []
        for at in group:
            made = self._plain(at, [proposal for _, proposal in found])
            found += [(at, made)] if made else []
        category = self.deck.card.category.replace("-", " ")
        if not found:
            self.desk.say(f"none of the category '{category}' can be approved without a look at it")
            return False
        for at, proposal in found:
            self.desk.say("", click.style(f"{at + 1} → {printable(self.desk.destination(proposal))}", bold=True), "")
            self.desk.say(*portrait.text_lines(proposal.learning["text"]), "")
            self.desk.show_change(proposal.diff)
        self.desk.say("")
        if len(found) < len(group):
            self.desk.say(f"{plural(len(group) - len(found), 'other')} left out: each needs a look of its own")
        what = f"{plural(len(found), 'learning')} of the category '{category}'"
        if self.console.line(f"approve {what}, one commit each [y,n]? ") != "y":
            self.desk.say("nothing was approved")
            return False
        return self._carry_out_all(found)

    def _plain(self, at: int, earlier: Sequence[Proposal]) -> Proposal | None:
        """What may be approved together with others, behind the earlier ones."""
        request = self._wanted() if at == self.deck.at else Request(self.deck.cards[at])
        try:
            made = self.desk.propose(request, earlier)
        except ReflectError:
            return None
        return None if made.is_refused or made.is_risky or made.replaced else made

    def _carry_out_all(self, found: Iterable[tuple[int, Proposal]]) -> bool:
        """The very changes that were shown; if a file is not what they were made for, the rest is shown anew."""
        for at, shown in found:
            self.deck.at, self._request = at, shown.request
            self._carry_out(shown)
        return True

    def _show_signals(self) -> bool:
        self.desk.show_signals(self.deck.card)
        return False

    def _go(self, at: int | None, which: str) -> bool:
        if at is None:
            self.desk.say(f"there is no {which} one")
            return False
        self.deck.at, self._request = at, None
        return True

    def _search(self, words: str) -> bool:
        words = words or self.console.line("search for? ")
        at = self.deck.search(words) if words else None
        if at is None:
            self.desk.say(f"nothing undecided has '{printable(words)}'")
            return False
        return self._go(at, "such")

    def _weak_left(self) -> int:
        return len(self.weak) - self._weak_seen

    def _see_weak(self) -> bool:
        if not self._weak_left():
            self.desk.say("there are no more weak ones")
            return False
        end = min(self._weak_seen + _WEAK_AT_ONCE, len(self.weak))
        count, self._weak_seen = end - self._weak_seen, end
        if self.deck.add(self.weak[end - count : end]):
            self._request = None
            return True
        self.desk.say(f"{plural(count, 'weak one')} added behind the others")
        return False

    def _help(self) -> bool:
        self._help_on(self._usable())
        return False

    def _help_on(self, keys: Iterable[str]) -> None:
        self.desk.explain({key: KEYS[key] for key in keys})
