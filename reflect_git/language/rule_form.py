"""Decide whether a sentence works as a rule by itself, drop the filler around it, and find its end date.

A proposed rule must read as a lasting instruction for someone who was not there. When in doubt it is not proposed: the
person sees a quote that still needs wording. The patterns are in `knowledge/wording.json`.
"""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import date, timedelta
from functools import cache, lru_cache

from reflect_git.language.parse import parse_frame
from reflect_git.language.words import BAN_MARKS, ORDER_VERBS, WE_WORDS, load_table, load_words, plain_words, stem

RULE_LIMIT = 240
_IGNORE_CASE = re.IGNORECASE
_EMOJI_PATTERN = "[\U0001f300-\U0001faff\u2600-\u27bf\ufe0f\u200d]+"
_EDGE_EMOJI = re.compile(rf"^(?:{_EMOJI_PATTERN}\s*)+|(?:\s*{_EMOJI_PATTERN})+(?=[.!?)]*$)|(?:\s+[:;]-?[)D(|P]+)+$")
_LIST_MARKER = re.compile(r"^(?:[-*•+]+\s+|\(?\d{1,2}[.)]\s+|#+\s+)")
_PAIR_PATTERN = re.compile(
    r"^(`[^`]+`|[\w./+-]+(?: [\w./+-]+)?), not (`[^`]+`|[\w./+-]+(?: [\w./+-]+)?)$", _IGNORE_CASE
)
_USE_PAIR = re.compile(r"^((?:always )?use [^,;]+?)(?<! and)(?<! but) (not|never) ", _IGNORE_CASE)
_PRONOUN = re.compile(r"\b(?:it|its|it's|them|they|their|theirs|there|he|she)\b(?!-)", _IGNORE_CASE)
_SMALL_I = re.compile(
    r"(?<![\w.`/-])i(?=['’](?:m|d|ll|ve)\b| (?:am|do|dont|don't|have|need|want|prefer|like|use|run|will|ask|say)\b)"
)
_CLAUSE_START = re.compile(
    r"[,;:(—–]| (?:because|since|so|before|after|when|if|unless|until|that|whenever|once) ", _IGNORE_CASE
)
_SHOUTED_WORDS = re.compile(r"(?:\b[A-Z]{3,}\b[ ,]*){3}")  # two may be names
_CONTEXT_NOUNS = re.compile(
    r"(?:wrong|right|better|bad|good|it|that|this|what|yes|no|ok|sure|done|wait)$", _IGNORE_CASE
)
_STOP_DOING = re.compile(r"^stop (\w+ing)\b(?!.*(?:,|\band|\bor) \w+ing\b)", _IGNORE_CASE)
_STRONG_MARKS = frozenset(("ALWAYS", "ONLY", "PREFER", "INSTEAD", "INSTEADPOST", "WITHOUT")) | BAN_MARKS
_USE_MARKS = frozenset(("USE", "USEPOST"))  # of a long sentence, this alone may be a task
_MIN_STANDING_WORDS = 4  # "pull rebase first" may be meant for one call


@cache
def _compile_patterns(*path: str) -> re.Pattern[str]:
    """Compile all patterns of one list of the table into one."""
    found = load_table("wording")
    for name in path:
        found = found[name]
    return re.compile("|".join(f"(?:{pattern})" for pattern in found), _IGNORE_CASE)


@cache
def _compile_opener() -> re.Pattern[str]:
    words = load_table("wording")
    set_off, bare, fault = ("|".join(words[name]) for name in ("opener_set_off", "opener_bare", "fault"))
    return re.compile(
        rf"^(?:(?:{set_off}|{fault})(?:\s*[,:;.!…—–-]+\s+|[，、。！：]\s*)|(?:{bare})\s+|请(?![求问勿假教]))(?![,.;:!?)])",
        _IGNORE_CASE,
    )


@cache
def _compile_ending() -> re.Pattern[str]:
    words = load_table("wording")
    polite = "|".join(words["polite"])
    return re.compile(rf"(?:\s*,?\s*\b(?:{polite})|{'|'.join(words['tail'])})\s*[.!]*$", _IGNORE_CASE)


@cache
def _compile_politeness() -> re.Pattern[str]:
    polite = "|".join(load_table("wording")["polite"])
    return re.compile(rf"\s*,?\s*(?<![\w'])(?:{polite})(?![\w'])(?! (?:note|see|for|to)\b),?(?= )", _IGNORE_CASE)


@cache
def _load_gerunds() -> dict[str, str]:
    """Map "adding" to "add", for common verbs."""
    verbs = load_table("wording")["stoppable"].split()
    return {f"{form}ing": verb for verb in verbs for form in (verb, verb.removesuffix("e"), verb + verb[-1])}


def _format_ban(stop: re.Match[str]) -> str:
    return f"Do not {verb}" if (verb := _load_gerunds().get(stop[1].lower())) else stop[0]


def tidy_sentence(sentence: str) -> str:
    """Return the sentence without filler, starting with a capital; no negation is dropped or added."""
    text = _LIST_MARKER.sub("", _EDGE_EMOJI.sub("", " ".join(sentence.split())).strip()).strip()
    text = _trim_filler(text)
    for pattern, plain, flag in load_table("wording")["wrapped"]:
        found = re.match(pattern, text, _IGNORE_CASE)
        if found and len(text[found.end() :].split()) > 1 - bool(plain):
            rest = text[found.end() :]
            text = f"{found.expand(plain)}{rest.rstrip('?') if flag == '?' else rest}"
            break
    text = _SMALL_I.sub("I", _STOP_DOING.sub(_format_ban, text))
    text = _USE_PAIR.sub(r"\1, \2 ", re.sub(r"(?i)^dont\b", "Don't", re.sub(r"\bdont\b", "don't", text)), count=1)
    pair = _PAIR_PATTERN.match(text)
    if pair and not any(_CONTEXT_NOUNS.search(side) for side in pair.groups()) and not is_verb(text.split()[0]):
        text = f"Use {text}"
    bare = re.sub(r"(?:(?<!\.)\.|。|(?<!\?)!+)$", "", text).rstrip(" ,;")
    return capitalize_sentence(bare or text)


def _trim_filler(text: str) -> str:
    """Drop openers, politeness and tails one by one, as long as something is left.

    A comma behind a "please" stays: it may part two clauses."""

    def comma(polite: re.Match[str]) -> str:
        return "," if polite.start() and polite[0].endswith(",") else ""

    for _ in range(8):
        shorter = _compile_ending().sub("", _compile_politeness().sub(comma, _compile_opener().sub("", text, count=1)))
        shorter = re.sub(r"^\((.*)\)$", r"\1", shorter).strip()
        if shorter == text or len(shorter) < 3:
            break
        text = shorter
    return text


def capitalize_sentence(text: str) -> str:
    """Start with a capital, unless the text starts with a name, a command or a path."""
    first = text.split(None, 1)[0] if text else ""
    is_name = not re.sub("['’-]", "", first.rstrip(",.:;")).isalpha() or not first.islower() or max(first) >= "\u3040"
    return text if is_name or first in load_table("wording")["tools"].split() else text[:1].upper() + text[1:]


def is_english(text: str) -> bool:
    """Return whether a text is English, by its function words; a text of names alone counts as English."""
    if any(sign >= "\u00c0" and sign.isalpha() for sign in text):
        return False
    words = set(re.findall(r"(?<!\S)[\w'’]+(?=[\s,.;:!?]|$)", text.lower().replace("’", "'")))
    known = load_table("wording")
    foreign = len(words & set(known["foreign"].split()))
    return not foreign or foreign < len(words & set(known["english"].split()))


def find_rule_fault(text: str, said: str = "", is_standing: bool = False) -> str:
    """Return why a text is not a rule by itself, in a few words; empty if it is one.

    `said` is the sentence as typed: "from now on" makes it last, although the rule does not repeat it. `is_standing`
    says that the message was recognised as lasting when it was captured, so that it needs no word such as "always".
    """
    fault = find_sentence_fault(text)
    if fault or _compile_patterns("rant").search(text) or _SHOUTED_WORDS.search(text):
        return fault or "is a rant"
    if _compile_patterns("broken").search(text):
        return "is no whole sentence"
    language = "en" if is_english(text) else "other"
    if _compile_patterns("points", language).search(text) or (language == "en" and _has_unclear_pronoun(text)):
        return "points at its context"
    if _compile_patterns("report", language).search(
        _compile_patterns("condition").sub("", text)
    ):  # "unless I ask" is no report
        return "tells what happened"
    is_whole = "(" not in text and (len(text.split()) >= _MIN_STANDING_WORDS or max(text) >= "\u3040")
    return "" if (is_standing and is_whole) or _is_lasting(text, said or text, language) else "is a single task"


def find_sentence_fault(text: str, longest: int = RULE_LIMIT) -> str:
    """Return why a text is incomplete: a secret was removed, or it is a question, too long, pasted or cut off."""
    if "[redacted" in text.lower():
        return "had a secret in it"
    if is_question(text):
        return "is a question"
    if len(text) > longest:
        return "is too long"
    if _compile_patterns("pasted").search(text):
        return "is pasted"
    is_cut = text.count("`") % 2 or text.count('"') % 2 or text.count("(") != text.count(")")
    is_short = len(text.split()) < 2 and not max(text, default="") >= "\u3040"
    return "is no whole sentence" if is_cut or is_short or _compile_patterns("cut").search(text) else ""


def is_question(text: str) -> bool:
    return bool(_compile_patterns("question").search(text))


def _has_unclear_pronoun(text: str) -> bool:
    """Return whether a pronoun refers to something that the sentence has not named before."""
    found = _PRONOUN.search(text)
    if found is None:
        return False
    before = text[: found.start()]
    return len(before.split()) < 3 or not _CLAUSE_START.search(before)


def _is_lasting(text: str, said: str, language: str) -> bool:
    if _compile_patterns("lasting", language).search(text) or find_end_date(text, "2000-01-01"):
        return True
    if language == "en":
        return bool(_compile_patterns("lasting_lead").search(said)) and is_verb(text.split(maxsplit=1)[0])
    marks, count = set(plain_words(text)), len(text.split())
    if count < 3 and max(text) < "\u3040" and "`" not in text and "USE" not in marks:
        return False
    is_brief = count < 5 or "`" in text or text.split(maxsplit=1)[0].lower() in WE_WORDS
    return not marks.isdisjoint(_STRONG_MARKS) or (is_brief and not marks.isdisjoint(_USE_MARKS))


def may_limit_neighbor(sentence: str) -> bool:
    """Tell whether a sentence may restrict the one beside it: "but", "only", "except"."""
    return bool(_compile_patterns("limits").search(sentence))


def is_verb(word: str) -> bool:
    return stem(word.lower()) in ORDER_VERBS or word.lower() in load_table("wording")["verbs"].split()


@cache
def _compile_momentary(name: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in load_table("moment")[name]), re.IGNORECASE)


@lru_cache(maxsize=16384)
def is_momentary(text: str) -> bool:
    """Return whether a text is only about what was just done or about this once.

    "Why did you use npm instead of pnpm?" says what to use instead of what, so it does not count. "That file instead of
    this one" only refers to something else. A rant that contains an instruction ("ugh, use tabs") is not a mere rant.
    Of 80 labelled questions that name neither the agent nor something unwanted ("question"), eight carry a lasting
    lesson.
    """
    if _compile_momentary("standing").search(text):
        return False
    if _compile_momentary("elsewhere").search(text):
        return True
    if _compile_momentary("fleeting").search(text):
        return not _compile_momentary("contrast").search(text)
    is_rant = _compile_momentary("rant").search(text) and parse_frame(text) is None
    return bool(is_rant or _compile_momentary("question").search(text))


_WORD_PATTERN = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_PRONOUNS, _POINTING_WORDS, _ORDINALS = (load_words("pointing", name) for name in ("pronouns", "pointing", "ordinals"))
_ARTICLES, _EMPTY_WORDS, _THING_WORDS = (load_words("pointing", name) for name in ("articles", "empty", "things"))


def has_pronoun(text: str) -> bool:
    """Return whether a pronoun refers to something outside the text: "it", "that", "these"."""
    return not _PRONOUNS.isdisjoint(_split_words(text))


def has_only_pronouns(text: str) -> bool:
    """Return whether nothing says what the text is about: only pronouns, ordinals and verbs that fit anything."""
    words = _split_words(text)
    pointed = False
    for word, before in zip(words, ["", *words]):
        if word in _POINTING_WORDS or (word in _ORDINALS and before in _ARTICLES):
            pointed = True
        elif word not in _EMPTY_WORDS and not (word in _THING_WORDS and before in _POINTING_WORDS | _ORDINALS):
            return False
    return pointed


def _split_words(text: str) -> list[str]:
    return [word.replace("’", "'") for word in _WORD_PATTERN.findall(text.lower())]


def find_end_date(text: str, said: str) -> str:
    """Return the end date as YYYY-MM-DD, or an empty text.

    A month without a year is the next one after the day it was `said`.
    """
    words = load_table("enddates")
    found = _compile_until().search(text)
    if found is None:
        return ""
    if found["iso"]:
        return _format_day(*map(int, found["iso"].split("-")))
    today, name, is_end = date.fromisoformat(said[:10]), found["name"].lower(), bool(found["end"])
    year = int(found["year"]) if found["year"] else 0
    if name in words["weekdays"]:
        return (today + timedelta(days=(words["weekdays"][name] - today.weekday()) % 7 or 7)).isoformat()
    if not name:
        return _format_day(year + is_end, 1, 1)
    is_quarter = name not in words["months"]
    month = 3 * int(name[1]) - 2 if is_quarter else words["months"][name]
    month += 2 * (is_quarter and is_end)
    for each in (year,) if year else (today.year, today.year + 1):
        last = monthrange(each, month)[1] if is_end else int(found["day"] or found["later"] or 1)
        if year or _format_day(each, month, last) > today.isoformat():
            return _format_day(each, month, last)
    return ""


def _format_day(year: int, month: int, day: int) -> str:
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return ""


@cache
def _compile_until() -> re.Pattern[str]:
    words = load_table("enddates")
    until, end = "|".join(words["until"]), "|".join(words["end"])
    names = "|".join(sorted([*words["months"], *words["weekdays"], "q[1-4]"], key=lambda name: -len(name)))
    return re.compile(
        rf"(?<!\w)(?:{until})\s+(?:at least |mindestens |au moins |al menos |almeno )?(?P<end>(?:{end})\s+)?"
        rf"(?:(?P<iso>\d{{4}}-\d\d-\d\d)(?!\d)|(?:(?P<day>\d{{1,2}})(?:st|nd|rd|th|\.|er|º)?\s+(?:of |de |d')?)?"
        rf"(?P<name>(?:{names})(?!\w)|(?=\d{{4}}(?![\d.-])))(?:\s+(?P<later>\d{{1,2}})(?:st|nd|rd|th)?(?!\d))?"
        rf"(?:,?\s*(?:de )?(?P<year>20\d\d)(?![\d.-]))?)",
        re.IGNORECASE,
    )
