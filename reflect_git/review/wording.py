"""The text that is proposed: the user's own words, cleaned of talk, as an order where they were one.

Nothing is added that the user did not say, and no negation is ever dropped or put in: a sentence that cannot stand
alone stays as it was typed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from reflect_git.model.frames import Frame, frame_of, opposes
from reflect_git.model.schema import TRUSTS
from reflect_git.review.baseline import sentences_of

LONGEST = 400
_SENTENCES = 3
_I = re.IGNORECASE

# A word before the word, set off by a sign: "no,", "again:", "ah -". Some need no sign.
_SET_OFF = """no+|nope|nah|hmm+|hm|um|uh|ok(?:ay)?|k|yes|yeah|yep|wait|stop|w8|actually|again|remember|note|fyi|btw|hey
    |hi|oh|ah|sorry|look|listen|mate|dude|well|right|important|reminder|quick thing|one more thing|heads up|great|good
    |perfect|cool|nice|thanks|thank you|alright|sure|no no|(?:this|that) (?:is|sounds|looks) (?:good|great|fine|nice)
    |nein|ja|halt|moment|achtung|non|oui|attends|sí|oye|espera|ehi|aspetta|não|sim|espere|нет|да|стой|слушай|ну|please
    |bitte|tip|hint|ps|nb|ugh|argh|lol|guys|아니(?:요|야)?|いや|いいえ|不对|不是|不"""
_BARE = """hmm+|hm|um|uh|ok(?:ay)?|fyi|btw|hey|oh|ah|ugh|well|so|and|but|also|please|pls|plz|bitte|kindly|actually|just
    |mate|dude|guys"""
_OPENER = re.compile(
    rf"^(?:(?:{''.join(_SET_OFF.split(chr(10) + ' ' * 4))})(?:\s*[,:;.!…—–-]+\s+|[，、。！：]\s*)"
    rf"|(?:{''.join(_BARE.split(chr(10) + ' ' * 4))})\s+)",
    _I,
)
_POLITE = re.compile(
    r"\s*\b(?:please|pls|plz|kindly|thank you|thanks|thx|bitte|por favor|s'il (?:te|vous) pla[iî]t|per favore|"
    r"пожалуйста)(?!\w)(?! (?:note|see|for|to)\b)[ ]*|[,]?\s+(?:btw|lol|mate|dude|man|ok\?|okay\?|right\?)(?=[.!?]*$)",
    _I,
)
_EMOJI = re.compile("\\s*[\U0001f300-\U0001faff\u2600-\u27bf\ufe0f\u200d]+")
_BAN = r"(?:not|n't|nt)"
# What an order is wrapped in, and what is left of it.
_WRAPPINGS = tuple(
    (re.compile(f"^{pattern}", _I), order)
    for pattern, order in (
        (r"(?:i(?:'d| would) rather you (?:did ?n't|didnt|did not)) ", "Do not "),
        (r"(?:i (?:do ?n't|dont|do not) want you to) ", "Do not "),
        (rf"(?:you|we) (?:should|must) ?{_BAN} ", "Do not "),
        (r"(?:you|we) (?:shouldn't|shouldnt|mustn't) ", "Do not "),
        (r"(?:can|could|would|will) (?:you|we) (?:please |pls |also |just |maybe )*(?=not )", "Do "),
        (r"(?:can|could|would|will) you (?:please |pls |also |just |maybe )*(?=[a-z]+ )", ""),
        (r"(?:can|could) we (?:please |pls |also |just |maybe )*(?=(?:add|change|make|run|fix|keep|move|remove) )", ""),
        (r"(?:i want|i need|i(?:'d| would) like) (?:for )?you to (?=not )", "Do "),
        (r"(?:i want|i need|i(?:'d| would) like) (?:for )?you to ", ""),
        (
            r"(before|when|after|for|in) ([^,]{3,60}), (?:can|could) you (?:please |also |just |somehow )*(?=[a-z]+ )",
            r"\1 \2, ",
        ),
        (r"i think (?:that )?(?:we|you) should (?:also |just )?(?=not )", "Do "),
        (r"i think (?:that )?(?:we|you) should (?:also |just )?(?!have |be )(?=[a-z]+ )", ""),
        (r"let(?:'s|s| us) not ", "Do not "),
        (r"let(?:'s|s| us) (?:also |just )?", ""),
        (
            r"(?:you|we) (?:should|must|need to|have to|ought to) (?:also |just )?(?!not|n't|have |be )(?=[a-z]+ )",
            "",
        ),
        (r"(?:remember|make sure) to (?=[a-z]+ )", ""),
    )
)
_ASKED = re.compile(
    r"^did you (check|run|read|update|write|add|test|verify|use|look at|document|commit|lint|format)\b(.*?)\?*$", _I
)
_DONT = re.compile(r"\bdont\b", _I)
_POINTS = re.compile(r"^(?:it|it's|that|that's|this|they|these|those|them|there)\b", _I)
_ENDINGS = """py|js|jsx|ts|tsx|mjs|json|ya?ml|toml|md|txt|sh|go|rs|rb|java|kt|css|scss|html|sql|lock|env|ini|cfg|swift|c
    |h|cpp|vue|svelte|plist"""
_CODE = re.compile(
    r"(?<![`\w/.@<>-])((?<=use )--[a-z][\w-]+|(?<=with )--[a-z][\w-]+|(?<=without )--[a-z][\w-]+|"
    rf"(?:\.{{0,2}}/|~/)?(?:[\w.@-]+/)*[\w@-]*\.(?:{''.join(_ENDINGS.split(chr(10) + ' ' * 4))})|"
    r"(?:\.{1,2}/|~/|/)[\w.@-]+(?:/[\w.@-]+)*/?|[\w.@-]+(?:/[\w.@-]+)+/|[a-z]+(?:_[a-z0-9]+)+)(?![\w/`])",
    re.ASCII,
)
_FIX = re.compile(r"^`([^`]+)` fails here \(.*\); `([^`]+)` works$", re.DOTALL)
_AFTER = re.compile(r"^`([^`]+)` fails here \(.*\) until `([^`]+)` was run$", re.DOTALL)
_TWICE = re.compile(r"^`([^`]+)` failed twice: (.*)$", re.DOTALL)
_FAILED = re.compile(r"^Bash failed: (.+)$", re.DOTALL)


def proposal(signals: Sequence[Mapping[str, Any]]) -> str:
    """Of the signals of one candidate."""
    signal = spokesman(signals)
    content = " ".join(str(signal["content"]).split())
    found = _found_out(content)
    if found:
        return found
    if is_borrowed(signals):
        question, answer = _asked_and_answered(signal)
        return clip(f"{question} {_capital(_tidy(answer))}")
    return _said(content, str(signal["context"]))


def spokesman(signals: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """The signal that says most with the best right to say it; of two equals the first."""

    def weight(signal: Mapping[str, Any]) -> tuple[int, int]:
        frame = frame_of(str(signal["content"]))
        parts = bool(frame and frame.wanted) + bool(frame and frame.unwanted)
        return TRUSTS.index(signal["trust"]), -parts

    return min(signals, key=weight)


def is_borrowed(signals: Sequence[Mapping[str, Any]]) -> bool:
    """The answer says nothing without the assistant's question, so that the text is not the user's alone."""
    signal = spokesman(signals)
    question, answer = _asked_and_answered(signal)
    return bool(question) and (str(signal["content"]).startswith(question[:80]) or len(answer.split()) < 4)


def clip(text: str, limit: int = LONGEST) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1].rstrip()}…"


def _asked_and_answered(signal: Mapping[str, Any]) -> tuple[str, str]:
    context = str(signal["context"])
    if not context.startswith("asked: "):
        return "", ""
    question, _, answer = context.removeprefix("asked: ").partition("\nanswered: ")
    return question.strip(), answer.strip()


def _found_out(content: str) -> str:
    """What failed and what works. The cause is a tool's text: it is shown, never proposed."""
    fix = _FIX.match(content)
    if fix:
        return f"`{fix[1]}` fails here; use `{fix[2]}`"
    after = _AFTER.match(content)
    if after:
        return f"Run `{after[2]}` first: without it `{after[1]}` fails here"
    failed = _TWICE.match(content) or _FAILED.match(content)
    return f"`{failed[1].replace('`', chr(39))}` fails here" if failed else ""


def _said(content: str, context: str) -> str:
    text = _ordered(content)
    frame = frame_of(content)
    before, after = _neighbours(content, context)
    if frame and frame.unwanted and not frame.wanted and _is_alternative(after):
        text = f"{text.rstrip('.')}. {_ordered(after)}"
    elif _POINTS.match(text) and before and len(before) <= 160 and not before.endswith("?"):
        text = f"{_ordered(before).rstrip('.')}. {text}"
    text = _coded(" ".join(sentences_of(text)[:_SENTENCES]))
    return clip(text if _keeps_meaning(frame, text) else content)


def _keeps_meaning(frame: Frame | None, text: str) -> bool:
    """The last guard: what the text now orders is what was ordered."""
    now = frame_of(text) if frame else None
    return frame is None or now is None or not opposes(frame, now)


def _says_no(text: str) -> bool:
    return bool(_NO.search(text))


_NO = re.compile(
    r"\b(?:not|never|no|none|nor|neither|without|avoid|stop|refrain|instead|rather|\w+n['’]?t|cannot|nicht|kein\w*|nie(?:mals)?|"
    r"pas|jamais|sans|nunca|sin|non|mai|não|sem|не|нет|нельзя|никогда|без|hayır|nie|bez)\b|[不没別别勿禁]|ない|ません|안|않|말",
    _I,
)


def _ordered(sentence: str) -> str:
    """Without talk around it; an order begins with what is to be done. A no stays a no, a yes a yes."""
    text = _tidy(sentence)
    bare = _unwrapped(text)
    return bare if _says_no(bare) == _says_no(text) else _capital(text)


def _unwrapped(text: str) -> str:
    question = _ASKED.match(text)
    if question and not re.search(r"\b(not|n't|or|forget)\b", question[2]):
        return _capital(f"{question[1]}{question[2]}".strip())
    for pattern, order in _WRAPPINGS:
        shorter = pattern.sub(order, text, count=1)
        if shorter != text and len(shorter.split()) > 1:
            text = shorter.rstrip("?").rstrip()
            break
    text = _opened(text)
    frame = frame_of(text)
    if frame and frame.wanted and frame.unwanted:
        text = re.sub(r"^((?:always )?use [^,;]+?)(?<! and)(?<! but) (not|never) ", r"\1, \2 ", text, count=1, flags=_I)
    return _capital(text)


def _tidy(sentence: str) -> str:
    text = _EMOJI.sub("", " ".join(sentence.split())).strip().lstrip("-*• ").strip()
    text = _DONT.sub(lambda found: "Don't" if found[0][0] == "D" else "don't", text)
    text = _opened(_POLITE.sub(" ", _opened(text)).strip())
    text = re.sub(r"\s+([,.!?;:]+)(?=\s|$)", r"\1", text).strip(" ,;:—–-")
    text = re.sub(r"!+$", "", text)
    text = text[1:] if text.startswith("(") and ")" not in text else text
    is_one = len(sentences_of(text)) == 1
    return text[:-1].rstrip() if is_one and text.endswith((".", "。")) and not text.endswith("..") else text


def _opened(text: str) -> str:
    """Openers go one by one, as long as something is left."""
    while True:
        shorter = _OPENER.sub("", text, count=1)
        if shorter == text or not shorter.strip():
            return text
        text = shorter.lstrip()


def _capital(text: str) -> str:
    """A sentence begins with a capital; a name, a command or a path does not."""
    first = text.split(None, 1)[0] if text else ""
    is_name = not re.sub("['-]", "", first.rstrip(",.:;")).isalpha() or not first.islower()
    return text if is_name or _is_tool(first) else text[:1].upper() + text[1:]


def _is_tool(word: str) -> bool:
    return word in _TOOLS


_TOOLS = frozenset(
    """npm pnpm yarn npx bun deno git gh docker kubectl cargo pip uv poetry ruff pytest jest vitest eslint prettier tsc
    tox apt curl zsh bash terraform gradle mvn""".split()
)


def _coded(text: str) -> str:
    """File names, paths and flags as code, outside of what is code already."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return text
    return "`".join(part if at % 2 else _CODE.sub(r"`\1`", part) for at, part in enumerate(parts))


def _neighbours(content: str, context: str) -> tuple[str, str]:
    sentences = [one for line in context.splitlines()[:40] for one in sentences_of(line)]
    plain = content.strip(" .!?…")
    at = next((at for at, one in enumerate(sentences) if plain and plain in " ".join(one.split())), -1)
    if at < 0:
        return "", ""
    before = sentences[at - 1] if at > 0 else ""
    return before, sentences[at + 1] if at + 1 < len(sentences) else ""


def _is_alternative(sentence: str) -> bool:
    """The next sentence says what to do in its place."""
    if (
        not sentence
        or len(sentence) > 160
        or sentence.endswith("?")
        or re.search(r"\b(not|never|no)\b|n't\b", sentence, _I)
    ):
        return False
    return bool(_INSTEAD.search(_tidy(sentence)))


_INSTEAD = re.compile(r"^(?:just |always )*(?:use|go back to|keep|stick (?:to|with)|prefer|take)\b|\binstead$", _I)
