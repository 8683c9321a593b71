"""Claude's wordings in a review: offered once with their price, asked for with a key, shown beside the person's words.

Nothing is sent before the person allowed it, and no answer of Claude's approves, dismisses or merges anything.
"""

from __future__ import annotations

import math
import sys
from itertools import islice
from typing import TYPE_CHECKING

from reflect_git.capture import service
from reflect_git.cli.context import one_line, printable
from reflect_git.errors import ReflectError
from reflect_git.platform import claude_call
from reflect_git.records.ids import plural, utc_precise
from reflect_git.rules.approve import Request
from reflect_git.store import policy, usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reflect_git.candidates.gather import Candidate
    from reflect_git.cli.output.console import Console
    from reflect_git.cli.review.screen import Deck, Desk
    from reflect_git.rules.model_wording import Price, Reworded
    from reflect_git.store.repository import Store

_ANSWERS = {
    "y": "always: review asks Claude from now on, up to the daily limit",
    "o": "once: only in this review",
    "n": "no; not offered again, but c still asks for a single one",
    "?": "this help",
}
_CHANGE = "undo with: reflect-git config reflect.wording"
_PATIENCE = 1.0
_ONCE = {"once": "o"}
_BRIEF = 50


class Wordings:
    """The wordings of one review. `is_allowed`: the person said yes, always or for this review. `is_automatic`: to all
    cards, not only to those for which the key is pressed."""

    def __init__(self, desk: Desk, console: Console) -> None:
        self.desk = desk
        self.console = console
        self.has_client = bool(claude_call.find_client(desk.front.env))
        self.is_allowed = self.is_automatic = False
        self.found: dict[str, Reworded] = {}
        self._tried: set[str] = set()

    def begin(self, deck: Deck) -> None:
        """Offer it where nobody has answered yet and something needs wording; ask at once where it is switched on."""
        if not self.has_client:
            return
        from reflect_git.rules import model_wording

        first = _next_open(deck)
        self.is_allowed = self.is_automatic = model_wording.is_on(self.desk.sitting)
        count = sum(each.needs_wording for each in first)
        if count and model_wording.is_undecided(self.desk.sitting):
            fresh = [each for each in first if each.id not in model_wording.recall(self.desk.sitting, first)]
            if fresh:
                verb = "needs" if count == 1 else "need"
                need = f"; {count} {verb} it" if len(fresh) > count else ""
                self.is_automatic = self._offer(f"Claude can word {len(fresh)} of these{need}", fresh)
        self.prepare(deck)

    def prepare(self, deck: Deck) -> None:
        """Have the card in hand and those behind it worded, if that is allowed and was not tried yet.

        Wordings of an earlier review are shown without a call, unless the person switched wording off.
        """
        if not self.has_client or not deck.open() or deck.card.id in self._tried:
            return
        from reflect_git.rules import model_wording

        cards = _next_open(deck)
        if self.is_automatic or model_wording.is_undecided(self.desk.sitting):
            self.found = model_wording.recall(self.desk.sitting, cards) | self.found
        fresh = [each for each in cards if each.id not in self.found]
        if self.is_automatic and fresh:
            self._tried |= {each.id for each in cards}
            try:
                self._word(fresh)
            except ReflectError as error:
                self.is_automatic = False  # one sentence, not one for every card; the key still asks
                self.desk.say_error(error)

    def word_card(self, card: Candidate) -> bool:
        """Have one card worded, because the person pressed the key; False if they said no to the price.

        What was paid for already is not asked for again.
        """
        from reflect_git.rules import model_wording

        self.found |= model_wording.recall(self.desk.sitting, [card]) if card.id not in self.found else {}
        if card.id in self.found and self.found[card.id].text:
            return True
        claude_call.require_client(self.desk.front.env)
        if not self.is_allowed and not self._offer("Claude can word this one", [card]):
            return False
        self.is_automatic = self.is_automatic or model_wording.is_on(self.desk.sitting)
        self._word([card])
        return True

    def request_for(self, card: Candidate) -> Request:
        """Return the proposed text of a card: Claude's wording if there is one, else the user's words."""
        worded = self.found.get(card.id)
        if worded is None or not worded.text or worded.text == card.text:
            return Request(card)
        return Request(card, text=worded.text, wording=worded.spent)

    def notes_on(self, request: Request, deck: Deck) -> list[tuple[str, str, str]]:
        """Return (name, text, way out) of what Claude says about a card beside its wording."""
        card, worded = request.candidate, self.found.get(request.candidate.id)
        if worded is None:
            return []
        notes = []
        if request.wording and not card.needs_wording:
            notes.append(("instead of", card.text, "c to go back to it"))
        if worded.no_rule:
            notes.append(("Claude says", f"not a lasting rule: {worded.no_rule}", "n to dismiss it, e to word it"))
        if worded.trouble:
            notes.append(("Claude", worded.trouble, "c to ask again, e to word it"))
        at = self.place_of_same(request, deck)
        if at is not None:
            other = deck.cards[at]
            said = f"same as {at + 1} of {len(deck.cards)}: {one_line(other.quote, _BRIEF)}"
            notes.append(("Claude says", said, "m to merge both into one rule"))
        return notes

    def place_of_same(self, request: Request, deck: Deck) -> int | None:
        """Return the place of the undecided card that Claude takes for the same, unless both are one already."""
        own = request.candidate.id
        twins = {self.found[own].same_as} if own in self.found else set()
        twins |= {other for other, worded in self.found.items() if worded.same_as == own}
        joined = {each.id for each in request.joined}
        for at in deck.open():
            if deck.cards[at].id in twins - joined and at != deck.at:
                return at
        return None

    def _offer(self, lead: str, cards: Sequence[Candidate]) -> bool:
        """Show the price and take the answer; True if Claude may be asked now."""
        from reflect_git.rules import model_wording

        price = model_wording.price_of(self.desk.sitting, cards)
        question = f"{lead} ({_told(price)}). Allow? [y]es always, [o]nce, [n]o "
        while (typed := _ONCE.get(typed := self.console.key(question), typed)) not in ("y", "o", "n"):
            self.desk.explain(_ANSWERS)
        if typed == "y" or (typed == "n" and model_wording.is_undecided(self.desk.sitting)):
            self._remember(model_wording.ON if typed == "y" else model_wording.OFF)
        self.is_allowed = typed != "n"
        return self.is_allowed

    def _remember(self, value: str) -> None:
        from reflect_git.rules.model_wording import SETTING

        front, store = self.desk.front, self.desk.sitting.store
        by = service.author(store, service.road_of(front.env, front.at_terminal))
        policy.switch(store, {SETTING: value}, by, utc_precise())
        self.desk.say(f"set {SETTING} to {value}; {_CHANGE} {'off' if value != 'off' else 'claude'}")

    def _word(self, cards: Sequence[Candidate]) -> None:
        from reflect_git.rules import model_wording

        store = self.desk.sitting.store
        progress = _Progress(f"Claude words {plural(len(cards), 'proposed rule')}")
        try:
            done = model_wording.word(self.desk.sitting, cards, progress.tick)
        finally:
            progress.end()
        self.found |= done.found
        self._tried |= set(done.found)
        count = sum(bool(each.text) for each in done.found.values())
        self.desk.say(
            f"Claude worded {count} of {plural(len(done.found), 'proposed rule')} ({done.tokens:,} tokens, "
            f"{dollars(done.usd)}; {dollars(done.today)} of ${usage.cap_of(store):.2f} today)"
        )


class _Progress:
    """A line on stderr that appears after a second."""

    def __init__(self, text: str) -> None:
        self._text = printable(text)
        self._shown = ""

    def tick(self, seconds: float) -> None:
        line = f"{self._text} … {int(seconds)} s"
        if seconds >= _PATIENCE and line != self._shown and sys.stderr.isatty():
            self._shown = line
            sys.stderr.write(f"\r{line}")
            sys.stderr.flush()

    def end(self) -> None:
        if self._shown:
            sys.stderr.write(f"\r{' ' * len(self._shown)}\r")
            sys.stderr.flush()


def price_of_one(store: Store) -> str:
    """Say what it costs to have one rule worded, and what a day may cost."""
    from reflect_git.rules import model_wording

    return f"{_told(model_wording.typical_price(store))} for one, at most ${usage.cap_of(store):.2f} a day"


def _told(price: Price) -> str:
    """Say what a call is expected to take, in round numbers."""
    return f"about {round(price.tokens, -2):,} tokens, {dollars(price.usd)}"


def dollars(usd: float) -> str:
    """Return an amount in whole cents, rounded up: a price is never shown as nothing."""
    return f"${math.ceil(max(usd, 0.0001) * 100 - 1e-9) / 100:.2f}"


def _next_open(deck: Deck) -> list[Candidate]:
    """Return the card in hand and the undecided ones behind it, as many as go into one call."""
    from reflect_git.rules.model_wording import AT_ONCE

    return [deck.cards[at] for at in islice((at for at in deck.open() if at >= deck.at), AT_ONCE)]
