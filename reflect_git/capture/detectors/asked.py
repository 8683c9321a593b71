"""The assistant had to ask, and the answer will hold tomorrow.

Either the text before a short answer asks something and the answer names a thing: a path, a command, an address, a
version. Or AskUserQuestion was answered: in the person's own words, or to a question about how things are here. A thing
that a loaded instruction file names was not missing.
"""

from __future__ import annotations

from reflect_git.adapters.redact import fill, flatten, redact
from reflect_git.capture.detectors.moment import facts_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Optional

    from reflect_git.adapters.transcript import Turn
    from reflect_git.capture.facts import Facts

FAMILY = "asked"
_WORDS = 30
_TAIL = 400
_LOADED = 64
_FILE_LIMIT = 65536
_OURS = ("[SIG-", "Learning ")
_STANDING = (
    "where ", "which command", "what command", "which branch", "what branch", "package manager", "which database",
    "which port", "what port", "which version", "what version", "convention", "which directory", "which folder",
    "which framework", "test runner", "which environment", "what url", "which url", "how do you run",
    "how do you deploy",
    "naming", "which tool", "do you usually", "in this project", "in this repo", "which host", "which server",
    "which service", "how is ", "how are ", "what is the name", "which registry", "which style",
)  # fmt: skip
_TASKS = frozenset(
    """add fix run do make check change update remove delete create write implement use try go let please can could
    test look see show move put keep start continue commit push merge rename yes no ok both all option a b c""".split()
)


class Asked:
    def __init__(self) -> None:
        self._asking: Optional[Turn] = None
        self._loaded: dict[str, str] = {}

    def wants(self, kind: str, tool: str, is_error: bool) -> bool:
        return kind in ("assistant", "user", "instructions") or tool == "AskUserQuestion"

    def see(self, turn: Turn) -> Sequence[Facts]:
        if turn.kind == "assistant":
            self._asking = turn if _question(turn.raw) else None
        elif turn.kind == "user":
            asking, self._asking = self._asking, None
            return self._answer(turn, asking) if asking and turn.via == "prompt" else ()
        elif turn.kind == "instructions":
            self._load(turn)
        elif turn.tool == "AskUserQuestion" and not turn.is_error:
            return self._choose(turn)
        return ()

    def _load(self, turn: Turn) -> None:
        for file in turn.files:
            if file.path in self._loaded or len(self._loaded) < _LOADED:
                self._loaded[file.path] = file.content[:_FILE_LIMIT].casefold()

    def _is_known(self, things: list[str]) -> bool:
        return any(all(thing in text for thing in things) for text in self._loaded.values())

    def _answer(self, turn: Turn, asking: Turn) -> Sequence[Facts]:
        if not _is_statement(turn.raw) or not _is_standing(_question(asking.raw)):
            return ()
        things = things_in(turn.text)
        if not things or not _is_statement(turn.text) or self._is_known(things):
            return ()
        context = fill("asked: {}\nanswered: {}", redact(_question(asking.text)), turn.text)
        return (
            facts_of(
                turn, FAMILY, "discovery", 2, turn.text, context=context, category="project-structure",
                trust="user_typed", meta={"score": 0.55},
            ),
        )  # fmt: skip

    def _choose(self, turn: Turn) -> Sequence[Facts]:
        answers = turn.details.get("answers")
        found = []
        for ordinal, (question, answer) in enumerate(answers.items() if type(answers) is dict else ()):
            said = answer if type(answer) is str else ""
            if not said or type(question) is not str or any(question.startswith(sign) for sign in _OURS):
                continue
            own = not _is_chosen(said, _labels(turn))
            if "[SIG-" in question or not (_is_standing(question) or (own and things_in(said))):
                continue
            if not self._is_known([said.casefold()]):
                found.append(self._chosen(turn, question, said, own, ordinal))
        return found

    def _chosen(self, turn: Turn, question: str, said: str, own: bool, ordinal: int) -> Facts:
        """The label of an option was written by the assistant, whoever chose it."""
        asked, answer = redact(question), redact(said)
        facts = facts_of(
            turn, FAMILY, "discovery", 2, answer if own else fill("{} {}", flatten(asked, 300), answer),
            category="project-structure", context=fill("asked: {}\nanswered: {}", asked, answer),
            trust="user_typed" if own else "assistant", meta={"score": 0.6 if own else 0.5},
        )  # fmt: skip
        facts["ordinal"] = ordinal
        return facts


def _question(text: str) -> str:
    """The last question of a text that ends with one, or nearly."""
    tail = text[-_TAIL:]
    if "?" not in tail[-120:]:
        return ""
    return tail[: tail.rindex("?") + 1].splitlines()[-1].strip()


def _is_standing(question: str) -> bool:
    low = question.casefold()
    return any(sign in low for sign in _STANDING)


def _is_statement(text: str) -> bool:
    words = text.split()
    if not 1 <= len(words) <= _WORDS or "?" in text or "\n" in text.strip():
        return False
    return words[0].strip(".,:!").casefold() not in _TASKS


def things_in(text: str) -> list[str]:
    """What an answer names: `db/changes`, `make lint`, `staging.example.org`, `14.2`, `DATABASE_URL`."""
    if "`" in text and text.count("`") >= 2:
        return [part.casefold() for part in text.split("`")[1::2] if part]
    words = [word.strip(".,;:!()'\"") for word in text.split()]
    return [word.casefold() for word in words if _is_thing(word)]


def _is_thing(word: str) -> bool:
    if len(word) < 3:
        return False
    if "/" in word.strip("/") or "_" in word.strip("_") or word.startswith(("./", "--", "~/")):
        return True
    before, dot, after = word.partition(".")
    return bool(dot and before and after[:1].isalnum()) or (word.isupper() and len(word) > 3)


def _is_chosen(said: str, labels: set[str]) -> bool:
    """Of several options chosen at once the client joins the labels."""
    for label in sorted(labels, key=len, reverse=True):
        said = said.replace(label, "")
    return not said.strip(", ")


def _labels(turn: Turn) -> set[str]:
    asked = turn.input.get("questions") or turn.details.get("questions")
    questions = [one for one in asked if type(one) is dict] if type(asked) is list else []
    options = [option for one in questions for option in one.get("options") or () if type(option) is dict]
    return {str(option.get("label")) for option in options}
