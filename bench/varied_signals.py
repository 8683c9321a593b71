"""Signals as different from one another as those of a busy fortnight: what review has to tell apart.

Said in several languages and projects, now and then twice in other words; failures, what works in their place, notes of
the assistant, summaries.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from bench.generate import DAYS, PROJECTS
from reflect_git.capture.new_signal import build_signal_from_input
from reflect_git.records.ids import utc

_DAY = 86400
_PER_SESSION = 40

_PAIRS = tuple(
    tuple(pair.split("/"))
    for pair in """pnpm/npm vitest/jest uv/pip ruff/flake8 rg/grep fd/find podman/docker zod/yup dayjs/moment
        httpx/requests pytest/unittest polars/pandas just/make bun/node tofu/terraform swc/babel biome/prettier
        sqlx/diesel tokio/rayon esbuild/webpack argparse/click svelte/react postgres/mysql nats/kafka""".split()
)
_THINGS = tuple(
    """changelog|price list|invoice template|login form|search index|release notes|feature flag|error page|cart total|
    audit trail|ledger export|map tiles|upload queue|session cookie|retry policy|rate limit|dark theme|address book|
    date picker|import wizard|sitemap|health check|webhook|translation file|tax table|stock count|print layout|
    push message|avatar cache|coupon code""".replace("\n", " ").split("|")
)
_VERBS = "rename delete rewrite regenerate format move mock cache inline squash publish sort translate log".split()
_AREAS = "checkout billing search admin mobile importer reports gateway scheduler onboarding warehouse support".split()
_SAID = (
    "no, use {a} here, not {b}",
    "don't use {b} in {area}, use {a}",
    "use {a} instead of {b} for the {thing}",
    "in {area}, prefer {a} over {b}",
    "always {verb} the {thing} before you touch {area}",
    "never {verb} the {thing} in {area}",
    "you forgot the {thing} again. Run `{a} {verb}` after every change in {area}",
    "the {thing} lives in `src/{area}/{verb}.ts`, not in `lib/`",
    "stop adding comments to the {thing}, {area} reads without them",
    "why did you {verb} the {thing}? I only asked about {area}",
    "ask me before you {verb} anything in {area}; the {thing} is in production",
    "keep the {thing} of {area} short, two sentences are enough, and do not {verb} it without a test",
    "nein, nimm {a} statt {b} für {area}",
    "bitte nie die Datei für {thing} in {area} ändern, ohne vorher zu fragen",
    "utilise {a} au lieu de {b} dans {area}",
    "ne modifie jamais {thing} dans {area} sans demander",
    "no uses {b} en {area}, usa {a}",
    "{area}では{b}ではなく{a}を使ってください",
    "在 {area} 里不要用 {b}，用 {a}",
    "в {area} используй {a}, а не {b}",
)
_TRIED = (
    "{b} run {verb} --filter {area}",
    "{b} test src/{area}/{verb}.test.ts -t '{thing}'",
    "cd packages/{area} && {b} build --out dist/{n}",
    "cat src/{area}/{verb}_{n}.py",
    "git checkout feature/{area}-{verb}-{n}",
    "curl -s localhost:{n}/{area}/{verb}",
)
_ERRORS = (
    "Exit code 1\nerror: could not resolve module 'src/{area}/{verb}' from the {thing}",
    "Exit code 2\nE   AssertionError: the {thing} of {area} is {n}, expected 42\n1 failed, 17 passed in 3.21s",
    "Exit code 127\nsh: 1: {b}: not found",
    "File does not exist. Note: the working directory is the project's folder",
)
# How many of a hundred, what it is, how sure the detector was, and who said it.
_KINDS = (
    (55, "failure", 1, "tool_output"), (22, "correction", 2, "user_typed"), (6, "correction", 1, "user_feedback"),
    (6, "convention", 1, "user_typed"), (4, "discovery", 1, "tool_output"), (3, "gotcha", 1, "assistant"),
    (2, "command", 2, "user_typed"), (2, "summary", 1, "assistant"),
)  # fmt: skip


def generate_signals(count: int, machine: str, now: float) -> Iterator[dict[str, Any]]:
    """Oldest first, over the last fortnight; the same words for the same count."""
    dice = random.Random(count)
    kinds = dice.choices([kind[1:] for kind in _KINDS], [kind[0] for kind in _KINDS], k=count)
    for number, (kind, confidence, trust) in enumerate(kinds):
        when = utc(now - DAYS * _DAY + (number + 1) * (DAYS * _DAY / count))
        words = _draw_words(dice)
        if not number:  # what review shows first has a matcher, so that the past is looked at
            kind, confidence, trust, words = "correction", 2, "user_typed", {**words, "a": "pnpm", "b": "npm"}
        content = _draw_content(kind, words, dice) if number else _SAID[0].format(**words)
        facts = {
            "type": kind, "confidence": confidence, "trust": trust, "timestamp": when, "content": content,
            "context": dice.choice(_ERRORS).format(**words) if trust == "tool_output" else "",
            "category": "command" if kind == "failure" else "convention",
            "tags": ["Bash"] if kind == "failure" else [], "project": PROJECTS[number // _PER_SESSION % len(PROJECTS)],
            "session_id": f"{number // _PER_SESSION:08x}-5a1c-4a66-9d0e-000000000000",
            "source": {"hook": "PostToolUseFailure" if kind == "failure" else "SessionEnd", "entry": f"toolu_{number}"},
            "meta": {"score": round(dice.random(), 3), "durable": dice.random() < 0.7},
        }  # fmt: skip
        if trust.startswith("user"):
            facts["context"] = f"{facts['content']}. and then go on with the {words['thing']}"
        yield dict(build_signal_from_input(facts, machine, when))


def _draw_words(dice: random.Random) -> dict[str, Any]:
    a, b = dice.choice(_PAIRS)
    return {
        "a": a, "b": b, "thing": dice.choice(_THINGS).strip(), "verb": dice.choice(_VERBS), "area": dice.choice(_AREAS),
        "n": dice.randrange(1000),
    }  # fmt: skip


def _draw_content(kind: str, words: dict[str, Any], dice: random.Random) -> str:
    tried = dice.choice(_TRIED).format(**words)
    if kind == "failure":
        return f"Bash failed: {tried}"
    if kind == "discovery":
        return f"`{tried}` fails here (exit 1); `{words['a']} {words['verb']} {words['area']}` works"
    return dice.choice(_SAID).format(**words)
