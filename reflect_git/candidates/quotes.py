"""Check whether a quote is what a user said, and whether a text says the same as a quote.

A model reports the user's words. They count as the user's own only if they are a sentence or clause of a message, word
for word, and the signal adds nothing. A model also words rules. Other words are allowed there, but no new names, and
the negation must be the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from reflect_git.candidates.matcher import is_program
from reflect_git.language.meaning import NUMBERS, get_words
from reflect_git.language.parse import agrees, parse_frame
from reflect_git.language.sentences import split_line
from reflect_git.language.similarity import contradicts
from reflect_git.language.words import (
    FILLER_WORDS,
    ORDER_VERBS,
    PREPOSITIONS,
    REASON_WORDS,
    SUBJECTS,
    load_table,
    load_words,
    stem,
)
from reflect_git.records.search_text import build_pattern

_WIDE = "\u3040"  # from here on, scripts do without spaces
_MIN_WORDS = 3
_CLOSING_MARKS, _OPENING_MARKS = "\"'”’»)]}`*_」』）", "\"'“‘„«([{`*_「『（"
_CLAUSE_ENDS = ".!?…,;:。！？、，；：—–→|/"
_SENTENCE_ENDS = ".!?…。！？"
_BULLETS = "-*•+>#"
# Words after which a clause of its own begins, and words before which one ends. A clause with "if", "unless" or "that"
# before or after it says less without it.
_CLAUSE_STARTERS, _CLAUSE_ENDERS, _CONTRASTS = (
    load_words("quotes", name) for name in ("beginning", "ending", "contrasts")
)
_QUESTION_MARKS = frozenset("?？")
# What begins a new order, so that a ban before it does not reach it.
_ORDER_STARTERS = frozenset(("USE", "ALWAYS", "PREFER", "BAN", "NOT", "ONLY", "ASK")) | ORDER_VERBS | SUBJECTS
_SEPARATORS = frozenset((",", ";", "BUT"))
_NEUTRAL_WORDS = frozenset(("USE", "USEPOST", "PREFER", "ALWAYS", "ONLY", "ASK", "WHY", "USED", "instead", "="))
_NEGATES_AFTER = frozenset(("NOT", "BAN", "PAS", "INSTEAD", "WITHOUT", "OVER"))
_NEGATES_BEFORE = frozenset(("NOTPOST", "INSTEADPOST"))
_NEGATES_AROUND = frozenset(("GONE", "VAGUE", "needless", "off-limits"))
# Languages whose negations make no frames.
_NEGATIONS = load_words("quotes", "negations")
_ALL_NEGATIONS = _NEGATES_AFTER | _NEGATES_BEFORE | _NEGATES_AROUND | _NEGATIONS
# Words that add nothing to what is said.
_EMPTY_WORDS = (load_words("quotes", "empty") | PREPOSITIONS | SUBJECTS | REASON_WORDS | FILLER_WORDS) - load_words(
    "quotes", "not_empty"
)
_TOKEN = re.compile(r"[^\s,;()\[\]{}\"“”«»'‘’`。、，；：！？「」『』（）]+")
_NAME_PATTERN = re.compile(r"[\d/\\_@=~$<>&|*%^]|[^\W\d_][.:+-][^\W\d_]|^[-.]|^.+[A-Z]|[A-Z].*[A-Z]")
_CODE_SPAN = re.compile(r"`([^`]+)`")
_OPTION = re.compile(r"--?\w")
_COMMAND_EDGES = ",.;:!?()\"'“”‘’«»…"
# People type a hyphen with spaces around it for a dash.
_DASH_AT_END, _DASH_AT_START = re.compile(r"\s-{1,2}$"), re.compile(r"^\s-{1,2}\s")
# "Never forget to run X" wants X, whatever "never" does to the words behind it.
_LAPSE_WORDS = frozenset(map(stem, load_words("quotes", "lapses")))
# In German every noun has a capital, so that a capital does not tell a name.
_GERMAN_WORDS = load_words("quotes", "german")
_WANTED, _UNWANTED = frozenset("+"), frozenset("-")
_OPPOSITE = {_WANTED, _UNWANTED}
_MIN_SHARED = 0.6  # of the pairs of letters, where words cannot be told apart
# A negation said in other words: "stop adding comments" is a ban (`knowledge/negations.json`).
_ELISION = re.compile(r"\b(?:n|d|l|j|qu|c)['’](?=\w)", re.IGNORECASE)  # French and Italian: n'ajoute, d'ajouter
_PLAIN_NEGATIONS = {
    "reminder": " ",
    "stop": " do not ",
    "afresh": ", ",
    "nobody": " never ",
    "judged": " is forbidden ",
}
_REPROACH = re.compile(r"[,;]?\s*(?:what did i (?:just )?(?:tell|say).*|as i said.*|again)?[?!.？！…]*$", re.IGNORECASE)
QUOTE_KINDS = ("", "slice", "clause", "whole")


def find_quote_kind(quote: str, message: str) -> str:
    """Return what a quote is in a message: `whole` sentences, a `clause`, a `slice`, or empty if it is not there."""
    best = ""
    for found in re.finditer(build_pattern(quote), message) if quote.split() else ():
        place = _get_quote_kind(message, found.start(), found.end())
        best = max(best, place, key=QUOTE_KINDS.index)
    return best


def _get_quote_kind(message: str, start: int, end: int) -> str:
    before, after = message[:start].rstrip(_OPENING_MARKS + " \t"), message[end:].lstrip(_CLOSING_MARKS + " \t")
    is_cut = _is_one_word(message[start - 1 : start], message[start]) or _is_one_word(
        message[end - 1], message[end : end + 1]
    )
    line = before.rpartition("\n")[2].strip(" \t").lstrip(_BULLETS + " \t")
    line = _DASH_AT_END.sub(" –", line)
    begins = not line or line[-1] in _SENTENCE_ENDS
    last = (
        message[end - 1 : end] + _DASH_AT_START.sub("–", message[end:].lstrip(_CLOSING_MARKS))[:1].strip() + after[:1]
    )
    ends = not after or bool(set(last) & set(_SENTENCE_ENDS + "\n"))
    if is_cut or not (begins or _begins_clause(line, message[start:end])):
        return "slice"
    if begins and ends:
        return "whole"
    word = after.split(None, 1)[0] if after.split() else ""
    return "clause" if ends or set(last) & set(_CLAUSE_ENDS) or _strip_word(word) in _CLAUSE_ENDERS else "slice"


def _begins_clause(line: str, quote: str) -> bool:
    """Return whether a clause begins after this part of a sentence, outside any prohibition in that part."""
    joint = _strip_word(line.rsplit(None, 1)[-1])
    is_set_off = line[-1] in _CLAUSE_ENDS or joint in _CONTRASTS
    if not is_set_off and joint not in _CLAUSE_STARTERS:
        return False
    sentence = re.split(f"[{re.escape(_SENTENCE_ENDS)}]", line)[-1]
    if _ALL_NEGATIONS.isdisjoint(get_words(sentence)):
        return True
    return is_set_off and next(iter(get_words(quote)), "") in _ORDER_STARTERS


def find_quote_problem(quote: str, place: str, message: str) -> str:
    """Return why a quote found at such a place is not what the user said; empty if it is."""
    if not place:
        return "the user did not type it in this session"
    if place == "slice":
        return "it is not a whole sentence or clause"
    if not is_long_enough(quote, place):
        return "it is too short"
    return "it is a question" if is_question(quote, message) else ""


def is_question(quote: str, message: str) -> bool:
    """Return whether a message asks this as a question; "can you …?" is an instruction."""
    asks = [
        found
        for found in re.finditer(build_pattern(quote), message)
        if set(message[found.end() - 1 :][:2]) & _QUESTION_MARKS
    ]
    return bool(asks) and "ASK" not in get_words(quote)


def _is_one_word(left: str, right: str) -> bool:
    """Return whether two characters belong to one word; always false for scripts without spaces."""
    return (
        bool(left and right)
        and max(left, right) < _WIDE
        and all(one.isalnum() or one in "_-/" for one in (left, right))
    )


def _strip_word(word: str) -> str:
    return word.strip(_CLAUSE_ENDS + _OPENING_MARKS + _CLOSING_MARKS).casefold()


def is_long_enough(quote: str, place: str) -> bool:
    """Return whether a quote has three words, or two if it is a whole sentence: 'use pnpm'."""
    wide = sum(sign >= _WIDE and sign.isalnum() for sign in quote)
    words = [part for word in quote.split() for part in _split_scripts(word) if any(map(str.isalnum, part))]
    count = len(words) + (wide + 1) // 2  # two letters make a word, more or less
    return count >= _MIN_WORDS or (place == "whole" and count >= 2)


def find_difference(quote: str, content: str) -> str:
    """Return what a text says that a quote does not say; empty if there is nothing."""
    for name in _find_new_names(quote, _find_names(content)):
        return f"the quote does not say '{name}'"
    ours, theirs = _map_word_signs(content), _map_word_signs(quote)
    if not ours:
        return "the content has no words of the quote"
    missing = [word for word in ours if word not in theirs and not (word[0] >= _WIDE and len(word) > 2)]
    pairs = _find_letter_pairs(content)
    if missing or len(pairs & _find_letter_pairs(quote)) < _MIN_SHARED * len(pairs):
        return (
            f"the quote does not say '{_get_spelling(missing, content)}'"
            if missing
            else "the quote says something else"
        )
    turned = [word for word, sign in ours.items() if word in theirs and not sign & theirs[word]]
    if turned or contradicts(_with_digits(quote), _with_digits(content)):
        return "the quote says the opposite"
    return ""


def find_additions(said: Sequence[str], text: str, around: Sequence[str] = ()) -> list[str]:
    """Return what a wording adds to a person's words; empty if it only rephrases them.

    `said` are the sentences it rephrases and `around` the messages they come from, whose names are allowed. Additions
    are commands, paths, URLs, packages, names and numbers, and a reversed meaning.
    """
    everything = "\n".join((*said, *around))
    new = dict.fromkeys(_find_new_names(everything, (*_find_names(text), *_find_tools(text, everything))))
    if new:
        return [f"'{name}' is not in your words" for name in new]
    if changed := list(dict.fromkeys(_find_changed_commands(everything, text))):
        return changed
    if any(_is_reversed(one, text) for one in said):
        return ["it may say the opposite of your words"]
    known = set(_map_word_signs(everything))
    is_shared = not known.isdisjoint(_map_word_signs(text)) or bool(
        _find_letter_pairs(text) & _find_letter_pairs(everything) or [*_find_names(text)]
    )
    return [] if is_shared else ["none of its words is yours"]


def _find_changed_commands(said: str, text: str) -> Iterator[str]:
    """Report commands in backticks that use the person's words in another order, with gaps or without an option.

    Somebody who said "gh pr create --draft" does not want `gh pr create`.
    """
    known, kept = _split_command(said), set(_split_command(text))
    for span in _CODE_SPAN.findall(text):
        words = _split_command(span)
        length = len(words)
        ends = [at + length for at in range(len(known)) if known[at : at + length] == words]
        is_cut = all(_OPTION.match("".join(known[end : end + 1])) and known[end] not in kept for end in ends)
        if length > 1 and is_cut:
            yield f"'{span}' is {'only part of your command' if ends else 'not in your words'}"


def _split_command(text: str) -> list[str]:
    """Split a text roughly as a shell would. Case matters in options only."""
    words = (
        part.strip(_COMMAND_EDGES) for word in text.split() for part in _split_scripts(word.replace("`", " ").strip())
    )
    found = [word for each in words for word in each.split()]
    return [word if word.startswith("-") else word.casefold() for word in found]


def _find_tools(text: str, said: str) -> Iterator[str]:
    """Yield programs, number words and the object that a text wants used or avoided.

    "use black" names a program in lower case.
    """
    frame, known = parse_frame(text), set(get_words(said))
    objects = {part for part in (frame.wanted, frame.unwanted) if part and " " not in part} if frame else set()
    for word in _find_names(text, every=True):
        form, small = stem(word.casefold()), word.casefold()
        is_object = form in objects and form not in known | ORDER_VERBS and not known & set(get_words(word))
        if is_program(small) or NUMBERS.get(form, "1") != "1" or is_object:
            yield word


def _is_reversed(said: str, text: str) -> bool:
    """Return whether a wording denies what was wanted, or wants what was denied."""
    complaint = find_complaint(said)
    text = normalise_negations(text)
    if complaint:
        return _repeats_fault(complaint, text)
    said = normalise_negations(said)
    old, new = parse_frame(said), parse_frame(text)
    is_same_ban = bool(old and new and old.unwanted and old.unwanted == new.unwanted)
    if old and new and not is_same_ban and contradicts(_with_digits(said), _with_digits(text)):
        return True
    is_twice = _map_word_signs(said) != _map_word_signs(said, "+")
    conditions = {word for frame in (None if is_twice else old, new) if frame for word in frame.condition.split()}
    ours, theirs = (
        {word: sign for word, sign in _map_word_signs(one, "+").items() if word not in conditions}
        for one in (text, said)
    )
    lapses = [word for word in _LAPSE_WORDS & set(ours) if ours[word] == {"+"} and "+" not in theirs.get(word, "")]
    if lapses or (old and new and agrees(old, new)):
        return bool(lapses)
    if _LAPSE_WORDS & set(theirs):
        return False
    turned = [word for word in ours if word in theirs and {ours[word], theirs[word]} == _OPPOSITE]
    # A complaint is worded by what is wanted instead: it shares a word or two with the rule, never most of them.
    return len(turned) * 2 >= max(1, min(len(ours), len(theirs)) + is_twice)


def normalise_negations(text: str) -> str:
    """Replace reminders, stops, new orders, exclusions and judgements with plain words for the same."""
    text = _compile_phrases("untouched").sub(lambda found: f" do not touch {found[found.lastindex or 0]} ", text)
    for name, plain in _PLAIN_NEGATIONS.items():
        text = _compile_phrases(name).sub(plain, text)
    return " ".join(_ELISION.sub("", text).split())


def find_complaint(said: str) -> str:
    """Return the fault that a question complains about; empty for other texts and for orders ("can you …?")."""
    if _compile_phrases("reminder").search(said):
        return ""
    found = _compile_phrases("complaint").match(said.strip())
    is_asked = said.rstrip()[-1:] in ("?", "？") and "ASK" not in get_words(said) and len(split_line(said)) == 1
    if not found and not is_asked:
        return ""
    rest = _REPROACH.sub("", said.strip()[found.end() :] if found else said.strip())
    return rest.strip()


@cache
def _compile_phrases(name: str) -> re.Pattern[str]:
    """Compile one list of patterns from the table. Scripts without spaces have no word boundaries."""
    bounded: list[str] = []
    free: list[str] = []
    for pattern in load_table("negations")[name]:
        (free if max(pattern) >= "\u3040" else bounded).append(pattern)
    edge = rf"(?<!\w)(?:{'|'.join(bounded)})(?:(?<=['’\s])|(?!\w))"
    return re.compile("|".join((edge, *free)), re.IGNORECASE)


def _repeats_fault(fault: str, text: str) -> bool:
    """Return whether a wording asks for exactly what a complaint is about.

    "Why do you run the specs without the seeds?" wants the seeds, and says nothing against running the specs.
    """
    ours, theirs = _map_word_signs(text, "+"), _map_word_signs(normalise_negations(fault), "+")
    lacking = {word for word, sign in theirs.items() if "-" in sign}
    if lacking:
        return any(ours.get(word) == _UNWANTED for word in lacking)
    return bool(ours) and all(theirs.get(word) == sign == _WANTED for word, sign in ours.items())


def _find_new_names(said: str, names: Iterable[str]) -> Iterator[str]:
    """Yield the names that are not among the words that were said, however a number is written."""
    known = {name.casefold() for name in _find_names(said, every=True)}
    known |= {name[1:] for name in known if name.startswith("@")}  # "@ci.yml" mentions the file ci.yml
    known |= {NUMBERS[stem(word)] for word in known if stem(word) in NUMBERS}
    for name in names:
        if name.casefold() not in known and NUMBERS.get(stem(name.casefold())) not in known:
            yield name


def _with_digits(text: str) -> str:
    return re.sub(r"[^\W\d_]+", lambda found: NUMBERS.get(stem(found[0].lower()), found[0]), text)


def _find_names(text: str, every: bool = False) -> Iterator[str]:
    """Yield numbers, commands, paths and names, which must match exactly. With `every`, yield all words."""
    ticked = {word for span in _CODE_SPAN.findall(text) for word in span.split()}
    has_names = _GERMAN_WORDS.isdisjoint(text.split())
    for at, raw in enumerate(_TOKEN.findall(text)):
        word = raw.strip(".:!?…-") if not raw.startswith(("-", ".")) else raw.rstrip(".:!?…")
        is_capital = at and has_names and word[:1].isupper()
        is_capital = is_capital and not re.search(rf"[.!?…:。！？]\s+{re.escape(raw)}", text)  # a sentence begins so
        is_name = raw in ticked or is_capital or _NAME_PATTERN.search(word)
        for part in _split_scripts(word):
            if part and (every or is_name):
                yield part


def _split_scripts(word: str) -> list[str]:
    """Split a word where its script changes: 用npm安装."""
    return re.findall(rf"[^{_WIDE}-\U0010ffff]+", word) if any(sign >= _WIDE for sign in word) else [word]


def _map_word_signs(text: str, twice: str = "-") -> dict[str, frozenset[str]]:
    """Return each content word of a text, with whether it is wanted (`+`), denied (`-`) or neither (`?`).

    `twice` is the sign for a double negation, such as the tests in "never commit without tests".
    """
    found: dict[str, set[str]] = {}
    for clause in _split_clauses(text):
        sign, around = "+", "?" if "VAGUE" in clause else "-" if _NEGATES_AROUND & set(clause) else ""
        after = next((at for at, word in enumerate(clause) if word in _NEGATES_BEFORE), -1)
        if clause and clause[-1] in _NEGATES_AFTER:  # "aktualisiere es nie"
            after = len(clause) - 1
        if "needless" in clause[:-1]:  # "tests need no database": what needs it is not denied
            clause, around = clause[clause.index("needless") + 1 :], "-"
        for at, word in enumerate(clause):
            if word == "WITHOUT" and around == "-":
                sign, around = twice, ""
            elif word in _NEGATES_AFTER or word in _NEGATIONS:
                sign = twice if word == "WITHOUT" and sign == "-" else "-"
            elif (
                word not in _NEUTRAL_WORDS
                and word not in _EMPTY_WORDS
                and word not in _NEGATES_BEFORE | _NEGATES_AROUND
            ):
                found.setdefault(word, set()).add(around or ("-" if at < after else sign))
    return {word: frozenset(signs) for word, signs in found.items()}


def _split_clauses(text: str) -> list[list[str]]:
    clauses: list[list[str]] = [[]]
    for word in get_words(text.replace("`", " ")):  # commands count to the letter, as names
        if word in _SEPARATORS:
            clauses.append([])
        else:
            clauses[-1].append(word)
            if word in _NEGATES_BEFORE:
                clauses.append([])
    return clauses


def _find_letter_pairs(text: str) -> set[str]:
    wide = [word for clause in _split_clauses(text) for word in clause if word[0] >= _WIDE]
    return {word[at : at + 2] for word in wide for at in range(max(1, len(word) - 1))}


def _get_spelling(stems: list[str], text: str) -> str:
    """Return a missing word as the text spells it, for the message."""
    spelled = (word.strip(".,;:!?") for word in text.split())
    return next((word for word in spelled if set(get_words(word)) & set(stems)), stems[0])
