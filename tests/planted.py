"""Fill templates with secrets drawn at run time, so that no file of this project contains one.

In a template `[[kind]]` is a secret that must be redacted, and `((kind))` is filler that must stay.
"""

from __future__ import annotations

import base64
import json
import random
import re
import string
import uuid
from pathlib import Path
from typing import Callable

LOWER, UPPER, DIGITS = string.ascii_lowercase, string.ascii_uppercase, string.digits
ALNUM = LOWER + UPPER + DIGITS
HEX = "0123456789abcdef"
URL_SAFE = ALNUM + "-_"
NOISE = LOWER + DIGITS + "!@#$%^&*(-_=+)"
WORDS = (
    "hunter horse maple otter summer winter dragon falcon orange coffee tiger monkey purple garden silver rocket banana"
    " copper violet anchor"
).split()
SEQUENCES = (
    "abcdef1234567890" * 2,
    "1234567890abcdef" * 2,
    "0123456789abcdefghij",
    "aaaabbbbccccddddeeee1111",
    "12345678901234567890",
)


class Drawing:
    """Draws values of every kind; the same seed gives the same values."""

    def __init__(self, seed: str) -> None:
        self.random = random.Random(seed)

    def some(self, length: int, alphabet: str = ALNUM) -> str:
        return "".join(self.random.choices(alphabet, k=length))

    def base64(self, length: int) -> str:
        return base64.b64encode(self.random.randbytes(length)).decode()

    def word(self) -> str:
        return self.random.choice(WORDS)

    def uuid(self) -> str:
        return str(uuid.UUID(int=self.random.getrandbits(128)))

    def password(self) -> str:
        """Return a password of the kind people make up."""
        return self.random.choice(
            [
                f"{self.word()}{self.some(1, DIGITS)}{self.word()}!",
                f"{self.word().capitalize()}{self.some(4, DIGITS)}",
                f"{self.word().capitalize()}_{self.some(3, DIGITS)}{self.some(1, '!?#$%&*')}",
                f"{self.some(5)}{self.some(1, DIGITS)}@{self.some(5)}",
                f"{self.word()}{self.some(2, DIGITS)}",
                f"{self.word()}-{self.word()}-{self.some(2, DIGITS)}",
                f"{self.some(3, UPPER)}{self.some(4, DIGITS)}{self.some(2, LOWER)}",
                f"P@ss{self.word()}{self.some(2, DIGITS)}",
            ]
        )

    def armour(self, name: str, newline: str = "\n") -> str:
        body = self.base64(220)
        lines = [body[at : at + 64] for at in range(0, len(body), 64)]
        return newline.join([f"-----{'BEGIN'} {name}-----", *lines, f"-----END {name}-----"])

    def setting(self) -> str:
        name = self.random.choice(["DB_PASSWORD", "API_KEY", "SECRET_KEY", "AWS_SECRET_ACCESS_KEY"])
        return base64.b64encode(f"{name}={self.some(24)}".encode()).decode()


def _kinds(draw: Drawing) -> dict[str, Callable[[], str]]:
    """Map the names in templates to functions that draw a value."""
    private = "PRIVATE" + " KEY"
    return {
        "pw": draw.password,
        "phrase": lambda: " ".join(draw.random.sample(WORDS, 4)),
        "pin": lambda: draw.some(draw.random.choice([4, 6]), DIGITS),
        "otp": lambda: draw.some(6, DIGITS),
        "seq": lambda: draw.random.choice(SEQUENCES),
        "base32": lambda: draw.some(32, UPPER + "234567"),
        "noise": lambda: draw.some(50, NOISE),
        "django": lambda: "django-insecure-" + draw.some(50, NOISE),
        "basic": lambda: base64.b64encode(f"{draw.some(6, LOWER)}:{draw.some(12)}".encode()).decode(),
        "b64kv": draw.setting,
        "b64pw": lambda: base64.b64encode(draw.password().encode()).decode(),
        "pair": lambda: f"{draw.word()}falcon",
        "plain": lambda: draw.random.choice([word for word in WORDS if word != "hunter"]),
        "dashed": lambda: f"{draw.word()}-{draw.random.choice(['otter', 'copper', 'tiger', 'anchor'])}",
        "snake": lambda: f"{draw.word()}_{draw.word()}{draw.some(2, DIGITS)}",
        "slug": lambda: f"{draw.word()}-{draw.word()}-{draw.random.randint(3000, 9999)}",
        "words": lambda: "-".join(draw.random.sample(WORDS, 4)),
        "half": lambda: draw.some(5, LOWER + DIGITS) + draw.some(1, DIGITS),
        "one": lambda: "psEn" + draw.some(1, DIGITS) + "GcFzYgqRZiGqKyVpBw",
        "gpg": lambda: draw.some(40, DIGITS + "ABCDEF"),
        "uuid": draw.uuid,
        "ghp": lambda: "gh" + "p_" + draw.some(36),
        "split": lambda: "gh" + "p_" + "\u200b".join([draw.some(12), draw.some(12), draw.some(12)]),
        "slackhook": lambda: f"https://hooks.{'slack'}.com/services/T{draw.some(8)}/B{draw.some(8)}/{draw.some(24)}",
        "discordhook": lambda: (
            f"https://{'discord'}.com/api/webhooks/{draw.some(18, DIGITS)}/{draw.some(68, URL_SAFE)}"
        ),
        "pem": lambda: draw.armour("ENCRYPTED " + private),
        "ssh": lambda: draw.armour("OPENSSH " + private),
        "escaped": lambda: draw.armour(private, "\\n"),
        "indented": lambda: draw.armour(private, "\n    "),
        "age": lambda: "AGE-" + "SECRET-KEY-1" + draw.some(58, UPPER + DIGITS),
        "ppk": lambda: "\n".join(draw.some(64, ALNUM + "+/") for _ in range(3)),
        "num": lambda: draw.some(12, DIGITS),
        "sha7": lambda: draw.some(7, HEX),
        "sri": lambda: "sha512-" + draw.base64(64),
        "img": lambda: base64.b64encode(b"\x89PNG\r\n\x1a\n" + draw.random.randbytes(120)).decode(),
        "pub": lambda: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + draw.some(43, ALNUM + "/+"),
        "cert": lambda: draw.armour("CERTIFICATE"),
        "pubpem": lambda: draw.armour("PUBLIC KEY"),
        **{f"hex{size}": lambda size=size: draw.some(size, HEX) for size in (12, 16, 24, 32, 40, 64)},  # type: ignore[misc]
        **{f"a{size}": lambda size=size: draw.some(size) for size in (12, 16, 20, 24, 32, 40)},  # type: ignore[misc]
        **{f"u{size}": lambda size=size: draw.some(size, URL_SAFE) for size in (22, 43, 86)},  # type: ignore[misc]
        **{f"b{size}": lambda size=size: draw.base64(size) for size in (16, 24, 32, 64)},  # type: ignore[misc]
    }


def fill(template: str, seed: int) -> tuple[str, list[str]]:
    """Fill a template; return the text and the secrets in it."""
    kinds = _kinds(Drawing(f"{seed}:{template}"))
    secrets: list[str] = []

    def drawn(match: re.Match[str]) -> str:
        value = kinds[match.group(1) or match.group(2)]()
        if match.group(1):
            secrets.append(value)
        return value

    text = re.sub(r"\[\[(\w+)\]\]|\(\((\w+)\)\)", drawn, template)
    return text, secrets


def templates(path: Path) -> list[str]:
    """Read a file of templates, one JSON string per line; other lines are comments."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.startswith('"')]


def left_of(secret: str, text: str, redacted: str) -> str:
    """Return four characters of the secret that are still in the text, or ""."""
    masked = re.sub(r"\[REDACTED:[a-z0-9-]+\]", "\0", redacted)
    around = text.replace(secret, "\0")
    pieces = [secret[at : at + 4] for at in range(max(1, len(secret) - 3))]
    return next((piece for piece in pieces if masked.count(piece) > around.count(piece)), "")
