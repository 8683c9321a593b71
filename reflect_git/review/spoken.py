"""One form for what people say in many: "isn't", "may not exceed", "why are you using", "every night"."""

from __future__ import annotations

import re
from functools import cache, lru_cache

from reflect_git.review.families import NUMBERS

_READ = 600
_COUNT = rf"(?=\d|(?:{'|'.join(NUMBERS)})\b)"
# Said of how things are: it says no as plainly as an order does.
# Each with what a text must hold for a look to be worth while: of 10,000 texts, most have none of it.
_SPOKEN: tuple[tuple[tuple[str, ...], str, str], ...] = tuple(
    (tuple(hints.split("|")), pattern, plain)
    for hints, pattern, plain in (
        ("n't|nt ", r"\b(?:is|are|was|were)n['’]?t\b|\bain['’]t\b", "is not"),
        ("n't|nt |cannot| not", (
            r"\b(?:does|did|wo|would|could|has|have|ca)n['’]?t\b|\bcannot\b|\b(?:can|does|did|will|could) not\b"
        ), "do not"),
        (" about", r"\b(?:don['’]?t|do not) (?:care|worry|bother) about\b", "needless"),
        (" need| necessary| required", (
            r"\b(?:don['’]?t|do not|no) need (?:to have|to|for|an?|any)?\b|\bnot (?:needed|necessary|required)\b"
        ), "needless "),
        ("why ", r"\bwhy (?:are|do|did|would) you (?:(?:still|always|even|again) )*(?!not\b)", "don't "),
        ("deprecated|legacy|obsolete|removed|outdated", (
            r"(?<!is )(?<!are )(?<!was )(?<!were )(?<!be )(?<!been )"
            r"\b(deprecated|legacy|obsolete|removed|outdated)(?= (?!in\b|from\b|by\b|since\b|and\b)\w)"
        ), r"\1_"),
        (" var", r"\benv(?:ironment)?[- ]vars?\b", "environment variable"),
        ("checked in|check in|checking in", (
            r"\bchecked in(?:to git)?\b|(?<=never )check in\b|(?<=n't )check in\b|(?<=not )check in\b|\bchecking in\b"
        ), "commit"),
        ("push", r"(?:\brun )?\bgit push (?:--force|-f)\b", "force-push"),
        ("out of ", (
            r"\b(?:keep|leave) (.{1,40}?) out of (?:git|version control|the repo(?:sitory)?)\b"
        ), r"never commit \1"),
        ("git|version control", (
            r"\b(?:must|should|may|do|are|is)? ?not (?:be )?(?:in|tracked in|tracked by) (?:git|version control)\b"
        ), "must not be committed"),
        ("track", r"\btrack (.{1,40}?) in (?:git|version control)\b", r"commit \1"),
        ("leave ", r"\bleave out\b", "omit"),
        ("leave ", r"\bleave (\w+(?: \w+)?) out\b(?! of)", r"omit \1"),
        ("in detail", r"\bin (?:full |great )?detail\b", "detailed"),
        ("twice", r"\btwice\b(?! an?\b)", "2 times"),
        ("limits", r"\boff[- ]limits\b", "forbidden"),
        (" off", r"\bswitched off\b|\bturned off\b|\bleave (?:it|them) off\b", "disabled"),
        (" off", r"\b(?:switch|turn) off\b", "disable"),
        (" on", r"\b(?:switch|turn)(?:ed)? on\b", "enable"),
        (" on", r"\b(be|is|are|stays?|start|default to) on(?= by default\b| in\b|[.,;]|$)", r"\1 enabled"),
        (" off", r"\b(be|is|are|stays?|start|default to) off(?= by default\b| in\b|[.,;]|$)", r"\1 disabled"),
        ("told you", (
            r"\b(?:i(?:'ve| have)? )?(?:already )?told you(?: like| about)?(?: \w+ times)?(?: already| before)?\b"
        ), ""),
        (" any", (
            r"\b(?P<of>use|uses|using|avoid|no|of) any\b(?= (?:in|type|for|when|if|as|unless)\b|[.,;:!]|$)"
        ), r"\g<of> `any`"),
        ("error", r"\b(?:is|are|count as|treated as) (?:an )?errors?\b(?! \w)", "is forbidden"),
        ("night|week|month|hour", r"\b(?:every|each|once (?:a|per)|per) (night|week|month|hour)\b", r"\1ly"),
        (" day", r"\b(?:every|each|once (?:a|per)|per) day\b", "daily"),
        ("be removed", r"\b(?:should|must|(?:has|have|needs?) to) be removed\b", "should be deleted"),
        ("go ahead", r"\b(?:just )?go ahead and\b", ""),
        ("by hand", r"\bby hand\b", "manually"),
        (" out", r"\bcomment(?:ing|ed)? (?:(?:it|them|code|lines|things) )?out\b", "comment-out"),
        ("not you", r",? (?:and )?not you\b", " myself"),
        ("end of", r"\b(?:at|in|by) the end of\b", "after finishing"),
        ("force", r"\bforce[- ]push(?:ing|ed|es)?\b", "force-push"),
        ("pull", r"\bpull[- ]requests?\b", "pr"),
        ("co-author", r"\bco-author(?:ed)?(?:-by)?(?: (?:lines?|trailers?|tags?))?\b", "co-author"),
        ("0|1|2|3|4|5|6|7|8|9|" + "|".join(f" {word}" for word in NUMBERS), (
            r"\b(?:(?:must|may|should|can|do|does|is|are) )?(?:not|never|no) (?:be |get |go )?(?:exceed(?:ing)?"
            rf"|(?:longer|more|larger|bigger|greater|higher|wider) than|over|above|beyond|past) {_COUNT}"
        ), " max "),
        ("at most|up to|max|under|below|within|limited to|capped at|than", (
            r"\b(?:at most|up to|max(?:imum|imal)?(?: of| is)?|under|below|within|limited to|capped at"
            rf"|(?:less|fewer|shorter|smaller) than) {_COUNT}"
        ), " max "),
        ("at least|min|less than|fewer than|below", (
            rf"\b(?:at least|min(?:imum|imal)?(?: of| is)?|(?:no|not) (?:less|fewer) than|not below) {_COUNT}"
        ), " min "),
        ("above|over|than", rf"\b(?:above|over|(?:more|longer|larger|bigger|greater|higher) than) {_COUNT}", " min "),
    )
)  # fmt: skip


@lru_cache(maxsize=16384)
def plainly(text: str) -> str:
    """In small letters, with one form for what is said in many: "isn't", "may not exceed", "why are you using"."""
    text = " ".join(text[:_READ].casefold().replace("\n", " ; ").split())
    for hints, pattern, plain in _SPOKEN:
        if any(map(text.__contains__, hints)):
            text = _compiled(pattern).sub(plain, text)
    return text


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """When a text has a hint of it: all of them would take as long as the first candidate's own reading."""
    return re.compile(pattern)
