"""Finding the calls in a transcript that change Markdown files."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from reflect_git.capture.transcript.calls import MENTION_PREFIX, find_edits
from reflect_git.errors import ReflectError


def _line(path: str, padding: int = 0, tool: str = "Edit", **given: str) -> bytes:
    block = {"type": "tool_use", "name": tool, "input": {**given, "file_path": path}}
    entry = {"type": "assistant", "padding": "x" * padding, "message": {"content": [block]}}
    return json.dumps(entry, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


@pytest.mark.parametrize("size", [0, 100, (1 << 20) - 200, (1 << 20) - 100, 1 << 20, (1 << 20) + 8192, 5 << 20])
def test_each_is_found_wherever_blocks_meet(tmp_path: Path, size: int) -> None:
    transcript = tmp_path / "t.jsonl"
    before, call = _line("/srv/shop/a.ts", size), _line("/srv/shop/CLAUDE.md", 20)
    whole = before + call + before + _line("/srv/shöp/b c.md", size, "Write")
    transcript.write_bytes(whole)
    last = len(before) * 2 + len(call)
    assert find_edits(str(transcript)) == ([(len(before), "CLAUDE.md"), (last, "b c.md")], len(whole))
    assert find_edits(str(transcript), last) == ([(last, "b c.md")], len(whole))


def test_a_line_without_its_end_waits(tmp_path: Path) -> None:
    transcript = tmp_path / "t.jsonl"
    line = _line("/srv/CLAUDE.md")
    transcript.write_bytes(line + line[:-1])
    assert find_edits(str(transcript)) == ([(0, "CLAUDE.md")], len(line))
    transcript.write_bytes(line + line)
    assert find_edits(str(transcript), len(line)) == ([(len(line), "CLAUDE.md")], 2 * len(line))


def test_reading_it_and_speaking_of_it_is_no_change(tmp_path: Path) -> None:
    transcript = tmp_path / "t.jsonl"
    transcript.write_bytes(
        _line("/srv/CLAUDE.md", tool="Read")
        + _line("/srv/a.ts", old_string='"file_path":"/srv/CLAUDE.md"')
        + b'{"name":"Edit","text":"see CLAUDE.md"}\n'
        + b'{"file_path":"/srv/CLAUDE.md"}\n'
    )
    found = find_edits(str(transcript))[0]
    assert [name for _, name in found if not name.startswith(MENTION_PREFIX)] == []


def test_a_command_and_a_script_that_name_it(tmp_path: Path) -> None:
    transcript = tmp_path / "t.jsonl"
    bash = {"type": "tool_use", "name": "Bash", "input": {"command": "echo x >> /srv/CLAUDE.md; cat a.md b.mdx"}}
    line = json.dumps({"type": "assistant", "message": {"content": [bash]}}).encode() + b"\n"
    script = _line("/srv/go.py", tool="Write", content="open('docs/AGENTS.md', 'a')")
    transcript.write_bytes(line + script)
    found = [(0, f"{MENTION_PREFIX}CLAUDE.md"), (0, f"{MENTION_PREFIX}a.md"), (len(line), f"{MENTION_PREFIX}AGENTS.md")]
    assert find_edits(str(transcript))[0] == found


def test_an_endless_line_is_passed_over(tmp_path: Path) -> None:
    transcript = tmp_path / "t.jsonl"
    transcript.write_bytes(b"x" * (20 << 20) + b"\n" + _line("/srv/CLAUDE.md"))
    assert find_edits(str(transcript))[0] == [((20 << 20) + 1, "CLAUDE.md")]


def test_at_the_deadline_it_says_how_far_it_came(tmp_path: Path) -> None:
    transcript = tmp_path / "t.jsonl"
    line = _line("/srv/a.ts", 1000)
    transcript.write_bytes(line * 3000 + _line("/srv/CLAUDE.md"))
    found, upto = find_edits(str(transcript), deadline=time.monotonic() - 1)
    assert (found, 0 < upto < 2 << 20, upto % len(line)) == ([], True, 0)
    assert find_edits(str(transcript), upto)[0] == [(len(line) * 3000, "CLAUDE.md")]


def test_only_plain_files_below_the_projects_folder_are_opened(tmp_path: Path) -> None:
    transcript = tmp_path / "t.jsonl"
    transcript.write_bytes(_line("/srv/CLAUDE.md"))
    with pytest.raises(ReflectError):
        find_edits(str(transcript), projects=str(tmp_path / "projects"))
