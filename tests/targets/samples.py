"""Hypothesis strategies for instruction files and learnings."""

from __future__ import annotations

from hypothesis import strategies as st

from reflect_git.targets.target_page import CATEGORY_TITLES

END = b"<!-- reflect-git:end -->"
_LINES = [
    "", "", "", "   ", "\t", "# Title", "# Second title", "## Commands", "### Gotchas", "Commands\n---",
    "some words",
    "words with\ttabs  ", "- item", "* star", "  - nested", "1. first", "    indented code", "> quoted", "---",
    "***",
    "a: b", "| a | b |\n| - | - |\n| 1 | 2 |", "```", "~~~", "```sh\nmake\n```", "<!--", "-->",
    "<!-- note -->", "<div>",
    "</div>", "<script>", "<custom-tag>", "[a]: /url", "@docs/other.md", "line\u2028separator", "form\x0cfeed",
    "\u00a0",
    "umlaut äöü",
    "```\n<!-- reflect-git:begin -->\n<!-- LRN-20200101-aaaaaaaa -->\n- x\n<!-- reflect-git:end -->\n```",
    "- list\n\n  <!-- reflect-git:begin -->\n  <!-- LRN-20200101-aaaaaaaa -->\n  - x",
    "> <!-- reflect-git:end -->", "word <!-- LRN-20200101-aaaaaaaa --> word", "- a\n\n- b\n\n      code in item",
]  # fmt: skip
_FRONT_MATTERS = ["", "", "", "---\ntitle: x\n---\n", "---\nkey: |\n  <!-- reflect-git:begin -->\n---\n", "---\n"]


@st.composite
def instruction_files(draw: st.DrawFn) -> bytes:
    """Draw a file as people have them: any newline style or a mix; with or without byte order mark and last newline."""
    lines = draw(st.lists(st.sampled_from(_LINES) | st.text("ab #-*`<>!\u3042", max_size=8), max_size=12))
    ends = draw(st.sampled_from([["\n"], ["\r\n"], ["\n", "\r\n"], ["\n", "\r"]]))
    text = draw(st.sampled_from(_FRONT_MATTERS))
    text += "".join(line + draw(st.sampled_from(ends)) for line in lines)
    if ends == ["\r\n"]:
        text = text.replace("\r\n", "\n").replace("\n", "\r\n")
    if draw(st.booleans()):
        text = text.rstrip("\r\n")
    return (draw(st.sampled_from(["", "", "\ufeff"])) + text).encode()


def require_untouched(base: bytes, written: bytes, identity: str) -> None:
    """Check that every byte outside our block and its surrounding blank lines is unchanged."""
    entry = written.index(identity.encode())
    start = written.rindex(b"<!-- reflect-git:begin", 0, entry)
    end = written.index(END, entry) + len(END)
    above, below = written[:start], written[end:]
    kept = next((at for at, (a, b) in enumerate(zip(above, base, strict=False)) if a != b), min(len(above), len(base)))
    rest = base[kept:]
    assert above[kept:].strip(b"\r\n") == b"", (base, written)
    assert below.endswith(rest) and below[: len(below) - len(rest)].strip(b"\r\n") == b"", (base, written)


identities = st.builds(
    "LRN-202602{:02d}-{}".format,
    st.integers(1, 28),
    st.text("0123456789abcdefghjkmnpqrstvwxyz", min_size=8, max_size=8),
)
categories = st.sampled_from(list(CATEGORY_TITLES))
words = st.sampled_from(
    [
        "use",
        "pnpm",
        "`npm test`",
        "*never*",
        "a_b",
        "@types/node",
        "<div>",
        "<!-- x -->",
        "日本語",
        "#",
        "-",
        "1.",
        "`",
        "\n",
        "~~~",
    ]
)
texts = st.lists(words, min_size=1, max_size=12).map(" ".join) | st.text(min_size=1, max_size=40)
