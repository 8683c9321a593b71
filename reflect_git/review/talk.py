"""What people say around what they mean, as patterns: openers, politeness, wrappings, questions that are reproaches.

A pattern that looks like talk and might carry meaning is left out: too much talk in a proposal is a nuisance, a lost
condition is a wrong rule.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property

_I = re.IGNORECASE
_LETTERS = re.compile("[a-z]+", _I)
_SAME_LETTERS = {0x130: "i", 0x131: "i", 0x17F: "s"}  # to a pattern that ignores case, not to `lower`


def words(table: str) -> str:
    """A table of alternatives that goes over several lines, as one pattern."""
    return "".join(map(str.strip, table.split("\n")))


class Form:
    """What a text may begin with, and the words of which its first one has to be. Most are never compiled: all of them
    took 40 ms, and a text begins with few."""

    def __init__(self, first: str, pattern: str) -> None:
        self._first = frozenset(first.split())
        self._pattern = pattern

    def match(self, text: str, first: str) -> re.Match[str] | None:
        """`first` is the text's first word."""
        return self._compiled.match(text) if first in self._first else None

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self._pattern, _I)


def first_word(text: str) -> str:
    found = _LETTERS.match(text)
    return found[0].translate(_SAME_LETTERS).lower() if found else ""


# A word before the word, set off by a sign: "no,", "again:", "ah -". Some need no sign.
_SET_OFF = words(
    r"""no+|nope|nah|no(?:,? no)+|hmm+|hm|um|uh|erm+|ehh*|ok(?:ay)?|k|yes|yeah|yep|yup|wait|stop|w8|actually|also|again
    |remember|note|fyi|btw|hey|hi|hello|oh|ah|aha|ahh|sorry|my bad|look|listen|mate|dude|buddy|bro|man|guys|claude
    |@claude|well|right|important|reminder|quick thing|quick note|one more thing|one thing|another thing
    |several things|few things|heads up|great|good|perfect|cool|nice|awesome|excellent|amazing|thanks|thank you
    |alright|sure|wow|whoa|oops|anyway|anyways
    |the thing is|here'?s the thing|thing is|long story short
    |(?:this|that|it|all|everything) (?:is|sounds|looks) (?:good|great|fine|nice)|looks good|sounds good|lgtm
    |good job|great job|nice work|good point|fair enough|got it|makes sense|q|question|update|correction|rule
    |first of all|wondering now|just wondering
    |i'm (?:just )?wondering(?: now)?|to be clear|to clarify|for the record|for (?:your )?reference
    |for future reference|as a reminder|keep in mind|as i said|like i said|as mentioned|as discussed
    |(?:once|yet) again|to repeat|seriously|honestly|from now on|going forward|in the future|in future|next time
    |for next time|for the future|as a rule|in general|please|tip|hint|ps|nb|ugh|argh|lol
    |stop for a (?:second|moment|minute)|(?:wait|just) a (?:second|moment|minute)|hold on|hang on|as always|as usual
    |did(?:n't we| we not) (?:go (?:through|over)|talk about|discuss) (?:this|it|that)(?: before| already)?
    |we(?:'ve| have)? (?:been|gone|went) (?:over|through) (?:this|it|that)(?: before| already| many times)?
    |how (?:many times|often) (?:do|must) i (?:have to |need to )?(?:say|repeat|tell you)(?: this| it| that)?
    |i(?:'ve| have)? (?:already )?(?:told you|said|asked)(?: this| that| it)?(?: before| already| (?:many|\w+) times)
    |nein|ja|halt|moment|achtung|bitte|ab jetzt|ab sofort|in zukunft|non|oui|attends|à partir de maintenant|sí|oye
    |espera|a partir de ahora|ehi|aspetta|d'ora in poi|da qui in avanti|não|sim|espere|a partir de agora|нет|да|стой
    |слушай|ну|hayır|evet|nie|tak|с этого момента|впредь|아니(?:요|야)?|いや|いいえ|不对|不是|不"""
)
_BARE = words(
    r"""hmm+|hm|um|uh|erm+|ok(?:ay)?|ok so|fyi|btw|hey|oh|ah|ugh|well|so|and|but|also|please|pls|plz|bitte|kindly
    |actually|just|as always|mate|dude|guys|yeah|yep|(?:yes|then)(?= let)|i mean|from now on|going forward|next time
    |sorry,? but|anyways?|by the way|basically"""
)
# Of nothing but these, up to a comma or a "but", nothing is lost.
SMALL = frozenset(
    """no nope nah yes yeah yep ok okay alright well so and but also hm hmm uh um ugh argh ah oh hey hi hello sorry wait
    stop please pls thanks great good perfect cool nice awesome fine super this that it its it's that's is looks sounds
    works again already though one more small quick last little thing things note reminder nit btw actually basically
    seriously honestly anyway look listen claude mate dude man bro guys lol just a""".split()
)
NO_MORE = re.compile(r"\bno (?:more|small|quick|last|little|things?|notes?|reminders?|nits?|one|good|super)\b")
SMALL_PHRASES = re.compile(
    r"\b(?:for (?:the )?future(?: reference)?|in (?:the )?future|in general|next time|by the way|so far|hold on|my bad|"
    r"(?:just )?a (?:second|moment|sec|minute)|thank you|to be (?:\w+ )?(?:honest|clear|fair|picky|frank|precise))\b"
)
LEADING = re.compile(
    r"^(?P<lead>[^,:;!.…—–`\"\ue000-\uf8ff]{1,60}?)(?:\s*[,:;!….]+|\s+[—–-]+|\s+but)\s+(?=\S+\s+\S)", _I
)
# Praise that only leads up to what is wrong: "it works, but", "looks good so far but next time".
PRAISED = re.compile(
    r"^(?:(?:ok(?:ay)?|yes|yeah|yep|great|cool|nice|good|perfect|fine|thanks|thank you|not bad|almost(?: there)?|"
    r"(?:that |this |it )?(?:works|looks|is|sounds) ?(?:good|great|fine|nice|ok(?:ay)?|well|better)?|"
    r"good (?:job|work|start))(?: now| so far| overall| already)?[,.!]* )+(?:but|though|however|only that),? "
    r"(?=\S+ \S)",
    _I,
)
# How it makes one feel, behind what is wanted.
VENTED = re.compile(
    r"(?:,|\s[-–—]+)\s+(?:it'?s|that'?s|this is|it is|its|that is) (?:really |so |super |very |getting |just |pretty )*"
    r"(?:annoying|irritating|frustrating|tiring|old|tiresome|maddening|driving me (?:crazy|nuts|mad))[.!]*$",
    _I,
)
# What was wrong about it, before what is right.
MISTAKEN = re.compile(
    r"^(?:that'?s|this is|it'?s|that is|you(?:'re| are) (?:using|in|on|editing)) the wrong [\w ]{2,24}[,.;:–—-]+\s+"
    r"(?=\S+ \S)",
    _I,
)
# That it was wrong, and no more: what it is said of is what was done, not what is asked for next.
FAULT = words(
    r"""(?:no,? |nope,? )?(?:(?:that|this|it)(?:['’]s| is| was) )?(?:all |just |simply |completely |totally )?
    (?:wrong|incorrect|not (?:right|correct))|(?:that|this|it) (?:is|was)n['’]?t (?:right|correct)
    |(?:nein,? )?(?:(?:das|dies) (?:ist|war) )?(?:falsch|nicht (?:richtig|korrekt))|(?:das )?stimmt (?:so )?nicht
    |(?:no,? )?(?:(?:eso|esto) )?(?:está mal|no está bien|no es correcto|es incorrecto)|incorrecto
    |(?:non,? )?(?:c['’]est )?(?:faux|incorrect)|ce n['’]est pas (?:bon|correct|juste)"""
)
FAULTED = re.compile(rf"^(?:{FAULT})\s*(?:[,:;.!…—–-]+)\s+(?=\S+ \S+)", _I)
# After it, a reason or what was found, which is about what was done, too.
EXPLAINS = re.compile(
    r"(?:because|since|as|but|and|or|so|is|are|it|that|this|they|there|you|your|i|my|the|an?|fix)\b|[^?]*\?", _I
)
YOU = re.compile(r"\b(can|could|would|will|did|do|are|should) u\b", _I)
VOICE = re.compile(
    r"\bi(?=['’](?:ve|m|d|ll)\b)|(?<=\b(?:if|as|so) )i(?= [a-z])|(?<=\b(?:what|that|than|when) )i(?= [a-z])|"
    r"(?<=\buntil )i(?= [a-z])|(?<=\bunless )i(?= [a-z])|(?<=\bbefore )i(?= [a-z])|(?<=\bbecause )i(?= [a-z])"
)
SHOULD_HAVE = re.compile(r"\b(should|could|must)['’]?ve\b|\b(should)a\b", _I)
OPENER = re.compile(
    rf"^(?:(?:{_SET_OFF})(?:\s*[,:;.!…—–-]+\s+|[，、。！：]\s*)|(?:{_BARE})\s+|请(?![求问勿假教]))(?![,.;:!?)])", _I
)
# What may stand before the point that is made; it goes only if it is small talk, and nothing in it says no or when.
LEAD = re.compile(
    r"^(?P<before>(?:(?:sorry|i have|i've|i just|i now|yes|sure|great|thanks|well|ok|good|nice|continue)\b[^`]{0,160}?"
    r"(?:[-—,;:.] (?:but |and )?))??)(?:i (?:just )?(?:want(?:ed)?|would like|need) to remind you|let me remind you|"
    r"i (?:also |just |really )*(?:want(?:ed)?|would like|need) to (?:mention|note|add|say|stress|point out)|"
    r"(?:please )?(?:recall|remember|note|(?:keep|have|bear) in mind|be aware))(?:,? that| to(?= (?:always|never)\b)) ",
    _I,
)
SPLIT_UP = re.compile(
    r"\b(?:if|unless|when(?:ever)?|while|until|except|only|before|after|because|since|once|instead|rather|not|never|"
    r"no|\w+n't|without|should|must)\b",
    _I,
)
POLITE = re.compile(
    r"\s*,?\s*\b(?:please|pls|plz|kindly|thank you|thanks|thx|bitte|por favor|s'il (?:te|vous) pla[iî]t|per favore|"
    r"пожалуйста|danke(?: dir)?|gracias|merci|grazie|obrigad[oa]|спасибо)(?![\w'])(?! (?:note|see|for|to)\b)"
    r"(?P<after>\s*,(?= ))?[ ]*"
    r"|[,]?\s+(?:btw|lol|mate|dude|buddy|man|haha|ok\?|okay\?)(?=[.!?]*$)",
    _I,
)
TAG = re.compile(
    r"(?:(?:,|\s[-–—]+)\s+(?:yeah|yes|hey|huh|no|oder|eh)|"
    r"(?:,|\s[-–—]+)?\s+(?:right|ok(?:ay)?|correct|nicht wahr|verdad|n'est-ce pas|vero|"
    r"is (?:that|it) (?:possible|right|ok(?:ay)?|correct)|does that make sense|make sense|what do you think|thoughts|"
    r"do you (?:agree|understand|see)|i take it|any (?:other )?(?:options?|ideas?|thoughts)|"
    r"(?:you )?know what i mean|got it|understood|agreed?))\s*\?+!*$",
    _I,
)
_EMOJI = "[\U0001f300-\U0001faff\u2600-\u27bf\ufe0f\u200d]+"
EDGES = re.compile(rf"^(?:{_EMOJI}\s*)+|(?:\s*{_EMOJI})+(?=[.!?)]*$)|(?:\s+[:;]-?[)D(|P]+)+$")
MARKER = re.compile(r"^(?:[-*•+]+\s+|\(?\d{1,2}[.)]\s+|#+\s+)")
# "(make a note of this in your memory)": which is what happens here.
RECORDED = re.compile(
    r"\s*\((?:please )?(?:make a note|note|remember|add|save|update|put|write)\b[^()]*"
    r"\b(?:memory|claude\.md|rules?|notes?|agents\.md)\b[^()]*\)$",
    _I,
)
LETS = re.compile(r"\b(and|then|but|for now,?) let'?s (?!not\b)", _I)
DONT = re.compile(r"\bdont\b", _I)
_SOFT = r"(?:please |pls |also |just |maybe |perhaps |possibly |simply |at least |probably |really |somehow |quickly )*"
_SURE = r"(?:also |just |really |definitely |probably |maybe |perhaps |always |actually |all )*"
_NOT = r"(?:not |n't |nt )"
_DOING = (
    "add|change|make|run|fix|keep|move|remove|create|check|write|update|rename|put|split|document|"
    "verify|ensure|test|stop|skip|avoid|drop|clean|reply|log|revert|delete|exclude|include|ignore|start|commit|push|"
    "(?:double|triple)(?:/\\w+)?[- ](?:check|review)|"
    "switch|replace|follow|stick|review|refactor|simplify|extract|validate|format|lint|confirm|separate|merge|rebase"
)
_WISHED = f"{_DOING}|use|reuse|set up|setup|focus|build|do|go|have (?:all|every|each|the|our)"
DO = re.compile(rf"(?:{_WISHED}) (?!(?:it|this|that|them|so)\b)", _I)
_LIKE = r"(?:i want(?:ed)?|i need(?:ed)?|i(?:'d| would) (?:like|love|prefer)|i expect)"
_BETTER = r"(?:i think )?(?:it(?:'?s| is| would be)|would be) (?:better|best|safer|wiser)"
_AGENT = r"(?:claude|you|we)"
_TELLS = "(?:tell|ask|prompt|show|report|let|then|come back)"
# When it holds, said first.
_GIVEN = r"(?P<when>(?:before|when(?:ever)?|after|if|once|until|given|since|because) [^,;.]{3,100},)"
_PAST = {
    "used": "use", "run": "run", "asked": "ask", "checked": "check", "written": "write", "read": "read", "put": "put",
    "updated": "update", "added": "add", "tested": "test", "kept": "keep", "followed": "follow", "created": "create",
    "made": "make", "removed": "remove", "deleted": "delete", "changed": "change", "committed": "commit", "set": "set",
    "pushed": "push", "verified": "verify", "looked": "look", "waited": "wait", "started": "start", "moved": "move",
    "named": "name", "called": "call", "touched": "touch", "modified": "modify", "edited": "edit", "renamed": "rename",
    "showed": "show", "told": "tell", "wrote": "write", "ran": "run", "did": "do", "gave": "give", "let": "let",
    "stuck": "stick", "explained": "explain", "answered": "answer", "reviewed": "review", "planned": "plan",
    "installed": "install", "included": "include", "ignored": "ignore", "skipped": "skip", "stopped": "stop",
}  # fmt: skip
_DONE = "|".join(_PAST)
# A reproach in the form of a question: why was it not done? Of these verbs nobody asks so out of mere interest.
_DUTY = "ask|check|commit|document|follow|format|lint|read|reuse|run|test|update|use|verify|write|add|look at|validate"


def _undone(found: re.Match[str]) -> str:
    return f"Do not {_PAST[found['done'].lower()]}"


def _done(found: re.Match[str]) -> str:
    return _PAST[found["done"].lower()]


STOP = "Stop "  # "you keep adding it" says no without a word for it
Order = str | Callable[[re.Match[str]], str]
# What an order is wrapped in, and what is left of it.
WRAPPINGS: tuple[tuple[Form, Order], ...] = tuple((Form(first, pattern), order) for first, pattern, order in (
    ("i", r"i(?:'d| would) (?:rather|prefer (?:if|that)) (?:you|we) (?:did ?n't|didnt|did not) ", "Do not "),
    ("i", rf"i(?:'d| would) (?:rather|prefer to) {_NOT}(?=[a-z]+ )", "Do not "),
    ("i it",
     (r"(?:i(?:'d| would) (?:prefer|like|love|appreciate)(?: it)?|it(?:'d| would) be (?:better|nice|great|good))"
      rf" if (?:you|we) {_SURE}(?!not\b)(?P<done>{_DONE})\b"), _done),
    ("i", r"i(?:'ve| have)? (?:noticed?|see|saw|reali[sz]ed)(?: that)? (?=you (?:just |always )?keep\b)", ""),
    ("i", rf"i(?:'d| would) rather (?=(?:{_WISHED})\b)", ""),
    ("what i", r"(?:what )?i mean[ts]?(?: is| was)? that (?=(?:the|we|you|it|all|every|our) )", ""),
    ("would is", rf"(?:would|is) it (?:be )?possible to {_SOFT}(?=not )", "Do "),
    ("would is", rf"(?:would|is) it (?:be )?possible to {_SOFT}(?=(?:{_WISHED})\b)", ""),
    ("did didn didnt", r"did(?:n't| not|nt) i (?:already )?(?:tell|ask) you (?:not to|to not) ", "Do not "),
    ("it",
     (r"it(?:'s| is) (?:\w+ )?(?:important|crucial|essential|critical|vital) that (?:you|we) "
      r"(?!are |be |have |can )"), ""),
    ("i we", r"(?:i|we) (?:do ?n't|dont|do not) (?:ever )?want (?:you |us )to ", "Do not "),
    ("i we", rf"(?:i|we) (?:do ?n't|dont|do not) (?:ever )?want to (?=(?:{_WISHED}|break|lose|ship)\b)", "Do not "),
    ("i we", r"(?:i|we) (?:do ?n't|dont|do not) want any (?=[a-z])", "No "),
    ("claude you we", rf"{_AGENT} {_SURE}(?:should|must) ?{_SURE}{_NOT}{_SURE}have (?P<done>{_DONE})\b", _undone),
    ("claude you we", rf"{_AGENT} {_SURE}(?:should|must) ?{_SURE}{_NOT}ever (?!be )(?=[a-z]+ )", "Never "),
    ("claude you we", rf"{_AGENT} {_SURE}(?:should|must) ?{_SURE}{_NOT}(?!have |be |need )(?=[a-z]+ )", "Do not "),
    ("claude you we", rf"{_AGENT} {_SURE}(?:should|must) {_SURE}never (?!be |have )(?=[a-z]+ )", "Never "),
    ("claude you we", rf"{_AGENT} {_SURE}should {_SURE}have (?!{_NOT})(?P<done>{_DONE})\b", _done),
    ("claude you we", rf"{_AGENT} {_SURE}should {_SURE}be using ", "use "),
    ("can could would will",
     (rf"(?:can|could|would|will) you {_SOFT}not (?!just |also |simply |instead |already |only )"
      r"(?!(?:get|find|take|see|derive|infer|reuse|tell|do)\b)(?![^?]*\binstead\b)"), "Do not "),
    ("can could would will",
     rf"(?:can|could|would|will) you {_SOFT}(?!not |be |help |have |tell |explain |see )(?=[a-z][a-z-]+ )", ""),
    ("can could", rf"(?:can|could) we {_SOFT}(?=(?:{_DOING}) )", ""),
    ("can could shall", rf"(?:can|could|shall) we {_SOFT}(?=(?:{_WISHED}) [^?]*$)", ""),
    ("can could", rf"(?:can|could) we {_SOFT}(?=have an? (?!look|chat|talk|call))", ""),
    ("can could", rf"(?:can|could) we (?:please|pls|maybe|also) {_SOFT}(?!not |be |have )(?=[a-z/]+ )", ""),
    ("are would will", r"(?:are|would|will) (?:you|we) (?:be )?able to (?=not )", "Do "),
    ("are would will", rf"(?:are|would|will) (?:you|we) (?:be )?able to {_SOFT}(?=(?:{_DOING}) )", ""),
    ("or are were",
     r"(?:or )?(?:are|were) you (?:again |always |still )?forgetting to (?!not |be |have )(?=[a-z]+ )", ""),
    ("are", r"are you (?:also )?using (?P<what>[^?,]{2,60} (?:as well|too))\?+$", r"Use \g<what>"),
    ("i", r"i(?:'d| would) first like to (?!be |have |not )(?=[a-z]+ )", "First "),
    ("you",
     rf"you (?P<act>(?:{_DOING}|do|handle|install|deploy) (?:it|this|that|them))(?: yourself)?(?= and {_TELLS}\b)",
      r"\g<act> yourself"),
    ("you",
     rf"you (?P<act>(?:{_DOING}|do|handle|install|deploy) (?:it|this|that|them))(?: yourself)?$",
      r"\g<act> yourself"),
    ("would", r"would you mind (?=not )", "Do "),
    ("i", rf"{_LIKE} (?:for )?you to {_SOFT}(?=not )", "Do "),
    ("i", rf"{_LIKE} (?:for )?you to {_SOFT}(?!be |have )(?=[a-z]+ )", ""),
    ("i", rf"i (?:want|need|(?:'d|would) like) to (?=(?:{_WISHED}) )", ""),
    ("i", rf"i'd like to (?=(?:{_WISHED}) )", ""),
    ("before when after for in if once until rather instead",
     (rf"(?P<when>(?:before|when|after|for|in|if|once|until|rather than|instead of) [^,]{{3,80}}(?:,|\.{{3}})) "
      rf"(?:can|could) (?:you|we) {_SOFT}(?=[a-z]+ )(?!not )"), r"\g<when> "),
    ("before when whenever after if once until given since because",
     (rf"{_GIVEN} (?:i think )?{_AGENT} {_SURE}(?:should|must|need to|have to) {_SURE}"
      r"(?!not |n't |never |be |have )(?=[a-z]+ )"), r"\g<when> "),
    ("before when whenever after if once until given since because",
     rf"{_GIVEN} {_BETTER} (?:to not|not to) ", r"\g<when> do not "),
    ("i it its would", rf"{_BETTER} (?:to not|not to) ", "Do not "),
    ("i it its would", rf"{_BETTER} to (?!not )(?=[a-z]+ )", ""),
    ("i maybe perhaps", rf"(?:i think |maybe |perhaps )+(?:that )?{_AGENT} {_SURE}should {_SURE}(?=not )", "Do "),
    ("i maybe perhaps",
     rf"(?:i think |maybe |perhaps )+(?:that )?{_AGENT} {_SURE}should {_SURE}(?!have |be )(?=[a-z]+ )", ""),
    ("let lets", r"let(?:'s|s| us) not ", "Do not "),
    ("let lets", r"let(?:'s|s| us) (?:also |just |please |maybe |first (?=not))*(?!not |me |us )(?=[a-z]+ )", ""),
    ("claude you we",
     (rf"{_AGENT} {_SURE}(?:should|must|need to|have to|ought to|has to|needs to) (?:also |just )?"
      r"(?!not|n't|have |be |always |never )(?=[a-z]+ )"), ""),
    ("claude you we", rf"{_AGENT} (?:should|must|need to|have to|ought to) (?=(?:always|never) (?!be |have ))", ""),
    ("remember make be take", r"(?:remember|make sure|be sure|take care) (?:to not|not to) ", "Do not "),
    ("remember make be take", r"(?:remember|make sure|be sure|take care) to (?=(?:always|never) (?!be |have ))", ""),
    ("remember make be take", r"(?:remember|make sure|be sure|take care) to (?!be |have |not )(?=[a-z]+ )", ""),
    ("you",
     r"you (?:also |just |again )?(?:forgot|failed|neglected) to (?!not |be |have )(?P<act>[a-z]+ [^.!?]*?) again$",
      r"\g<act>"),
    ("you", r"you (?:also |just |again )?(?:forgot|failed|neglected|need(?:ed)?) to (?!not |be |have )(?=[a-z]+ )", ""),
    ("you why",
     r"(?:you (?:just |always )?keep|why (?:do|are) you (?:always |still )?keep(?:ing)?)(?: on)? (?=not )", STOP),
    ("you why",
     (r"(?:you (?:just |always )?keep|why (?:do|are) you (?:always |still )?keep(?:ing)?)(?: on)? "
      r"(?!getting|finding|having|doing (?:well|great))(?=[a-z]+ing\b)"), STOP),
    ("i", r"i (?:already )?(?:told|asked) you (?:not to|to not) ", "Do not "),
    ("i", r"i (?:already )?(?:told|asked) you to (?!not )(?=[a-z]+ )", ""),
    ("i",
     (r"i (?:already )?said:? (?:to )?"
      r"(?=(?:use|run|never|don't|do not|no(?! to\b)|always|keep|put|add|only|ask)\b)"), ""),
    ("i", r"i (?:do ?n't|dont|do not) think (?:that )?(?:we|you) should (?!be |have |not )(?=[a-z]+ )", "Do not "),
    ("make be", r"(?:make|be) sure (?:that )?(?:you|we) (?=(?:always|never) (?!be |have ))", ""),
    ("make be",
     (r"(?:make|be) sure (?:that )?you (?!are |have |can |do |don't |did |were |will |not |always |never |also |"
      r"understand |know |get |see )(?=[a-z]+ )"), ""),
    ("go please", r"(?:go|please go) ahead and (?=[a-z]+ )", ""),
    ("it",
     (r"it (?:would|might) be (?:nice|great|good|better|helpful|cool) if (?:you|we) (?:could |would )?"
      rf"(?=(?:also |just )*(?:{_DOING}|use)\b)"), ""),
    ("i",
     (r"(?:i think|i believe|i feel like|i suppose)(?: that)? (?=(?:the|this|that|these|those|our|we|it|its|it's|"
      r"using|there) )(?!(?:we|it) (?:could|might|may|can)\b)"), ""),
))  # fmt: skip
# A question that is a reproach: it wants what its negation says was not done.
WHY_NOT = Form(
    "why",
    rf"why (?:(?:did|do|are|have)(?:n't|nt)|(?:did|do|are|have) {_AGENT} not) ?(?:{_AGENT} )?{_SOFT}"
    rf"(?P<act>(?:{_DUTY})\b.*?)[?!]+$",
)
# "Shouldn't we refactor now?", "don't you think we should lint first?"
SHOULD_NOT = Form(
    "shouldn shouldnt don dont",
    rf"(?:(?:shouldn't|shouldnt) {_AGENT}|(?:don't|dont) you think (?:that )?{_AGENT} should) {_SOFT}"
    rf"(?:(?P<act>(?:{_DUTY}|{_DOING})\b[^?]*)|be using (?P<used>[^?]+))[?!]+$",
)
UNABLE = Form(
    "i",
    r"i (?:still |really )*(?:don't|do not) (?:understand|get|see) why (?P<act>(?:the|this|our|a) [^,?]{2,60}?"
    r"(?:(?:is|are) (?:unable|not able)|can't|cannot|fails?)\b[^?]*)[?!]*$",
)
# "Can't we just use the helper?", "couldn't you take it instead?": a proposal, whatever its negation.
COULD_NOT = Form(
    "why can cant couldn couldnt",
    rf"(?:why )?(?:can't|cant|couldn't|couldnt) {_AGENT} (?:(?:just|simply) (?P<act>(?:{_DUTY}|{_DOING})\b.*?)"
    rf"|(?P<other>(?:{_DUTY}|{_DOING}|take)\b[^?]* instead))[?!]+$",
)
# "Didn't I tell you to use rem?"
TOLD = Form(
    "did didn didnt",
    rf"did(?:n't| not|nt) i (?:already )?(?:tell|ask) you to (?P<act>(?:{_DUTY}|{_WISHED}|always|never)\b[^?]*)[?!]+$",
)
# "Is there a reason you are not using the helper?"
NOT_USING = Form(
    "is a any",
    r"(?:is there )?(?:a|any) reason (?:why )?(?:(?:you|we)(?:'re| are) not|(?:you|we) aren't) using "
    r"(?P<what>(?![^?]*\b(?:not|never|instead)\b)[^?]{2,80})[?!]+$",
)
REPROACH = re.compile(
    rf"^why (?:did|do|would) you {_SURE}(?:still )?(?P<act>(?:{_DOING}|use|store|save)\b[^?]*?)[?!]+$", _I
)
ASKED = Form(
    "did have",
    r"(?:did|have) you (?:actually |even |really |already )?(?:forget to )?"
    r"(?P<act>(?:check|run|read|update|write|add|test|verify|use|look at|document|commit|lint|format|set ?up)\b"
    r".*?)(?: yet)?[?!]*$",
)  # fmt: skip
MADE = Form(
    "did have",
    r"(?:did|have) we (?P<verb>create|write|add|update)d? (?:any |some )?(?P<what>(?:the |a |new |more )*(?:[\w-]+ )?"
    r"(?:tests?|specs?|docs?|documentation|changelog)\b[^?]*?)(?: yet)?\?+$",
)  # fmt: skip
# A question that is a reproach: said twice, or loudly.
WHY_DID = Form(
    "why",
    rf"why (?:the (?:hell|heck|fuck) )?(?:did|do|would) you {_SURE}(?:still )?(?P<act>"
    rf"(?:{_DOING}|use|touch|modify|edit)\b[^?]*?)(?P<loud> (?:again|without asking)[^?]*)?(?P<end>[?!]+)$",
)
WHY_NOW = Form(
    "why",
    r"why (?:the (?:hell|heck|fuck) )?are you (?:still |always |again )*(?P<act>[a-z]+ing\b[^?]*?)(?P<end>[?!]{2,})$",
)
_ENDINGS = """py|js|jsx|ts|tsx|mjs|json|ya?ml|toml|md|txt|sh|go|rs|rb|java|kt|css|scss|html|sql|lock|env|ini|cfg|swift|c
    |h|cpp|vue|svelte|plist"""
CODE = re.compile(
    r"(?<![`\w/.@<>*-])((?<=use )--[a-z][\w-]+|(?<=with )--[a-z][\w-]+|(?<=without )--[a-z][\w-]+|"
    rf"(?:\.{{0,2}}/|~/)?(?:[\w.@-]+/)*[\w@-]*\.(?:{words(_ENDINGS)})|"
    r"(?:\.{1,2}/|~/|/)[\w.@-]+(?:/[\w.@-]+)*/?|[\w.@-]+(?:/[\w.@-]+)+/|[a-z]+(?:_[a-z0-9]+)+)(?![\w/`*<{])(?!\.\w)",
    re.ASCII,
)
NO = re.compile(
    r"\b(?:not|never|no|none|nor|neither|without|avoid|stop|refrain|instead|rather than|\w+n['’]t|dont|cant|wont"
    r"|(?:is|are|does|did|should|must)nt|cannot|nicht|kein\w*|"
    r"nie(?:mals)?|pas|jamais|sans|nunca|sin|non|mai|não|sem|не|нет|нельзя|никогда|без|hayır|nie|bez)\b|"
    r"[不没別别勿禁]|ない|ません|안|않|말",
    _I,
)
NOT = re.compile(r"\bnot\b|n['’]t\b", _I)
SPAN = re.compile(r"`[^`]+`|\"[^\"\n]{1,120}\"|“[^”\n]{1,120}”")
PRIVATE = re.compile("[\ue000-\uf8ff]")
TOOLS = frozenset(
    """npm pnpm yarn npx bun deno git gh docker kubectl cargo pip uv poetry ruff pytest jest vitest eslint prettier tsc
    tox apt curl zsh bash terraform gradle mvn""".split()
)
REQUEST = re.compile(
    r"(?:can|could|would|will) |are (?:you|we) able |(?:or )?(?:are|were) you [\w ]{0,8}forgetting |"
    r".{3,90}[,.] (?:can|could) ",
    _I,
)
# "use X not Y" reads better with a comma.
PAIR = re.compile(r"^((?:always )?use [^,;]+?)(?<! and)(?<! but) (not|never) ", _I)
