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

    from reflect_git.records.schema import By
    from reflect_git.rules.queue import Queue

BY: By = {"road": "terminal", "name": "Ada", "email": "ada@example.com"}
PNPM = "no, never use npm in this project, always use pnpm instead"


def project_of(env: Mapping[str, str]) -> Path:
    return Path(env["HOME"]) / "shop"


def say(store: Store, content: str, **more: Any) -> str:
    """Capture a signal in the user's own words, said in the project."""
    project = service.project_of(store, str(project_of(os.environ)))
    given = {"type": "correction", "confidence": 2, "trust": "user_typed", "content": content, "context": content,
             "session_id": "s-1", "project": project, "meta": {"durable": True, "score": 0.9}, **more}  # fmt: skip
    return service.capture(store, given, os.environ, wait=5)[0]["id"]


def sit(store: Store, env: Mapping[str, str]) -> Queue:
    from reflect_git.rules import queue
    from reflect_git.store.reading import reader

    return queue.open_queue(store, env, reader.scan(store), str(project_of(env)))


def approve(store: Store, env: Mapping[str, str]) -> None:
    from reflect_git.rules.approve import Request, carry_out, propose
    from reflect_git.store import recover

    recover.sweep(store)
    here = sit(store, env)
    done = carry_out(here, propose(here, Request(here.gathered.strong[0], to="project")), BY)
    os.write(1, f"{done.learning}\n".encode())


def dismiss(store: Store, env: Mapping[str, str]) -> None:
    from reflect_git.rules.dismiss import dismiss as answer_no

    decision, _ = answer_no(store, sit(store, env).gathered.strong[0], BY)
    os.write(1, f"{decision}\n".encode())
