"""Write the pages as static files, for a colleague or a report: no form, no token, and no text that stays here."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from reflect_git.errors import ReflectError
from reflect_git.web import pages, reports
from reflect_git.web.model import Call, Panel
from reflect_git.web.site import HOME, Site

_INDEX = "index.html"
_UNSAFE = re.compile(r"[^A-Za-z0-9.-]+")


def build_file_name(name: str, /, **fields: object) -> str:
    """Return the file of a page; its name is made of the fields, so each address has one."""
    stated = [str(value) for field, value in fields.items() if value and (field, str(value)) != ("page", "1")]
    given = [_UNSAFE.sub("-", value).strip("-.") for value in stated]
    return _INDEX if name == HOME and not given else f"{'-'.join([name, *given])}.html"


def export_pages(panel: Panel, folder: str) -> int:
    """Write every page below a new or empty folder; return how many there are."""
    os.makedirs(folder, exist_ok=True)
    if os.listdir(folder):
        raise ReflectError(f"'{folder}' is not empty", "name a new folder", "usage")
    site = Site(panel, link=build_file_name, is_static=True)
    for name, asset in site.assets.items():
        if name.endswith((".css", ".svg")):
            _write(os.path.join(folder, name), asset.data)
    count = 0
    for name, fields in _list_pages(panel):
        answer = site.answer(Call(name, fields, lambda path: "", True))
        if answer.status == 200:
            _write(os.path.join(folder, build_file_name(name, **fields)), answer.body)
            count += 1
    return count


def _list_pages(panel: Panel) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield every page that another one links to."""
    for name in (HOME, "trend", "machines"):
        yield name, {}
    for name, make in (("rules", pages.show_rules), ("incidents", pages.show_incidents)):
        yield from _list_parts(name, {}, make(panel, _build_call(name, {})).data["pages"])
    for rule in panel.ctx.scan.history.learnings:
        yield "rule", {"id": rule}
    for one in pages.show_incidents(panel, _build_call("incidents", {"all": "1"})).data["incidents"]:
        yield "incident", {"key": one["key"][:16]}
    yield "versions", {}
    for file in pages.show_versions(panel, _build_call("versions", {})).data["files"]:
        shown = pages.show_versions(panel, _build_call("versions", {"file": file})).data
        yield from _list_parts("versions", {"file": file}, shown["pages"])
        for number in range(1, (shown["newest"] or 0) + 1):
            yield "version", {"file": file, "v": str(number)}
    yield from _list_reports(panel)


def _list_reports(panel: Panel) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the pages of evaluations, digests and skills that have data."""
    empty = reports.list_empty(panel)
    for name, show in reports.LISTS.items():
        if name not in empty:
            yield from _list_parts(name, {}, show(panel, _build_call(name, {})).data["pages"])
    for record in reports.load_evaluations(panel):
        yield "evaluation", {"id": record["id"]}
    for period in reports.load_periods(panel):
        shown = reports.show_digest(panel, _build_call("digest", {"period": period})).data
        yield from _list_parts("digest", {"period": period}, shown["pages"])


def _list_parts(name: str, fields: dict[str, str], count: int) -> Iterator[tuple[str, dict[str, str]]]:
    yield name, fields
    for number in range(2, count + 1):
        yield name, {**fields, "page": str(number)}


def _build_call(name: str, fields: dict[str, str]) -> Call:
    return Call(name, fields, lambda path: "", True)


def _write(path: str, data: bytes) -> None:
    with open(path, "xb") as file:
        file.write(data)
