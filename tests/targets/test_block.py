"""Our block in a file: additions are removed byte for byte, in any order, among anything a person wrote."""

from __future__ import annotations

import random
import re

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from reflect_git.errors import ReflectError
from reflect_git.targets import block
from reflect_git.targets.markdown import split_lines
from reflect_git.targets.target_page import CATEGORY_TITLES, MAX_FILE_BYTES, UnfitFileError
from tests.counters import count
from tests.targets import samples

A, B, C = "LRN-20260211-aaaaaaaa", "LRN-20260211-bbbbbbbb", "LRN-20260212-cccccccc"
TEXT = "Use pnpm, not npm."
BASES = [
    None, b"", b"\n", b"  ", b"text", b"text\n", b"text\n\n\n", b"\xef\xbb\xbf", b"\xef\xbb\xbf# T",
    b"a\r\nb\r\n", b"a\r\nb",
    b"a\nb\r\nc\n", b"a\rb\r", b"---\nk: v\n---", b"---\nk: v\n---\n", b"---\nno yaml here\n", b"```\nopen",
    b"- a\n\n  ```\n  open",
    b"- a\n  - b", b"1. a\n\n   b\n", b"| a |\n| - |\n| b |", b"<!-- c -->", b"<!-- open\n", b"<div>\nx",
    b"<script>\nx\n",
    b"T\n===", b"[a]: b", b"# A\n# B\n", b"    code", b"> q", b"x\n\n```\n<!-- reflect-git:begin -->\n```\n",
]  # fmt: skip


def fresh(base: bytes | None) -> bool:
    found = block.find_block(base)
    return not (found and (found.pair or found.problems))


def live(data: bytes) -> block.Block:
    found = block.find_block(data)
    assert found
    return found


@pytest.mark.parametrize("base", BASES, ids=repr)
def test_add_then_remove_gives_the_same_bytes(base: bytes | None) -> None:
    data = block.add(base, A, TEXT, "command")
    entry = live(data).get_entry(A)
    assert entry
    assert (entry.text, entry.category, entry.inside) == (TEXT, "command", True)
    assert block.remove(data, A, TEXT) == base


def law(base: bytes, entries: list[tuple[str, str, str]], seed: int) -> None:
    found = block.find_block(base)
    assume(fresh(base))
    assume(all(block.make_safe(text)[0] for _, text, _ in entries))
    assume(not found or not {entry.id for entry in found.entries} & {identity for identity, _, _ in entries})
    data: bytes | None = base
    for identity, text, category in entries:
        data = block.add(data, identity, text, category)
    order = list(entries)
    random.Random(seed).shuffle(order)
    for identity, text, _ in order:
        data = block.remove(data, identity, text)
    assert data == base


several = st.lists(
    st.tuples(samples.identities, samples.texts, samples.categories),
    min_size=1,
    max_size=4,
    unique_by=lambda entry: entry[0],
)


@given(samples.instruction_files(), several, st.integers(0, 99))
def test_any_order_of_removals_gives_the_base(base: bytes, entries: list[tuple[str, str, str]], seed: int) -> None:
    law(base, entries, seed)


@pytest.mark.slow
@settings(max_examples=10_000)
@given(samples.instruction_files(), several, st.integers(0, 99))
def test_any_order_of_removals_gives_the_base_deep(base: bytes, entries: list[tuple[str, str, str]], seed: int) -> None:
    law(base, entries, seed)
    count("blocks emptied in random orders")


def headed(base: bytes, entries: list[tuple[str, str, str]]) -> bytes:
    """Return a block as older versions wrote it, with a heading for every rule."""
    lines = ["<!-- reflect-git:begin -->"]
    for category, title in CATEGORY_TITLES.items():
        found = sorted(entry for entry in entries if entry[2] == category)
        lines += ["", f"## {title}"] if found else []
        for identity, text, _ in found:
            lines += ["", f"<!-- {identity} -->", "", f"- {text}"]
    text = "\n".join([*lines, "", "<!-- reflect-git:end -->", ""])
    return (base + b"\n" if base else b"") + text.encode()


def twenty() -> list[tuple[str, str, str]]:
    names = list(CATEGORY_TITLES)
    return [(f"LRN-202601{day:02d}-abcdefg{day % 7}", f"Rule number {day}.", names[day % 4]) for day in range(1, 21)]


@pytest.mark.parametrize("base", [b"", b"# T\r\n\r\nno end", b"```\nopen"], ids=repr)
def test_twenty_entries_go_in_a_hundred_orders(base: bytes) -> None:
    entries = twenty()
    full: bytes = base
    for identity, text, category in entries:
        full = block.add(full, identity, text, category)
    for seed in range(10 if base else 100):
        order = list(entries)
        random.Random(seed).shuffle(order)
        data: bytes | None = full
        for identity, text, _ in order:
            data = block.remove(data, identity, text)
        assert data == base


def test_the_order_of_additions_leaves_no_trace() -> None:
    entries = twenty()
    written = set()
    for seed in range(5):
        random.Random(seed).shuffle(entries)
        data = b"# T\n"
        for identity, text, category in entries:
            data = block.add(data, identity, text, category)
        written.add(data)
    assert len(written) == 1


MINE = ["my own line", "- my own bullet", "### mine", "> mine", "", "<!-- mine -->", "Mine\n----", "1. mine", "| a |"]


FILLERS = [(f"LRN-20260301-fffffff{n}", f"Filler number {n}.", "gotcha") for n in range(8)]


def named_nobody(data: bytes) -> bytes:
    """Return the data without the rule ids in the first marker: a removal drops one of them."""
    return re.sub(rb"(<!-- reflect-git:begin)[^>]*-->", rb"\1 -->", data)


@given(
    samples.instruction_files(),
    st.lists(st.tuples(st.integers(0, 60), st.sampled_from(MINE)), min_size=1, max_size=4),
    st.sampled_from([A, B, C]),
    st.booleans(),
)
def test_removal_leaves_what_a_person_wrote(
    base: bytes, edits: list[tuple[int, str]], gone: str, has_headings: bool
) -> None:
    assume(fresh(base))
    texts = {A: "First rule", B: "Second rule", C: "Third rule"}
    data = block.add(block.add(block.add(base, A, texts[A], "command"), B, texts[B], "command"), C, texts[C], "naming")
    for filler in FILLERS if has_headings else ():
        data = block.add(data, *filler)
    lines = re.findall(rb"[^\n]*\n", data)
    for place, line in edits:
        lines.insert(place % (len(lines) + 1), line.encode() + b"\n")
    edited = b"".join(lines)
    lines = [line.encode() for line in split_lines(edited.decode())]
    before = block.find_block(edited)
    assume(before and before.pair and not before.problems)
    assert before
    entry = before.get_entry(gone)
    assume(entry and entry.text == texts[gone] and entry.inside)
    assert entry
    data = block.remove(edited, gone, texts[gone]) or b""
    left = {found.id: found.raw for found in live(data).entries}
    assert left == {found.id: found.raw for found in before.entries if found.id != gone}
    head = b"".join(lines[: entry.start])
    tail = b"".join(lines[entry.end :])
    data, head, tail = map(named_nobody, (data, head, tail))
    assert data.endswith(tail)
    # Above it, only blank lines and an empty heading of ours may be gone.
    rest = data[: len(data) - len(tail)]
    assert head.startswith(rest.rstrip(b"\r\n")) or rest.rstrip(b"\r\n") == head.rstrip(b"\r\n")
    lost = head[len(rest) :].strip().decode()
    assert lost in ("", "## Commands", "## Naming", "# Commands", "# Naming")


def test_text_appended_to_the_file_stays() -> None:
    for base in (b"a\n", b"a\r\n", b""):
        assert block.remove(block.add(base, A, TEXT, "command") + b"more\n", A, TEXT) == base + b"more\n"
    assert block.remove(block.add(b"a", A, TEXT, "command") + b"more\n", A, TEXT) == b"a\nmore\n"
    assert block.remove(block.add(None, A, TEXT, "command") + b"more\n", A, TEXT) == b"more\n"


def test_a_line_written_below_the_last_one_keeps_its_end() -> None:
    data = block.add(b"a", A, TEXT, "command").replace(b"a\n\n<!--", b"a\nb\n\n<!--", 1)
    assert block.remove(data, A, TEXT) == b"a\nb\n"


def test_lines_inside_the_block_stay_and_so_does_the_block() -> None:
    data = block.add(b"", A, TEXT, "command").replace(b"- Use", b"- mine\n\n<!-- x -->\n\n- Use")
    assert live(data).get_entry(A)
    data = block.add(b"", A, TEXT, "command").replace(b"npm.\n", b"npm.\n- mine\n")
    left = block.remove(data, A, TEXT)
    assert left == b"<!-- reflect-git:begin -->\n\n- mine\n\n<!-- reflect-git:end -->\n"
    data = headed(b"", [(A, TEXT, "command")]).replace(b"npm.\n", b"npm.\n- mine\n")
    left = block.remove(data, A, TEXT)
    assert left == b"<!-- reflect-git:begin -->\n\n## Commands\n\n- mine\n\n<!-- reflect-git:end -->\n"


def test_a_moved_entry_is_found_where_it_is() -> None:
    data = headed(b"top\n", [(A, TEXT, "command"), (B, "Other", "command")])
    entry = live(data).get_entry(A)
    assert entry
    moved = entry.raw + b"\n" + data.replace(b"\n" + entry.raw, b"")
    found = live(moved).get_entry(A)
    assert found
    assert (found.start, found.inside) == (0, False)
    assert block.remove(moved, A, TEXT) == b"\n" + data.replace(b"\n" + entry.raw, b"")


def test_a_reworded_entry_is_not_taken() -> None:
    data = block.add(b"", A, TEXT, "command").replace(b"pnpm", b"yarn")
    with pytest.raises(block.RewordedError) as caught:
        block.remove(data, A, TEXT)
    assert (caught.value.approved, caught.value.live) == (TEXT, "Use yarn, not npm.")
    assert block.remove(data, A, TEXT, force=True) == b""


@pytest.mark.parametrize(
    "change", [b"  more words\n", b"more words\n", b"  - a nested bullet\n", b"\n  a second paragraph\n"]
)
def test_words_added_to_an_entry_reword_it(change: bytes) -> None:
    data = block.add(b"", A, TEXT, "command").replace(b"npm.\n", b"npm.\n" + change)
    with pytest.raises(block.RewordedError):
        block.remove(data, A, TEXT)


def test_an_entry_without_its_bullet_can_go() -> None:
    for data in (block.add(b"x\n", A, TEXT, "command"), headed(b"x\n", [(A, TEXT, "command")])):
        assert block.remove(data.replace(b"\n- Use pnpm, not npm.\n", b""), A, TEXT) == b"x\n"


def test_an_absent_entry_is_said_to_be_absent() -> None:
    with pytest.raises(ReflectError) as caught:
        block.remove(b"text\n", A, TEXT)
    assert caught.value.code == "missing"
    assert not block.has_entry(b"text\n", A)
    assert block.has_entry(block.add(b"", A, TEXT, "command"), A)


def test_the_same_entry_twice_is_never_a_guess() -> None:
    data = headed(b"x\n", [(A, TEXT, "command")])
    entry = live(data).get_entry(A)
    assert entry
    doubled = data + b"\n" + entry.raw
    assert [trouble.kind for trouble in live(doubled).problems] == ["entry-doubled"]
    with pytest.raises(ReflectError) as caught:
        block.remove(doubled, A, TEXT)
    assert caught.value.code == "entry-doubled"
    assert not block.has_entry(block.remove(doubled, A, TEXT, force=True), A)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("<!-- reflect-git:begin -->\n", "unclosed"),
        ("<!-- reflect-git:end -->\n", "unopened"),
        ("<!-- reflect-git:begin -->\n<!-- reflect-git:begin -->\n<!-- reflect-git:end -->\n", "nested"),
        ("<!-- reflect-git:begin -->\n<!-- reflect-git:end -->\n" * 2, "doubled"),
        ("<!-- reflect-git:begin -->\n```\n<!-- reflect-git:end -->\n", "unclosed"),
    ],
)
def test_broken_markers_are_named_and_nothing_is_added(text: str, kind: str) -> None:
    data = text.encode()
    assert [trouble.kind for trouble in live(data).problems] == [kind]
    with pytest.raises(ReflectError) as caught:
        block.add(data, A, TEXT, "command")
    assert caught.value.code == "markers"
    assert caught.value.hint


def test_broken_markers_do_not_keep_an_entry_from_going() -> None:
    for data, heading in (
        (block.add(b"x\n", A, TEXT, "command"), b""),
        (headed(b"x\n", [(A, TEXT, "command")]), b"## Commands\n\n"),
    ):
        left = block.remove(data.replace(b"<!-- reflect-git:end -->\n", b""), A, TEXT)
        assert left == b"x\n\n<!-- reflect-git:begin -->\n\n" + heading


@pytest.mark.parametrize(
    "text",
    [
        "```\n{}```\n", "~~~~\n```\n{}~~~~\n", "- a\n\n    {}", "---\nkey: |\n  {}---\n", "<!--\n{}-->\n",
        "<div>\n{}</div>\n",
    ],
)  # fmt: skip
def test_markers_in_examples_are_not_ours(text: str) -> None:
    inner = f"<!-- reflect-git:begin -->\n<!-- {A} -->\n- x\n<!-- reflect-git:end -->\n"
    if "    {}" in text or "  {}" in text:
        inner = inner.replace("\n", "\n    ").rstrip(" ")
    if text.startswith("<!--"):
        inner = "<!-- reflect-git:begin\n"
    assert block.find_block(text.format(inner).encode()) is None


def test_replace_and_back_gives_the_same_bytes() -> None:
    data = b"# T\n"
    for identity, text, category in twenty():
        data = block.add(data, identity, text, category)
    identity, text, category = twenty()[5]
    for new in (category, "configuration", "command"):
        changed = block.replace(data, identity, text, "Other words.", new)
        entry = live(changed).get_entry(identity)
        assert entry
        assert (entry.text, entry.category) == ("Other words.", new)
        assert block.replace(changed, identity, "Other words.", text, category) == data


def test_a_successor_takes_the_place() -> None:
    data = block.add(block.add(b"", A, TEXT, "command"), B, "Other", "command")
    changed = block.replace(data, A, TEXT, "Use yarn.", "command", successor=C)
    assert [entry.id for entry in live(changed).entries] == [C, B]
    assert block.replace(changed, C, "Use yarn.", TEXT, "command", successor=A) == data
    with pytest.raises(ReflectError):
        block.replace(data, A, TEXT, "x", "command", successor=B)


def test_replace_refuses_a_reworded_entry() -> None:
    data = block.add(b"", A, TEXT, "command").replace(b"pnpm", b"yarn")
    with pytest.raises(block.RewordedError):
        block.replace(data, A, TEXT, "x", "command")


def of(number: int, base: bytes | None) -> bytes:
    """Return a file with so many rules."""
    for entry in twenty()[:number]:
        base = block.add(base, *entry)
    return base or b""


def test_five_rules_are_a_list_and_add_ten_lines() -> None:
    data = of(5, b"# T\n")
    assert data.decode().splitlines()[3:] == [
        "",
        "- Rule number 4.",
        "- Rule number 1.",
        "- Rule number 5.",
        "- Rule number 2.",
        "- Rule number 3.",
        "",
        "<!-- reflect-git:end -->",
    ]
    assert len(data.splitlines()) - len(b"# T\n".splitlines()) == 10


def test_the_tenth_rule_brings_headings_and_takes_them_away_again() -> None:
    for base in (None, b"# T\n", b"no end", b"a\r\nb\r\n", b"```\nopen"):
        nine, ten = of(9, base), of(10, base)
        assert b"## " not in nine and ten.count(b"## ") == 4
        assert [entry.id for entry in live(nine).entries] == [e.id for e in live(ten).entries if e.id != twenty()[9][0]]
        assert block.remove(ten, twenty()[9][0], twenty()[9][1]) == nine
        without_first = block.remove(ten, twenty()[0][0], twenty()[0][1])
        assert block.add(without_first, *twenty()[0]) == ten


def test_a_list_with_words_of_somebody_else_stays_a_list() -> None:
    data = of(9, b"").replace(b"- Rule number 4.\n", b"- Rule number 4.\n- mine\n")
    ten = block.add(data, *twenty()[9])
    assert b"## " not in ten and b"- mine\n" in ten
    assert block.remove(ten, twenty()[9][0], twenty()[9][1]) == data


def test_an_old_block_stays_until_a_rule_is_added() -> None:
    data = headed(b"# T\n", twenty()[:5])
    shorter = block.remove(data, twenty()[0][0], twenty()[0][1])
    assert shorter == headed(b"# T\n", twenty()[1:5])
    identity, text, category = twenty()[1]
    assert b"## Commands" in block.replace(data, identity, text, "Other words.", category)
    assert block.add(data, *twenty()[5]) == of(6, b"# T\n")
    # The tenth rule does not change its form, and neither does the way back.
    nine = headed(b"# T\n", twenty()[:9])
    assert block.add(nine, *twenty()[9]) == headed(b"# T\n", twenty()[:10])
    assert block.remove(block.add(nine, *twenty()[9]), *twenty()[9][:2]) == nine


def test_an_old_block_with_words_of_somebody_else_keeps_its_headings() -> None:
    data = headed(b"", twenty()[:3]).replace(b"\n## Gotchas", b"\nMy own words.\n\n## Gotchas")
    added = block.add(data, *twenty()[3])
    assert b"My own words." in added and b"## Gotchas" in added
    assert block.remove(added, *twenty()[3][:2]) == data


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ((b"- Rule number 1.\n", b""), {"4": "4", "1": "", "5": "5", "2": "2", "3": "3"}),
        ((b"- Rule number 4.\n", b""), {"4": "", "1": "1", "5": "5", "2": "2", "3": "3"}),
        ((b"- Rule number 3.\n", b""), {"4": "4", "1": "1", "5": "5", "2": "2", "3": ""}),
        ((b"- Rule number 5.\n", b"- Rule\n  number 5.\n"), {"4": "4", "1": "1", "5": "5", "2": "2", "3": "3"}),
        ((b"- Rule number 5.\n", b"- Mine.\n- Rule number 5.\n"), dict.fromkeys("41523")),
        ((b"- Rule number 5.\n", b"- Not 5.\n"), {"4": "4", "1": "1", "5": "Not 5.", "2": "2", "3": "3"}),
        ((b"- Rule number 4.\n- Rule number 1.\n", b"- Rule number 1.\n- Rule number 4.\n"), dict.fromkeys("41523")),
        ((b"\n- ", b"\n* "), dict.fromkeys("41523")),
    ],
)
def test_bullets_keep_their_ids_whatever_a_hand_does(change: tuple[bytes, bytes], said: dict[str, str | None]) -> None:
    data = of(5, b"# T\n")
    changed = data.replace(*change)
    assert changed != data
    found = {entry.id: entry.text for entry in live(changed).entries}
    for identity, text, _ in twenty()[:5]:
        number = text[-2]
        meant = number if said[number] is None else said[number]
        assert found[identity] == (f"Rule number {meant}." if meant == number else meant)


def test_both_sides_of_a_merge_can_be_kept() -> None:
    ours = block.add(of(2, b"# T\n"), *twenty()[2])
    theirs = block.add(of(2, b"# T\n"), *twenty()[3])
    markers = ours.splitlines()[2] + b"\n" + theirs.splitlines()[2]
    merged = theirs.replace(theirs.splitlines()[2], markers).replace(
        b"\n\n<!-- reflect-git:end", b"\n- Rule number 3.\n\n<!-- reflect-git:end"
    )
    found = live(merged)
    assert not found.problems
    assert {entry.id: entry.text for entry in found.entries} == {i: text for i, text, _ in twenty()[:4]}
    assert block.add(merged, *twenty()[4]) == of(5, b"# T\n")


def test_the_client_gets_the_rules_and_nothing_else() -> None:
    """As the client reads a file: comments that are separate blocks are left out."""
    data = of(3, b"# T\n").decode()
    assert "".join(line for line in data.splitlines(True) if not re.fullmatch(r"<!--.*-->\n", line)) == (
        "# T\n\n\n- Rule number 1.\n- Rule number 2.\n- Rule number 3.\n\n"
    )


def test_headings_follow_the_file() -> None:
    assert b"\n## Commands\n" in of(10, b"# T\n")
    assert b"\n# Commands\n" in of(10, b"# T\n\n# U\n")
    data = of(10, b"").replace(b"## Co", b"### Co").replace(b"## Go", b"### Go").replace(b"## Pr", b"### Pr")
    assert b"\n### Naming\n" in block.add(data, B, TEXT, "naming")


def test_an_empty_heading_of_somebody_else_stays() -> None:
    full = of(10, b"")
    data = full.replace(b"\n## Commands", b"\n## Naming\n\n## Commands")
    assert data != full
    assert block.remove(block.add(data, B, "x", "naming"), B, "x") == data


@pytest.mark.parametrize("data", [b"\xff\xfe", b"a\0b", b"x" * (MAX_FILE_BYTES + 1)], ids=["utf-8", "nul", "large"])
def test_files_that_are_no_text_are_refused(data: bytes) -> None:
    for act in (
        lambda: block.find_block(data),
        lambda: block.add(data, A, TEXT, "command"),
        lambda: block.remove(data, A, TEXT),
    ):
        with pytest.raises(UnfitFileError) as caught:
            act()
        assert caught.value.hint


def test_the_same_id_is_not_added_twice_nor_an_empty_text() -> None:
    data = block.add(b"", A, TEXT, "command")
    for text, identity, code in ((TEXT, A, "duplicate"), (" \n", B, "empty")):
        with pytest.raises(ReflectError) as caught:
            block.add(data, identity, text, "command")
        assert caught.value.code == code


def test_the_bytes_of_the_block_alone() -> None:
    data = block.add(b"secret of mine\n", A, TEXT, "command")
    assert data == b"secret of mine\n\n" + block.get_block_bytes(data)
    assert block.get_block_bytes(data + b"more\n") == block.get_block_bytes(data)
    assert block.get_block_bytes(None) == block.get_block_bytes(b"<!-- reflect-git:begin -->\n") == b""


def test_a_new_file_may_begin_with_an_import_and_goes_again() -> None:
    data = block.add(None, A, TEXT, "command", opening="@AGENTS.md\n")
    assert data.startswith(b"@AGENTS.md\n\n<!-- reflect-git:begin new command LRN-")
    assert block.remove(data, A, TEXT) is None
    assert block.remove(b"mine\n" + data, A, TEXT) == b"mine\n@AGENTS.md\n"
