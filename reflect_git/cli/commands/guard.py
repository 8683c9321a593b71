"""Run `reflect-git guard`: try rules against tool calls."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import click

from reflect_git.cli.context import CliContext
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.guards.derive import derive_matcher
from reflect_git.guards.match import Call, find_match


@click.command()
@click.option(
    "--try", "source", metavar="FILE", required=True, help="Try rules against calls: JSON lines; '-' reads stdin."
)
@click.pass_obj
def guard_command(cli: CliContext, source: str) -> None:
    """Try rules against tool calls, as a guard would decide.

    Each line is {"id", "rule", "call": {"tool_name", "tool_input"}}. A line with a "matcher" uses it; without one, the
    matcher is derived from the rule's text. Each answer is {"id", "guardable", "applies", "why", "matcher"}. No store
    is needed.

    \b
    reflect-git guard --try - < cases.jsonl
    """
    derived: dict[str, dict[str, Any] | None] = {}
    for number, row in _read_rows(source):
        rule, call = row.get("rule"), row.get("call")
        if not isinstance(call, dict) or not isinstance(call.get("tool_input"), dict):
            raise ReflectError(
                f"line {number} has no call", 'give "call": {"tool_name", "tool_input"}', "usage", EXIT_USAGE
            )
        matcher = row.get("matcher")
        if not isinstance(matcher, dict):
            text = rule if isinstance(rule, str) else ""
            if text not in derived:
                derived[text] = derive_matcher(text)
            matcher = derived[text]
        cli.print_line(json.dumps(_decide(row.get("id"), matcher, call), ensure_ascii=False))


def _read_rows(source: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number and the object of each line that is not empty."""
    stream = sys.stdin if source == "-" else click.open_file(source, encoding="utf-8")
    with stream:
        for number, line in enumerate(stream, 1):
            if line.strip():
                try:
                    row = json.loads(line)
                except ValueError:
                    row = None
                if not isinstance(row, dict):
                    raise ReflectError(
                        f"line {number} is not a JSON object", "give one object a line", "usage", EXIT_USAGE
                    )
                yield number, row


def _decide(identifier: Any, matcher: dict[str, Any] | None, call: dict[str, Any]) -> dict[str, Any]:
    """Return the answer for one call."""
    found = ""
    if matcher is not None:
        folder = call.get("cwd") if isinstance(call.get("cwd"), str) else ""
        found = find_match(matcher, Call(str(call.get("tool_name", "")), call["tool_input"], str(folder)))
    why = "not guardable: the text names no call" if matcher is None else f"matches: {found}" if found else "no match"
    return {"id": identifier, "guardable": matcher is not None, "applies": bool(found), "why": why, "matcher": matcher}
