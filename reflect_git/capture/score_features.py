"""Compute the features of a message for the scorer: facts, and hashes of its words and letters."""

from __future__ import annotations

from binascii import crc32
from itertools import combinations, repeat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

BUCKETS = 1 << 14
_BUCKET_MASK = BUCKETS - 1
OPENINGS = 1 << 12
KINDS = ("correction", "convention", "praise", "workflow", "prohibition", "durable", "gotcha", "neutral")
# Classes of English words, of words for `use X instead of Y` in every language, and of tools (knowledge/cues.json).
CUES = (
    "ugly compare believe seems contrast did_we tag inform whyq meta tests gitwords codewords design product fails "
    "review choice greet cond univ neg oblige wish lets already youact weact itbad demand undo taskverb nod hes fact "
    "mine plan quote function use instead tool"
).split()
_CUE_NAMES = [f"cue_{cue}" for cue in CUES[:-4]]  # the last four are not facts
_FUNCTION_BIT, USE_BIT, INSTEAD_BIT, TOOL_BIT = (
    1 << len(KINDS) + CUES.index(cue) for cue in ("function", "use", "instead", "tool")
)
MAX_PHRASE_WORDS = 4
FIRST_WIDE_LETTER = "⺀"  # letters from here on are written without spaces
_MAX_WIDE_LETTERS = 8
_MAX_WIDE_PLACES = 40
_MAX_LETTER_BYTES = 440
_GRAM_BYTES = 4  # combining three to five ranks no better and takes three times as long
_MAX_WORDS = 80
_HEAD_LIMIT, _TAIL_LIMIT = 280, 120
_SHAPE_LIMIT = 1000
_MAX_OPENING_WORDS = 6
_ASSISTANT_LIMIT = 400  # labelled messages contain no more of it

TASK_WORDS = frozenset(
    "add create make fix implement update remove delete rename move write run check review show open explain list "
    "print commit push merge rebase switch generate build install deploy test refactor simplify change convert set "
    "continue proceed start log address resolve handle find look read try ensure give tell compare".split()
)
_YES_WORDS = frozenset(
    "yes yeah yep yup ok okay sure great cool nice good perfect awesome thanks thx k right alright".split()
)
_NO_WORDS = frozenset(
    "no nope nah not never stop wait hmm hm uhm um ehh eh uh ah oh wow but why w8 hold again lol".split()
)
_ASK_WORDS = frozenset(
    "what where when who which how is are does do can could would will should has have did was".split()
)
_CONTRAST_WORDS = frozenset("instead over not rather nicht statt".split())
_USE_WORDS = frozenset("use run prefer call try using running take".split())
_DONE_WORDS = (
    "done",
    "all tests pass",
    "pushed",
    "committed",
    "complete",
    "fixed",
    "✅",
    "successfully",
    "created",
    "updated",
)
_FAILURE_WORDS = ("error", "fail", "failing", "traceback", "exception", "crash", "severity", "broken")

_HESITATION_WORDS = frozenset("hmm hm hmmm mmm mh um uum uuum uhm erm ehh eh uh ah oh gah wait w8 lol wow ugh".split())
_DOUBT_PHRASES = (
    "are we sure",
    "are you sure",
    "not sure",
    "do we need",
    "do we really",
    "isn't",
    "shouldn't",
    "wouldn't",
    "can't we",
    "why not",
    "any reason",
    "any chance",
    "couldn't",
    "could we",
    "can we",
    "what about",
    "how about",
    "don't we",
)
_OPENING_FACTS = {"let's": "lets", "lets": "lets", "let": "lets", "i": "i_start", "i'm": "i_start", "i'd": "i_start",
           "you": "you_start", "we": "we_start", "it": "it_start", "this": "it_start", "that": "it_start"}  # fmt: skip
_STOP_PHRASES = ("interrupted by user", "tell claude what to do differently", "cancelled", "user rejected")
_BASIC_FACTS = (
    "tiny short brief middle long huge lines bullets ends_ask asks shout ask_shout dots feedback queued args first "
    "interrupt failure no_steps some_steps many_steps silent asked done options overlap yes no ask task lets i_start "
    "you_start we_start it_start can_you can_we you you_did we should not frame ticks path mention link client pasted "
    "all_pasted code_share bug number please wide slash upper midwork stopped smile hesitates opinion thought doubt "
    "past commits also first_then single"
).split()
_SIZE_LIMITS = (8, 20, 30, 45, 60, 80, 110, 150, 220, 350, 700)
CORE_FACTS = (
    *_BASIC_FACTS,
    *(f"{kind}{more}" for kind in KINDS for more in ("", "_2", "_3")),
    "kinds_2",
    "kinds_3",
    "rule",
    "mild",
)
# Only core facts are paired: pairs of the others rank no better, and there would be twice as many.
FACT_NAMES = (
    *CORE_FACTS,
    *_CUE_NAMES,
    *(f"over_{size}" for size in _SIZE_LIMITS),
    *"capital full_stop no_stop two_sentences some_sentences many_sentences inner_ask quote bracket comma".split(),
    *"colon identifier file paragraphs".split(),
)
_FACT_INDEX = {name: at for at, name in enumerate(FACT_NAMES)}


class Phrases(dict[str, int] if TYPE_CHECKING else dict):  # type: ignore[misc]
    """Phrases and cues with the bits of their kinds, and the first letters of those in scripts without spaces."""

    __slots__ = ("long_starts", "wide_starts")

    def __init__(self, phrases: Mapping[str, int]) -> None:
        super().__init__(phrases)
        self.long_starts = first_pairs(phrases)
        self.wide_starts = {phrase[0] for phrase in phrases if phrase[0] > FIRST_WIDE_LETTER}


class MessageFeatures:
    """The features of one message: its facts, their pairs, and the buckets of its words and letters."""

    __slots__ = ("fact_names", "facts", "letters", "lines", "masks", "openings", "pairs", "wording", "words")

    def __init__(self, text: str, via: str, context: Mapping[str, Any], phrases: Phrases) -> None:
        self.lines = get_own_lines(text)
        own = " ".join(self.lines)
        brief = own if len(own) <= _HEAD_LIMIT + _TAIL_LIMIT else f"{own[:_HEAD_LIMIT]} {own[-_TAIL_LIMIT:]}"
        plain = normalize_text(brief)
        self.wording = plain.split()[:_MAX_WORDS]
        self.masks = find_masks(self.wording, plain, phrases)
        self.fact_names = frozenset(_find_fact_names(text, own, brief, self, via, context))
        self.facts = sorted([_FACT_INDEX[name] for name in self.fact_names])
        core = [place for place in self.facts if place < len(CORE_FACTS)]
        self.pairs = [first * len(CORE_FACTS) + second for first, second in combinations(core, 2)]
        self.words = word_buckets(self.wording)
        self.letters = letter_buckets(" ".join(self.wording))
        self.openings = opening_buckets(self.wording, phrases)


def first_pairs(phrases: Iterable[str]) -> set[str]:
    """Return the first two words of each phrase that has more than two."""
    long = [phrase for phrase in phrases if phrase.count(" ") > 1]
    return {phrase[: phrase.find(" ", phrase.find(" ") + 1)] for phrase in long}


# Every ASCII character is listed: in a non-ASCII text, each one that is missing costs an exception.
_NORMALIZE_TABLE = {code: chr(code) for code in range(128)}
_NORMALIZE_TABLE.update(
    {ord(sign): " " for sign in '\t\n\r.,;:()[]{}<>"“”„«»*_#|/\\=+~^%$&@`–—…。，、；：（）「」『』【】!！¡¿-'}
)
_NORMALIZE_TABLE.update({ord("’"): "'", ord("‘"): "'", ord("?"): " ? ", ord("？"): " ? "})


def normalize_text(text: str) -> str:
    """Return a text in lower case, with one kind of apostrophe and no punctuation but question marks."""
    return text.lower().translate(_NORMALIZE_TABLE)


def separate_wide_letters(text: str) -> str:
    """Separate letters that are written without spaces."""
    return text if text.isascii() else "".join([f" {sign} " if sign > FIRST_WIDE_LETTER else sign for sign in text])


def find_masks(words: list[str], plain: str, phrases: Phrases) -> list[int]:
    """Return the kind and cue bits of each phrase found, of up to four words, or letters in scripts without spaces."""
    found = _build_grams(words, phrases.long_starts)
    for size in range(1, MAX_PHRASE_WORDS + 1) if words else ():
        found.add("^" + " ".join(words[:size]))
        found.add(" ".join(words[-size:]) + "$")
    if not (plain.isascii() or phrases.wide_starts.isdisjoint(plain)):
        found.update(_build_wide_grams(plain, phrases.wide_starts))
    return [phrases[gram] for gram in found if gram in phrases]


_KIND_BITS = (1 << len(KINDS)) - 1


def count_kinds(masks: list[int]) -> list[int]:
    """Count the phrases of each kind."""
    telling = [mask for mask in masks if mask & _KIND_BITS]
    return [sum([mask >> at & 1 for mask in telling]) for at in range(len(KINDS))]


def join_masks(masks: list[int]) -> int:
    """Return the union of the bits of all phrases."""
    every = 0
    for mask in masks:
        every |= mask
    return every


def _build_grams(words: list[str], long: set[str]) -> set[str]:
    """Return words, pairs, and those groups of three or four words that begin like a phrase."""
    pairs = list(map(" ".join, zip(words, words[1:])))
    grams = {*words, *pairs}
    for at in [at for at, pair in enumerate(pairs) if pair in long]:
        grams.add(" ".join(words[at : at + 3]))
        grams.add(" ".join(words[at : at + 4]))
    return grams


def _build_wide_grams(plain: str, starts: set[str]) -> set[str]:
    places = [at for at, letter in enumerate(plain) if letter in starts][:_MAX_WIDE_PLACES]
    return {plain[at : at + size].strip() for at in places for size in range(1, _MAX_WIDE_LETTERS + 1)}


def word_buckets(words: list[str]) -> list[int]:
    """Return the buckets of words, pairs, and the beginning and end of the message."""
    grams = set(words)
    grams.update(map(" ".join, zip(words, words[1:])))
    grams.update(["^" + " ".join(words[:size]) for size in (1, 2, 3)])
    if words:
        grams.add("$" + words[-1])
    return [
        checksum & _BUCKET_MASK for checksum in map(crc32, map(str.encode, grams, repeat("utf-8"), repeat("replace")))
    ]


def letter_buckets(plain: str) -> list[int]:
    """Return the buckets of groups of four bytes."""
    data = f" {plain} ".encode("utf-8", "replace")[:_MAX_LETTER_BYTES]
    grams = {data[at : at + _GRAM_BYTES] for at in range(len(data) - _GRAM_BYTES + 1)}
    return [checksum & _BUCKET_MASK for checksum in map(crc32, grams, repeat(7))]


def opening_buckets(words: list[str], phrases: Mapping[str, int]) -> list[int]:
    """Return the buckets of how a message begins, without its subject.

    Function words stay, other words are replaced by their form.
    """
    tags = [
        word if phrases.get(word, 0) & _FUNCTION_BIT else _get_word_form(word) for word in words[:_MAX_OPENING_WORDS]
    ]
    grams = {*tags, *map(" ".join, zip(tags, tags[1:])), *map(" ".join, zip(tags, tags[1:], tags[2:]))}
    return [crc32(gram.encode("utf-8", "replace"), 3) & (OPENINGS - 1) for gram in grams]


def _get_word_form(word: str) -> str:
    if not word.isascii():
        return "~"
    if any(map(str.isdigit, word)):
        return "#"
    return next((f"*{ending}" for ending in ("ing", "ed", "ly", "s") if word.endswith(ending)), "*")


def _find_fact_names(
    text: str, own: str, brief: str, seen: MessageFeatures, via: str, context: Mapping[str, Any]
) -> list[str]:
    names = (
        _find_shape_facts(text, own, brief)
        + _find_opening_facts(seen.wording)
        + _find_wording_facts(text, brief, seen.wording)
    )
    names += _find_form_facts(text, own, brief) + _find_context_facts(via, context, seen.wording)
    return names + _find_kind_facts(count_kinds(seen.masks)) + _find_cue_facts(join_masks(seen.masks) >> len(KINDS))


def _find_cue_facts(found: int) -> list[str]:
    return [name for at, name in enumerate(_CUE_NAMES) if found >> at & 1]


def _find_form_facts(text: str, own: str, brief: str) -> list[str]:
    """Return facts on length and care of writing."""
    size, start = len(own), brief[:_HEAD_LIMIT]
    inner = brief[:-1]
    sentences = sum(map(inner.count, (". ", "? ", "! ", "。"))) + text[:_HEAD_LIMIT].count("\n")
    words = start.split()
    flags = {
        "capital": own[:1].isupper(),
        "full_stop": own[-1:] == ".",
        "no_stop": own[-1:].isalnum(),
        "two_sentences": sentences == 1,
        "some_sentences": 1 < sentences < 4,
        "many_sentences": sentences > 3,
        "inner_ask": "?" in inner and own[-1:] != "?",
        "quote": '"' in start or "“" in start,
        "bracket": "(" in start,
        "comma": "," in start,
        "colon": ":" in start,
        "identifier": "()" in start
        or ("_" in start and any("_" in word[1:-1] for word in words))
        or any(map(_is_camel_case, words)),
        "file": "." in start and any("." in word[1:-2] and word[-2:].isalnum() for word in words),
        "paragraphs": "\n\n" in text[:_SHAPE_LIMIT],
    }
    return [f"over_{limit}" for limit in _SIZE_LIMITS if size > limit] + [
        name for name, holds in flags.items() if holds
    ]


def _is_camel_case(word: str) -> bool:
    return not word.islower() and word[:1].islower() and word.isalpha()


def _find_kind_facts(counts: list[int]) -> list[str]:
    names = []
    for kind, count in zip(KINDS, counts):
        names += [kind, f"{kind}_2", f"{kind}_3"][: min(count, 3)]
    correction, convention, _praise, workflow, prohibition, durable, gotcha, _neutral = counts
    kinds = sum(map(bool, (correction, convention, workflow, prohibition, durable, gotcha)))
    flags = {"kinds_2": kinds > 1, "kinds_3": kinds > 2, "mild": not kinds,
             "rule": bool(durable and (convention or prohibition or workflow))}  # fmt: skip
    return names + [name for name, holds in flags.items() if holds]


def _find_shape_facts(text: str, own: str, brief: str) -> list[str]:
    size, start = len(own), text[:_SHAPE_LIMIT]
    steps = ((15, "tiny"), (35, "short"), (80, "brief"), (200, "middle"), (600, "long"))
    names = [next((name for limit, name in steps if size <= limit), "huge")]
    flags = {
        "lines": start.count("\n") > 3,
        "bullets": "\n- " in start or "\n* " in start or "\n1. " in start or "\n2. " in start,
        "ends_ask": own[-1:] in "?？" and size > 0,
        "asks": brief.count("?") > 1,
        "shout": "!" in brief or "！" in brief,
        "ask_shout": "?!" in brief or "!?" in brief or "!!" in brief or "??" in brief,
        "dots": "..." in brief or "…" in brief,
        "pasted": len(text) > 1.3 * size + 20,
        "all_pasted": size < 12 < len(text),
        "client": is_client_text(text),
        "slash": start.lstrip()[:1] == "/",
        "upper": any(word.isupper() and len(word) > 2 and word.isalpha() for word in brief[:200].split()),
        "wide": not brief.isascii() and sum([letter > "ʰ" and letter.isalpha() for letter in brief[:200]]) > 3,
    }
    return names + [name for name, holds in flags.items() if holds]


def _find_opening_facts(words: list[str]) -> list[str]:
    if not words:
        return []
    first = words[0]
    names = [
        name
        for name, table in (("yes", _YES_WORDS), ("no", _NO_WORDS), ("ask", _ASK_WORDS), ("task", TASK_WORDS))
        if first in table
    ]
    names += [_OPENING_FACTS[first]] if first in _OPENING_FACTS else []
    pair = " ".join(words[:2])
    if pair in ("can you", "could you", "please can"):
        names.append("can_you")
    if pair in ("can we", "could we", "should we"):
        names.append("can_we")
    return names


def _find_wording_facts(text: str, own: str, words: list[str]) -> list[str]:
    bag = set(words)
    low = own.lower()
    start = text[:_SHAPE_LIMIT]
    signs = sum(map(start.count, "`{}()[]=<>/_;"))
    flags = {
        "you": not bag.isdisjoint(("you", "your", "you're", "yourself")),
        "you_did": _is_about_agent(words),
        "we": not bag.isdisjoint(("we", "our", "we're", "us")),
        "should": not bag.isdisjoint(("should", "shouldn't", "must", "needs", "supposed")),
        "not": not bag.isdisjoint(
            ("not", "don't", "dont", "never", "isn't", "doesn't", "no", "didn't", "aren't", "can't")
        ),
        "frame": _has_frame(words),
        "ticks": "`" in start,
        "path": "/" in own and "://" not in own,
        "mention": "@" in own,
        "link": "://" in start,
        "code_share": signs > 0.06 * len(start),
        "bug": any(word in low for word in _FAILURE_WORDS),
        "number": any(map(str.isdigit, own[:200])),
        "please": not bag.isdisjoint(("please", "pls", "plz", "bitte")),
        "smile": not own.isascii() and max(own) > "\U0001f300",
        "hesitates": not bag.isdisjoint(_HESITATION_WORDS),
        "opinion": " i think" in low or low.startswith("i think") or "imo" in bag,
        "thought": "i thought" in low or "i meant" in low or "i said" in low or "i told" in low or "i asked" in low,
        "doubt": any(phrase in low for phrase in _DOUBT_PHRASES),
        "past": " was " in low or " were " in low,
        "commits": not bag.isdisjoint(("commit", "push", "pr", "merge", "branch")),
        "also": not bag.isdisjoint(("also", "too", "additionally")),
        "first_then": not bag.isdisjoint(("first", "before", "until", "after")),
        "single": not any(sign in own[:-1] for sign in ".?!\n"),
    }
    return [name for name, holds in flags.items() if holds]


def _is_about_agent(words: list[str]) -> bool:
    """Return whether a message is about what the agent does (`you added`, `did you`), not a request to it."""
    for first, second in zip(words, words[1:]):
        if first == "you" and (
            second.endswith("ed") or second in ("did", "have", "are", "were", "just", "still", "keep")
        ):
            return True
        if second == "you" and first in ("did", "are", "have", "why", "do", "were", "didn't", "aren't", "haven't"):
            return True
    return False


def _has_frame(words: list[str]) -> bool:
    """Return whether the words look like `use X instead of Y` or `run X, not Y`."""
    return any(
        word in _USE_WORDS and not _CONTRAST_WORDS.isdisjoint(words[at + 1 : at + 9]) for at, word in enumerate(words)
    )


def _find_context_facts(via: str, context: Mapping[str, Any], words: list[str]) -> list[str]:
    assistant = context.get("assistant")
    before = assistant[-_ASSISTANT_LIMIT:] if isinstance(assistant, str) else ""
    low, bag = before.lower(), set(words)
    steps = context.get("steps")
    number = steps if isinstance(steps, int) else 0
    flags = {
        "feedback": via == "feedback",
        "queued": via == "queued",
        "args": via == "command-args",
        "first": bool(context.get("first")),
        "interrupt": bool(context.get("after_interrupt")),
        "failure": bool(context.get("after_failure")),
        "no_steps": number == 0,
        "some_steps": 0 < number < 4,
        "many_steps": number > 3,
        "silent": not before,
        "asked": bool(context.get("asked")) or low.rstrip(" *_\n")[-1:] == "?",
        "done": any(word in low for word in _DONE_WORDS),
        # A queued message always comes during work; a typed one only if its author stopped the work.
        "midwork": via != "queued" and (low.rstrip()[-1:] == ":" or "let me" in low[-160:] or "now let" in low[-160:]),
        "stopped": any(word in low[-300:] for word in _STOP_PHRASES),
        "options": "option" in low or ("1." in low and "2." in low),
        "overlap": len([word for word in bag if len(word) > 4 and word in low]) > 0.4 * len(bag) > 1.2,
    }
    return [name for name, holds in flags.items() if holds]


READ_HEAD, READ_TAIL = 1000, 600
SENTENCE_LIMIT = 400
_MAX_INDENT = 2000
MAX_SENTENCES = 10
_SENTENCE_ENDS = ".?!…"
_WIDE_ENDS = "。！？"
_CLOSING_SIGNS = "\"'”’»)]"
_TRAILING_SIGNS = _SENTENCE_ENDS + _WIDE_ENDS + _CLOSING_SIGNS
_ASCII_MARKS = "`.?!"
_MARKS = _ASCII_MARKS + "…" + _WIDE_ENDS
_PROSE_BYTES = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ "
_FENCES = ("```", "~~~")
_LOG_STARTS = (
    "at ", "traceback", "file \"", "error:", "err:", "warning:", "warn:", "info:", "debug:", "npm err", "fatal:",
    "exception", "caused by", "e   ", "+++ ", "--- ", "@@ ", "diff --git", "$ ", "% ", "⎿", "⏺", "❯ ", "│", "├",
    "└", "┌", "╭", "╰", "✓ ", "✗ ", "⨯", "•",
)  # fmt: skip
# In capitals: "failed again" is something a person says.
_REPORT_STARTS = ("FAILED ", "PASSED ", "ERROR ", "WARN ", "INFO ", "DEBUG ", "FATAL ", "=====", "-----", "E  ")
_CLIENT_STARTS = (
    "implement the following plan", "this session is being continued", "[request interrupted", "<command-name>",
    "<local-command", "caveat: the messages below", "the user wants to clarify these questions", "<system-reminder>",
    "<task-notification>", "base directory for this skill", "stop hook feedback",
)  # fmt: skip
# A dot after one of these does not end a sentence.
_ABBREVIATIONS = frozenset("e.g i.e etc vs cf approx no nr z.b d.h bzw ca p.ej т.е т.д".split())


def is_client_text(text: str) -> bool:
    """Return whether Claude Code wrote the text in the user's name: plan hand-offs, summaries, reminders."""
    return text[:_MAX_INDENT].lstrip()[:80].lower().startswith(_CLIENT_STARTS)


def get_own_lines(text: str) -> list[str]:
    """Return the lines that the author wrote, without pasted ones, from the beginning and end of a message."""
    if len(text) <= READ_HEAD + READ_TAIL:
        return _drop_pasted_lines(text, False)
    start = text.find("\n", len(text) - READ_TAIL, len(text) - READ_TAIL // 2) + 1 or len(text) - READ_TAIL
    is_fenced = sum([text.count(fence, 0, start) for fence in _FENCES]) % 2 == 1
    return _drop_pasted_lines(text[:READ_HEAD], False) + _drop_pasted_lines(text[start:], is_fenced)


def _drop_pasted_lines(text: str, fenced: bool) -> list[str]:
    lines: list[str] = []
    for line in text.splitlines():
        bare = line.strip()
        if bare.startswith(_FENCES):
            fenced = not fenced and not (len(bare) > 6 and bare.endswith(_FENCES))
        elif bare and not fenced and not _is_pasted(line, bare):
            lines.append(bare)
    return lines


def _is_pasted(line: str, bare: str) -> bool:
    if bare[0] in ">|" or bare.lower().startswith(_LOG_STARTS) or bare.startswith(_REPORT_STARTS):
        return True
    if bare.partition(" ")[0].endswith(("Error:", "Exception:", "Warning:")):
        return True
    if line.startswith(("    ", "\t")) and bare[0] not in "-*•0123456789":
        return True
    return _is_log_line(bare) or _is_code(bare)


def _is_log_line(bare: str) -> bool:
    """Return whether this is a log line that begins with a time or a date."""
    head = bare[:12].lstrip("[(")
    timed = head[:2].isdigit() and head[2:3] == ":" and head[3:5].isdigit()
    return timed or (head[:4].isdigit() and head[4:5] == "-" and head[5:7].isdigit())


def _is_code(bare: str) -> bool:
    """Return whether a line has more punctuation than a sentence, or ends like a statement."""
    if len(bare) < 4:
        return False
    if bare[-1] in "{};" and ("(" in bare or "=" in bare or len(bare) < 40):
        return True
    return len(bare) > 24 and "`" not in bare and _count_prose_letters(bare) < 0.62 * len(bare)


def _count_prose_letters(text: str) -> int:
    """Count letters and spaces; only non-ASCII lines need a look at each character."""
    if text.isascii():
        return len(text) - len(text.encode("ascii").translate(None, _PROSE_BYTES))
    return sum(map(str.isalpha, text)) + text.count(" ")


def split_sentences(text: str) -> list[str]:
    """Return the author's sentences in order; a line is never joined with the next one."""
    return split_lines(get_own_lines(text))


def split_lines(lines: list[str]) -> list[str]:
    """Return the sentences of these lines."""
    found: list[str] = []
    for line in lines:
        _split_line(line, found)
    return found


def _split_line(line: str, found: list[str]) -> None:
    start = 0
    ticked = False
    for at in _find_marks(line):
        sign = line[at]
        if sign == "`":
            ticked = not ticked
        elif at >= start and not ticked and (sign in _WIDE_ENDS or _is_sentence_end(line, start, at)):
            end = at + 1
            while end < len(line) and line[end] in _TRAILING_SIGNS:
                end += 1
            _add_sentence(line[start:end], found)
            start = end
    _add_sentence(line[start:], found)


def _find_marks(line: str) -> list[int]:
    found = []
    for mark in _ASCII_MARKS if line.isascii() else _MARKS:
        at = line.find(mark)
        while at >= 0:
            found.append(at)
            at = line.find(mark, at + 1)
    return sorted(found)


def _is_sentence_end(line: str, start: int, at: int) -> bool:
    after = line[at + 1 : at + 2]
    if after and not after.isspace() and after not in _TRAILING_SIGNS:
        return False
    if line[at] != ".":
        return True
    word = line[start:at].rsplit(None, 1)[-1:]
    return not word or not (word[0].lower().lstrip("(") in _ABBREVIATIONS or (word[0].isdigit() and at - start <= 3))


def _add_sentence(piece: str, found: list[str]) -> None:
    piece = piece.strip().lstrip("-*• ").strip()
    if any(map(str.isalnum, piece)):
        found.append(piece)


def limit_sentences(sentences: list[str]) -> list[str]:
    """Return as many sentences as can be weighed in time: the first and, for a long message, the last ones."""
    return sentences if len(sentences) <= MAX_SENTENCES else sentences[: MAX_SENTENCES - 4] + sentences[-4:]


def clip_sentence(text: str) -> str:
    """Truncate a text to a readable length."""
    return text if len(text) <= SENTENCE_LIMIT else text[: SENTENCE_LIMIT - 1].rstrip() + "…"
