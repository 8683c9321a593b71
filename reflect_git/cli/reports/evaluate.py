"""Run `reflect-git evaluate`: have sessions scored by the judge, calibrate it, show what it found."""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING, Any

import click

from reflect_git.capture import service
from reflect_git.cli.context import CliContext, format_local_time, one_line, printable, terminal_width
from reflect_git.cli.options import dry_run_option, json_option, project_option, yes_option
from reflect_git.cli.review_setup import open_context
from reflect_git.errors import EXIT_USAGE, ReflectError
from reflect_git.judge import calibrate, calls, evaluate, in_session, messages, rubric, suggestions
from reflect_git.records.ids import parse_utc, plural
from reflect_git.rules.model_wording import Price
from reflect_git.store import api
from reflect_git.store.local import usage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from reflect_git.judge.calls import Judge
    from reflect_git.judge.evaluate import Evaluation, Part
    from reflect_git.rules.context import Context

_SHOW = "show"
_MAX_INPUT = 1 << 20


@click.command()
@click.argument("words", metavar="[SESSION]... | show [EVL]", nargs=-1)
@click.option("--since", metavar="TIME", default="24h", help="How far back: 24h, 7d, 2026-02-11.")
@click.option("--limit", metavar="N", type=click.IntRange(1, 200), default=20, help="Messages judged in one call.")
@click.option(
    "--min",
    "least",
    metavar="N",
    type=click.IntRange(1, 1000),
    default=10,
    help="Judge only if there are at least N messages.",
)
@click.option("--max-usd", metavar="USD", type=click.FloatRange(0, 100), help="Stop before this run costs more.")
@click.option("--calibrate", is_flag=True, help="Score the 20 samples, so that scores count as anchored.")
@click.option("--again", is_flag=True, help="Also judge what was judged before.")
@click.option(
    "--prompt", "prompted", metavar="SESSION", default="", help="Print what /reflect-evaluate gives its judge."
)
@click.option("--record", "recorded", metavar="FILE", default="", help="Store the answer of that judge ('-': stdin).")
@click.option("--for-skill", is_flag=True, help="With --prompt: for /reflect-evaluate.")
@click.option("--if-due", is_flag=True, help="For scripts: judge what is due if reflect.evaluate is auto.")
@project_option
@dry_run_option
@yes_option
@json_option
@click.pass_obj
def evaluate_command(
    cli: CliContext, /, words: tuple[str, ...], project: str | None, dry_run: bool, prompted: str, recorded: str,
    calibrate: bool, if_due: bool, for_skill: bool, max_usd: float | None, **given: Any,
) -> None:  # fmt: skip
    """Have a judge score your sessions against a rubric, and suggest rules.

    The judge is off until you switch it on. It reads redacted text, must quote, and changes no file. Without SESSION:
    what was not judged yet, the oldest first.

    \b
    Examples:
      reflect-git config reflect.judge claude
      reflect-git evaluate --calibrate
      reflect-git evaluate --since 7d
    """
    if words[:1] == (_SHOW,):
        if len(words) > 2:
            raise ReflectError("more than one evaluation named", "give one id", "usage", EXIT_USAGE)
        _show(cli, words[1]) if len(words) == 2 else _list(cli)
        return
    if prompted:
        _print_prompt(cli, prompted, given["limit"], for_skill)
        return
    if recorded:
        _record(cli, recorded)
        return
    ctx = open_context(cli, project)
    if if_due:
        evaluate.evaluate_if_due(ctx)
        return
    cli.require_outside_client("the judge runs only for a person", ["evaluate", *words], ", or type /reflect-evaluate")
    judge = calls.load_judge(ctx.store, max_usd)
    if calibrate:
        _calibrate(cli, ctx, judge, dry_run)
    else:
        _evaluate(cli, ctx, judge, _find_parts(ctx, words, project, given), given["least"] if not words else 1, dry_run)


def _find_parts(ctx: Context, words: Sequence[str], project: str | None, given: dict[str, Any]) -> list[Part]:
    if words:
        paths = [messages.find_transcript(ctx.env, word) for word in words]
    else:
        paths = messages.list_transcripts(ctx.env, parse_utc(service.parse_since(given["since"])))
    keys = ctx.place.keys if project else ()
    return evaluate.find_parts(ctx, paths, limit=given["limit"], everything=given["again"], project=keys)


def _evaluate(cli: CliContext, ctx: Context, judge: Judge, parts: list[Part], least: int, dry_run: bool) -> None:
    evaluate.require_enough(parts, least)
    price = evaluate.estimate_price(ctx, judge, parts)
    question = f"{format_price(judge, price)}; evaluate {plural(len({part.session.id for part in parts}), 'session')}?"
    if dry_run:
        _print_plan(cli, parts, price, question)
        return
    _confirm_price(cli, ctx, question)
    done: list[Evaluation] = []
    try:
        for part in parts:
            if done and sum(one.record["usage"]["usd"] for one in done) + price.usd / len(parts) > judge.max_usd > 0:
                cli.print_note(f"stopped at ${judge.max_usd:.2f}: {_format_rest(done, parts)}")
                break
            done.append(_run(cli, part, lambda tick, part=part: evaluate.evaluate_part(ctx, judge, part, tick)))
    except ReflectError as error:
        if done:
            _print_done(cli, ctx, done)
            cli.print_note(f"partial: {_format_rest(done, parts)}")
        raise error
    _print_done(cli, ctx, done)


def _format_rest(done: Sequence[Evaluation], parts: Sequence[Part]) -> str:
    return f"{len(done)} of {plural(len(parts), 'part')} evaluated, run it again for the rest"


def _run(cli: CliContext, part: Part, work: Callable[..., Evaluation]) -> Evaluation:
    """Judge one part with a progress line."""
    from reflect_git.cli.review.wordings import Progress

    progress = Progress(f"judging {plural(part.typed, 'message')} of {part.session.id[:8]}")
    try:
        return work(progress.update)
    finally:
        progress.clear()


def _confirm_price(cli: CliContext, ctx: Context, question: str) -> None:
    """Show the price, and ask before the first run; raise if the person says no."""
    if any(line["task"] == calls.EVALUATE and line["state"] == usage.DONE for line in usage.read(ctx.store)):
        cli.print_note(question.partition(";")[0])
    elif not cli.confirm(question):
        raise ReflectError("nothing was sent", code="declined")


def format_price(judge: Judge, price: Price) -> str:
    from reflect_git.cli.review.wordings import format_dollars

    money = f", {format_dollars(price.usd)} with {judge.model}" if judge.kind == "claude" else f" to {judge.model}"
    return f"about {max(100, round(price.tokens, -2)):,} tokens{money}"


def _print_plan(cli: CliContext, parts: list[Part], price: Price, question: str) -> None:
    if cli.json:
        listed = [{"session": part.session.id, "first": part.first, "last": part.last} for part in parts]
        cli.print_json({"parts": listed, "tokens": price.tokens, "usd": round(price.usd, 4)})
        return
    for part in parts:
        when = format_local_time(f"{part.session.end[:19]}Z")
        cli.print_line(printable(f"{part.session.id[:8]}  {when}  messages {part.first} to {part.last}"))
    cli.print_note(question)


def _print_done(cli: CliContext, ctx: Context, done: Sequence[Evaluation]) -> None:
    from reflect_git.cli.review.wordings import format_dollars

    if cli.json:
        cli.print_json([one.record for one in done])
        return
    for one in done:
        _print_evaluation(cli, one.record)
        for suggestion in one.verdict.suggestions:
            cli.print_line(f"    {one_line(f'suggests: {suggestion.text}', terminal_width() - 4)}")
    scores = [one.record["overall"] for one in done if one.record["overall"] is not None]
    if scores:
        note = calibrate.format_anchor(all(one.record["anchored"] for one in done))
        cli.print_text(f"mean {sum(scores) / len(scores):.2f} of {plural(len(scores), 'score')}, {note}")
    right, pairs = calibrate.count_agreement(cli.scan(ctx.store).other_records.values())
    if pairs:
        cli.print_text(
            f"agrees with your corrections in {100 * right // pairs} % of {plural(pairs, 'pair')} of sessions"
        )
    tokens = sum(one.record["usage"]["input"] + one.record["usage"]["output"] for one in done)
    usd = sum(one.record["usage"]["usd"] for one in done)
    today, cap = usage.get_spent_today(ctx.store), usage.get_cap(ctx.store)
    spent, total = (format_dollars(amount) if amount else "$0.00" for amount in (usd, today))
    cli.print_note(f"{tokens:,} tokens, {spent}; {total} of ${cap:.2f} today")
    _print_next_steps(cli, ctx, done)


def _print_next_steps(cli: CliContext, ctx: Context, done: Sequence[Evaluation]) -> None:
    """Print each command that the recommendations lead to, once."""
    now = ctx.replace(scan=cli.scan(ctx.store))
    steps = dict.fromkeys(suggestions.load_findings(now, one.record).next_step for one in done)
    for step in filter(None, steps):
        cli.print_hint("recommendation", step)


def _print_evaluation(cli: CliContext, record: dict[str, Any]) -> None:
    overall = "-" if record["overall"] is None else f"{record['overall']:.2f}"
    counts, is_own = record["messages"], record["judge"]["kind"] == evaluate.IN_SESSION
    worth = "anchored" if record["anchored"] else "in-session, not anchored" if is_own else "not anchored"
    cli.print_line(
        click.style(record["id"], fg="yellow")
        + printable(f"  {overall}  {record['recommendation']}  messages {counts['first']} to {counts['last']}, {worth}")
    )
    scores = "  ".join(f"{name} {score:g}" for name, score in record["scores"].items())
    cli.print_line(f"    {scores}")
    if record["meta"].get("dropped"):
        cli.print_line(f"    dropped, no true quote: {', '.join(record['meta']['dropped'])}")


def _calibrate(cli: CliContext, ctx: Context, judge: Judge, dry_run: bool) -> None:
    from reflect_git.cli.review.wordings import Progress

    samples = calibrate.load_samples()
    system = rubric.build_system_prompt(rubric.load_rubric(ctx.store))
    prices = [calls.estimate_price(ctx.store, judge, system, one.extract) for one in samples]
    price = Price(sum(one.tokens for one in prices), sum(one.usd for one in prices))
    question = f"{format_price(judge, price)}; score {plural(len(samples), 'sample')}?"
    if dry_run:
        cli.print_json(
            {"samples": [one.name for one in samples], "tokens": price.tokens, "usd": round(price.usd, 4)}
        ) if cli.json else cli.print_text(question)
        return
    _confirm_price(cli, ctx, question)
    progress, begun = Progress("calibrating"), time.monotonic()
    try:
        made = calibrate.run(ctx.store, cli.env, judge, lambda at, of: progress.update(time.monotonic() - begun))
    finally:
        progress.clear()
    if cli.json:
        cli.print_json(
            {**made._asdict(), "high_planted": list(made.high_planted), "low_ordinary": list(made.low_ordinary)}
        )
        return
    for name, score in made.scores.items():
        wrong = "  too high" if name in made.high_planted else "  too low" if name in made.low_ordinary else ""
        cli.print_line(f"{'-' if score is None else f'{score:.2f}':>5}  {name}{wrong}")
    said = "passed: its scores count as anchored" if made.passed else "failed: its scores count as not anchored"
    cli.print_text(f"{made.judge['model']} {said}")
    cli.print_note(f"{made.tokens:,} tokens, ${made.usd:.2f}")


def _list(cli: CliContext) -> None:
    """List all evaluations, the newest first, then their mean."""
    found = evaluate.list_evaluations(open_context(cli))
    if cli.json:
        cli.print_json(found)
        return
    for record in found:
        _print_evaluation(cli, record)
    for one in evaluate.compute_means(found):
        note = calibrate.format_anchor(one.is_anchored)
        cli.print_text(f"mean {one.mean:.2f} of {plural(one.scored, 'score')}, {note}")
    if not found:
        cli.print_note("no evaluations yet")


def _show(cli: CliContext, wanted: str) -> None:
    """Print an evaluation: figures, the analysis while it exists, and what the recommendation led to."""
    ctx = open_context(cli)
    known = {key: one for key, one in ctx.scan.other_records.items() if key.startswith("EVL-")}
    hint = "list them with 'reflect-git evaluate show'"
    record = known[api.find_id_of_kind("an evaluation", known, wanted, ctx.scan.other_records, hint)]
    found = suggestions.load_findings(ctx, record)
    if cli.json:
        cli.print_json({**record, "analysis": found.analysis or None, "findings": found.listed, "led_to": found.led_to})
        return
    _print_evaluation(cli, record)
    judge, used = record["judge"], record["usage"]
    fields = [
        ("when", format_local_time(record["timestamp"])), ("judge", f"{judge['kind']} {judge['model']}"),
        ("score", calibrate.format_anchor(record["anchored"])),
        ("versions", ", ".join(f"{name} v{number}" for name, number in record["versions"].items())),
        ("cost", f"{used['input'] + used['output']:,} tokens, ${used['usd']:.4f}"),
        ("analysis", found.analysis or "(expired)"),
    ]  # fmt: skip
    for name, value in fields:
        if value:
            cli.print_text(printable(f"{name + ':':<10} {value}"), 11)
    for one in found.listed:
        cli.print_text(printable(f"{one['kind'] + ':':<10} {one['text']} ({one['state']})"), 11)
        for quote in one["evidence"]:
            cli.print_line(f"           {one_line(f'“{quote}”', terminal_width() - 12)}")
    for line in found.led_to:
        cli.print_text(printable(f"{'led to:':<10} {line}"), 11)
    if found.next_step:
        cli.print_hint("recommendation", found.next_step)


def _print_prompt(cli: CliContext, session: str, limit: int, for_skill: bool) -> None:
    try:
        cli.print_line(in_session.build_prompt(open_context(cli), session, limit))
    except ReflectError as error:
        if not for_skill:
            raise
        cli.print_line(f"error: {error.message}; hint: {error.hint}. Report this, and stop.")


def _record(cli: CliContext, path: str) -> None:
    with sys.stdin if path == "-" else open(path, encoding="utf-8") as file:
        text = file.read(_MAX_INPUT + 1)
    try:
        answer = json.loads(text) if len(text) <= _MAX_INPUT else None
    except (ValueError, RecursionError):
        answer = None
    if not isinstance(answer, dict):
        raise ReflectError(
            "the answer is not a JSON object of at most 1 MB", "print it again: evaluate --prompt", "judge"
        )
    made = in_session.record_answer(open_context(cli), answer)
    if cli.json:
        cli.print_json(made.record)
        return
    _print_evaluation(cli, made.record)
    cli.print_note("in-session: the session judged itself, so its scores are never anchored")
