"""Only what we would have written may come in from a remote; the rest is reported."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflect_git.records import yaml_form
from reflect_git.records.purge_marks import blob_mark
from reflect_git.store import machines
from reflect_git.sync import store_paths, validate
from reflect_git.sync.store_paths import Purge
from tests.sync.sample_records import blob_id, build_decision, build_files, build_learning, build_snapshot

LEARNING = build_files(build_learning(1))
[(PATH, DATA)] = LEARNING.items()
MIRROR = "targets/desk-k3f9/shop-0a1b2c3d/.claude/CLAUDE.md"
PURGE = store_paths.emit_purge(Purge(1, "2026-02-11T10:00:00Z", "desk-k3f9", (blob_mark("x"),)))
TALLY = {"id": "TLY-20260211-00000001", "version": 1, "machine": "desk-k3f9", "day": "2026-02-11", "lines": []}


def shape(path: str, data: bytes = DATA, mode: str = "100644") -> str:
    """Return why a file is refused by its path and mode alone; "" if it is not."""
    return validate.find_fault(mode, path, blob_id(data), store_paths.get_main_kind)


def content(path: str, data: bytes) -> str:
    return validate.check_contents([path], [data], store_paths.get_main_kind)[0]


@pytest.mark.parametrize(
    "path, data",
    [
        (PATH, DATA),
        *build_files(build_decision(1), TALLY).items(),
        ("README.md", b"# reflections\n"),
        ("LICENSE", b"MIT\n"),
        ("machines/desk-k3f9.yaml", machines.build_machine_file("desk-k3f9")),
        (MIRROR, build_snapshot(3)),
        ("targets/desk-k3f9/global/sub folder/Überblick.md", build_snapshot(1)),
        ("purges/0001-7k3v9q2m.yaml", PURGE),
        (f"aside/LRN-20260211-00000001/{blob_id(DATA)}.yaml", DATA),
    ],
)
def test_what_a_store_has_comes_in(path: str, data: bytes) -> None:
    assert (shape(path, data), content(path, data)) == ("", "")


@pytest.mark.parametrize("mode, word", [("120000", "link"), ("160000", "submodule"), ("100755", "executable"),
                                        ("040000", "folder"), ("100664", "mode")])  # fmt: skip
def test_only_plain_files_come_in(mode: str, word: str) -> None:
    assert word in shape(PATH, DATA, mode)


@pytest.mark.parametrize(
    "path",
    [
        "notes.txt", ".gitattributes", ".gitmodules", ".git/config", ".GIT/config", "git~1/config", ".reflect",
        "learnings/.git", "targets/desk-k3f9/global/.git/hooks/pre-push", "targets/desk-k3f9/global/.GitModules",
        "targets/desk-k3f9/global/.g\u200cit/config", "targets/desk-k3f9/global/GIT~1",
        "targets/desk-k3f9/global/\uff0egit/config",
        "learnings/LRN-20260211-00000001.yml", "Learnings/LRN-20260211-00000001.yaml",
        "learnings/lrn-20260211-00000001.yaml", "learnings/2026/LRN-20260211-00000001.yaml",
        "decisions/LRN-20260211-00000001.yaml", "decisions/2026/03/DEC-20260211-00000001.yaml",
        "signals/2026/02/11/00/SIG-20260211-00000001.yaml", "learnings/LEARNINGS.md", "config", "policy.yaml",
        "machines/Desk.yaml", "machines/.yaml", "machines/-x.yaml", "machines/a/b.yaml",
        "machines/" + "a" * 99 + ".yaml", "targets/CLAUDE.md", "targets/desk-k3f9/CLAUDE.md",
        "targets/desk-k3f9//CLAUDE.md", "targets/../global/x/CLAUDE.md",
        "targets/desk-k3f9/global/../../../../.bashrc", "targets/desk-k3f9/global/a\\b", "targets/desk-k3f9/global/-x",
        "targets/desk-k3f9/global/CON.yaml", "targets/desk-k3f9/global/nul", "targets/desk-k3f9/global/a.yaml.",
        "targets/desk-k3f9/global/a ", "targets/desk-k3f9/global/a\x1b[31m", "targets/desk-k3f9/global/C:x",
        "targets/desk-k3f9/global/" + "a" * 256, "targets/desk-k3f9/" + "a/" * 200 + "x", "/etc/passwd", "../x", "..",
        "purges/1-7k3v9q2m.yaml", "purges/0001-7k3v9q2m", "aside/LRN-20260211-00000001/x.yaml",
        "aside/SIG-20260211-00000001/" + "0" * 40 + ".yaml", "targets/desk-k3f9/global/\udcff",
    ],
)  # fmt: skip
def test_other_paths_do_not(path: str) -> None:
    assert shape(path)


def test_a_large_file_does_not_come_in() -> None:
    assert content(PATH, b"x" * (yaml_form.MAX_BYTES + 1)) == "it is too large"
    assert content(MIRROR, build_snapshot(1, "x" * yaml_form.MAX_BYTES)) == ""
    assert content(MIRROR, build_snapshot(1, "x" * (1 << 20))) == "it is too large"


@pytest.mark.parametrize(
    "one, other",
    [("targets/a/Shop/x.md", "targets/a/shop/x.md"), ("targets/a/b/\u00fc.md", "targets/a/b/u\u0308.md"),
     ("targets/a/b/straße.md", "targets/a/b/STRASSE.md")],
)  # fmt: skip
def test_twins_do_not_come_in_whichever_is_ours(one: str, other: str) -> None:
    both = validate.find_twins([one, other, PATH], [])
    assert set(both) == {one, other} and f"'{other}'" in both[one] and f"'{one}'" in both[other]
    assert set(validate.find_twins([other, PATH], [one])) == {other}
    assert validate.find_twins([one, PATH], [one, PATH]) == {}


@pytest.mark.parametrize(
    "data",
    [
        b"", b"id: LRN-20260211-00000001\n", DATA + b"\n", DATA.replace(b"\n", b"\r\n"), DATA[:-1],
        b"\xef\xbb\xbf" + DATA, DATA.replace(b"LRN-20260211-00000001", b"LRN-20260211-00000002"),
        b"a: &x [1]\nb: *x\n", b"!!python/object:os.system x\n",
        DATA + DATA, DATA.replace(b"version: 1", b"version: 0"), DATA.replace(b'"convention"', b'"anything"'),
        b"a: " + b"[" * 20000 + b"]" * 20000 + b"\n", b"<<: {}\n", b"---\n" + DATA, b"\xff\xfe\n",
    ],
)  # fmt: skip
def test_bytes_that_are_no_record_of_that_id_do_not(data: bytes) -> None:
    """Row 61."""
    began = time.process_time()
    assert content(PATH, data)
    assert time.process_time() - began < 1


def test_a_record_of_a_newer_version_comes_in_as_it_is() -> None:
    """Row 62."""
    newer = yaml_form.emit({"id": "LRN-20260211-00000001", "version": 99, "anything": "else"})
    assert content(PATH, newer) == ""
    assert content("learnings/LRN-20260211-00000002.yaml", newer) == "its name is not its id"


@pytest.mark.parametrize(
    "path, data",
    [
        (MIRROR, b"# rules\n"),
        (MIRROR, b"version: 0\n"),
        (MIRROR, build_snapshot(1) + b"\xff"),
        (MIRROR, build_snapshot(1) + b"\0"),
        ("machines/desk-k3f9.yaml", machines.build_machine_file("other")),
        ("machines/desk-k3f9.yaml", b'name: "x"\n'),
        ("purges/0001-7k3v9q2m.yaml", DATA),
        ("purges/0002-7k3v9q2m.yaml", PURGE),
        ("README.md", b"\xff"),
        (f"aside/LRN-20260211-00000002/{blob_id(DATA)}.yaml", DATA),
    ],
)
def test_other_files_are_held_to_their_form(path: str, data: bytes) -> None:
    assert content(path, data)


def test_a_name_below_aside_is_that_of_its_bytes() -> None:
    assert "name" in shape(f"aside/LRN-20260211-00000001/{'0' * 40}.yaml", DATA)


def test_an_inbox_has_signals_and_figures_only() -> None:
    for path in ("signals/2026/02/11/00/SIG-20260211-00000001.yaml", "signals/README.md",
                 "exposure/2026/02/EXP-20260211-00000001.yaml"):  # fmt: skip
        assert store_paths.get_inbox_kind(path)
    for path in (PATH, "README.md", MIRROR, "signals/SIG-20260211-00000001.yaml"):
        assert not store_paths.get_inbox_kind(path)


@pytest.mark.parametrize(
    "ref, machine",
    [
        ("refs/heads/inbox/desk-k3f9/0001", "desk-k3f9"), ("refs/heads/inbox/desk-k3f9/12345", "desk-k3f9"),
        ("refs/heads/inbox/--output=x/0001", ""), ("refs/heads/inbox/desk-k3f9/@{u}", ""), ("refs/heads/main", ""),
        ("refs/tags/inbox/desk-k3f9/0001", ""), ("refs/heads/inbox/desk-k3f9/0001/x", ""),
        ("refs/heads/inbox/desk-k3f9/٠٠٠١", ""),
    ],
)  # fmt: skip
def test_refs_of_inboxes_are_known_by_their_form(ref: str, machine: str) -> None:
    assert store_paths.get_inbox_machine(ref) == machine


PARTS = st.one_of(
    st.text(max_size=20),
    st.sampled_from(
        ["..", ".", "", ".git", "learnings", "targets", "desk-k3f9", "global", "CON", "CLAUDE.md", "aside"]
    ),
)


@given(st.lists(PARTS, min_size=1, max_size=6).map("/".join), st.sampled_from(["100644", "100755", "120000", "160000"]))
def test_no_path_that_comes_in_can_leave_the_store(path: str, mode: str) -> None:
    if shape(path, DATA, mode) == "":
        parts = path.split("/")
        assert mode == "100644" and not path.startswith("/") and "\\" not in path
        assert not {"", ".", ".."} & set(parts)
        assert path == ".gitignore" or not any(part.lower().startswith(".git") for part in parts)
        assert path.isprintable() or parts[0] == "targets"
