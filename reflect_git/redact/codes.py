"""Find codes that a text names: PINs, one-time passwords, backup codes."""

from __future__ import annotations

from reflect_git.redact.families import CODES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    Finding = tuple[int, int, str]

_NAMES = (
    r"(?:PIN(?:[ -]?(?:code|number|nummer|kod))?|(?:one[- ]?time|verification|verify|2fa|mfa|two[- ]factor|otp|totp|sms|security"
    r"|auth(?:entication|enticator)?|login|access|unlock|backup|recovery|confirmation|entry|door|alarm|voicemail|pairing|bestätigungs"
    r"|einmal|sicherheits|zugangs|freischalt)[- ]?(?:pass)?(?:codes?|kode|pin|password|passwort)|OTP|TOTP|TAN|authenticator(?: app)?|zahlencode|passcode"
    r"|codice(?: (?:di (?:verifica|accesso|sicurezza|conferma|sblocco)|pin|otp|segreto|monouso))"
    r"|code (?:pin|de (?:vérification|sécurité|confirmation|validation)|d'accès|à usage unique|secret)"
    r"|código (?:de (?:verificaci[oó]n|verificação|acceso|acesso|seguridad|segurança|uso único|confirma\w{0,6})|pin|otp)"
    r"|пин(?:-?код\w{0,3})?|(?:смс-?|одноразовый |проверочный )код|код (?:подтверждения|доступа|безопасности|из смс|активации))"
)
_OF = r"(?:\s(?:for|of|to|from|on|für|der|des|von|vom|pour|de|du|del|della|para|per|do|da|от|для|к)\s[^\n.;!?:=\d]{1,40}?)?"
_IS = (
    r"(?:\s{0,2}[:=：—–]\s{0,2}|\s(?:is|was|are|shows|says|reads|zeigt|ist|lautet|war|est|es|è|é|era|это|будет)(?: now| jetzt)?:?\s{1,2}"
    r"|\s(?:changed |set |reset |geändert |gesetzt )?(?:to|auf) )"
)
_NUMBER = r"(\d{4,10}|\d{2,4}[ -]\d{2,4}(?:[ -]\d{2,4})?)(?!\w|[.:/-]\d)"
_QUOTES = r"[\"'`*„“«(]{0,3}"
_FORWARD = r"(?i)(?<![A-Za-z0-9_])" + _NAMES + _OF + _IS + _QUOTES + _NUMBER
_EAST = (
    r"(?i)(?:验证码|驗證碼|动态码|校验码|PIN码|認証コード|確認コード|ワンタイム(?:パスワード|コード)|暗証番号|인증 ?번호|인증 ?코드|핀번호|PINコード)"
    r"[^\n\d。.]{0,12}?(\d{4,10})"
)
_BACKWARD = (
    r"(?i)(?<![\w.-])(?:[A-Z]{1,3}-)?(\d{4,8}|\d{3}[ -]\d{3})(?: is (?:your|the|my)| ist (?:Ihr|dein|der|die)| est (?:votre|le)| es (?:tu|el)| é o(?: seu)?"
    r"| è il(?: tuo)?| as(?: the)?| als| comme| como) (?:\w{1,20} ){0,2}?" + _NAMES
)
# Without a sign only where the name is written as nothing else is.
_DIRECT = (
    r"(?<![A-Za-z0-9_])(?:(?:PIN|OTP|TAN|Pin)(?:[ -]?[Cc]ode)?|(?i:пин-?код|(?:one[- ]time|verification|2fa|mfa|sms|security) code"
    r"|код подтверждения|código de verifica\w{2,4}|code de vérification|codice di verifica|(?:bestätigungs|sicherheits)code"
    r"|--(?:otp|pin|totp|mfa|tan)(?:-?code)?|(?:enter|type|use|my|your|the|with) (?:the )?(?:pin|otp))),?[\s=]"
    + _NUMBER
)
_ITEM = r"(?:(?=[a-z-]{0,12}\d)[0-9a-z]{4,12}(?:-[0-9a-z]{4,12}){0,3}|[a-z]{4,6}-[a-z]{4,6})(?![\w-])"
_MANY_CODES = (
    r"(?i)(?:backup|recovery|scratch|emergency|wiederherstellungs|ersatz)[- ]?codes?[^\n:=\d]{0,30}[:=\n]\s{0,8}"
    r"(" + _ITEM + r"(?:[\s,;*•]{1,6}" + _ITEM + r"){1,24})"
)
_YOURS = (
    r"(?i)\b(?:your|dein|ihr|votre|ton|tu|su|(?:il )?tuo|(?:o )?seu|ваш|твой) (?:code|código|codice|код)(?: is| ist| lautet| est| es| è| é|:| —)\s{1,2}"
    r"(\d{6}|\d{3}[ -]\d{3})(?![\w-]|[.:/]\d| (?:lines|zeilen|lignes|líneas|righe|linhas|строк|bytes|char))"
)
_SHORT = ("pin", "otp", "tan")  # parts of many words: mapping, standard
_STEMS = (
    "time", "verif", "2fa", "mfa", "factor", "otp", "sms", "secur", "auth", "login", "access", "unlock", "backup", "recover",
    "confirm", "entry", "door", "alarm", "voicemail", "pair", "bestät", "einmal", "sicher", "zugang", "freisch", "zahlen", "pass",
    "pin", "your", "dein", "ihr", "votre", "ton ", "tu ", "su ", "tuo", "seu", "ваш", "твой", "vérif", "sécur", "valid", "accès", "usage", "secret", "смс", "одно", "провер", "подтв", "доступ", "безоп", "актив",
)  # fmt: skip
_BEFORE = 48
_BEHIND = 96
_LIST = 400
_LEAST = 4
_MOST = 2000


def codes(text: str, lower: str) -> Iterator[Finding]:
    """Find the digits next to the name of a code; only names with digits near them are examined."""
    last, count = 0, 0
    for marker in CODES:
        at = lower.find(marker)
        while at >= 0 and count < _MOST:
            count += 1
            start, end = max(0, at - _BEFORE), min(len(text), at + _BEHIND)
            is_list = lower.startswith("codes", at)
            if _is_named(lower, at, marker) and (is_list or _has_digits(text[start:end])):
                yield from _beside(text, start, end)
                last = end
            at = lower.find(marker, max(at + 1, last - _BEHIND + 1))


def _is_named(lower: str, at: int, marker: str) -> bool:
    """Return whether this is a code to type in, not an exit code, or a PIN inside another word."""
    if marker in _SHORT:
        return not lower[max(0, at - 1) : at].isalpha()
    around = lower[max(0, at - 16) : at + 28]
    return marker not in ("code", "kode", "код") or any(stem in around for stem in _STEMS)


def _has_digits(window: str) -> bool:
    run = 0
    for character in window:
        run = run + 1 if character.isdigit() else run if character in " -" else 0
        if run >= _LEAST:
            return True
    return False


def _beside(text: str, start: int, end: int) -> Iterator[Finding]:
    import re  # most texts with a marker have no digits near it

    for pattern, stop in (
        (_FORWARD, end),
        (_DIRECT, end),
        (_YOURS, end),
        (_EAST, end),
        (_BACKWARD, end),
        (_MANY_CODES, end + _LIST),
    ):
        for match in re.compile(pattern).finditer(text, start, stop):
            yield match.start(1), match.end(1), "code"
