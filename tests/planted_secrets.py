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


class SecretGenerator:
    """Draws values of every kind; the same seed gives the same values."""

    def __init__(self, seed: str) -> None:
        self.random = random.Random(seed)

    def draw_string(self, length: int, alphabet: str = ALNUM) -> str:
        return "".join(self.random.choices(alphabet, k=length))

    def draw_base64(self, length: int) -> str:
        return base64.b64encode(self.random.randbytes(length)).decode()

    def draw_word(self) -> str:
        return self.random.choice(WORDS)

    def draw_uuid(self) -> str:
        return str(uuid.UUID(int=self.random.getrandbits(128)))

    def draw_password(self) -> str:
        """Return a password of the kind people make up."""
        return self.random.choice(
            [
                f"{self.draw_word()}{self.draw_string(1, DIGITS)}{self.draw_word()}!",
                f"{self.draw_word().capitalize()}{self.draw_string(4, DIGITS)}",
                f"{self.draw_word().capitalize()}_{self.draw_string(3, DIGITS)}{self.draw_string(1, '!?#$%&*')}",
                f"{self.draw_string(5)}{self.draw_string(1, DIGITS)}@{self.draw_string(5)}",
                f"{self.draw_word()}{self.draw_string(2, DIGITS)}",
                f"{self.draw_word()}-{self.draw_word()}-{self.draw_string(2, DIGITS)}",
                f"{self.draw_string(3, UPPER)}{self.draw_string(4, DIGITS)}{self.draw_string(2, LOWER)}",
                f"P@ss{self.draw_word()}{self.draw_string(2, DIGITS)}",
            ]
        )

    def draw_armour(self, name: str, newline: str = "\n") -> str:
        body = self.draw_base64(220)
        lines = [body[at : at + 64] for at in range(0, len(body), 64)]
        return newline.join([f"-----{'BEGIN'} {name}-----", *lines, f"-----END {name}-----"])

    def draw_setting(self) -> str:
        name = self.random.choice(["DB_PASSWORD", "API_KEY", "SECRET_KEY", "AWS_SECRET_ACCESS_KEY"])
        return base64.b64encode(f"{name}={self.draw_string(24)}".encode()).decode()


def _map_generators(draw: SecretGenerator) -> dict[str, Callable[[], str]]:
    """Map the names in templates to functions that draw a value."""
    private = "PRIVATE" + " KEY"
    return {
        "pw": draw.draw_password,
        "phrase": lambda: " ".join(draw.random.sample(WORDS, 4)),
        "pin": lambda: draw.draw_string(draw.random.choice([4, 6]), DIGITS),
        "otp": lambda: draw.draw_string(6, DIGITS),
        "seq": lambda: draw.random.choice(SEQUENCES),
        "base32": lambda: draw.draw_string(32, UPPER + "234567"),
        "noise": lambda: draw.draw_string(50, NOISE),
        "django": lambda: "django-insecure-" + draw.draw_string(50, NOISE),
        "basic": lambda: base64.b64encode(f"{draw.draw_string(6, LOWER)}:{draw.draw_string(12)}".encode()).decode(),
        "b64kv": draw.draw_setting,
        "b64pw": lambda: base64.b64encode(draw.draw_password().encode()).decode(),
        "pair": lambda: f"{draw.draw_word()}falcon",
        "plain": lambda: draw.random.choice([word for word in WORDS if word != "hunter"]),
        "dashed": lambda: f"{draw.draw_word()}-{draw.random.choice(['otter', 'copper', 'tiger', 'anchor'])}",
        "snake": lambda: f"{draw.draw_word()}_{draw.draw_word()}{draw.draw_string(2, DIGITS)}",
        "slug": lambda: f"{draw.draw_word()}-{draw.draw_word()}-{draw.random.randint(3000, 9999)}",
        "words": lambda: "-".join(draw.random.sample(WORDS, 4)),
        "half": lambda: draw.draw_string(5, LOWER + DIGITS) + draw.draw_string(1, DIGITS),
        "one": lambda: "psEn" + draw.draw_string(1, DIGITS) + "GcFzYgqRZiGqKyVpBw",
        "gpg": lambda: draw.draw_string(40, DIGITS + "ABCDEF"),
        "uuid": draw.draw_uuid,
        "ghp": lambda: "gh" + "p_" + draw.draw_string(36),
        "split": lambda: (
            "gh" + "p_" + "\u200b".join([draw.draw_string(12), draw.draw_string(12), draw.draw_string(12)])
        ),
        "slackhook": lambda: (
            f"https://hooks.{'slack'}.com/services/T{draw.draw_string(8)}/B{draw.draw_string(8)}/{draw.draw_string(24)}"
        ),
        "discordhook": lambda: (
            f"https://{'discord'}.com/api/webhooks/{draw.draw_string(18, DIGITS)}/{draw.draw_string(68, URL_SAFE)}"
        ),
        "pem": lambda: draw.draw_armour("ENCRYPTED " + private),
        "ssh": lambda: draw.draw_armour("OPENSSH " + private),
        "escaped": lambda: draw.draw_armour(private, "\\n"),
        "indented": lambda: draw.draw_armour(private, "\n    "),
        "age": lambda: "AGE-" + "SECRET-KEY-1" + draw.draw_string(58, UPPER + DIGITS),
        "ppk": lambda: "\n".join(draw.draw_string(64, ALNUM + "+/") for _ in range(3)),
        "num": lambda: draw.draw_string(12, DIGITS),
        "sha7": lambda: draw.draw_string(7, HEX),
        "sri": lambda: "sha512-" + draw.draw_base64(64),
        "img": lambda: base64.b64encode(b"\x89PNG\r\n\x1a\n" + draw.random.randbytes(120)).decode(),
        "pub": lambda: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + draw.draw_string(43, ALNUM + "/+"),
        "cert": lambda: draw.draw_armour("CERTIFICATE"),
        "pubpem": lambda: draw.draw_armour("PUBLIC KEY"),
        **{f"hex{size}": lambda size=size: draw.draw_string(size, HEX) for size in (12, 16, 24, 32, 40, 64)},  # type: ignore[misc]
        **{f"a{size}": lambda size=size: draw.draw_string(size) for size in (12, 16, 20, 24, 32, 40)},  # type: ignore[misc]
        **{f"u{size}": lambda size=size: draw.draw_string(size, URL_SAFE) for size in (22, 43, 86)},  # type: ignore[misc]
        **{f"b{size}": lambda size=size: draw.draw_base64(size) for size in (16, 24, 32, 64)},  # type: ignore[misc]
    }


def fill_template(template: str, seed: int) -> tuple[str, list[str]]:
    """Fill a template; return the text and the secrets in it."""
    kinds = _map_generators(SecretGenerator(f"{seed}:{template}"))
    secrets: list[str] = []

    def drawn(match: re.Match[str]) -> str:
        value = kinds[match.group(1) or match.group(2)]()
        if match.group(1):
            secrets.append(value)
        return value

    text = re.sub(r"\[\[(\w+)\]\]|\(\((\w+)\)\)", drawn, template)
    return text, secrets


def read_templates(path: Path) -> list[str]:
    """Read a file of templates, one JSON string per line; other lines are comments."""
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.startswith('"')]


def find_leak(secret: str, text: str, redacted: str) -> str:
    """Return four characters of the secret that are still in the text, or ""."""
    masked = re.sub(r"\[REDACTED:[a-z0-9-]+\]", "\0", redacted)
    around = text.replace(secret, "\0")
    pieces = [secret[at : at + 4] for at in range(max(1, len(secret) - 3))]
    return next((piece for piece in pieces if masked.count(piece) > around.count(piece)), "")
