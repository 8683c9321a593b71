"""Turn requests into answers: find the page, render its template, and explain errors."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from reflect_git import __version__, paths
from reflect_git.errors import ReflectError
from reflect_git.records.ids import day_number, escape_controls, local_day, parse_utc, plural
from reflect_git.records.json_form import dumps
from reflect_git.web import changes, charts, pages, reports, today
from reflect_git.web.model import Call, Page, Panel

HOME = "today"
TEMPLATES = ("templates", "panel")
_JSON = ".json"
_COMMIT = re.compile("[0-9a-f]{7,40}")
_SCHEMA_VERSION = 1
_ASSETS = {
    "panel.css": "text/css; charset=utf-8",
    "panel.js": "text/javascript; charset=utf-8",
    "panel.svg": "image/svg+xml",
}
# In the order of the menu. A page that is not in the menu is reached from another one, which is then marked.
MENU = {
    "today": "Today", "rules": "Rules", "versions": "Versions", "incidents": "Incidents", "trend": "Trend",
    "evaluations": "Evaluations", "digests": "Digests", "skills": "Skills", "machines": "Machines",
}  # fmt: skip
_PARENTS = {
    "edit": "rules",
    "guard": "rules",
    "revert": "versions",
    "rule": "rules",
    "version": "versions",
    "session": "versions",
    "incident": "incidents",
    "evaluation": "evaluations",
    "digest": "digests",
}
PAGES: dict[str, Callable[[Panel, Call], Page]] = {
    "today": today.show_today, "revert": today.show_revert, "edit": today.show_edit, "guard": today.show_guard,
    "capture": today.show_capture, "rules": pages.show_rules, "rule": pages.show_rule, "versions": pages.show_versions,
    "version": pages.show_version, "session": pages.show_session, "incidents": pages.show_incidents,
    "incident": pages.show_incident, "trend": pages.show_trend, "machines": pages.show_machines,
    "evaluations": reports.show_evaluations, "evaluation": reports.show_evaluation, "digests": reports.show_digests,
    "digest": reports.show_digest, "skills": reports.show_skills,
}  # fmt: skip
_STATUS_BY_CODE = {"unknown-id": 404, "unknown-version": 404, "no-candidate": 409, "changed": 409, "file-changed": 409}


class Asset(NamedTuple):
    """The style sheet or the script, with its type."""

    data: bytes
    type: str


class Answer(NamedTuple):
    """The body of an answer, its type and its status."""

    body: bytes
    type: str = "text/html; charset=utf-8"
    status: int = 200


Link = Callable[..., str]


def list_menu(panel: Panel) -> dict[str, str]:
    """Return the menu without the pages that have nothing to show."""
    empty = reports.list_empty(panel)
    return {name: words for name, words in MENU.items() if name not in empty}


def build_link(name: str, /, **fields: object) -> str:
    """Return the address of a page, relative to any other page."""
    given = {field: value for field, value in fields.items() if value not in ("", None)}
    return f"{name}?{urlencode(given)}" if given else name


class Site:
    """All pages of the panel."""

    def __init__(self, panel: Panel, link: Link = build_link, is_static: bool = False) -> None:
        self.panel = panel
        self.assets = {
            name: Asset(_read(os.path.join(paths.resource_path(*TEMPLATES), name)), kind)
            for name, kind in _ASSETS.items()
        }
        self._is_static = is_static
        self._templates = Environment(
            loader=FileSystemLoader(paths.resource_path(*TEMPLATES)), autoescape=True, undefined=StrictUndefined,
            trim_blocks=True, lstrip_blocks=True, finalize=_show, auto_reload=False,
        )  # fmt: skip
        self._templates.filters.update(
            when=format_when, day=format_day, age=format_age, plural=plural,
            number=format_number, code=format_code,
        )  # fmt: skip
        self._templates.globals.update(
            link=link, sparkline=charts.draw_sparkline, interval=charts.draw_interval, budget=charts.draw_budget,
            version=__version__, is_static=is_static,
        )  # fmt: skip

    def answer(self, call: Call) -> Answer:
        """Answer a GET request: a page, or the data of a page as JSON. It changes nothing."""
        name, is_json = call.name, call.name.endswith(_JSON)
        name = name.removesuffix(_JSON) or HOME
        try:
            self.panel.load()
            make = PAGES.get(name)
            if make is None:
                raise ReflectError("there is no such page", "choose one of the menu", "unknown-id")
            page = make(self.panel, call)
        except ReflectError as error:
            return self._answer_error(name, call, error, is_json)
        if is_json:
            return _format_json({"schema_version": _SCHEMA_VERSION, "data": page.data}, page.status)
        return self.render(name, page, call)

    def change(self, call: Call) -> str | Answer:
        """Carry out a form. Return the address of the next page, or a page that says why nothing was changed."""
        try:
            self.panel.load()
            make = changes.CHANGES.get(call.name)
            if make is None:
                raise ReflectError("there is no such page", "choose one of the menu", "unknown-id")
            following = make(self.panel, call)
            return build_link(following.page, **following.fields)
        except changes.Stale as error:
            self.panel.load()
            return self._show_again(error, call)
        except ReflectError as error:
            return self._answer_error(call.name, call, error, False)

    def _show_again(self, error: changes.Stale, call: Call) -> Answer:
        """Show the page again as it is now, with the reason."""
        try:
            page = PAGES[error.page](self.panel, call)
        except ReflectError as now:
            return self._answer_error(error.page, call, now, False)
        return self.render(error.page, page._replace(status=409), call, error.message)

    def _answer_error(self, name: str, call: Call, error: ReflectError, is_json: bool) -> Answer:
        status = _STATUS_BY_CODE.get(error.code, 400)
        if is_json:
            failure = {"code": error.code, "message": error.message, "hint": error.hint}
            return _format_json({"schema_version": _SCHEMA_VERSION, "error": failure}, status)
        data = {"message": error.message, "hint": error.hint}
        return self.render(name, Page("error", "Not possible", data, status), call)

    def render(self, name: str, page: Page, call: Call, problem: str = "") -> Answer:
        """Render a page with the menu. `problem`: why a form was not carried out."""
        panel = self.panel
        project = panel.ctx.place.project
        state, words = panel.switch.describe()
        around = {
            "page": page.data, "title": page.title, "menu": list_menu(panel),
            "here": _PARENTS.get(name, name), "name": name,
            "project": project["name"] if project else "", "capture": state, "capture_words": words,
            "can_write": not call.is_read_only and not self._is_static, "form_token": call.get_token,
            "is_private": panel.is_private, "query": call.fields, "problem": problem,
            "done": today.describe_done(panel, call.get("done")) if _COMMIT.fullmatch(call.get("done")) else None,
        }  # fmt: skip
        text = self._templates.get_template(f"{page.template}.html").render({**around, **page.pictures})
        return Answer(text.encode("utf-8", "replace"), status=page.status)

    def render_open(self) -> Answer:
        """Render the page that exchanges the token for a cookie."""
        return Answer(self._templates.get_template("open.html").render().encode())

    def render_refusal(self, status: int, why: str, hint: str) -> Answer:
        """Render why a request is refused. It shows nothing of the store."""
        text = self._templates.get_template("refused.html").render(why=why, hint=hint)
        return Answer(text.encode(), status=status)


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _format_json(document: Mapping[str, Any], status: int) -> Answer:
    return Answer(dumps(document) + b"\n", "application/json", status)


def _show(value: Any) -> Any:
    """Spell out what acts on a screen or hides in it, such as marks that turn the direction of text."""
    if type(value) is str:
        return escape_controls(value)
    return "" if value is None else value


def format_code(text: str) -> Markup:
    """Escape a text, and show what is between backticks as code."""
    parts = [escape(escape_controls(part)) for part in text.split("`")]
    if len(parts) % 2 == 0:  # one backtick without its partner is a character like any other
        parts[-2:] = [Markup("`").join(parts[-2:])]
    return Markup("").join(Markup("<code>%s</code>") % part if at % 2 else part for at, part in enumerate(parts))


def format_when(timestamp: str) -> str:
    """Format a UTC time as local time."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(parse_utc(timestamp)))


def format_day(timestamp: str) -> str:
    return local_day(parse_utc(timestamp if "T" in timestamp else f"{timestamp}T12:00:00Z"))


def format_age(timestamp: str) -> str:
    """Format how many days ago it was."""
    days = day_number(time.time()) - day_number(parse_utc(timestamp if "T" in timestamp else f"{timestamp}T12:00:00Z"))
    return "today" if days <= 0 else "yesterday" if days == 1 else f"{days} days ago"


def format_number(value: float | None) -> str:
    """Format a figure briefly; a dash for none."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if value == int(value) or value >= 100 else f"{value:.1f}"
