"""The candidates of a sitting, which of them are answered, and at which one the person is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from reflect_git.model.tuples import NamedTuple

if TYPE_CHECKING:
    from reflect_git.review.candidates import Candidate
    from reflect_git.sitting.approve import Request

APPROVED, NOT_NOW, NO, NEVER = "approved", "not now", "no", "never"
ELSEWHERE = "answered elsewhere"


class Answer(NamedTuple):
    """`record` is the learning or the decision it made; `first_seen` the signals that "not now" marked as seen.

    `request` is what stood on the screen: another wording or target comes back with the card.
    """

    at: int
    said: str
    record: str = ""
    first_seen: tuple[str, ...] = ()
    request: Request | None = None


class Deck:
    def __init__(self, cards: Iterable[Candidate]) -> None:
        self.cards = list(cards)
        self.answers: list[Answer] = []
        self.at = 0

    @property
    def card(self) -> Candidate:
        return self.cards[self.at]

    def open(self) -> list[int]:
        """The places that have no answer yet."""
        answered = {answer.at for answer in self.answers}
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

    def add(self, cards: Iterable[Candidate]) -> bool:
        """More cards, behind the others. True if it goes on to the first of them: not while the one in hand is open."""
        goes_on = self.at not in self.open()
        if goes_on:
            self.at = len(self.cards)
        self.cards += cards
        return goes_on

    def search(self, words: str) -> int | None:
        """The next open card, round the end, that has these words in its text or in what was said."""
        open_cards = self.open()
        order = [at for at in open_cards if at > self.at] + [at for at in open_cards if at <= self.at]
        wanted = words.casefold()
        for at in order:
            if wanted in f"{self.cards[at].text}\n{self.cards[at].quote}".casefold():
                return at
        return None

    def group(self) -> list[int]:
        """The open cards of the same category as this one."""
        return [at for at in self.open() if self.cards[at].category == self.card.category]

    def count(self, said: str) -> int:
        return sum(answer.said == said for answer in self.answers)
