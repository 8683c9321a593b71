"""Operations that the fault tests of a review run in separate processes, and the start of all review tests."""

from __future__ import annotations

import os
from pathlib import Path

from reflect_git.capture import service
from reflect_git.store.repository import Store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from reflect_git.records.schema import DecisionAuthor
    from reflect_git.rules.queue import Queue

BY: DecisionAuthor = {"road": "terminal", "name": "Ada", "email": "ada@example.com"}
PNPM = "no, never use npm in this project, always use pnpm instead"


def get_project_folder(env: Mapping[str, str]) -> Path:
    return Path(env["HOME"]) / "shop"


def capture_signal(store: Store, content: str, **more: Any) -> str:
    """Capture a signal in the user's own words, said in the project."""
    project = service.get_project(store, str(get_project_folder(os.environ)))
    given = {"type": "correction", "confidence": 2, "trust": "user_typed", "content": content, "context": content,
             "session_id": "s-1", "project": project, "meta": {"durable": True, "score": 0.9}, **more}  # fmt: skip
    return service.capture_signal(store, given, os.environ, wait=5)[0]["id"]


def open_queue(store: Store, env: Mapping[str, str]) -> Queue:
    from reflect_git.rules import queue
    from reflect_git.store.reading import reader

    return queue.open_queue(store, env, reader.scan(store), str(get_project_folder(env)))


def approve(store: Store, env: Mapping[str, str]) -> None:
    from reflect_git.rules.approve import Request, plan_approval, write_approval
    from reflect_git.store import recover

    recover.recover_store(store)
    here = open_queue(store, env)
    done = write_approval(here, plan_approval(here, Request(here.candidates.strong[0], to="project")), BY)
    os.write(1, f"{done.learning}\n".encode())


def dismiss(store: Store, env: Mapping[str, str]) -> None:
    from reflect_git.rules.dismiss import dismiss as answer_no

    decision, _ = answer_no(store, open_queue(store, env).candidates.strong[0], BY)
    os.write(1, f"{decision}\n".encode())
