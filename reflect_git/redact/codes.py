"""Find codes that a text names: PINs, one-time passwords, backup codes."""

from __future__ import annotations

from reflect_git.redact.families import CODE_NAMES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    Finding = tuple[int, int, str]

_NAME_PATTERN = (
    r"(?:PIN(?:[ -]?(?:code|number|nummer|kod))?|(?:one[- ]?time|verification|verify|2fa|mfa|two[- ]factor|otp|totp|sms|security"
    r"|auth(?:entication|enticator)?|login|access|unlock|backup|recovery|confirmation|entry|door|alarm|voicemail|pairing|bestätigungs"
    r"|einmal|sicherheits|zugangs|freischalt)[- ]?(?:pass)?(?:codes?|kode|pin|password|passwort)|OTP|TOTP|TAN|authenticator(?: app)?|zahlencode|passcode"
    r"|codice(?: (?:di (?:verifica|accesso|sicurezza|conferma|sblocco)|pin|otp|segreto|monouso))"
    r"|code (?:pin|de (?:vérification|sécurité|confirmation|validation)|d'accès|à usage unique|secret)"
    r"|código (?:de (?:verificaci[oó]n|verificação|acceso|acesso|seguridad|segurança|uso único|confirma\w{0,6})|pin|otp)"
    r"|пин(?:-?код\w{0,3})?|(?:смс-?|одноразовый |проверочный )код|код (?:подтверждения|доступа|безопасности|из смс|активации))"
)
_OF_PATTERN = r"(?:\s(?:for|of|to|from|on|für|der|des|von|vom|pour|de|du|del|della|para|per|do|da|от|для|к)\s[^\n.;!?:=\d]{1,40}?)?"
_IS_PATTERN = (
    r"(?:\s{0,2}[:=：—–]\s{0,2}|\s(?:is|was|are|shows|says|reads|zeigt|ist|lautet|war|est|es|è|é|era|это|будет)(?: now| jetzt)?:?\s{1,2}"
    r"|\s(?:changed |set |reset |geändert |gesetzt )?(?:to|auf) )"
)
_NUMBER_PATTERN = r"(\d{4,10}|\d{2,4}[ -]\d{2,4}(?:[ -]\d{2,4})?)(?!\w|[.:/-]\d)"
_QUOTES_PATTERN = r"[\"'`*„“«(]{0,3}"
_FORWARD_PATTERN = (
    r"(?i)(?<![A-Za-z0-9_])" + _NAME_PATTERN + _OF_PATTERN + _IS_PATTERN + _QUOTES_PATTERN + _NUMBER_PATTERN
)
_EASTERN_PATTERN = (
    r"(?i)(?:验证码|驗證碼|动态码|校验码|PIN码|認証コード|確認コード|ワンタイム(?:パスワード|コード)|暗証番号|인증 ?번호|인증 ?코드|핀번호|PINコード)"
    r"[^\n\d。.]{0,12}?(\d{4,10})"
)
_BACKWARD_PATTERN = (
    r"(?i)(?<![\w.-])(?:[A-Z]{1,3}-)?(\d{4,8}|\d{3}[ -]\d{3})(?: is (?:your|the|my)| ist (?:Ihr|dein|der|die)| est (?:votre|le)| es (?:tu|el)| é o(?: seu)?"
    r"| è il(?: tuo)?| as(?: the)?| als| comme| como) (?:\w{1,20} ){0,2}?" + _NAME_PATTERN
)
# Without a sign only where the name is written as nothing else is.
_DIRECT_PATTERN = (
    r"(?<![A-Za-z0-9_])(?:(?:PIN|OTP|TAN|Pin)(?:[ -]?[Cc]ode)?|(?i:пин-?код|(?:one[- ]time|verification|2fa|mfa|sms|security) code"
    r"|код подтверждения|código de verifica\w{2,4}|code de vérification|codice di verifica|(?:bestätigungs|sicherheits)code"
    r"|--(?:otp|pin|totp|mfa|tan)(?:-?code)?|(?:enter|type|use|my|your|the|with) (?:the )?(?:pin|otp))),?[\s=]"
    + _NUMBER_PATTERN
)
_ITEM_PATTERN = r"(?:(?=[a-z-]{0,12}\d)[0-9a-z]{4,12}(?:-[0-9a-z]{4,12}){0,3}|[a-z]{4,6}-[a-z]{4,6})(?![\w-])"
_CODE_LIST_PATTERN = (
    r"(?i)(?:backup|recovery|scratch|emergency|wiederherstellungs|ersatz)[- ]?codes?[^\n:=\d]{0,30}[:=\n]\s{0,8}"
    r"(" + _ITEM_PATTERN + r"(?:[\s,;*•]{1,6}" + _ITEM_PATTERN + r"){1,24})"
)
_YOUR_CODE_PATTERN = (
    r"(?i)\b(?:your|dein|ihr|votre|ton|tu|su|(?:il )?tuo|(?:o )?seu|ваш|твой) (?:code|código|codice|код)(?: is| ist| lautet| est| es| è| é|:| —)\s{1,2}"
    r"(\d{6}|\d{3}[ -]\d{3})(?![\w-]|[.:/]\d| (?:lines|zeilen|lignes|líneas|righe|linhas|строк|bytes|char))"
)
_SHORT_NAMES = ("pin", "otp", "tan")  # parts of many words: mapping, standard
_CODE_STEMS = (
    "time", "verif", "2fa", "mfa", "factor", "otp", "sms", "secur", "auth", "login", "access", "unlock", "backup", "recover",
    "confirm", "entry", "door", "alarm", "voicemail", "pair", "bestät", "einmal", "sicher", "zugang", "freisch", "zahlen", "pass",
    "pin", "your", "dein", "ihr", "votre", "ton ", "tu ", "su ", "tuo", "seu", "ваш", "твой", "vérif", "sécur", "valid", "accès", "usage", "secret", "смс", "одно", "провер", "подтв", "доступ", "безоп", "актив",
)  # fmt: skip
_LENGTH_BEFORE = 48
_LENGTH_AFTER = 96
_LIST_LENGTH = 400
_MIN_DIGITS = 4
_MAX_NAMES = 2000


def find_codes(text: str, lower: str) -> Iterator[Finding]:
    """Find the digits next to the name of a code; only names with digits near them are examined."""
    last, count = 0, 0
    for marker in CODE_NAMES:
        at = lower.find(marker)
        while at >= 0 and count < _MAX_NAMES:
            count += 1
            start, end = max(0, at - _LENGTH_BEFORE), min(len(text), at + _LENGTH_AFTER)
            is_list = lower.startswith("codes", at)
            if _is_code_name(lower, at, marker) and (is_list or _has_digits(text[start:end])):
                yield from _find_near(text, start, end)
                last = end
            at = lower.find(marker, max(at + 1, last - _LENGTH_AFTER + 1))


def _is_code_name(lower: str, at: int, marker: str) -> bool:
    """Return whether this is a code to type in, not an exit code, or a PIN inside another word."""
    if marker in _SHORT_NAMES:
        return not lower[max(0, at - 1) : at].isalpha()
    around = lower[max(0, at - 16) : at + 28]
    return marker not in ("code", "kode", "код") or any(stem in around for stem in _CODE_STEMS)


def _has_digits(window: str) -> bool:
    run = 0
    for character in window:
        run = run + 1 if character.isdigit() else run if character in " -" else 0
        if run >= _MIN_DIGITS:
            return True
    return False


def _find_near(text: str, start: int, end: int) -> Iterator[Finding]:
    import re  # most texts with a marker have no digits near it

    for pattern, stop in (
        (_FORWARD_PATTERN, end),
        (_DIRECT_PATTERN, end),
        (_YOUR_CODE_PATTERN, end),
        (_EASTERN_PATTERN, end),
        (_BACKWARD_PATTERN, end),
        (_CODE_LIST_PATTERN, end + _LIST_LENGTH),
    ):
        for match in re.compile(pattern).finditer(text, start, stop):
            yield match.start(1), match.end(1), "code"
