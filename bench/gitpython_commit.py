"""One file added and committed with GitPython: `gitpython_commit.py REPOSITORY FILE`."""

import sys

import git

repository = git.Repo(sys.argv[1])
repository.index.add([sys.argv[2]])
repository.index.commit("capture: 1 signal")
