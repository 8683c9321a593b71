"""One sentence of a person as an order: without the talk around it, in their own words.

Nothing is added but "do not", "no", "stop", "use" and "yourself", which the user's form implied, and no negation is
dropped or put in, except where a reproach says the opposite of its words: "why don't you lint" wants linting. What no
rule fits stays as it was typed.
"""

from __future__ import annotations

import re

from reflect_git.model.frames import frame_of
from reflect_git.model.plainwords import plain_words
from reflect_git.review import talk


def ordered(sentence: str) -> str:
    """Without talk around it; an order begins with what is to be done. A no stays a no, a yes a yes."""
    text = " ".join(sentence.split())
    spans = list(dict.fromkeys(talk.SPAN.findall(text)))
    if talk.PRIVATE.search(text) or len(spans) > 1000:
        return text
    # What is quoted is not read: its letters stand aside under a sign that nobody types.
    for place, span in enumerate(spans, 0xE000):
        text = text.replace(span, chr(place))
    bare = _tidy(text)
    bare = f"Use {bare}" if bare in talk.TOOLS else bare  # "pnpm please"
    text = capital(_unwrapped(bare if any(map(str.isalnum, bare)) or talk.PRIVATE.search(bare) else text))
    return talk.PRIVATE.sub(lambda found: spans[ord(found[0]) - 0xE000], text)


def says_no(text: str) -> bool:
    return bool(talk.NO.search(text))


def _unwrapped(text: str) -> str:
    """One wrapping after the other, as long as what is left is a sentence and says no as often."""
    for _ in range(4):
        shorter = _reproached(text) or _once(text)
        if shorter == text:
            break
        text = _opened(shorter)
    frame = frame_of(text)
    if frame and frame.wanted and frame.unwanted:
        text = talk.PAIR.sub(r"\1, \2 ", text, count=1)
    return text


def _once(text: str) -> str:
    lead = talk.LEAD.match(text)
    if lead and not talk.SPLIT_UP.search(lead["before"]) and len(text[lead.end() :].split()) > 1:
        return text[lead.end() :]
    first = talk.first_word(text)
    for form, order in talk.WRAPPINGS:
        found = form.match(text, first)
        if found is None:
            continue
        shorter = (found.expand(order) if isinstance(order, str) else order(found)) + text[found.end() :]
        if shorter != text and len(shorter.split()) > 1 and (says_no(shorter) == says_no(text) or order == talk.STOP):
            return _unasked(shorter) if talk.REQUEST.match(text) else shorter
    return text


def _unasked(text: str) -> str:
    return text.rstrip("?").rstrip() if text.count("?") == 1 else text


def _reproached(text: str) -> str:
    """Of a question that is none."""
    first = talk.first_word(text)
    found = talk.ASKED.match(text, first)
    if found and not re.search(r"\b(?:not|n't|or|forget)\b", found["act"]):
        return found["act"].strip()
    found = talk.MADE.match(text, first)
    if found and not says_no(found["what"]):
        return f"{found['verb']} {found['what']}"
    found = talk.WHY_NOT.match(text, first)
    if found and not says_no(found["act"]):
        return found["act"]
    found = talk.SHOULD_NOT.match(text, first)
    if found and not talk.NOT.search(found["act"] or found["used"]):
        return found["act"] or f"Use {found['used']}"
    found = talk.TOLD.match(text, first)
    if found:
        return found["act"]
    found = talk.NOT_USING.match(text, first)
    if found:
        return f"Use {found['what']}"
    found = talk.UNABLE.match(text, first)
    if found:
        return found["act"]
    found = talk.COULD_NOT.match(text, first)
    if found and not talk.NOT.search(found["act"] or found["other"]):
        return str(found["act"] or found["other"])
    found = talk.WHY_DID.match(text, first)
    if found and (found["loud"] or len(found["end"]) > 1) and not says_no(found["act"]):
        asking = " without asking" if found["loud"] and "without asking" in found["loud"].lower() else ""
        return f"Do not {found['act']}{asking}"
    found = talk.WHY_NOW.match(text, first)
    return f"{talk.STOP}{found['act']}" if found and not says_no(found["act"]) else ""


def _tidy(text: str) -> str:
    text = talk.EDGES.sub("", text).strip()
    text = talk.MARKER.sub("", text).strip()
    text = talk.DONT.sub(lambda found: "Don't" if found[0][0] == "D" else "don't", text)
    text = talk.YOU.sub(r"\1 you", text)
    text = talk.SHOULD_HAVE.sub(lambda found: f"{found[1] or found[2]} have", text)
    text = talk.TAG.sub("", _opened(talk.POLITE.sub(_unpolite, _opened(text)).strip()))
    text = talk.VOICE.sub("I", talk.VENTED.sub("", talk.MISTAKEN.sub("", text)))
    text = talk.LETS.sub(r"\1 ", text)
    text = re.sub(r"\s+([,.!?:]+)(?=\s|$)", r"\1", text)  # a lone ";" may be what is talked about
    text = re.sub(r"[,;:]\s*\)", ")", text).replace("( ", "(").strip(" ,;:—–-")
    text = talk.RECORDED.sub("", _unbracketed(text))
    return _stopped(text)


def _unbracketed(text: str) -> str:
    if text.startswith("(") and ")" not in text:
        return text[1:]
    return text[1:-1] if text.startswith("(") and text.endswith(")") and text.count("(") == 1 else text


def _unpolite(found: re.Match[str]) -> str:
    """A comma that stood on both sides of it stays once."""
    return ", " if found["after"] and found[0].lstrip().startswith(",") else " "


def _stopped(text: str) -> str:
    """Without the sign at its end, unless it is a question."""
    bare = re.sub(r"(?:(?<!\.)\.|。|\.{3,}|(?<!\?)!+)$", "", text).rstrip()
    return _stopped(bare) if bare != text and bare else text


def _opened(text: str) -> str:
    """Openers go one by one, as long as something is left."""
    while True:
        shorter = talk.PRAISED.sub("", talk.OPENER.sub("", _unled(_unfaulted(text)), count=1), count=1)
        if shorter == text or not shorter.strip():
            return text
        text = shorter.lstrip()


def _unfaulted(text: str) -> str:
    """Without "that's wrong:" before a rule; before a reason or a finding, it is what these are about."""
    found = talk.FAULTED.match(text)
    rest = text[found.end() :] if found else ""
    if not rest or talk.EXPLAINS.match(rest):
        return text
    is_rule = talk.DO.match(rest) or frame_of(rest) or not _ORDERING.isdisjoint(plain_words(rest)[:2])
    return rest if is_rule else text


_ORDERING = frozenset(("ALWAYS", "BAN", "ONLY", "PREFER", "USE"))


def _unled(text: str) -> str:
    """Without a lead of small talk alone."""
    found = talk.LEADING.match(text)
    if found is None:
        return text
    plain = talk.SMALL_PHRASES.sub("ok", re.sub(r"(\w)\1\1+", r"\1", found["lead"].casefold()))
    lead = re.findall(r"[\w'’]+", plain)
    is_talk = bool(lead) and all(word in talk.SMALL for word in lead) and not talk.NO_MORE.search(plain)
    return text[found.end() :] if is_talk else text


def capital(text: str) -> str:
    """A sentence begins with a capital; a name, a command or a path does not."""
    first = text.split(None, 1)[0] if text else ""
    is_name = not re.sub("['-]", "", first.rstrip(",.:;")).isalpha() or not first.islower() or max(first) >= "\u3040"
    return text if is_name or first in talk.TOOLS else text[:1].upper() + text[1:]


def coded(text: str) -> str:
    """File names, paths and flags as code, outside of what is code already or part of a command."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return text
    return "`".join(part if at % 2 else talk.CODE.sub(_as_code, part) for at, part in enumerate(parts))


def _as_code(found: re.Match[str]) -> str:
    before = found.string[: found.start()].split()[-4:]
    in_command = any(word in talk.TOOLS for word in before)
    return found[0] if in_command or found.string[found.end() : found.end() + 1] == '"' else f"`{found[0]}`"
