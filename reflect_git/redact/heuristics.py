"""Decide whether a word looks like a secret, a placeholder or the name of something."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Callable

    Finding = tuple[int, int, str]

_SPECIAL_SIGNS = frozenset("!#$%^&*+?~|@")
_HEX_SIGNS = frozenset("0123456789abcdef-")
_TIME_SIGNS = frozenset("0123456789.:-/+TZ%_, ")
_PASSWORD_SIGNS = frozenset("!#$%^&*+?~|@-_.,:")
_GLOB_SIGNS = frozenset("*?/._-{},[]!")
_WORD_LIMIT = 512
_LONG_RANDOM = 16
_LONG_NOISE = 40
_MIN_PART = 4
_MIN_COMPOUND = 10
_MIN_WORD = 5
_PLAIN_LIMIT = 40
_MAX_MATCHES = 5000


def _is_variable(value: str) -> bool:
    name = value[1:].rstrip("%")
    if value[0] == "%":
        return not name or name.isalpha() or (name.isidentifier() and value[-1] == "%")
    if value[0] == "@" and is_certain_secret(name):
        return False
    return value[0] in "$@" and (not name or name.isidentifier())


def is_placeholder(value: str) -> bool:
    """Return whether a value is a placeholder, a reference to a variable, or a mask by us or somebody else."""
    lower = value[:_WORD_LIMIT].lower()
    if not lower or lower in STOP_WORDS or lower.startswith(PLACEHOLDER_PREFIXES) or _is_variable(value[:_WORD_LIMIT]):
        return True
    return _is_filler(lower)


def _is_filler(lower: str) -> bool:
    return len(set(lower.strip("-_.*x"))) < 3 or any(part in lower for part in PLACEHOLDER_PARTS)


def _get_character_kind(character: str) -> int:
    if character.isdigit():
        return 1
    return 2 if character.isupper() else 3 if character.isalpha() else 4


def _count_characters(word: str) -> tuple[int, int, int, int]:
    """Return the number of digits, capitals, small letters, and changes between kinds of characters."""
    kinds = [_get_character_kind(character) for character in word]
    changes = sum(left != right for left, right in zip(kinds, kinds[1:]))
    return kinds.count(1), kinds.count(2), kinds.count(3), changes


def _has_special(word: str) -> bool:
    return not _SPECIAL_SIGNS.isdisjoint(word[1:-1])


def _is_erratic(word: str) -> bool:
    """Return whether letters are in a disorder that camelCase does not have."""
    digits, capitals, small, _ = _count_characters(word)
    if len(word) < 10 or digits or "=" in word.rstrip("="):
        return False
    return capitals >= 0.25 * len(word) and small >= 0.2 * len(word)


def _is_lookalike(word: str) -> bool:
    """Return whether this is a path, address, date, option or e-mail address, which are as mixed as secrets."""
    if word[0] == "-" and word[1:].isalpha() and 3 * sum(map(str.isupper, word)) < len(word):
        return True  # -AsPlainText: few capitals, unlike what was drawn by chance
    if "://" in word or _TIME_SIGNS.issuperset(word) or word.startswith(("/", "./", "~", "../", "--")):
        return True
    if word[0] == "@" and not is_certain_secret(word[1:]):
        return True
    if "|" in word and all(_is_validation_rule(part) for part in word.split("|")):
        return True
    if _is_glob(word) or _is_colour(word):
        return True
    local, at, host = word.rstrip(".").partition("@")
    named = host.replace(".", "").replace("-", "").isalnum() and local.replace(".", "").isalnum()
    return bool(at and "." in host and named)


def _is_glob(word: str) -> bool:
    """Return whether `word` is a file pattern: `**/session*`, `*.token`, `src/**/key?.ts`."""
    if "*" not in word or not all(character.isalnum() or character in _GLOB_SIGNS for character in word):
        return False
    if "**" in word or "*/" in word or "/*" in word or word.startswith("*."):
        return True
    return "*" in (word[0], word[-1]) and word.islower() and not any(map(str.isdigit, word))


def _is_colour(word: str) -> bool:
    return word[0] == "#" and len(word) in (4, 5, 7, 9) and _HEX_SIGNS.issuperset(word[1:].lower())


def _is_validation_rule(part: str) -> bool:
    """Return whether this is one of `required|min:8` or `string|null`."""
    name = part.partition(":")[0]
    return name.replace("_", "").isalpha() and name.islower()


def is_certain_secret(word: str) -> bool:
    """Return whether a word is certainly a secret, wherever it occurs."""
    word = word[:_WORD_LIMIT]
    if len(word) < 10 or is_placeholder(word) or ("://" in word) or _TIME_SIGNS.issuperset(word):
        return False
    if _is_lookalike(word) and not (len(word) >= 32 and (word.count("/") < 4 or word[-1] == "=")):
        return False
    if "(" in word and word.partition("(")[0].isidentifier():  # Number(f64)
        return False
    digits, capitals, small, changes = _count_characters(word)
    if digits and capitals + small > 2 and _has_special(word) and "(" not in word:
        return True
    least = 1 if len(word) >= _LONG_RANDOM else 2  # of 22 drawn characters, 9 in 100 words have a single digit
    mixed = capitals and small and digits >= least and changes >= 0.38 * len(word)
    padded = capitals and small and digits and len(word) > 15 and word[-1] == "="
    return bool(mixed or padded) or _is_erratic(word) or _is_random(word, digits, changes)


def _is_random(word: str, digits: int, changes: int) -> bool:
    """Return whether a long word of one case is random: hexadecimal, or an unlikely mix of letters and digits."""
    if len(word) < 32:
        return False
    is_hex = digits >= 6 and _HEX_SIGNS.issuperset(word.lower())
    return is_hex or (word.isalnum() and digits >= 4 and changes >= len(word) / 5)


def _is_name(word: str) -> bool:
    """Return whether this is a file name, dotted name, constant or numbered thing."""
    stem, dot, ending = word.rpartition(".")
    if dot and stem and (ending.isalpha() or stem.replace(".", "").isdigit()):
        return True
    return "_" in word and word.replace("_", "").isalnum() and (word.isupper() or word.islower())


def is_likely_secret(word: str) -> bool:
    """Return whether a word is secret enough where a name or a verb already announces one."""
    word = word[:_WORD_LIMIT]
    if is_certain_secret(word):
        return True
    if (
        len(word) < 6
        or is_placeholder(word)
        or _is_lookalike(word)
        or "(" in word
        or word.lower().startswith(TECHNICAL_PREFIXES)
    ):
        return False
    digits, capitals, small, _ = _count_characters(word)
    letters = capitals + small
    if not digits:
        return letters > 0 and len(word) >= 8 and (_has_special(word) or _is_erratic(word.strip("!#$%^&*+?~|@")))
    return letters > 0 and (digits > 1 or capitals > 0 or _has_special(word)) and not _is_unit(word, digits, capitals)


def _is_unit(word: str, digits: int, capitals: int) -> bool:
    """Return whether this is like 15minutes, us-east-1 or claude-3-5."""
    if word[0].isdigit() and word.lstrip("0123456789").isalpha() and len(word) < 12:
        return True
    return "-" in word and digits < 3 > capitals and not _has_special(word)


def is_secret_in_prose(word: str) -> bool:
    """Return whether a word is strong, and not one of the names common in sentences about code."""
    return is_likely_secret(word) and (is_certain_secret(word) or not _is_name(word))


def is_made_up_password(word: str) -> bool:
    """Return whether `word` looks like a password that a person made up: hunter2, hunter2horse!, maple-otter-42.

    Only for places where nothing but a password is expected: many names of things look the same.
    """
    word = word[:_WORD_LIMIT]
    if len(word) < 6 or not word.isascii() or word.lower().startswith(TECHNICAL_PREFIXES) or word[0] in "-.,:":
        return False
    digits, capitals, small, _ = _count_characters(word)
    if (
        not digits
        or not capitals + small
        or digits + capitals + small + sum(c in _PASSWORD_SIGNS for c in word) < len(word)
    ):
        return False
    if is_placeholder(word) or _is_lookalike(word) or word.lower().rstrip("0123456789") in NUMBERED_NAMES:
        return False
    if _is_name(word) and not _is_numbered_pair(word):
        return False
    if word[0].isdigit() and word.lstrip("0123456789").isalpha():  # 15minutes, 2048bit
        return len(word) >= 8 and digits + capitals + small > digits + 6
    if "-" in word and not _has_special(word):
        return len(word) >= 10 and word[-1].isdigit() and not word.startswith(("us-", "eu-", "ap-", "sa-", "ca-"))
    return True


def _is_numbered_pair(word: str) -> bool:
    """Tell whether this is two words and a number, as people make up passwords: maple_otter42, but not tls_key_42."""
    first, _, rest = word.partition("_")
    last = rest.rstrip("0123456789")
    return first.isalpha() and last.isalpha() and len(rest) > len(last) + 1 and last not in NUMBERED_NAMES


def is_marked_password(word: str) -> bool:
    """Return whether `word` is a made-up password even if only the same sentence mentions one: Walnut_482!"""
    return len(word) >= 8 and not set("!#$%^&*?").isdisjoint(word) and is_made_up_password(word)


def is_password_or_secret(value: str) -> bool:
    """Return whether `value` is a secret where a name announced one, and not a path or the name of a thing."""
    return value[:1] not in ("/", ".", "-", ":") and (is_made_up_password(value) or is_non_digest_secret(value))


def _is_marked_or_certain(value: str) -> bool:
    return is_marked_password(value) or (is_certain_secret(value) and "/" not in value)


def is_slug(word: str) -> bool:
    """Tell whether `word` names a thing: tls-2024, app-db-1; but not two long words and a number."""
    parts = word.split("-")
    if (
        len(parts) == 3
        and min(map(len, parts)) >= _MIN_PART
        and parts[2].isdigit()
        and parts[2][:2] not in ("19", "20")
    ):
        return False
    return len(parts) > 1 and word == word.lower() and all(part.isalpha() or part.isdigit() for part in parts)


def is_passphrase(words: list[str], least: int = 4) -> bool:
    """Return whether these are the words of a passphrase: every sentence has articles and prepositions."""
    if not least <= len(words) <= 16:
        return False
    return all(len(w) >= 3 and w.isalpha() and w.islower() and w not in COMMON_WORDS for w in words)


def is_plain_word(word: str) -> bool:
    """Tell whether `word` is one common word, or two with a dash between. Use it only where a value is expected."""
    parts = word.split("-")
    if not _MIN_WORD <= len(word) <= _PLAIN_LIMIT or len(parts) > 2 or is_placeholder(word):
        return False
    if any(name in word for name in NOT_IN_PASSWORDS):
        return False
    return all(len(p) >= 3 and p.isascii() and p.isalpha() and p.islower() and p not in COMMON_WORDS for p in parts)


def is_compound_word(word: str) -> bool:
    """Tell whether `word` is long and of small letters, and no ending shows it to be a common one."""
    if len(word) < _MIN_COMPOUND or not (word.isascii() and word.isalpha() and word.islower()):
        return False
    return not word.endswith(COMMON_ENDINGS) and not any(name in word for name in NOT_IN_PASSWORDS)


def is_word_pair(word: str) -> bool:
    """Tell whether `word` is two words that no adjective is made of: maple-otter, but not read-only."""
    first, dash, last = word.partition("-")
    if not dash or min(len(first), len(last)) < _MIN_PART or first in ADJECTIVE_STARTS or last in ADJECTIVE_ENDS:
        return False
    return is_plain_word(word) and not last.endswith(COMMON_ENDINGS) and last not in STOP_WORDS


def is_noise(word: str) -> bool:
    """Return whether a quoted value is a random mix of letters, digits and punctuation, brackets included."""
    word = word[:_WORD_LIMIT]
    if len(word) < 24 or word.startswith(("<", "{", "${", "$(", "%(")) or _is_filler(word.lower()):
        return False
    if is_digest(word) or "/" in word or word.split(":", 1)[0].isalpha():  # an address of any kind
        return False
    digits, capitals, small, changes = _count_characters(word)
    others = len(word) - digits - capitals - small
    least = 0.25 if len(word) >= _LONG_NOISE and _has_special(word) else 0.35
    return digits >= 2 and others >= 3 and changes >= least * len(word) and " " not in word


def is_digest(word: str) -> bool:
    """Return whether a word is written like a commit or a checksum."""
    return _HEX_SIGNS.issuperset(word.lower())


def is_non_digest_secret(word: str) -> bool:
    """Return whether a word is certainly a secret and not a commit."""
    return is_certain_secret(word) and not is_digest(word)


def _is_userinfo(value: str) -> bool:
    return not is_placeholder(value) and "{" not in value and not value.startswith(("%s", "%v", "%d"))


def _is_header_secret(value: str) -> bool:
    return is_certain_secret(value) or (
        len(value) >= 12 and (is_likely_secret(value) or (value.isdigit() and len(value) >= 16))
    )


def _has_cookie_secret(value: str) -> bool:
    pairs = [pair.partition("=") for pair in value[:4096].split(";")]
    return any(len(held) >= 12 and is_likely_secret(held.strip()) for _, _, held in pairs)


def _is_shell_password(value: str) -> bool:
    if is_placeholder(value) or len(value) < 3 or value.replace(":", "").isdigit():
        return False
    return value[0] not in "-/|<>&" or is_likely_secret(value)


def _is_real_with_digits(value: str) -> bool:
    return _is_real(value) and sum(map(str.isdigit, value[:_WORD_LIMIT])) > 1


def _is_real(value: str) -> bool:
    """Return whether a token-like value is real, and not made up for documentation."""
    lower = value[:_WORD_LIMIT].lower()
    return not _is_filler(lower)


def _is_argument_secret(value: str) -> bool:
    return is_likely_secret(value) or is_made_up_password(value)


def _is_pair_password(value: str) -> bool:
    """Return whether `admin / hunter2` is a password, not the second of two ways to sign in."""
    return is_made_up_password(value) or (is_likely_secret(value) and not _is_name(value))


def _is_owned_password(value: str) -> bool:
    """Return whether `admin:…` or `admin / …` without any mention of signing in is a password.

    It may also be the group of a file, or another role.
    """
    return len(value) >= 8 and _is_pair_password(value) and (not value.isalnum() or sum(map(str.isdigit, value)) > 1)


def _is_account_password(value: str) -> bool:
    """Return whether `grafana: admin/…` is that user's password, and not a page or branch of an `admin/` folder."""
    return _is_pair_password(value) and not is_slug(value) and not value.isalpha()


def is_key(value: str) -> bool:
    """Return whether this is a long word in place of a key; checksums count, because the name says what it is."""
    return is_certain_secret(value) or (len(value) >= 20 and value.isalnum() and is_likely_secret(value))


def _is_basic_auth(value: str) -> bool:
    """Return whether this is base64 of a name, a colon and a password."""
    import binascii

    try:
        said = binascii.a2b_base64(value + "=" * (-len(value) % 4)).decode()
    except ValueError:
        return False
    name, _, rest = said.partition(":")
    return said.isprintable() and bool(name) and len(rest) > 2


def is_mixed_key(value: str) -> bool:
    """Return whether this is a key of letters of both cases and digits, and not a commit."""
    digits, capitals, small, changes = _count_characters(value[:_WORD_LIMIT])
    return is_non_digest_secret(value) or (
        min(digits, capitals, small) > 0 and changes >= 0.3 * len(value) and is_key(value)
    )


def _is_card_number(value: str) -> bool:
    """Return whether the Luhn check digit is right."""
    digits = [int(character) for character in reversed(value) if character.isdigit()]
    doubled = [digit * 2 - 9 * (digit > 4) for digit in digits[1::2]]
    return 13 <= len(digits) <= 19 and len(set(digits)) > 2 and (sum(digits[::2]) + sum(doubled)) % 10 == 0


EVIDENCE_CHECKS: dict[str, Callable[[str], bool]] = {
    "account": _is_account_password,
    "any": lambda value: "[redacted" not in value.lower(),
    "argument": _is_argument_secret,
    "basic": _is_basic_auth,
    "card": _is_card_number,
    "cookie": _has_cookie_secret,
    "digits": _is_real_with_digits,
    "header": _is_header_secret,
    "keyed": is_key,
    "lone": is_non_digest_secret,
    "marked": _is_marked_or_certain,
    "mixed": is_mixed_key,
    "owned": _is_owned_password,
    "pair": _is_pair_password,
    "real": _is_real,
    "shell": _is_shell_password,
    "spoken": is_secret_in_prose,
    "strict": is_certain_secret,
    "strong": is_likely_secret,
    "userinfo": _is_userinfo,
}


def find_matches(plain: str, kind: str, evidence: str, pattern: str) -> Iterator[Finding]:
    """Yield what matches the pattern, if the evidence holds for it."""
    import re

    holds = EVIDENCE_CHECKS[evidence]
    for count, match in enumerate(re.compile(pattern).finditer(plain)):
        start, end = match.span(match.re.groups)
        # Thousands of candidates come from an attacker: no time to look at each, so each is taken for real.
        if count > _MAX_MATCHES or holds(plain[start:end]):
            yield start, end, kind


# A name that goes on like this is not itself secret: token_type, password_min_length, secretName.
HARMLESS_TAILS = (
    "type", "count", "url", "uri", "name", "file", "path", "expir", "ttl", "limit", "len", "field", "input", "ref",
    "polic", "reset", "iz", "min_", "minl", "max", "stdin", "manager", "store", "endpoint", "issuer", "audience", "alg",
    "usage", "budget", "version", "per_", "rotation", "source", "provider", "env", "arn", "prompt", "label",
    "placeholder", "requir", "valid", "param", "header", "regex", "pattern", "hint", "help", "error", "lifetime",
    "refresh_", "price", "cost", "window", "less", "ed", "ing", "ary", "ariat", "fingerprint", "format", "schema",
    "class", "enabled", "hasher", "confirm", "index", "mask", "encoding", "list", "map", "service", "form", "page",
    "view", "screen", "rule", "strength", "created", "updated", "changed", "column", "table", "script", "dir",
    "group", "scope", "role_", "public",
)  # fmt: skip
# What stands before it can take the secrecy away: next_page_token, cache_key.
HARMLESS_TOKENS = (
    "page", "next", "public", "sync", "continuation", "cancellation", "pad", "eos", "bos", "stop", "special", "design",
    "unk", "sep", "mask", "cls", "resume", "cursor", "return", "syntax", "image", "string", "eof", "unexpected",
    "unrecognized", "unrecognised",
)  # fmt: skip
HARMLESS_KEYS = (
    "public", "primary", "foreign", "cache", "idempotency", "partition", "sort", "object", "ssh", "host", "row",
    "i18n", "translation", "group", "lookup", "unique", "composite", "surrogate", "routing", "dedup", "dedupe",
    "shard", "map", "dict", "hash", "storage", "query", "mutation", "s3", "registry", "hot", "state", "gpg", "pgp",
)  # fmt: skip

# How long words of everyday language end, and hardly ever two words that are written together.
COMMON_ENDINGS = (
    "ed", "ing", "ion", "ions", "able", "ible", "ment", "ity", "ly", "ness", "al", "als", "ive", "ous", "ize", "ise",
    "ory",
    "ary", "ance", "ence", "ic", "ics", "ful", "less", "ung", "lich", "isch", "keit", "heit", "ent", "ant", "ure",
    "ism", "ist",
    "aire", "oire", "eur", "ito", "ido", "ada", "ado", "ato", "ata", "ione", "ria", "rio", "ect", "ate", "ters",
    "ials", "word", "phrase", "name", "value", "values", "required", "manager", "ship", "ify", "enkt", "ern",
)  # fmt: skip
# What the names of settings and values in code have in them, and made-up words seldom.
NOT_IN_PASSWORDS = ("pass", "pw", "secret", "token", "user", "hash", "text", "encod", "encrypt", "default", "string")
# What adjectives with a dash begin and end with: read-only, server-side.
ADJECTIVE_STARTS = frozenset(
    "read write case auto plain self hard base multi single user built rate well long short time human machine".split()
)
ADJECTIVE_ENDS = frozenset(
    "only side known term wide line level time date force once safe free like case word name file less type form size"
    " mode bound based aware friendly length store manager rules reset prompt field check login auth".split()
)
# Values that say that there is no value.
STOP_WORDS = frozenset(
    (
        "string str text varchar char bytes none null nil undefined true false yes no required optional password"
        " passwd pass secret token key value default any number object boolean bool hidden input bearer basic auto"
        " empty user username root admin postgres mysql guest test foo bar baz foobar unset missing invalid expired"
        " wrong correct changed here passwort kennwort contraseña api apikey api_key mypassword mysecret mytoken mykey"
        " hunter pwd pw login email name file env int integer uuid json unknown disabled enabled redacted removed"
        " masked encrypted hashed toor redis mongo rabbitmq minio sa letmein oauth oauth2 jwt saml service repository"
        " production staging development internal falsch leer vergessen abgelaufen bcrypt argon plain vault local"
        " prompt keyring keychain visible strict nullable simple sensitive database ldap github google"
        " credentials digest scram trust ident stdin session cookie cookies headers header hello world sample demo"
        " fixture"
    ).split()
)
PLACEHOLDER_PREFIXES = (
    "<", "${", "$(", "{", "%(", "%{", "#{", "[", "…", "...", "@{", "env.", "env:", "env[", "process.env",
    "os.environ", "os.getenv", "getenv", "secrets.", "vars.", "vault:", "op://", "arn:", "ssm:", "file:", "http://",
    "https://", "!ref", "&", "data:", "self.", "this.", "config.", "settings.", "import.meta", "sha256:", "sha1:",
    "sha512-", "sha256-", "sha384-", "sops:", "enc[", ".*", "[^", "context.", "props.", "state.", "\\${", "|", "==",
    "projects/", "secret/", "secrets/", "kv/",
    "*args", "var.", "local.", "module.", "each.", "=>", "workspace:", "npm:", "catalog:", "link:", "git+",
)  # fmt: skip
PLACEHOLDER_PARTS = (
    "xxxx", "your", "example", "changeme", "change_me", "change-me", "placeholder", "redacted", "insert", "replace",
    "dummy", "****", "....", "…", "•••", "todo", "<", ">", "_here", "-here", "my-secret", "my_secret", "not-a-real",
    "notreal", "fakefake", "goes-here", "put-", "my-api-key", "my_api_key", "my-token", "my_token", "foobar", "::",
    "${", "{{", "@sha256:", "[a-z", "[0-9", "0-9]",
)  # fmt: skip
# Words of the trade that have digits in them and are no secrets.
TECHNICAL_PREFIXES = (
    "sha1", "sha2", "sha3", "sha5", "md5", "base64", "b64", "utf", "oauth", "rs256", "hs256", "es256", "aes", "ed25519",
    "pbkdf2", "argon2", "bcrypt", "http", "ipv", "x509", "x-", "pkcs", "rfc", "iso", "win32", "python3", "gpt",
    "claude", "p256", "rsa", "node", "vue", "web3", "auth0", "ec2", "route53", "sqlite3", "postgres", "i18n", "l10n",
    "a11y", "k8s", "u2f", "fido2", "totp", "s3:", "arm64", "x86", "unix", "localhost", "127.", "0x", "2fa", "mp3",
    "mp4", "h264", "log4j", "neo4j", "commit", "saml", "1pass",
)  # fmt: skip
# Things that people number: step2, user1.
NUMBERED_NAMES = frozenset(
    (
        "step phase option version chapter section figure table item line column test user field param arg v page part"
        " round case input host server node worker client level layer stage db"
    ).split()
)
COPULAS = frozenset(
    (
        "is are was | - – — / from von = : ist lautet lauten sind est es é è to auf as son zu := -> → => be jest är"
        " er это является mit with using con avec is: ist: equals called named namens è: sei heißt heisst becomes now"
        " jetzt says só olur adalah là usa use uses c'est c’est 's ’s будет: такой: такой это: является: equals: new"
        " neu neue"
        " waren wird wurde será fue foi était sera sarà era stays remains contains reads like als war nun"
        " it's it’s bisher now: currently still actually aktuell derzeit maintenant désormais ahora agora adesso ora"
        " теперь сейчас sondern sino bensì 0 7 would sarebbe serait seria sería wäre vai ser sein être essere"
        " not nicht pas non não не"
    ).split()
)
# The same in scripts that write it together with the word before it.
COPULA_ENDINGS = (
    "是",
    "为",
    "為",
    "：",
    "は",
    "が",
    "「",
    "『",
    "는",
    "은",
    "로",
    "成",
    "用",
    "를",
    "을",
    "に",
    "、",
    "，",
    "“",
)
# What comes before a password that is to be typed in: "use the password …".
USE_PHRASES = (" use ", " with ", " mit ", " nimm ", " usa ", " avec ", " con ", " com ", "utilis", "использ", " с ")
# What begins a sentence that goes on about the noun of the last one; what names the new value after a verb of change.
PRONOUNS = frozenset("it it's it’s es er c'est c’est il elle è es ele ela он это its".split())
TARGET_WORDS = frozenset("in a à para pra pro en на by by: su".split())
CHANGE_STEMS = (
    "cambi", "mude", "mud", "alter", "chang", "impost", "änder", "смени", "измен", "помен", "replac", "updat", "set",
    "met", "troc", "troq", "поставь", "установи", "pon", "pus", "mis", "defin",
)  # fmt: skip
# Behind the noun: not in English, where `changed in PR-12` says where and not to what.
CHANGED_STEMS = (
    "cambi", "mud", "troc", "troq", "changé", "modifi", "impost", "aggiorn", "поменя", "сменён", "сменен", "измен",
    "geänder",
)  # fmt: skip
BACKWARD_LINKS = frozenset("is was as are sind ist als war est comme es como è come é jest är som это как the".split())
# What points back at a value: `"…", that's the password`.
POINTING_WORDS = frozenset(
    "that that's that’s which it's it’s das dies c'est c’est ce questa eso esa esta isso essa это".split()
)
# What says that a password is meant as one, whatever verb comes before it: "als Passwort nehmen wir …".
ROLE_PHRASES = (" als", " as", " as the", " comme", " como", " come", " в качестве")
EASTERN_LINKS = ("作为", "作為", "当作", "是", "を", "が", "は", "として", "로", "을", "를")
# What begins a remark behind a value: `"…"  # the password`.
REMARK_SIGNS = frozenset("# // -- <- ← <!-- /*".split())
PURPOSE_WORDS = frozenset("for für pour para per voor для".split())
# What no passphrase of drawn words has in it, and what sentences about passphrases do.
COMMON_WORDS = frozenset(
    (
        "the and but for not nor with without from into onto over under when while who whom whose which that this these"
        " those then than there here has have had was were are been being will would shall should can could may might"
        " must does did done its his her their our your you they them she him one only once ever never always every"
        " each"
        " all any some both few more most other such own same too very just also after before again until about above"
        " below between through during against per via out off down time times long short old new set get got let"
        " password passphrase passwort secret token key keys pin code user users account login wrong invalid incorrect"
        " expired missing required optional empty stored encrypted hashed asked prompted entered typed changed rotated"
        " reset sent link email please try use used using see read file files disk environment variable vault manager"
        " characters letters digits words least correct valid failed error failure successful successfully match"
        " matches"
        " matching different weak strong field value values input output provided given unknown found authentication"
        " der die das den dem des ein eine einer einem und oder aber nicht kein keine ist sind war wird werden wurde"
        " für"
        " von vom zum zur mit ohne aus bei nach auf über unter wenn muss nur noch sehr les des une pour dans avec sans"
        " est sont pas que qui sur par plus trop los las una uno con sin por del que para est muy son gli che per non"
        " nel della dei dal uma dos das com sem não nos ser mais"
        " geheim sicher schwach stark kurz lang einfach faible forte fort court courte longue requis requise invalide"
        " secret secrète segura seguro fraca fraco debole sicura sicuro corta corto curta curto lunga larga vide vuota"
        " vazia errata sbagliata scaduta correta correcta corretta correcte valida valide secreta segreta obligatoire"
    ).split()
)
# Parts of addresses that say where a secret is kept, not what it is.
REFERENCE_PARTS = (
    "arn:", "secretsmanager", "vault.azure.net", "projects/", "op://", "vault://", "vault:", "ssm:", "gcp-sm://",
    "sm://",
    "keyvault", "akv:", "awssm", "/versions/", "secretref", "ref+", "bws:", "infisical:", "doppler:",
)  # fmt: skip
# Functions and classes that are given a key, and those that are given a checksum or the name of a thing.
VENDORS = (
    "analytics", "mixpanel", "segment", "amplitude", "stripe", "twilio", "sendgrid", "mailgun", "posthog", "sentry",
    "pusher", "vonage", "nexmo", "mapbox", "openai", "rollbar", "bugsnag", "newrelic", "datadog", "algolia", "fastly",
    "cloudinary", "plivo", "intercom", "pubnub", "messagebird", "mandrill", "postmark", "shopify", "honeybadger",
    "airbrake", "launchdarkly", "optimizely", "appsflyer", "braze", "klaviyo", "mailchimp", "zendesk", "opsgenie",
    "pagerduty", "loggly", "papertrail", "openweather", "newsapi", "etherscan", "infura", "deepl", "giphy",
)  # fmt: skip
KEY_CALLEES = (
    *VENDORS, "client", "api", "sdk", "init", "configure", "setup", "connect", "auth", "login", "key", "token",
    "search", "bot", "gateway", "provider", "credential", "service", "start", "secret", "session", "sign", "hmac",
    "crypt", "cipher", "aes", "chacha", "fernet", "webhook", "account", "license", "register", "create_app",
)  # fmt: skip
NAMING_CALLEES = (
    "id", "uuid", "hash", "sha", "md5", "digest", "commit", "checkout", "etag", "checksum", "revision", "ref", "find",
    "expect",
    "equal", "assert", "blob", "tree", "image", "url", "path", "open", "test", "describe", "print", "log", "error",
    "exception",
    "version", "span", "trace", "public", "cachekey", "cache_key", "getelement", "queryselector", "classname",
    "import", "require",
)  # fmt: skip
