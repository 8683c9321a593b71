"""Which sentences of a message carry what is to be learned. A person also praises, tells, asks and moves on."""

from __future__ import annotations

import re
from collections.abc import Sequence

from reflect_git.model.frames import frame_of
from reflect_git.model.plainwords import BANS, plain_words
from reflect_git.review.orders import ordered
from reflect_git.review.senses import Clause, clauses_of
from reflect_git.review.talk import FAULT, REPROACH, words

SENTENCES = 3
_LONGEST = 400
_RULE, _FAR = 2.0, 1.5  # what a rule weighs at least; what is less than this, or outweighed by this, may be replaced
_LINES = 60
_READ = 4000
_TALKED = 24  # sentences that a person types at most in one message
_I = re.IGNORECASE
_ENDS = re.compile(r"(?<=[.!?…])(?<!\.\.\.)\s+(?=[\w`\"'(*@])|(?<=\.\.\.)\s+(?=[A-Z`])|(?<=[。！？])")
_SHORTENED = ("e.g.", "i.e.", "etc.", "vs.", "cf.", "z.b.", "bzw.", "ca.")
# A request after a comma is a sentence of its own, unless what stands before says when it holds.
_REQUEST = re.compile(
    r"(?:,|\s--?|\s[–—])\s+(?:(?:but|and|so|then|also)\s+)*"
    r"(?=(?:(?:can|could|would|will) (?:you|we)|let'?s|make sure|please (?:don't|do not|never|make|also)|"
    r"remember (?:to|that)|(?:and )?from now on|(?:we|you) (?:always|never))\b)",
    _I,
)
# In one breath, without a full stop: what begins a rule of its own there.
_RUN_ON = re.compile(
    r",?\s+(?:and )?also (?=(?:be|make) sure\b)|,\s+(?=(?:the|all|any|every) [^,]{3,60} (?:should|must)\b)", _I
)
_BREATH = 200
_ASIDE = re.compile(r"\s+--\s+(?!(?:not|unless|except|only|instead|never|but not|without|if|when)\b)", _I)
_WHEN = re.compile(
    r"(?:if|when(?:ever)?|while|before|after|since|because|for|in|as|once|until|unless|rather|instead|given|on|at|"
    r"why|how|what)\b", _I
)  # fmt: skip
_PASTED = re.compile(
    r"\s{4,}[^\s\-*•\d]|\s*(?:[>|$%+]|@@|at |\[?\d\d:\d\d|\[?\d{4}-\d\d|Traceback|File \"|[{}\[\]<]|//|/\*"
    r"|\"[\w-]+\"\s*:)|.*[({=].*[;{}]\s*$"
)
_OPEN = re.compile(r"(?:,|\b(?:and|or|the|a|an|to|of|in|with|for|by|at|on|is|are|that))$", _I)
_HABITS = r"""always|never|make sure|be sure|ensure|remember|next time|from now on|in (?:the )?future|going forward
    |whenever|(?:every|each) (?:time|commit|change|step|pr|release|task|file|test|session)|must
    |(?<!how )(?<!how we )should
    |don't forget|(?:keep|have|bear) in mind|i (?:\w+ )?(?:want|prefer|hate|dislike|expect)
    |i(?:'d| would) (?:rather|prefer|like to (?:see|review|approve))
    |we (?:always |never |only |also )?(?:use|follow|keep|have|do|call|name|prefer|don't|do not)
    |by (?:convention|default)|convention|instead|rather than|as (?:much|far|few) as possible
    |before (?:we|you|i|any|each|every|\w+ing|commit)|after (?:each|every|any)|first|only (?:when|if|after)
    |on your own|yourself|without (?:asking|my)"""
_TOLD = r"""(?:i|we|you)(?:'ve|'m| have| am| had| was| were| just)? ?(?:not )?(?:now |also |just |recently |already )*
    (?:ran|see|saw|seen|seeing|got|tried|trying|noticed|checked|went|spent|committed|thought|thinking|guess|suspect
    |wonder|wondering|read|been|confused|going|looking|understand|understood|appreciate|like how|hope|would have
    |could have)|you are working on
    |you (?:just |again |already )*(?:overwrote|rewrote|broke|deleted|removed|reverted|created)
    |you(?:'re| are) (?:again |still |always |just )*\w+ing|let me|here'?s|here is
    |this is what|there (?:does )?seems?|looks like|seems like
    |i'll|we'll|going back|(?:(?:the|our|these|those) )?(?:[\w-]+ ){0,2}?
    (?:tests?|builds?|pipeline|checks?|it|this|that|ci)(?: is| are)? still"""
_CHAT = r"""(?:go|start|continue|proceed|get started|move on|stick|carry on|come back|keep going|do)
    (?: (?:with|on|to|ahead|it|that|now|option|step|plan|the|basics|your|last|next|immediate|steps|suggestions?|[a-z0-9]
    |for|\d[\d.]*|and|get|started))*
    |(?:thanks?|thank you|great|good|nice|awesome|perfect|cool|excellent|wow|well done)
    (?: (?:job|work|point|idea|catch|stuff|one|so|far|very|much|for|the|explanation|that|this|now|there|buddy|again))*
    |(?:(?:ok(?:ay)?|yeah|yes|yep|great|good|nice|cool|perfect|awesome|excellent|thanks?|thank you|lgtm)[,! ]*)+
    |what are you doing|not yet|no|yes|don't|never|ever|not what i asked(?: for)?|(?:just )?use (?:it|that|this)
    |i (?:already )?said no\b.{0,30}
    |i (?:already )?told you(?: so| that)?(?: already)?|ok(?:ay)?|sure|done|agreed|exactly|correct
    |stop|wait
    |.{0,30}\bsorry\b.{0,40}
    |(?:(?:the|all|this|that|it|everything)\b.{0,30} )?
    (?:works?|pass(?:es)?|(?:is|are) (?:fixed|done|working|passing)) (?:now|fine|again|well|great)
    |how did (?:that|this|it) happen|why|does that make sense|thoughts|any (?:ideas?|thoughts|other option)
    |(?:what|do) (?:do )?you (?:think|agree|see|suggest|mean)\b.{0,20}|can you see|make sense"""
# What makes a sentence one that holds tomorrow, too.
_HABIT = re.compile(
    rf"\b(?:{words(_HABITS)})\b",
    _I,
)
_FACT = re.compile(
    r"\b(?:is|are|lives?|contains?|means|needs?|requires?|runs?|works?|fails?|called|belongs?|uses?|has|have)\b",
    _I,
)
_NARRATION = re.compile(rf"^(?:{words(_TOLD)})\b", _I)
_QUESTION = re.compile(
    r"^(?:(?:what|why|how|where|which|who|when)(?:'s)? )?"
    r"(?:should|do|does|is|are|was|were|did|has|have|can|could|would)(?:n't)? "
    r"(?:we|you|i|it|this|that|there|the|these|those|our|my)\b",
    _I,
)
_PROPOSED = re.compile(r"^(?:can|could|should|shall) we\b", _I)
_HEDGED = re.compile(r"\b(?:i guess|not sure|i don't know|no preference|have a preference|whatever|no idea)\b", _I)
_TALK = re.compile(rf"^(?:{words(_CHAT)}|{FAULT})[.!?… ]*$", _I)
# About keeping a record of it, which is what this is.
_RECORD = re.compile(
    r"^(?:(?:please|also|and|then) )*(?:add|note|save|put|write|record|document|make a note of|remember|update|keep)\b"
    r"[^.]{0,40}\b(?:this|that|it|them|these)\b[^.]{0,30}\b(?:claude\.md|memory|rules?|instructions|notes?|agents\.md)"
    r"`?[^.]{0,12}$|^(?:remember|note|save|memorize) (?:this|that|it)(?: down)?$",
    _I,
)
_RECORDED = re.compile(
    r"^(?:(?:please|also|and|then) )*(?:add|put|make|write|leave) a (?:note|rule|line|reminder) (?:in|to|into) "
    r"(?:the |your )?`?(?:claude\.md|memory|rules?|instructions|agents\.md)`?(?: \([^()]*\))?,? "
    r"(?:that says |saying )?to (?=(?:always|never|only|first|occasionally|regularly|ask|use|avoid|check|run|keep|"
    r"update|write)\b)|"
    r"^(?:(?:please|also|and|then) )*(?:add|note|save|put|write|record|remember|update)\b[^.:`]{0,40}"
    r"`?(?:claude\.md|memory|rules?|instructions|agents\.md)`?[^.:]{0,24}:\s+(?=\S)",
    _I,
)
# Without it, the sentence before would say more than was said.
_CLINGS = re.compile(r"(?:(?:but|and) )?(?:unless|except|only|otherwise|instead|until|if|or|not|never|then)\b", _I)
_POINTS = re.compile(r"^(?:it|it's|that|that's|this|they|these|those|them|there|make sure it|which)\b", _I)
_WRONG = re.compile(r"^(?:that|this|it)(?:'s| is| isn't| is not) ?(?:not|wrong|how|what|the)\b", _I)
_RIGHT = re.compile(r"^(?:it'?s|it is|we|use|that'?s) (?!not\b)\S", _I)
_INSTEAD = re.compile(r"^(?:just |always )*(?:use|go back to|keep|stick (?:to|with)|prefer|take)\b|\binstead$", _I)
_NEVER = re.compile(r"\b(?:not|never|no)\b|n't\b", _I)
_WEIGHTY = frozenset(("ALWAYS", "ONLY", "PREFER", "INSTEAD", "INSTEADPOST", "WITHOUT", "USE", "USEPOST"))


def carrying(content: str, message: str) -> list[str]:
    """The sentences that are proposed, as orders, in the order they were said. `content` is what was captured of it."""
    said = _no_chatter(sentences_in(message))
    chosen = _no_chatter(sentences_in(content)) or [content]
    if not _holds(said, chosen):  # captured by hand: every sentence was meant
        return [ordered(sentence) for sentence in chosen[:SENTENCES]]
    if len(said) > _TALKED:  # most of it was pasted: what else it says may be anybody's
        said = [sentence for sentence in said if any(sentence in one or one in sentence for one in chosen)] or chosen
    texts = [ordered(sentence) for sentence in said]
    weights = [weight(text, sentence) for text, sentence in zip(texts, said)]
    own = [any(one in sentence or sentence in one for one in chosen) for sentence in said]
    best = _best(weights, own)
    is_short = all(own) and len(said) <= SENTENCES
    taken = _company(best, texts, weights, is_short)
    whole = _with_what_clings(_with_what_it_points_to(taken, texts, weights), said)
    kept = whole if len(whole) <= SENTENCES else _with_what_clings([best], said)
    return _no_repeats([texts[at] for at in kept], [said[at] for at in kept])


def _no_repeats(texts: list[str], said: list[str]) -> list[str]:
    """Without a reproach whose rule follows: "why did you delete the test?! Never delete a failing test"."""
    once = dict(zip(texts, said, strict=True))  # and what was said twice, once
    read = [clauses_of(text) for text in once]
    return [
        text
        for at, text in enumerate(once)
        if not (_ABOUT_ONE.search(once[text]) and any(_is_within(read[at], other) for other in read[at + 1 :]))
    ]


_ABOUT_ONE = re.compile(r"\?[!?]*$|^you (?:should|must)(?:n't| not)? have\b", _I)


def _is_within(clauses: Sequence[Clause], others: Sequence[Clause]) -> bool:
    """Each clause of it is part of one there that says no or yes as it does."""
    return bool(clauses) and all(
        any(one.denied == other.denied and one.tagged <= other.tagged for other in others) for one in clauses
    )


def _no_chatter(sentences: list[str]) -> list[str]:
    return [one for one in sentences if not _is_chatter(ordered(one))] or sentences


def _is_chatter(text: str) -> bool:
    return bool(_TALK.match(text) or _RECORD.match(text))


def _best(weights: Sequence[float], own: Sequence[bool]) -> int:
    """The miner's choice, unless it is hardly a rule and another sentence is far more of one."""
    best = max(range(len(weights)), key=lambda at: (own[at], weights[at], -at))
    other = max(range(len(weights)), key=lambda at: (weights[at], -at))
    is_better = weights[best] < _FAR and weights[other] >= max(_RULE, weights[best] + _FAR)
    return other if is_better else best


def _holds(said: Sequence[str], chosen: Sequence[str]) -> bool:
    """The miner's sentence stands in the message: contexts of other makes hold other things."""
    whole = " ".join(said)
    return bool(said) and all(one in whole for one in chosen)


def _company(best: int, texts: Sequence[str], weights: Sequence[float], is_short: bool) -> list[int]:
    """Of a short message all that says something; of a long one what weighs as much as the best, and the alternative
    that stands behind a ban."""
    least = max(_RULE + 1, weights[best] - 0.5)
    if is_short:  # where nothing says much, all of it together does
        least = 0.0 if weights[best] >= 0 else min(weights)
    order = sorted(range(len(texts)), key=lambda at: (at != best, -weights[at], abs(at - best)))
    taken: list[int] = []
    for at in order:
        follows = at == best + 1 and _is_alternative(texts[best], texts[at])
        if at != best and weights[at] < least and not follows:
            continue
        length = sum(len(texts[one]) + 2 for one in [*taken, at])
        if not taken or (len(taken) < SENTENCES and length <= _LONGEST):
            taken.append(at)
    return sorted(taken)


def _with_what_it_points_to(taken: list[int], texts: list[str], weights: Sequence[float]) -> list[int]:
    first = taken[0]
    if first and len(taken) < SENTENCES and _POINTS.match(texts[first]):
        reproach = REPROACH.match(texts[first - 1])
        if reproach and not _NEVER.search(reproach["act"]):  # what follows says where it belongs instead
            texts[first - 1] = f"Do not {reproach['act']}"
            return [first - 1, *taken]
        before = texts[first - 1]
        if len(before) <= 160 and not before.endswith(("?", "？")) and weights[first - 1] > -2:
            return [first - 1, *taken]
    return taken


def _with_what_clings(taken: Sequence[int], said: Sequence[str]) -> list[int]:
    """Conditions and exceptions that were said in a sentence of their own."""
    after = [at + 1 for at in taken if at + 1 < len(said)]
    clinging = [at for at in after if _CLINGS.match(said[at])]
    return sorted({*taken, *clinging})


def _is_alternative(ban: str, sentence: str) -> bool:
    """The next sentence says what to do in its place."""
    if _WRONG.match(ban) and _RIGHT.match(sentence):
        return True
    frame = frame_of(ban)
    if not frame or not frame.unwanted or frame.wanted or len(sentence) > 160 or sentence.endswith("?"):
        return False
    return not _NEVER.search(sentence) and bool(_INSTEAD.search(sentence))


def weight(text: str, said: str) -> float:
    """How much a sentence looks like something that holds tomorrow: `text` is what is left of what was `said`."""
    marks = set(plain_words(text[:_LONGEST]))
    frame = frame_of(text)
    found = 0.75 * bool(frame) + 1.25 * bool(frame and frame.unwanted)
    found += 1.0 * (not BANS.isdisjoint(marks)) + 0.5 * (not _WEIGHTY.isdisjoint(marks))
    found += 1.5 * bool(_HABIT.search(said)) + 0.5 * bool(_FACT.search(text)) + 0.5 * ("`" in text or "/" in text)
    if text.endswith(("?", "？")) or _QUESTION.match(text):
        found -= 0.5 if _PROPOSED.match(text) else 3.0
    if _NARRATION.match(text) or _HEDGED.search(text):
        found -= 2.0
    return found - 0.5 * bool(_POINTS.match(text)) - 1.0 * (len(text) > 300) - 1.5 * (len(text.split()) < 3)


def sentences_in(message: str) -> list[str]:
    """What a person wrote, cut into sentences; code, quotes and logs are not theirs."""
    found: list[str] = []
    for line in _own_lines(message[:_READ]):
        for sentence in _cut(line):
            found += _requests(sentence)
    return [sentence for sentence in found if any(map(str.isalnum, sentence))]


def _own_lines(message: str) -> list[str]:
    lines: list[str] = []
    fenced = False
    for line in message.splitlines()[:_LINES]:
        if line.lstrip().startswith(("```", "~~~")):
            fenced = not fenced
        elif not fenced and not _PASTED.match(line):
            if lines and _OPEN.search(lines[-1]):
                lines[-1] = f"{lines[-1]} {line.strip()}"
            else:
                lines.append(line.strip())
    return lines


def _cut(line: str) -> list[str]:
    """After a full stop that ends one; `e.g.` and what stands in backticks end none."""
    found: list[str] = []
    rest = ""
    for part in _ENDS.split(line):
        if found and part[:4].lower() in ("e.g.", "i.e."):
            rest = found.pop()
        rest = f"{rest} {part}".strip() if rest else part.strip()
        if (
            rest.lower().endswith(_SHORTENED)
            or rest.count("`") % 2
            or rest.count('"') % 2
            or re.fullmatch(r"[-*• ]*\d{1,2}\.", rest)
        ):
            continue
        found += [rest] if rest else []
        rest = ""
    return [*found, rest] if rest else found


def _requests(sentence: str) -> list[str]:
    """A request that hangs on another sentence by a comma, and an aside behind a dash, stand alone."""
    sentence = _RECORDED.sub("", sentence)
    cut = _REQUEST.search(sentence) or (_ASIDE.search(sentence) if len(sentence) > 120 else None)
    cut = cut or (_RUN_ON.search(sentence) if len(sentence) > _BREATH else None)
    if cut is None or _WHEN.match(ordered(sentence)) or sentence[: cut.start()].count("`") % 2:
        return [sentence]
    left, right = sentence[: cut.start()], sentence[cut.end() :]
    if ordered(f"{left}, x") == "X":  # nothing but what people say before they say something
        return _requests(right)
    return [left, *_requests(right)] if len(left.split()) > 1 and len(right.split()) > 2 else [sentence]
