"""The candidates of a sitting, which of them are answered, and at which one the person is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from reflect_git.model.tuples import NamedTuple
from reflect_git.review.candidate import Lazily

if TYPE_CHECKING:
    from reflect_git.review.candidates import Candidate
    from reflect_git.sitting.approve import Request

APPROVED, SKIPPED, NO, NEVER = "approved", "skipped for now", "no", "never"
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
        """The places that have no answer yet."""
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
        """More cards, behind the others. True if it goes on to the first of them: not while the one in hand is open."""
        goes_on = self.at not in self.open()
        if goes_on:
            self.at = len(self.cards)
        self.cards = _joined((self.cards, cards))
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
