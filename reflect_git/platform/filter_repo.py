"""Rewrite history without some paths and texts, with git-filter-repo in a separate process.

No other module imports git-filter-repo. This file is also the script that runs in that process, with the path of a spec
as its argument. It gets nothing of the user's environment. It works in the bare repository that the spec names, never
in the store.
"""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

_OPTIONS = ["--force", "--quiet", "--no-gc", "--replace-refs", "delete-no-add"]


def rewrite(program: str, repository: str, spec: Mapping[str, Any], keep: int = -1) -> None:
    """Rewrite every ref of a bare repository. `spec` has patterns, blobs, messages by commit, and marks."""
    from reflect_git.errors import ReflectError
    from reflect_git.platform import files
    from reflect_git.platform.git import GitProcess

    path = os.path.join(repository, "spec.json")
    code = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    files.write_atomic(path, json.dumps({**spec, "repository": repository, "code": code}).encode(), sync=False)
    environment = {
        "PATH": os.pathsep.join((os.path.dirname(program), "/usr/bin", "/bin")), "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull, "HOME": repository, "LC_ALL": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1",
    }  # fmt: skip
    result = GitProcess([sys.executable, "-I", os.path.abspath(__file__), path], environment, keep).communicate()
    if result.code:
        said = result.err.decode("utf-8", "replace").strip().rpartition("\n")[2] or f"exit code {result.code}"
        hint = "nothing has changed; is git-filter-repo installed beside reflect-git?"
        raise ReflectError(f"the history could not be rewritten: {said}", hint, code="filter-repo")


def main(path: str) -> None:
    """Run git-filter-repo as the spec file says."""
    with open(path, encoding="utf-8") as file:
        spec = json.load(file)
    sys.path.insert(0, spec["code"])
    os.chdir(spec["repository"])
    import git_filter_repo  # type: ignore[import-untyped]

    from reflect_git.records.purge_marks import is_purged_path, is_purged_snapshot_path, remove_purged_entries
    from reflect_git.records.search_text import PURGED, TextSearch

    sought = TextSearch(spec["patterns"])
    marks = frozenset(spec["marks"])
    blobs = {blob.encode("ascii") for blob in spec["blobs"]}
    messages = {commit.encode("ascii"): text.encode("utf-8") for commit, text in spec["messages"].items()}

    def on_blob(blob: Any, _: object) -> None:
        left = remove_purged_entries(blob.data, marks)
        data = blob.data if left is None else left  # if nothing is left, the path is removed as well
        blob.data = f"{PURGED}\n".encode() if blob.original_id in blobs else sought.remove_matches(data)

    def stays(name: bytes) -> bool:
        path = os.fsdecode(name)
        return not is_purged_path(path, marks) and not is_purged_snapshot_path(path, marks)

    def on_commit(commit: Any, _: object) -> None:
        commit.file_changes = [change for change in commit.file_changes if stays(change.filename)]
        commit.message = sought.remove_matches(messages.get(commit.original_id, commit.message))
        commit.author_name, commit.author_email = sought.clean_person(commit.author_name, commit.author_email)
        commit.committer_name, commit.committer_email = sought.clean_person(
            commit.committer_name, commit.committer_email
        )

    def on_tag(tag: Any, _: object) -> None:
        tag.message = sought.remove_matches(tag.message)
        if tag.tagger_name is not None:
            tag.tagger_name, tag.tagger_email = sought.clean_person(tag.tagger_name, tag.tagger_email)

    options = git_filter_repo.FilteringOptions.parse_args(_OPTIONS, error_on_empty=False)
    filtering = git_filter_repo.RepoFilter(
        options, blob_callback=on_blob, commit_callback=on_commit, tag_callback=on_tag
    )
    filtering.run()


if __name__ == "__main__":
    main(sys.argv[1])
