"""Tell whether a quotation is what a user said, and whether a text says what a quotation says.

A model reports the words of a user. They count as the user's own only if they are a sentence or clause of a message,
word for word, and the signal says nothing that they do not say. A model also words rules: other words are allowed
there, but no new names, and the same negation.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from reflect_git.model.frames import agrees, frame_of
from reflect_git.model.phrases import ORDERS, PREPOSITIONS, REASONS, SUBJECTS, TALK
from reflect_git.model.plainwords import stem
from reflect_git.review.families import NUMBERS
from reflect_git.review.likeness import contradicts
from reflect_git.review.matcher import is_program
from reflect_git.review.negations import complained_of, plainly_denied
from reflect_git.review.senses import words_of

_WIDE = "\u3040"  # from here on, scripts do without spaces
_FEW = 3
_CLOSING, _OPENING = "\"'”’»)]}`*_」』）", "\"'“‘„«([{`*_「『（"
_CLAUSE_ENDS = ".!?…,;:。！？、，；：—–→|/"
_SENTENCE_ENDS = ".!?…。！？"
_BULLETS = "-*•+>#"
# Words after which a clause of its own begins, and words before which one ends. A clause with "if", "unless" or "that"
# before or after it says less without it.
_BEGINNING = frozenset(
    """and but so then also please und aber sondern also bitte y pero sino por favor et mais donc ma però quindi e mas и
    а но пожалуйста en maar alsjeblieft i ale proszę ve ama lütfen hey ok okay yes""".split()
)
_ENDING = frozenset(
    """and but so because since und aber denn weil y pero porque et mais car parce e ma perché mas и а но потому en maar
    want omdat i ale bo ve ama çünkü""".split()
)
_CONTRASTS = frozenset("but aber sondern pero sino mais ma però mas а но maar ale ama".split())
_ASKING = frozenset("?？")
# What begins a new order, so that a ban before it does not reach it.
_FRESH = frozenset(("USE", "ALWAYS", "PREFER", "BAN", "NOT", "ONLY", "ASK")) | ORDERS | SUBJECTS
_SEPARATORS = frozenset((",", ";", "BUT"))
_SILENT = frozenset(("USE", "USEPOST", "PREFER", "ALWAYS", "ONLY", "ASK", "WHY", "USED", "instead", "="))
_DENIED = frozenset(("NOT", "BAN", "PAS", "INSTEAD", "WITHOUT", "OVER"))
_DENIED_BEFORE = frozenset(("NOTPOST", "INSTEADPOST"))
_DENIED_AROUND = frozenset(("GONE", "VAGUE", "needless", "off-limits"))
# Languages whose negations make no frames.
_NEGATIONS = frozenset(
    """niet nooit geen nimmer nie nigdy żaden żadnych żadne bez değil asla yok hiç hiçbir none nobody nothing
    nowhere neither nor ningún ninguna ninguno tampoco aucun aucune ni nessun nessuna nenhum nenhuma ни нельзя
    нету 非 无 無 没 不 別 禁 不能 不可 不得 不应 不该 ない なし 禁止 안 못 없""".split()
)
# Words that add nothing to what is said.
_EMPTY = (
    frozenset(
        """project repository codebas repo cod thing it is be to of and or with by from that as i you we do then so us
        mak sur will het een van voor met op is zijn się jest na do w z dla bir bu için ile der die das und mit el
        la los las de del y en le les des et du il un una uno e o os da do и с на по к""".split()
    )
    | PREPOSITIONS
    | SUBJECTS
    | REASONS
    | TALK
) - frozenset("before after until unless except under if only".split())  # fmt: skip
_EXACT = re.compile(r"[^\s,;()\[\]{}\"“”«»'‘’`。、，；：！？「」『』（）]+")
_NAMED = re.compile(r"[\d/\\_@=~$<>&|*%^]|[^\W\d_][.:+-][^\W\d_]|^[-.]|^.+[A-Z]|[A-Z].*[A-Z]")
_TICKED = re.compile(r"`([^`]+)`")
# People type a hyphen with spaces around it for a dash.
_DASH_AT_END, _DASH_AT_START = re.compile(r"\s-{1,2}$"), re.compile(r"^\s-{1,2}\s")
# "Never forget to run X" wants X, whatever "never" does to the words behind it.
_LAPSES = frozenset(
    map(
        stem,
        """forget skip omit ignore neglect bypass vergessen vergiss auslassen überspringe ignoriere olvidar
        olvides omitir omitas saltar saltes oublier oublie omettre ignorer dimenticare saltare esquecer pular забывай
        забыть пропускай vergeet zapomnij""".split(),
    )
)
# In German every noun has a capital, so that a capital does not tell a name.
_GERMAN = frozenset("der das und nicht kein keine keinen nie immer bitte für mit auf im vor statt ein eine".split())
_WANTED, _UNWANTED = frozenset("+"), frozenset("-")
_OPPOSITE = {_WANTED, _UNWANTED}
_ENOUGH = 0.6  # of the pairs of letters, where words cannot be told apart


PLACES = ("", "slice", "clause", "whole")


def find_place(quote: str, message: str) -> str:
    """Say what a quotation is in a message: `whole` sentences of it, a `clause`, a `slice`, or nothing."""
    best = ""
    for found in re.finditer(_pattern(quote), message) if quote.split() else ():
        place = _place(message, found.start(), found.end())
        best = max(best, place, key=PLACES.index)
    return best


def _place(message: str, start: int, end: int) -> str:
    before, after = message[:start].rstrip(_OPENING + " \t"), message[end:].lstrip(_CLOSING + " \t")
    is_cut = _joins(message[start - 1 : start], message[start]) or _joins(message[end - 1], message[end : end + 1])
    line = before.rpartition("\n")[2].strip(" \t").lstrip(_BULLETS + " \t")
    line = _DASH_AT_END.sub(" –", line)
    begins = not line or line[-1] in _SENTENCE_ENDS
    last = message[end - 1 : end] + _DASH_AT_START.sub("–", message[end:].lstrip(_CLOSING))[:1].strip() + after[:1]
    ends = not after or bool(set(last) & set(_SENTENCE_ENDS + "\n"))
    if is_cut or not (begins or _begins_clause(line, message[start:end])):
        return "slice"
    if begins and ends:
        return "whole"
    word = after.split(None, 1)[0] if after.split() else ""
    return "clause" if ends or set(last) & set(_CLAUSE_ENDS) or _bare(word) in _ENDING else "slice"


def _begins_clause(line: str, quote: str) -> bool:
    """Whether a clause begins after this part of a sentence, and no ban in that part reaches it."""
    joint = _bare(line.rsplit(None, 1)[-1])
    is_set_off = line[-1] in _CLAUSE_ENDS or joint in _CONTRASTS
    if not is_set_off and joint not in _BEGINNING:
        return False
    sentence = re.split(f"[{re.escape(_SENTENCE_ENDS)}]", line)[-1]
    if not any(_is_denial(word) for word in words_of(sentence)):
        return True
    return is_set_off and next(iter(words_of(quote)), "") in _FRESH


def _is_denial(word: str) -> bool:
    return word in _DENIED or word in _NEGATIONS or word in _DENIED_BEFORE or word in _DENIED_AROUND


def find_doubt(quote: str, place: str, message: str) -> str:
    """Say why a quotation that was found at such a place is not what the user said; empty if it is."""
    if not place:
        return "the user did not type it in this session"
    if place == "slice":
        return "it is not a whole sentence or clause"
    if not is_long_enough(quote, place):
        return "it is too short"
    return "it is a question" if is_question(quote, message) else ""


def is_question(quote: str, message: str) -> bool:
    """Whether a message asks this; "can you …?" is an order."""
    asks = [found for found in re.finditer(_pattern(quote), message) if set(message[found.end() - 1 :][:2]) & _ASKING]
    return bool(asks) and "ASK" not in words_of(quote)


def _pattern(quote: str) -> str:
    return r"\s+".join(map(re.escape, quote.split()))


def _joins(left: str, right: str) -> bool:
    """Whether two letters belong to one word; scripts without spaces have no such thing."""
    return bool(left and right) and _is_letter(left) and _is_letter(right) and max(left, right) < _WIDE


def _is_letter(sign: str) -> bool:
    return sign.isalnum() or sign in "_-/"


def _bare(word: str) -> str:
    return word.strip(_CLAUSE_ENDS + _OPENING + _CLOSING).casefold()


def is_long_enough(quote: str, place: str) -> bool:
    """A few words, or a short sentence that is a whole one: 'use pnpm'."""
    wide = sum(sign >= _WIDE and sign.isalnum() for sign in quote)
    words = [part for word in quote.split() for part in _apart(word) if any(map(str.isalnum, part))]
    count = len(words) + (wide + 1) // 2  # two letters make a word, more or less
    return count >= _FEW or (place == "whole" and count >= 2)


def find_difference(quote: str, content: str) -> str:
    """Say what a text says that a quotation does not say; empty if there is nothing."""
    for name in _new_names(quote, _names_in(content)):
        return f"the quote does not say '{name}'"
    ours, theirs = _signs_of(content), _signs_of(quote)
    if not ours:
        return "the content has no words of the quote"
    missing = [word for word in ours if word not in theirs and not _is_wide(word)]
    if missing or not _shares_pairs(content, quote):
        return f"the quote does not say '{_spelled(missing, content)}'" if missing else "the quote says something else"
    turned = [word for word, sign in ours.items() if word in theirs and not sign & theirs[word]]
    if turned or contradicts(_with_digits(quote), _with_digits(content)):
        return "the quote says the opposite"
    return ""


def find_additions(said: Sequence[str], text: str, around: Sequence[str] = ()) -> list[str]:
    """Say what a wording brings in that is not in a person's words; nothing if it only says them otherwise.

    `said` are the sentences that it words, `around` the messages they come from: names may be from there, too. New are
    commands, paths, URLs, packages, names and numbers, and a sense that was turned round.
    """
    everything = "\n".join((*said, *around))
    new = dict.fromkeys(_new_names(everything, (*_names_in(text), *_tools_in(text, everything))))
    if new:
        return [f"'{name}' is not in your words" for name in new]
    if any(_is_turned(one, text) for one in said):
        return ["it may say the opposite of your words"]
    known = set(_signs_of(everything))
    is_shared = not known.isdisjoint(_signs_of(text)) or bool(_pairs(text) & _pairs(everything) or [*_names_in(text)])
    return [] if is_shared else ["none of its words is yours"]


def _tools_in(text: str, said: str) -> Iterator[str]:
    """Yield programs, number words, and the one thing that a text wants used or not: "use black" names it in small
    letters."""
    frame, known = frame_of(text), set(words_of(said))
    objects = {part for part in (frame.wanted, frame.unwanted) if part and " " not in part} if frame else set()
    for word in _names_in(text, every=True):
        form, small = stem(word.casefold()), word.casefold()
        is_object = form in objects and form not in known | ORDERS and not known & set(words_of(word))
        if is_program(small) or NUMBERS.get(form, "1") != "1" or is_object:
            yield word


def _is_turned(said: str, text: str) -> bool:
    """Tell whether a wording denies what was wanted, or wants what was denied."""
    complaint = complained_of(said)
    text = plainly_denied(text)
    if complaint:
        return _repeats_fault(complaint, text)
    said = plainly_denied(said)
    old, new = frame_of(said), frame_of(text)
    is_same_ban = bool(old and new and old.unwanted and old.unwanted == new.unwanted)
    if old and new and not is_same_ban and contradicts(_with_digits(said), _with_digits(text)):
        return True
    is_twice = _signs_of(said) != _signs_of(said, "+")
    conditions = {word for frame in (None if is_twice else old, new) if frame for word in frame.condition.split()}
    ours, theirs = (
        {word: sign for word, sign in _signs_of(one, "+").items() if word not in conditions} for one in (text, said)
    )
    lapses = [word for word in _LAPSES & set(ours) if ours[word] == {"+"} and "+" not in theirs.get(word, "")]
    if lapses or (old and new and agrees(old, new)):
        return bool(lapses)
    if _LAPSES & set(theirs):
        return False
    turned = [word for word in ours if word in theirs and {ours[word], theirs[word]} == _OPPOSITE]
    # A complaint is worded by what is wanted instead: it shares a word or two with the rule, never most of them.
    return len(turned) * 2 >= max(1, min(len(ours), len(theirs)) + is_twice)


def _repeats_fault(fault: str, text: str) -> bool:
    """Tell whether a wording wants the very thing that a complaint is about.

    "Why do you run the specs without the seeds?" wants the seeds, and says nothing against running the specs.
    """
    ours, theirs = _signs_of(text, "+"), _signs_of(plainly_denied(fault), "+")
    lacking = {word for word, sign in theirs.items() if "-" in sign}
    if lacking:
        return any(ours.get(word) == _UNWANTED for word in lacking)
    return bool(ours) and all(theirs.get(word) == sign == _WANTED for word, sign in ours.items())


def _new_names(said: str, names: Iterable[str]) -> Iterator[str]:
    """Yield the names that are not among the words that were said, however a number is written."""
    known = {name.casefold() for name in _names_in(said, every=True)}
    known |= {name[1:] for name in known if name.startswith("@")}  # "@ci.yml" mentions the file ci.yml
    known |= {NUMBERS[stem(word)] for word in known if stem(word) in NUMBERS}
    for name in names:
        if name.casefold() not in known and NUMBERS.get(stem(name.casefold())) not in known:
            yield name


def _with_digits(text: str) -> str:
    return re.sub(r"[^\W\d_]+", lambda found: NUMBERS.get(stem(found[0].lower()), found[0]), text)


def _names_in(text: str, every: bool = False) -> Iterator[str]:
    """Numbers, commands, paths and names: what counts to the letter. With `every`, all words."""
    ticked = {word for span in _TICKED.findall(text) for word in span.split()}
    has_names = _GERMAN.isdisjoint(text.split())
    for at, raw in enumerate(_EXACT.findall(text)):
        word = raw.strip(".:!?…-") if not raw.startswith(("-", ".")) else raw.rstrip(".:!?…")
        is_name = (
            raw in ticked or _NAMED.search(word) or (at and has_names and word[:1].isupper() and not _starts(text, raw))
        )
        for part in _apart(word):
            if part and (every or is_name):
                yield part


def _starts(text: str, word: str) -> bool:
    """Whether a word begins a sentence, where any word has a capital."""
    return bool(re.search(rf"[.!?…:。！？]\s+{re.escape(word)}", text))


def _apart(word: str) -> list[str]:
    """Split a word where its script changes: 用npm安装."""
    return re.findall(rf"[^{_WIDE}-\U0010ffff]+", word) if any(sign >= _WIDE for sign in word) else [word]


def _signs_of(text: str, twice: str = "-") -> dict[str, frozenset[str]]:
    """Return each content word of a text, with whether it is wanted (`+`), denied (`-`) or neither (`?`).

    `twice` is the sign of what is denied twice: the tests in "never commit without tests".
    """
    found: dict[str, set[str]] = {}
    for clause in _clauses(text):
        sign, around = "+", "?" if "VAGUE" in clause else "-" if _DENIED_AROUND & set(clause) else ""
        after = next((at for at, word in enumerate(clause) if word in _DENIED_BEFORE), -1)
        if clause and clause[-1] in _DENIED:  # "aktualisiere es nie"
            after = len(clause) - 1
        if "needless" in clause[:-1]:  # "tests need no database": what needs it is not denied
            clause, around = clause[clause.index("needless") + 1 :], "-"
        for at, word in enumerate(clause):
            if word == "WITHOUT" and around == "-":
                sign, around = twice, ""
            elif word in _DENIED or word in _NEGATIONS:
                sign = twice if word == "WITHOUT" and sign == "-" else "-"
            elif word not in _SILENT and word not in _EMPTY and word not in _DENIED_BEFORE | _DENIED_AROUND:
                found.setdefault(word, set()).add(around or ("-" if at < after else sign))
    return {word: frozenset(signs) for word, signs in found.items()}


def _clauses(text: str) -> list[list[str]]:
    clauses: list[list[str]] = [[]]
    for word in words_of(text.replace("`", " ")):  # commands count to the letter, as names
        if word in _SEPARATORS:
            clauses.append([])
        else:
            clauses[-1].append(word)
            if word in _DENIED_BEFORE:
                clauses.append([])
    return clauses


def _is_wide(word: str) -> bool:
    return word[0] >= _WIDE and len(word) > 2


def _shares_pairs(content: str, quote: str) -> bool:
    """Where words cannot be told apart, most pairs of letters have to be the same."""
    ours, theirs = (_pairs(text) for text in (content, quote))
    return not ours or len(ours & theirs) >= _ENOUGH * len(ours)


def _pairs(text: str) -> set[str]:
    wide = [word for clause in _clauses(text) for word in clause if word[0] >= _WIDE]
    return {word[at : at + 2] for word in wide for at in range(max(1, len(word) - 1))}


def _spelled(stems: list[str], text: str) -> str:
    """A word as the text has it, for the message."""
    spelled = (word.strip(".,;:!?") for word in text.split())
    return next((word for word in spelled if set(words_of(word)) & set(stems)), stems[0])
