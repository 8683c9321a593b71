"""Wording that would hand over more than a rule: it needs a typed `yes` and is never approved in bulk."""

from __future__ import annotations

import re
import unicodedata
from functools import cache

from reflect_git.model.schema import TRUSTS
from reflect_git.model.tuples import NamedTuple
from reflect_git.review.baseline import sentences_of
from reflect_git.review.talk import FAULT

RISK = "risk"
_FLAGS = re.IGNORECASE | re.DOTALL
_OWN = ("user_typed", "user_feedback")


class Finding(NamedTuple):
    """`kind` is one of refused, mended, risk and note; `way_out` is what to run or to change, if anything is."""

    kind: str
    code: str
    message: str
    way_out: str = ""


_EARLIER = "(previous|prior|above|earlier|all|any|other|your|system)"
_ORDERS = "(instruction|rule|prompt|guideline|constraint|directive)"
_TELLING = "(tell|inform|mention|show|notify|alert|ask|warn)"
# What a program does by itself and a person found out, as in "npm ci silently succeeds": told, not asked for.
_OUTCOMES = (
    "(fail|succeed|ignore|drop|skip|truncate|swallow|discard|overwrite|break|lose|convert|cast|wrap|exit)(s|es|d|ed)"
)
_SAFEGUARDS = (
    "(security|safety|tests?|hooks?|checks?|lint(er|ing)?|validation|auth(entication|orization)?|verification|signing|"
    "sandbox|firewall|audit|logging|csrf|cors|tls|ssl|2fa|mfa|review)"
)
_SECRETS = r"(\.env|secrets?|credentials?|api[_ -]?keys?|tokens?|passwords?)"


class Sign(NamedTuple):
    """A kind of risk. In a text that one of the patterns finds stands one of the hints, in small letters: to compile
    all patterns takes 8 ms, and most rules have no hint of any. Without hints the patterns are always asked."""

    code: str
    said: str
    hints: tuple[str, ...]
    patterns: tuple[str, ...]


SIGNS = (
    Sign("ignores-instructions", "tells Claude to ignore its instructions",
          ("ignor", "disregard", "forget", "override", "bypass", "игнорируй", "忽略"), (
        rf"\b(ignore|disregard|forget|override|bypass)\b.{{0,40}}\b{_EARLIER}\b.{{0,30}}\b{_ORDERS}s?\b",
        r"\b(ignorier|ignora|ignore[zr]?|игнорируй)\w*\b.{0,40}\b(anweisung|instruc|istruzion|инструкц)\w*",
        "忽略.{0,10}(指令|指示)",
    )),
    Sign("hides-from-you", "asks to hide something from you",
          ("tell", "inform", "mention", "show", "notify", "alert", "ask", "warn", "secretly", "covertly", "silently"), (
        rf"\b(do not|don't|dont|never|without)\s+{_TELLING}(ing)?\b.{{0,20}}\b(user|human|developer|owner|anyone)\b",
        r"\b(secretly|covertly)\b", rf"\bsilently\b(?!\s+{_OUTCOMES}\b)",
    )),
    Sign("speaks-as-system", "imitates the client's own messages",
          ("system", "assistant", "human", "instruction", "tool_result", "you are now", "inst]", "<|im_"), (
        r"</?(system|system-reminder|assistant|human|instructions?|tool_result)\b",
        r"\b(system prompt|you are now|new instructions)\b", r"\[/?INST\]|<\|im_(start|end)\|>",
    )),
    Sign("runs-from-network", "fetches something from the network and runs it",
          ("curl", "wget", "fetch", "iwr", "invoke-webrequest", "http"), (
        r"\b(curl|wget|fetch|iwr|invoke-webrequest)\b[^|\n]{0,200}\|\s*(sudo\s+)?((ba|z|da|k|c)?sh|python3?|node|perl)\b",
        r"\b(ba|z|da|k)?sh\s+(-c\s+)?[\"'`]?\$?[(<]\(?\s*(curl|wget)",
        r"\b(eval|exec|source|iex)\b.{0,40}\b(curl|wget|https?://)",
    )),
    Sign("sends-out", "sends or fetches data with an address", ("http", "curl", "wget"), (
        r"\b(send|post|upload|exfiltrate|forward|report|submit)\b.{0,80}\bhttps?://", r"\b(curl|wget)\b.{0,80}https?://",
        r"\b(curl|wget)\s+(-\S+\s+)*[\w-]+\.(com|net|org|io|sh|dev|xyz|ru|cn)\b",
    )),
    Sign("encoded", "carries text that cannot be read", (), (
        r"(?<![\w/.+-])(?-i:(?=[a-z0-9+/]*[A-Z])(?=[A-Z0-9+/]*[a-z])(?=[A-Za-z+/]*\d))[A-Za-z0-9+/]{40,}={0,2}(?![\w/.-])",
        r"(?:\\x[0-9a-f]{2}){8,}", r"\b(base64\s+(-d|--decode)|atob\(|b64decode)",
    )),
    Sign("widens-permissions", "widens what Claude may do unasked",
          ("dangerously", "skip-permissions", "bypasspermissions", "yolo", "allow", "approv", "accept", "without",
           "grant", "give", "chmod", "sudo"), (
        r"--dangerously|dangerously-?skip|skip-permissions|bypasspermissions|dangerouslydisablesandbox|\byolo\b",
        r"\ballow(ed)?[- _]?tools?\b", r"\b(auto-?(approve|accept)|always (approve|accept|allow))\b",
        r"\bwithout (asking|approval|confirm(ation|ing)|permission|review)\b",
        r"\b(grant|give) .{0,30}(full|root|admin|all) (access|permissions?|rights)", r"\bchmod (-R )?777\b|\bsudo\b",
    )),
    Sign("switches-off-safety", "switches a safeguard off",
          ("disable", "turn off", "switch off", "skip", "remove", "deactivate", "bypass", "delete", "--", "push -f",
           "rm -rf", "verify", "strictssl", "rejectunauthorized", "node_tls_reject", "stricthostkeychecking"), (
        rf"\b(disable|turn off|switch off|skip|remove|deactivate|bypass|delete)\b.{{0,40}}\b{_SAFEGUARDS}\b",
        r"--no-verify|--no-gpg-sign|--insecure\b|--allow-root|--force\b|\bgit push -f\b|\brm -rf\b",
        r"verify\s*=\s*false|strictssl|rejectunauthorized|NODE_TLS_REJECT|StrictHostKeyChecking",
    )),
    Sign("reads-secrets", "touches credentials",
          (".ssh/", "id_", ".aws/", ".netrc", ".npmrc", ".pgpass", "/etc/", ".env", "secret", "credential", "key",
           "token", "password"), (
        r"\.ssh/|id_(rsa|ed25519|ecdsa)|\.aws/credentials|\.netrc|\.npmrc|\.pgpass|\bkeychain\b|/etc/(passwd|shadow)",
        rf"\b(print|cat|read|echo|copy|dump|show|commit|push)\b.{{0,30}}{_SECRETS}\b",
    )),
)  # fmt: skip
# "Never disable the tests" is the opposite of a risk, if nothing else is said but that something was wrong.
_FORBIDS = rf"^\s*(?:(?:{FAULT})\s*[,:;—–-]+\s+)?(never|do not|don't|avoid)\b[^.;,!?]*[.!]?\s*$"
_GUARDED = ("switches-off-safety", "reads-secrets", "widens-permissions")
_LATIN = r"[A-Za-zÀ-ɏ]"
_LOOKALIKE = r"[\u0370-\u03ff\u1f00-\u1fff\u0400-\u052f]"
_FROM = {
    "assistant": "the assistant",
    "tool_output": "the output of a tool",
    "remote": "another machine",
    "imported": "an import",
}


def risks(text: str, trust: str) -> list[Finding]:
    """Trust is mechanical and cannot be argued with; the rest is a list of what attacks look like, never complete."""
    found = []
    if trust not in _OWN:
        # The text may be the user's all the same: what it rests on is trusted as little as the least of it.
        message = f"it rests on words that are not your own: from {_FROM.get(trust, trust)}"
        found.append(Finding(RISK, "trust", message, "read it to the end"))
    mixed = _mixed(text)
    if mixed:
        message = f"'{mixed}' mixes letters of two alphabets that look alike"
        found.append(Finding(RISK, "mixed-script", message, "type the word anew: --text TEXT"))
    seen = _visible(text)
    plain = in_small_letters(seen)
    for sign in SIGNS:
        if (not sign.hints or any(hint in plain for hint in sign.hints)) and _speaks_of(sign, seen):
            found.append(Finding(RISK, sign.code, f"it {sign.said}", "approve it only if you mean exactly this"))
    return found


def _mixed(text: str) -> str:
    """The first word that mixes alphabets."""
    if text.isascii():
        return ""
    words = re.findall(r"\w+", text)
    return next((word for word in words if re.search(_LATIN, word) and re.search(_LOOKALIKE, word)), "")


def in_small_letters(text: str) -> str:
    """As patterns that take no heed of case see it: to them, the Turkish letters are an i, too."""
    return text.replace("İ", "i").replace("ı", "i").lower()


def _visible(text: str) -> str:
    """As a reader takes it: no invisible letters within a word, wide letters as plain ones."""
    return "".join(sign for sign in unicodedata.normalize("NFKC", text) if unicodedata.category(sign) != "Cf")


def lowest(trusts: list[str]) -> str:
    """A derived text is trusted as little as the least of its sources; an unknown label counts as the least."""
    return max(trusts, key=lambda trust: TRUSTS.index(trust) if trust in TRUSTS else len(TRUSTS))


@cache
def finder(sign: Sign) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{one})" for one in sign.patterns), _FLAGS)


def _speaks_of(sign: Sign, text: str) -> bool:
    pattern = finder(sign)
    if not pattern.search(text):
        return False
    if sign.code not in _GUARDED:
        return True
    return any(pattern.search(one) and not re.match(_FORBIDS, one, re.IGNORECASE) for one in sentences_of(text))
