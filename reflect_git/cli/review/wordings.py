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
from reflect_git.judge import calls
from reflect_git.platform import claude_call
from reflect_git.records.ids import plural, utc_precise
from reflect_git.rules import model_wording
from reflect_git.rules.approve import Request
from reflect_git.rules.model_wording import MAX_RULES_PER_CALL, SETTING
from reflect_git.store import policy
from reflect_git.store.local import usage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from reflect_git.candidates.gather import Candidate
    from reflect_git.cli.output.console import Console
    from reflect_git.cli.review.screen import ReviewCursor, ReviewScreen
    from reflect_git.rules.model_wording import ModelWording, Price
    from reflect_git.store.repository import Store

_ANSWER_HELP = {
    "y": "always: review asks Claude from now on, up to the daily limit",
    "o": "once: only in this review",
    "n": "no; not offered again, but c still asks for a single one",
    "?": "this help",
}
_UNDO_HINT = "undo with: reflect-git config reflect.wording"
_PROGRESS_DELAY = 1.0
_ANSWER_WORDS = {"once": "o"}
_QUOTE_WIDTH = 50


class Wordings:
    """The wordings of one review. `is_allowed`: the person said yes, always or for this review. `is_automatic`: to all
    cards, not only to those for which the key is pressed."""

    def __init__(self, screen: ReviewScreen, console: Console) -> None:
        self.screen = screen
        self.console = console
        self.has_client = bool(claude_call.find_client(screen.cli.env))
        self.is_allowed = self.is_automatic = False
        self.by_id: dict[str, ModelWording] = {}
        self._tried_ids: set[str] = set()

    def offer_wordings(self, cursor: ReviewCursor) -> None:
        """Offer it where nobody has answered yet and something needs wording; ask at once where it is switched on."""
        if not self.has_client:
            return
        first = _list_next_cards(cursor)
        self.is_allowed = self.is_automatic = model_wording.is_on(self.screen.queue)
        count = sum(each.needs_wording for each in first)
        if count and model_wording.is_undecided(self.screen.queue):
            fresh = [
                each for each in first if each.id not in model_wording.load_cached_wordings(self.screen.queue, first)
            ]
            if fresh:
                verb = "needs" if count == 1 else "need"
                need = f"; {count} {verb} it" if len(fresh) > count else ""
                self.is_automatic = self._ask_permission(f"Claude can word {len(fresh)} of these{need}", fresh)
        self.word_next_cards(cursor)

    def word_next_cards(self, cursor: ReviewCursor) -> None:
        """Have the card in hand and those behind it worded, if that is allowed and was not tried yet.

        Wordings of an earlier review are shown without a call, unless the person switched wording off.
        """
        if not self.has_client or not cursor.list_open() or cursor.card.id in self._tried_ids:
            return
        cards = _list_next_cards(cursor)
        if self.is_automatic or model_wording.is_undecided(self.screen.queue):
            self.by_id = model_wording.load_cached_wordings(self.screen.queue, cards) | self.by_id
        fresh = [each for each in cards if each.id not in self.by_id]
        if self.is_automatic and fresh:
            self._tried_ids |= {each.id for each in cards}
            try:
                self._word_cards(fresh)
            except ReflectError as error:
                self.is_automatic = False  # one sentence, not one for every card; the key still asks
                self.screen.print_error(error)

    def word_card(self, card: Candidate) -> bool:
        """Have one card worded, because the person pressed the key; False if they said no to the price.

        What was paid for already is not asked for again.
        """
        self.by_id |= model_wording.load_cached_wordings(self.screen.queue, [card]) if card.id not in self.by_id else {}
        if card.id in self.by_id and self.by_id[card.id].text:
            return True
        claude_call.require_client(self.screen.cli.env)
        if not self.is_allowed and not self._ask_permission("Claude can word this one", [card]):
            return False
        self.is_automatic = self.is_automatic or model_wording.is_on(self.screen.queue)
        self._word_cards([card])
        return True

    def build_request(self, card: Candidate) -> Request:
        """Return the proposed text of a card: Claude's wording if there is one, else the user's words."""
        worded = self.by_id.get(card.id)
        if worded is None or not worded.text or worded.text == card.text:
            return Request(card)
        return Request(card, text=worded.text, wording=worded.spent)

    def format_notes(self, request: Request, cursor: ReviewCursor) -> list[tuple[str, str, str]]:
        """Return (name, text, way out) of what Claude says about a card beside its wording."""
        card, worded = request.candidate, self.by_id.get(request.candidate.id)
        if worded is None:
            return []
        notes = []
        if request.wording and not card.needs_wording:
            notes.append(("instead of", card.text, "c to go back to it"))
        if worded.no_rule:
            notes.append(("Claude says", f"not a lasting rule: {worded.no_rule}", "n to dismiss it, e to word it"))
        if worded.trouble:
            notes.append(("Claude", worded.trouble, "c to ask again, e to word it"))
        at = self.find_same_card(request, cursor)
        if at is not None:
            other = cursor.cards[at]
            said = f"same as {at + 1} of {len(cursor.cards)}: {one_line(other.quote, _QUOTE_WIDTH)}"
            notes.append(("Claude says", said, "m to merge both into one rule"))
        return notes

    def find_same_card(self, request: Request, cursor: ReviewCursor) -> int | None:
        """Return the place of the undecided card that Claude takes for the same, unless both are one already."""
        own = request.candidate.id
        twins = {self.by_id[own].same_as} if own in self.by_id else set()
        twins |= {other for other, worded in self.by_id.items() if worded.same_as == own}
        joined = {each.id for each in request.joined}
        for at in cursor.list_open():
            if cursor.cards[at].id in twins - joined and at != cursor.position:
                return at
        return None

    def _ask_permission(self, lead: str, cards: Sequence[Candidate]) -> bool:
        """Show the price and take the answer; True if Claude may be asked now."""
        price = model_wording.estimate_price(self.screen.queue, cards)
        question = f"{lead} ({_format_price(price)}). Allow? [y]es always, [o]nce, [n]o "
        while (typed := _ANSWER_WORDS.get(typed := self.console.read_key(question), typed)) not in ("y", "o", "n"):
            self.screen.print_keys(_ANSWER_HELP)
        if typed == "y" or (typed == "n" and model_wording.is_undecided(self.screen.queue)):
            self._write_setting(model_wording.ON if typed == "y" else model_wording.OFF)
        self.is_allowed = typed != "n"
        return self.is_allowed

    def _write_setting(self, value: str) -> None:
        cli, store = self.screen.cli, self.screen.queue.store
        by = service.get_author(store, service.get_channel(cli.env, cli.is_at_terminal))
        policy.set_policies(store, {SETTING: value}, by, utc_precise())
        self.screen.print_lines(f"set {SETTING} to {value}; {_UNDO_HINT} {'off' if value != 'off' else 'claude'}")

    def _word_cards(self, cards: Sequence[Candidate]) -> None:
        store = self.screen.queue.store
        progress = Progress(f"Claude words {plural(len(cards), 'proposed rule')}")
        try:
            done = model_wording.word_rules(self.screen.queue, cards, progress.update)
        finally:
            progress.clear()
        self.by_id |= done.wordings
        self._tried_ids |= set(done.wordings)
        count = sum(bool(each.text) for each in done.wordings.values())
        self.screen.print_lines(
            f"Claude worded {count} of {plural(len(done.wordings), 'proposed rule')} ({done.tokens:,} tokens, "
            f"{format_dollars(done.usd)}; {format_dollars(done.usd_today)} of ${usage.get_cap(store):.2f} today)"
        )


class Progress:
    """A line on stderr that appears after a second."""

    def __init__(self, text: str) -> None:
        self._text = printable(text)
        self._shown = ""

    def update(self, seconds: float) -> None:
        line = f"{self._text} … {int(seconds)} s"
        if seconds >= _PROGRESS_DELAY and line != self._shown and sys.stderr.isatty():
            self._shown = line
            sys.stderr.write(f"\r{line}")
            sys.stderr.flush()

    def clear(self) -> None:
        if self._shown:
            sys.stderr.write(f"\r{' ' * len(self._shown)}\r")
            sys.stderr.flush()


def format_price_of_one(store: Store, setting: str) -> str:
    """Say what one call costs that a setting allows, and what a day may cost."""
    is_wording = setting == model_wording.SETTING
    price = _format_price((model_wording if is_wording else calls).estimate_typical_price(store))
    what = "one" if is_wording else "20 messages"
    return f"{price} for {what}, at most ${usage.get_cap(store):.2f} a day"


def _format_price(price: Price) -> str:
    """Say what a call is expected to take, in round numbers."""
    tokens = f"about {round(price.tokens, -2):,} tokens"
    return f"{tokens}, {format_dollars(price.usd)}" if price.usd else tokens


def format_dollars(usd: float) -> str:
    """Return an amount in whole cents, rounded up: a price is never shown as nothing."""
    return f"${math.ceil(max(usd, 0.0001) * 100 - 1e-9) / 100:.2f}"


def _list_next_cards(cursor: ReviewCursor) -> list[Candidate]:
    """Return the card in hand and the undecided ones behind it, as many as go into one call."""
    return [
        cursor.cards[at]
        for at in islice((at for at in cursor.list_open() if at >= cursor.position), MAX_RULES_PER_CALL)
    ]
