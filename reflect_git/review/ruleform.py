"""Decide whether a sentence works as a rule by itself, and drop the talk around it.

A text that is proposed as a rule must read as a standing instruction for someone who was not there. When in doubt it is
not proposed: the person sees it as a quote that still needs wording. The patterns are in `knowledge/wording.json`.
"""

from __future__ import annotations

import re
from functools import cache

from reflect_git.model.phrases import ORDERS, US
from reflect_git.model.plainwords import BANS, plain_words, stem
from reflect_git.model.tables import table

LONGEST = 240
_I = re.IGNORECASE
_EMOJI = "[\U0001f300-\U0001faff\u2600-\u27bf\ufe0f\u200d]+"
_EDGES = re.compile(rf"^(?:{_EMOJI}\s*)+|(?:\s*{_EMOJI})+(?=[.!?)]*$)|(?:\s+[:;]-?[)D(|P]+)+$")
_MARKER = re.compile(r"^(?:[-*•+]+\s+|\(?\d{1,2}[.)]\s+|#+\s+)")
_PAIR = re.compile(r"^(`[^`]+`|[\w./+-]+(?: [\w./+-]+)?), not (`[^`]+`|[\w./+-]+(?: [\w./+-]+)?)$", _I)
_USE_PAIR = re.compile(r"^((?:always )?use [^,;]+?)(?<! and)(?<! but) (not|never) ", _I)
_PRONOUN = re.compile(r"\b(?:it|its|it's|them|they|their|theirs|there|he|she)\b(?!-)", _I)
_LATER = re.compile(r"[,;:(—–]| (?:because|since|so|before|after|when|if|unless|until|that|whenever|once) ", _I)
_CONTEXT_NOUNS = re.compile(r"(?:wrong|right|better|bad|good|it|that|this|what|yes|no|ok|sure|done|wait)$", _I)
_STRONG = frozenset(("ALWAYS", "ONLY", "PREFER", "INSTEAD", "INSTEADPOST", "WITHOUT")) | BANS
_USING = frozenset(("USE", "USEPOST"))  # of a long sentence, this alone may be a task


@cache
def _any(*path: str) -> re.Pattern[str]:
    """Compile all patterns of one list of the table into one."""
    found = table("wording")
    for name in path:
        found = found[name]
    return re.compile("|".join(f"(?:{pattern})" for pattern in found), _I)


@cache
def _opener() -> re.Pattern[str]:
    words = table("wording")
    set_off, bare, fault = ("|".join(words[name]) for name in ("opener_set_off", "opener_bare", "fault"))
    return re.compile(
        rf"^(?:(?:{set_off}|{fault})(?:\s*[,:;.!…—–-]+\s+|[，、。！：]\s*)|(?:{bare})\s+|请(?![求问勿假教]))(?![,.;:!?)])",
        _I,
    )


@cache
def _ending() -> re.Pattern[str]:
    words = table("wording")
    polite = "|".join(words["polite"])
    return re.compile(rf"(?:\s*,?\s*\b(?:{polite})|{'|'.join(words['tail'])})\s*[.!]*$", _I)


@cache
def _politeness() -> re.Pattern[str]:
    polite = "|".join(table("wording")["polite"])
    return re.compile(rf"\s*,?\s*(?<![\w'])(?:{polite})(?![\w'])(?! (?:note|see|for|to)\b),?(?= )", _I)


@cache
def _wrappers() -> list[tuple[re.Pattern[str], str, str]]:
    return [(re.compile(rf"^{pattern}", _I), plain, flag) for pattern, plain, flag in table("wording")["wrapped"]]


def tidy(sentence: str) -> str:
    """Return the sentence without talk around it, beginning with a capital; no negation is dropped or added."""
    text = _MARKER.sub("", _EDGES.sub("", " ".join(sentence.split())).strip()).strip()
    text = _trimmed(text)
    for pattern, plain, flag in _wrappers():
        found = pattern.match(text)
        if found and len(text[found.end() :].split()) > 1 - bool(plain):
            rest = text[found.end() :]
            text = f"{found.expand(plain)}{rest.rstrip('?') if flag == '?' else rest}"
            break
    text = _USE_PAIR.sub(r"\1, \2 ", re.sub(r"(?i)^dont\b", "Don't", re.sub(r"\bdont\b", "don't", text)), count=1)
    pair = _PAIR.match(text)
    if pair and not any(_CONTEXT_NOUNS.search(side) for side in pair.groups()) and not _is_verb(text.split()[0]):
        text = f"Use {text}"
    bare = re.sub(r"(?:(?<!\.)\.|。|(?<!\?)!+)$", "", text).rstrip(" ,;")
    return capital(bare or text)


def _comma(polite: re.Match[str]) -> str:
    """Keep the comma behind a "please": it may part two clauses."""
    return "," if polite.start() and polite[0].endswith(",") else ""


def _trimmed(text: str) -> str:
    """Drop openers, politeness and tails one by one, as long as something is left."""
    for _ in range(8):
        shorter = _ending().sub("", _politeness().sub(_comma, _opener().sub("", text, count=1)))
        shorter = re.sub(r"^\((.*)\)$", r"\1", shorter).strip()
        if shorter == text or len(shorter) < 3:
            break
        text = shorter
    return text


def capital(text: str) -> str:
    """Begin with a capital; a name, a command or a path stays as it is."""
    first = text.split(None, 1)[0] if text else ""
    is_name = not re.sub("['’-]", "", first.rstrip(",.:;")).isalpha() or not first.islower() or max(first) >= "\u3040"
    return text if is_name or first in table("wording")["tools"].split() else text[:1].upper() + text[1:]


def is_english(text: str) -> bool:
    """Tell by the small words; a text of names alone counts as English."""
    if any(sign >= "\u00c0" and sign.isalpha() for sign in text):
        return False
    words = set(re.findall(r"(?<!\S)[\w'’]+(?=[\s,.;:!?]|$)", text.lower().replace("’", "'")))
    known = table("wording")
    foreign = len(words & set(known["foreign"].split()))
    return not foreign or foreign < len(words & set(known["english"].split()))


def why_not(text: str, said: str = "") -> str:
    """Return why a text is no rule by itself, in a few words; empty if it is one.

    `said` is the sentence as typed: "from now on" makes it last, although the rule does not repeat it.
    """
    fault = why_not_whole(text) or _is_heated(text)
    if fault:
        return fault
    if _any("broken").search(text):
        return "is no whole sentence"
    language = "en" if is_english(text) else "other"
    if _any("points", language).search(text) or (language == "en" and _points(text)):
        return "points at its context"
    is_lasting = _is_lasting(text, said or text, language)
    if _any("report", language).search(_of_later(text)):
        return "tells what happened"
    return "" if is_lasting else "is a single task"


def _of_later(text: str) -> str:
    """Drop what the person does or wants as a condition: "unless I ask", "when I say so"."""
    return _any("condition").sub("", text)


def why_not_whole(text: str, longest: int = LONGEST) -> str:
    """Return why a text cannot stand as it is: a secret was cut out, it is a question, too long, pasted or cut off."""
    if "[redacted" in text.lower():
        return "had a secret in it"
    if is_question(text):
        return "is a question"
    if len(text) > longest:
        return "is too long"
    if _any("pasted").search(text):
        return "is pasted"
    is_cut = text.count("`") % 2 or text.count('"') % 2 or text.count("(") != text.count(")")
    is_short = len(text.split()) < 2 and not max(text, default="") >= "\u3040"
    return "is no whole sentence" if is_cut or is_short or _any("cut").search(text) else ""


def is_question(text: str) -> bool:
    return bool(_any("question").search(text))


def _is_heated(text: str) -> str:
    return "is a rant" if _any("rant").search(text) or _is_shouted(text) else ""


def _is_shouted(text: str) -> bool:
    """Tell three words in capitals in a row; two may be names."""
    return bool(re.search(r"(?:\b[A-Z]{3,}\b[ ,]*){3}", text))


def _points(text: str) -> bool:
    """Tell whether a pronoun stands for something that the sentence has not named before."""
    found = _PRONOUN.search(text)
    if found is None:
        return False
    before = text[: found.start()]
    return len(before.split()) < 3 or not _LATER.search(before)


def _is_lasting(text: str, said: str, language: str) -> bool:
    if _any("lasting", language).search(text):
        return True
    if language == "en":
        return bool(_any("lasting_lead").search(said)) and _is_verb(text.split(maxsplit=1)[0])
    marks, count = set(plain_words(text)), len(text.split())
    if count < 3 and max(text) < "\u3040" and "`" not in text and "USE" not in marks:
        return False
    is_brief = count < 5 or "`" in text or text.split(maxsplit=1)[0].lower() in US
    return not marks.isdisjoint(_STRONG) or (is_brief and not marks.isdisjoint(_USING))


def _is_verb(word: str) -> bool:
    return stem(word.lower()) in ORDERS or word.lower() in table("wording")["verbs"].split()
