"""The panel's pages over a store of 300 rules, 10,000 signals and 400 sessions, without a server."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from bench import generate
from reflect_git.capture import service
from reflect_git.store.reading import reader
from reflect_git.web.model import Call, CaptureSwitch, Panel
from reflect_git.web.site import Answer, Site


def build_panel(home: Path, is_private: bool = True) -> Panel:
    return build_panel_in(generate.build_env(home), home / "shop", is_private)


def build_panel_in(env: Mapping[str, str], project: Path, is_private: bool = True) -> Panel:
    store = service.open_recovered_store(env, create=False)
    switch = CaptureSwitch(lambda: ("on", "on"), lambda span: None, lambda: None)
    return Panel(store, env, str(project), reader.scan, switch, is_private)


def ask(site: Site, page: str, fields: Mapping[str, str] | None = None) -> Answer:
    return site.answer(Call(page, fields or {}, lambda path: "t" * 64, False))


def list_pages(site: Site) -> list[tuple[str, dict[str, str]]]:
    """Return an address of every page, with ids that exist."""
    panel = site.panel
    rule = panel.rules[12].id
    return [
        ("today", {}), ("today", {"weak": "1"}), ("rules", {}), ("rules", {"page": "3", "sort": "effect"}),
        ("rules", {"q": "pnpm", "scope": "here"}), ("rule", {"id": rule}), ("edit", {"id": panel.rules[0].id}),
        ("revert", {"name": rule}), ("versions", {}), ("version", {"v": "9"}), ("incidents", {}),
        ("incidents", {"all": "1", "page": "2"}), ("trend", {}), ("trend", {"weeks": "104"}), ("machines", {}),
        ("capture", {}), ("evaluations", {}), ("digests", {}), ("skills", {}),
    ]  # fmt: skip
