"""Claude Code's settings: our hooks are added and removed, and everything else keeps its bytes."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflect_git.errors import ReflectError
from reflect_git.platform import claude_settings
from tests.conftest import REPO

PLUGIN_HOOKS = (REPO / "hooks" / "hooks.json").read_bytes()
HOOKS = claude_settings.build_hooks(PLUGIN_HOOKS, "/opt/it's here/hooks/launch.sh")
MOVED = claude_settings.build_hooks(PLUGIN_HOOKS, "/srv/elsewhere/hooks/launch.sh")
THEIRS = {"hooks": [{"type": "command", "command": "/usr/local/bin/notify --beep"}]}
EVENTS = sorted(HOOKS)


def _there_and_back(data: bytes) -> bytes | None:
    """Enable and disable again; in between, our hooks and all earlier contents must be there."""
    added, made = claude_settings.add_hooks(data, HOOKS, None)
    _require_all_there(data, added)
    again, _ = claude_settings.add_hooks(added, HOOKS, made)
    assert again == added
    blank = data.decode("utf-8-sig") if claude_settings.DOCUMENT in made else None
    return claude_settings.remove_hooks(added, made, blank)


def _require_all_there(before: bytes, after: bytes) -> None:
    old, new = (json.loads(data.decode("utf-8-sig").strip() or "{}") for data in (before, after))
    for event, groups in HOOKS.items():
        assert new["hooks"][event] == [*old.get("hooks", {}).get(event, []), *groups]
    assert set(new["hooks"]) == {*old.get("hooks", {}), *HOOKS}
    assert {**old, "hooks": None} == {**new, "hooks": None}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
their_groups = st.lists(
    st.just(THEIRS) | st.fixed_dictionaries({"matcher": st.text(max_size=5), "hooks": st.just([])}) | json_values,
    max_size=3,
)
event_names = st.sampled_from([*EVENTS, "Stop", "Notification"])
hooks_members = st.dictionaries(event_names, their_groups, max_size=4)
documents = st.builds(
    lambda rest, hooks, first: {**hooks, **rest} if first else {**rest, **hooks},
    st.dictionaries(st.text(max_size=6).filter(lambda key: key != "hooks"), json_values, max_size=4),
    st.just({}) | st.fixed_dictionaries({"hooks": hooks_members}),
    st.booleans(),
)


def _written(value: Any, blank: st.SearchStrategy[str], draw: st.DrawFn) -> str:
    """Return the value in any formatting: any white space between any two tokens."""
    if isinstance(value, dict):
        parts = [
            f"{draw(blank)}{json.dumps(key)}{draw(blank)}:{_written(inner, blank, draw)}"
            for key, inner in value.items()
        ]
        body = "{" + (",".join(parts) or draw(blank)) + "}"
    elif isinstance(value, list):
        body = "[" + (",".join(_written(inner, blank, draw) for inner in value) or draw(blank)) + "]"
    else:
        body = json.dumps(value, ensure_ascii=draw(st.booleans()))
    return draw(blank) + body + draw(blank)


@st.composite
def settings_files(draw: st.DrawFn) -> bytes:
    document = draw(documents)
    style = draw(st.sampled_from(["wild", "pretty", "compact", "dumps"]))
    if style == "wild":
        text = _written(document, st.text(" \t\n\r", max_size=3), draw)
    elif style == "pretty":
        indent = draw(st.sampled_from(["", " ", "  ", "    ", "\t"]))
        text = json.dumps(document, ensure_ascii=False, indent=indent) + draw(st.sampled_from(["", "\n"]))
    else:
        text = json.dumps(document, separators=(",", ":") if style == "compact" else None)
    text = text.replace("\n", "\r\n") if draw(st.booleans()) else text
    return draw(st.sampled_from([b"", b"\xef\xbb\xbf"])) + text.encode("utf-8", "surrogatepass")


@given(settings_files())
def test_enable_then_disable_gives_back_the_same_bytes(data: bytes) -> None:
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:  # half a surrogate pair: not valid in UTF-8
        return
    assert _there_and_back(data) == data


@given(settings_files())
def test_a_moved_installation_replaces_its_entries_and_leaves_as_clean(data: bytes) -> None:
    added, made = claude_settings.add_hooks(data, MOVED, None)
    again, remade = claude_settings.add_hooks(added, HOOKS, made)
    assert b"/srv/elsewhere" not in again
    _require_all_there(data, again)
    assert claude_settings.remove_hooks(again, remade, None) == data
    left = json.loads((claude_settings.remove_hooks(again, None, None) or b"").decode("utf-8-sig"))
    assert claude_settings.HOOK_MARK not in json.dumps(left)


PRETTY = '{\n  "permissions": {\n    "allow": ["Bash(make *)"]\n  },\n  "hooks": %s,\n  "model": "opus"\n}\n'


@pytest.mark.parametrize(
    "text",
    [
        PRETTY % "{}",
        PRETTY % json.dumps({event: [THEIRS] for event in EVENTS}),
        PRETTY % json.dumps({event: [] for event in EVENTS}),
        PRETTY.replace("  ", "\t") % "{}",
        (PRETTY % "{ }").replace("\n", "\r\n"),
        "\ufeff" + PRETTY % "{\n  }",
        '{"model":"opus","größe":"… ✎ \\ud83d\\ude00"}',
        '{"hooks":{},"hooks":{"Stop":[]}}',
        '{ "a" : 1e5 , "b" : "\\u0041" }',
        '{"hooks": {"PostToolUseFailure": [{\n }], "PostToolUse": []}}',
        '{"hooks": {"SessionEnd": [\n ], "PreCompact": [], "SessionStart": [\n\n]}}',
        "{}",
        "{\n}\n",
        "",
        "\n \n",
        "\ufeff",
    ],
)
def test_every_manner_of_writing_comes_back(text: str) -> None:
    assert _there_and_back(text.encode()) == text.encode()


def test_a_file_that_was_not_there_goes_again_unless_somebody_used_it() -> None:
    added, made = claude_settings.add_hooks(None, HOOKS, None)
    assert json.loads(added) == {"hooks": HOOKS}
    assert claude_settings.remove_hooks(added, made, None) is None
    used = added.replace(b"{\n", b'{\n  "model": "opus",\n', 1)
    assert claude_settings.remove_hooks(used, made, None) == b'{\n  "model": "opus"\n}\n'


def test_a_hook_that_a_person_put_beside_ours_stays() -> None:
    added, made = claude_settings.add_hooks(b"{}", HOOKS, None)
    settings = json.loads(added)
    settings["hooks"]["PreCompact"][0]["hooks"].insert(0, THEIRS["hooks"][0])
    settings["hooks"]["SessionEnd"].append(THEIRS)
    left = claude_settings.remove_hooks(json.dumps(settings).encode(), made, None)
    assert json.loads(left or b"") == {"hooks": {"PreCompact": [THEIRS], "SessionEnd": [THEIRS]}}


def test_somebody_else_s_launcher_is_not_ours() -> None:
    theirs = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "sh /opt/other/hooks/launch.sh Stop"}]}]}}
    data = json.dumps(theirs).encode()
    assert not claude_settings.has_our_hooks(data)
    assert claude_settings.remove_hooks(data, None, None) == data
    assert _there_and_back(data) == data


def test_a_time_out_that_a_person_changed_stays() -> None:
    added, made = claude_settings.add_hooks(b"{}", HOOKS, None)
    changed = added.replace(b'"timeout": 10', b'"timeout": 25', 1)
    assert claude_settings.add_hooks(changed, HOOKS, made)[0] == changed


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{\n  "a": 1,\n}', "(line 3, column 1)"),
        ('{\n  // comment\n  "a": 1\n}', "(line 2, column 3)"),
        ("[]", "an object is expected (line 1, column 1)"),
        ('{"hooks": []}', "'hooks' is not an object (line 1, column 11)"),
        ('{"hooks": {\n"PreCompact": {}}}', "'hooks.PreCompact' is not a list (line 2, column 15)"),
        ('{"a": "\udcff"}', "it is not UTF-8 (line 1, column 8)"),
        ("[" * 100_000, "(line 1, column 1)"),
        ("\u00a0", "(line 1, column 1)"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(text: str, said: str) -> None:
    with pytest.raises(ReflectError) as caught:
        claude_settings.add_hooks(text.encode("utf-8", "surrogateescape"), HOOKS, None)
    assert said in caught.value.message
    assert caught.value.code == "settings-malformed"


def test_the_commands_are_safe_in_a_shell(tmp_path: Path) -> None:
    folder = tmp_path / 'it\'s $(touch pwned) "here"' / "hooks"
    folder.mkdir(parents=True)
    (folder / "launch.sh").write_text('echo "ran $1"; exit 2\n')
    for groups in claude_settings.build_hooks(PLUGIN_HOOKS, str(folder / "launch.sh")).values():
        command = groups[0]["hooks"][0]["command"]
        done = subprocess.run(["/bin/sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout[:4], done.stderr) == (0, "ran ", "")
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize(
    ("enabled", "expected"),
    [
        ({"reflect-git@reflect-git": True}, True),
        ({"reflect-git@somewhere": True, "other@x": False}, True),
        ({"reflect-git@reflect-git": False}, False),
        ({"my-reflect-git@x": True}, False),
        ({"reflect-git@x": "true"}, False),
        (["reflect-git@x"], False),
        (None, False),
    ],
)
def test_the_plugin_counts_only_while_it_is_enabled(enabled: object, expected: bool) -> None:
    assert claude_settings.has_plugin(json.dumps({"enabledPlugins": enabled}).encode()) is expected


@pytest.mark.parametrize(
    "data", [None, b"", b"{", b"[]", b'{"enabledPlugins": {"reflect-git@x": true', b"\xff reflect-git@"]
)
def test_settings_that_nobody_can_read_enable_nothing(data: bytes | None) -> None:
    assert claude_settings.has_plugin(data) is False


def test_a_file_is_replaced_whole_with_its_mode_and_through_its_link(home: Path) -> None:
    real = home / "dotfiles" / "claude.json"
    real.parent.mkdir()
    real.write_bytes(b"{}")
    real.chmod(0o640)
    link = home / ".claude" / "settings.json"
    link.parent.mkdir()
    link.symlink_to(real)
    assert claude_settings.replace_settings(str(link), str(home), b"{}", b'{"a":1}')
    assert (real.read_bytes(), real.stat().st_mode & 0o777, link.is_symlink()) == (b'{"a":1}', 0o640, True)
    assert os.listdir(real.parent) == ["claude.json"]


def test_a_file_that_changed_meanwhile_is_left(home: Path) -> None:
    path = home / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_bytes(b'{"theirs": 1}')
    assert not claude_settings.replace_settings(str(path), str(home), b"{}", b'{"ours": 1}')
    assert not claude_settings.replace_settings(str(path), str(home), None, b'{"ours": 1}')
    assert not claude_settings.replace_settings(str(path), str(home), b"{}", None)
    assert (path.read_bytes(), os.listdir(path.parent)) == (b'{"theirs": 1}', ["settings.json"])


def test_a_new_file_is_private(home: Path) -> None:
    path = home / ".claude" / "settings.json"
    assert claude_settings.replace_settings(str(path), str(home), None, b"{}")
    assert path.stat().st_mode & 0o777 == 0o600


def test_what_is_not_ours_to_replace_is_named(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = home / ".claude" / "settings.json"
    path.parent.mkdir()

    def refusal() -> str:
        with pytest.raises(ReflectError) as caught:
            claude_settings.require_replaceable(str(path), str(home))
        return caught.value.message

    path.symlink_to(tmp_path / "outside.json")
    (tmp_path / "outside.json").write_text("{}")
    assert f"is a link to '{tmp_path / 'outside.json'}', outside your home folder" in refusal()
    path.unlink()
    path.symlink_to(home / "gone.json")
    assert "which is not there" in refusal()
    path.unlink()
    path.mkdir()
    assert refusal().endswith("is not a file")
    path.rmdir()
    path.write_text("{}")
    path.chmod(0o444)
    assert refusal().endswith("is read-only")
    path.chmod(0o644)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert refusal().endswith("belongs to another user")
