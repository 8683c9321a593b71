"""Each decision that a sync or a purge leaves on main has a receipt, so an audit never calls it hand-made."""

from __future__ import annotations

import shutil
from pathlib import Path

from reflect_git.store.main import receipts
from reflect_git.store.repository import get_record_id
from tests.sync.clones import Clone, purge_squashed


def require_receipts(clone: Clone) -> None:
    decided = {one for one in map(get_record_id, clone.list_paths()) if one.startswith("DEC-")}
    assert decided and decided <= set(receipts.read_ids(clone.store) or ())


def test_what_came_from_another_machine(tmp_path: Path, remote: Path) -> None:
    laptop, desktop = Clone(tmp_path / "laptop", str(remote)), Clone(tmp_path / "desk", str(remote))
    for turn in range(2):
        laptop.approve(2 * turn)
        desktop.approve(2 * turn + 1)
        for clone in (laptop, desktop, laptop):
            clone.sync()
    require_receipts(laptop)
    require_receipts(desktop)


def test_what_a_copied_store_gets_from_where_it_was_copied(tmp_path: Path, remote: Path) -> None:
    """A backup restored into another folder continues under its own name."""
    laptop = Clone(tmp_path / "laptop", str(remote))
    laptop.approve(1)
    laptop.sync()
    shutil.copytree(laptop.root, tmp_path / "copy", symlinks=True)
    laptop.approve(2)
    laptop.sync()
    copy = Clone(tmp_path / "copy")
    copy.sync()
    assert len([one for one in map(get_record_id, copy.list_paths()) if one.startswith("DEC-")]) == 2
    require_receipts(copy)


def test_what_a_purge_leaves(tmp_path: Path, remote: Path) -> None:
    laptop, desktop = Clone(tmp_path / "laptop", str(remote)), Clone(tmp_path / "desk", str(remote))
    made = laptop.approve(1)
    laptop.approve(2)
    laptop.sync()
    desktop.sync()
    purge_squashed(laptop, made)
    laptop.sync()
    desktop.sync()
    require_receipts(laptop)
    require_receipts(desktop)
