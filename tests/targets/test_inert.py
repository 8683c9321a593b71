"""A learning's text becomes one inert bullet, whatever it contains."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflect_git.targets import block
from reflect_git.targets.markdown import is_plain_item, parse_pieces, parse_spans
from reflect_git.targets.safe_text import is_same_text, make_safe
from tests.targets import samples

ID = "LRN-20260211-4c8d2a1f"
HOSTILE = [
    "<!-- hidden -->", "<!--", "-->", "<!-- reflect-git:begin -->", "<!-- reflect-git:end -->",
    f"<!-- {ID} -->", "`", "``",
    "```\n", "~~~\n", "\n", "\n\n", "# ", "## ", "---\n", "- ", "* ", "+ ", "1. ", "2) ", "> ", "    ", "\t",
    "\\", "@", "@~/x",
    "@a/b", "<div>", "</div>", "<a href='`'>", "<system-reminder>", "</system-reminder>", "&lt;", "[a]: b",
    "[", "](", "word",
    "\u200b", "\u202e", "\ufeff", "\U000e0041", "\u2028", "\x00", "\ud800", "é", "👩\u200d👧", "|", "=",
    "<https://a.b>", "<?", "<![CDATA[",
]  # fmt: skip
# As the client finds them; a path of only dots and brackets does not count.
CLIENTS_IMPORT = re.compile(r"(?:^|\s)@(?:[^\s\\]|\\ )*[^\s\\.,;:!?)\]}'\">*_]")
hostile = st.lists(st.sampled_from(HOSTILE) | st.text(max_size=3), max_size=12).map("".join)


@given(hostile)
def test_any_text_is_one_bullet_and_stays_as_it_is(text: str) -> None:
    line, _ = make_safe(text)
    assert make_safe(line) == (line, [])
    if line:
        assert is_plain_item(line)
        assert block.build_entry(ID, text).decode().split("\n") == [f"<!-- {ID} -->", "", f"- {line}", ""]


@given(hostile)
def test_nothing_in_a_text_hides_imports_or_ends_something(text: str) -> None:
    line, _ = make_safe(text)
    assert "<system-reminder" not in line
    assert "</system-reminder" not in line
    for span in parse_spans(line):
        assert span.kind != "tag"
        if span.kind == "text":
            assert "<!--" not in span.text
            assert not CLIENTS_IMPORT.search(span.text)
    ours = ("<!-- reflect-git", "<!-- LRN")
    assert not any(marker in line for marker in ours)


@given(samples.instruction_files(), hostile)
def test_no_text_confuses_the_block(base: bytes, text: str) -> None:
    line, _ = make_safe(text)
    found = block.find_block(base)
    if not line or (found and (found.pair or found.problems)):
        return
    data = block.add(base, ID, text, "gotcha")
    live = block.find_block(data)
    assert live
    assert live.problems == ()
    assert [entry.text for entry in live.entries if entry.id == ID] == [line]
    assert block.remove(data, ID, text) == base


@pytest.mark.parametrize(
    ("text", "line", "mended"),
    [
        ("Use pnpm, not npm", "Use pnpm, not npm", []),
        ("Run `make x`.", "Run `make x`.", []),
        ("one\n  two", "one two", ["folded 2 lines into one"]),
        ("seen" + " " * 200 + "hidden", "seen hidden", ["folded a gap into one space"]),
        ("- a bullet", "a bullet", ["took '-' off the beginning"]),
        ("# of retries", "\\# of retries", ["escaped '#' at the beginning"]),
        ("1. first", "1\\. first", ["escaped '1' at the beginning"]),
        ("---", "\\---", ["escaped '-' at the beginning"]),
        ("a <!-- b --> c", "a c", ["removed the HTML comment '<!-- b -->'"]),
        ("`<!-- prettier-ignore -->` above", "`<!-- prettier-ignore -->` above", []),
        ("`<!-- LRN-1 -->`", "`&lt;!-- LRN-1 -->`", ["made an HTML comment in code plain text"]),
        ("a <!-- b", "a &lt;!-- b", ["made an open HTML comment plain text"]),
        ("see @~/.ssh/id_rsa.", "see `@~/.ssh/id_rsa`.", ["quoted '@~/.ssh/id_rsa' so that Claude does not import it"]),
        ("install @types/node", "install `@types/node`", ["quoted '@types/node' so that Claude does not import it"]),
        ("`@types/node` me@example.org https://a.b/@c", "`@types/node` me@example.org https://a.b/@c", []),
        ("x</system-reminder>", "x&lt;/system-reminder>", ["made a 'system-reminder' tag plain text"]),
        ("use List<String>", "use `List<String>`", ["quoted 'List<String>' so that Claude does not read it as a tag"]),
        ("if a < b and c > d", "if a < b and c > d", []),
        ("```sh\nmake\n```", "`make`", ["wrote a code block as code in the line"]),
        ("a ` b", "a \\` b", ["escaped a backtick without a partner"]),
        ("pn\u200bpm", "pnpm", ["removed <U+200B>, which nobody can see"]),
        ("a\U000e0041", "a", ["removed <U+E0041>, which nobody can see"]),
        ("👩\u200d👧 ❤\ufe0f क\u094d\u200dष", "👩\u200d👧 ❤\ufe0f क\u094d\u200dष", []),
        ("\U0001fae9 1\ufe0f\u20e3", "\U0001fae9 1\ufe0f\u20e3", []),
        ("a\ufe0fb", "ab", ["removed <U+FE0F>, which nobody can see"]),
        ("a\ud800", "a\ufffd", ["replaced <U+D800>, half a character"]),
    ],
)
def test_what_is_mended_is_said(text: str, line: str, mended: list[str]) -> None:
    assert make_safe(text) == (line, mended)


@pytest.mark.parametrize(
    ("live", "text"),
    [
        ("Use\npnpm", "Use pnpm"),
        ("_never_ **ever**", "*never* __ever__"),
        ("a \\_b\\_ \\# c", "a _b_ # c"),
        ("日本\n語 です", "日本語です"),
        ("see <https://example.org>", "see https://example.org"),
        ("a *b* c", "a * b * c"),
        ("``a b``", "`a b`"),
    ],
)
def test_formatters_do_not_reword(live: str, text: str) -> None:
    assert is_same_text(live, text)


@pytest.mark.parametrize(
    ("live", "text"),
    [("Use npm", "Use pnpm"), ("Use pnpm", "Do not use pnpm"), ("`a_b`", "`a*b`"), ("use pnpm", "Use pnpm"), ("", "x")],
)
def test_other_words_are_other_words(live: str, text: str) -> None:
    assert not is_same_text(live, text)


def test_a_megabyte_of_signs_takes_no_minutes() -> None:
    for sign in ("<", "`", "@", "<!--", "\\", "<a ", "`` ` ", "# "):
        line, _ = make_safe(sign * 5000)
        assert parse_pieces(f"- {line}\n")


_PATHS = st.lists(
    st.sampled_from(["~", "/", ".", "..", "../", "~/", ".ssh", "id_rsa", "a", "B9", "-", "_", "#", "\\ ", "\\_", "é"]),
    min_size=1, max_size=8,
).map("".join)  # fmt: skip


@given(
    st.sampled_from(["", "read ", "- ", "(", "**", "see \\`"]),
    _PATHS,
    st.sampled_from(["", " now", ".", ", then", ")", "!"]),
)
def test_a_path_after_an_at_sign_is_code_as_a_whole(before: str, path: str, after: str) -> None:
    line, mended = make_safe(f"{before}@{path}x{after}")
    (found,) = [span.text for span in parse_spans(line) if span.kind == "code"]
    assert found == f"@{path}x"
    assert any(f"quoted '@{path}x' so that Claude does not import it" in one for one in mended), (
        "the person is told of it"
    )
    assert make_safe(line) == (line, [])


@given(st.text(alphabet="ab/~.`\\ \"'*_()@", max_size=12))
def test_no_path_breaks_out_of_its_backticks(path: str) -> None:
    line, _ = make_safe(f"read @{path} now")
    assert make_safe(line) == (line, [])
    assert not any(CLIENTS_IMPORT.search(span.text) for span in parse_spans(line) if span.kind == "text")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("Never read @~/.ssh/id_rsa.", "Never read `@~/.ssh/id_rsa`."),
        ("see @./a\\ b/c.md first", "see `@./a\\ b/c.md` first"),
        ('see @"my notes/a.md", then', 'see `@"my notes/a.md"`, then'),
        ("keep @~/private_ out", "keep `@~/private_` out"),
        ("not @~/.ssh/* either", "not `@~/.ssh/*` either"),
        ("**@/etc/passwd** is read", "**`@/etc/passwd`** is read"),
        ("(@../secrets) and @~/a(b)", "(`@../secrets`) and `@~/a(b)`"),
        ("open @~/a`b please", "open ``@~/a`b`` please"),
        ("@types/node, @property and @a.setter", "`@types/node`, `@property` and `@a.setter`"),
        ("write to ada@example.com or git@host:a/b", "write to ada@example.com or git@host:a/b"),
        ("an @ alone, and @.", "an @ alone, and @."),
    ],
)
def test_imports_in_prose(text: str, line: str) -> None:
    assert make_safe(text)[0] == line
