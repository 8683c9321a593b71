"""The modules of a failure hook in one file: to find and open thirty of them one by one is 2 of its 20 ms of CPU.

It lies in the folder of `-X pycache_prefix`, holds the byte code that Python keeps there, and is as disposable: used
only by the Python that wrote it, while every source it came from is as it was. Else the next start of a session writes
it anew, when the client has gone on, or a failure that comes before.
"""

from __future__ import annotations

import marshal
import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.machinery import ModuleSpec
    from types import CodeType, ModuleType
    from typing import Optional

    Entry = tuple[str, list[int], bytes]  # the source, its stamp, the byte code

_NAME = "failure-hook"
_NEEDED = "reflect_git.store.inbox"  # who stores nothing needs no bundle
_MODULES = """
    adapters adapters.child adapters.faults adapters.files adapters.git adapters.host adapters.jsontext adapters.project
    adapters.records adapters.redact adapters.redact.codes adapters.redact.families capture capture.draft
    capture.failure errors hook model model.counts model.ids model.schema paths store store.append store.corpses
    store.identity store.inbox
    store.journal store.layout store.opening store.projects store.purged store.repository store.spool workflow
""".split()
_WRITING = 60
_HEADER = 16  # of a .pyc: magic number, flags, time and size of the source
_Spec = type(sys.__spec__)  # importlib.machinery would be an import


class Bundle:
    """Finds the modules that are in the file; every other one is found as ever."""

    def __init__(self, modules: dict[str, Entry]) -> None:
        self._modules = modules

    def find_spec(
        self, name: str, path: Optional[Sequence[str]] = None, target: Optional[ModuleType] = None
    ) -> Optional[ModuleSpec]:
        entry = self._modules.get(name)
        if entry is None:
            return None
        folder, file = os.path.split(entry[0])
        spec = _Spec(name, self, origin=entry[0], is_package=file == "__init__.py")  # type: ignore[arg-type]
        if spec.submodule_search_locations is not None:
            spec.submodule_search_locations.append(folder)
        return spec

    def create_module(self, spec: ModuleSpec) -> None:
        """As Python makes it."""

    def exec_module(self, module: ModuleType) -> None:
        source, _, code = self._modules[module.__name__]
        module.__file__ = source
        exec(_loaded(source, code), module.__dict__)


def _loaded(source: str, code: bytes) -> CodeType:
    try:
        loaded: CodeType = marshal.loads(code)
    except (EOFError, ValueError, TypeError):  # damaged: the next hook finds no bundle, and this one needs none
        os.unlink(_place())
        with open(source, "rb") as file:
            loaded = compile(file.read(), source, "exec")
    return loaded


def use() -> bool:
    """Take what follows from the bundle, if there is one that holds."""
    try:
        with open(_place(), "rb") as file:
            magic, modules = marshal.loads(file.read())
        if magic != _magic() or any(_stamp(source) != stamp for source, stamp, _ in modules.values()):
            return False
    except Exception:  # whatever is wrong with it, it is written again
        return False
    sys.meta_path.insert(0, Bundle(modules))
    return True


def write() -> None:
    """Bundle what a failure loads; not where a source changed after it was compiled, or came from a bundle itself."""
    if _NEEDED not in sys.modules:
        return
    try:
        modules = {name: _entry(name) for name in [f"reflect_git.{short}" for short in _MODULES]}
        _replace(_place(), marshal.dumps((_magic(), modules)))
    except Exception:  # no cache, half an update: no bundle
        pass


def _replace(place: str, data: bytes) -> None:
    folder, name = os.path.split(place)
    for left in [one for one in os.listdir(folder) if one.startswith(f"{name}.")]:
        if _is_being_written(os.path.join(folder, left)):
            return  # of 64 first hooks one is enough
        os.unlink(os.path.join(folder, left))  # left by a kill
    scratch = f"{place}.{os.getpid()}"
    try:
        with open(scratch, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(scratch, place)
    except BaseException:  # a full disk
        os.unlink(scratch)
        raise


def _is_being_written(scratch: str) -> bool:
    """Whether its process lives; after a minute another process may have that number."""
    try:
        os.kill(int(scratch.rpartition(".")[2]), 0)
        return time.time() - os.stat(scratch).st_mtime < _WRITING
    except (OSError, ValueError):
        return False


def _entry(name: str) -> Entry:
    __import__(name)
    spec = sys.modules[name].__spec__
    if spec is None or not spec.origin or not spec.cached:
        raise ValueError
    with open(spec.cached, "rb") as file:
        compiled = file.read()
    stamp = _stamp(spec.origin)
    stated = (stamp[1] // 10**9).to_bytes(8, "little")[:4] + stamp[2].to_bytes(8, "little")[:4]
    if compiled[:_HEADER] != _magic() + bytes(4) + stated:
        raise ValueError
    return spec.origin, stamp, compiled[_HEADER:]


def _stamp(path: str) -> list[int]:
    status = os.stat(path)
    return [status.st_ino, status.st_mtime_ns, status.st_size]


def _magic() -> bytes:
    magic: bytes = sys.modules["_frozen_importlib_external"].MAGIC_NUMBER
    return magic


def _place() -> str:
    """Beside the byte code of this very file: two versions of the program may share a cache."""
    if not sys.pycache_prefix or __spec__ is None or not __spec__.cached:
        raise FileNotFoundError
    return os.path.join(os.path.dirname(__spec__.cached), f"{_NAME}.{sys.implementation.cache_tag}")
