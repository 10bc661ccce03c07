"""What functions were converted to, kept on disk for the next process.

A conversion depends on the text of the function, on what the names in it stand for, on d2s and on
Python; all of it is in the key of an entry or is compared when one is found::

    <folder>/<key>.d2s    ->    the code that Python made of the converted text, what it reads,
                                and what each name stood for

There is no pickle in it: code is marshalled, as in ``__pycache__``, behind a checksum.  An entry is
written under another name and then renamed, so that other processes see all of it or nothing.
Whatever goes wrong with a file, a folder or a full disk, the function is converted as without a
cache.  Like ``__pycache__`` the folder holds code that is run: it is the user's alone.
"""

from __future__ import annotations

import builtins
import contextlib
import dataclasses
import functools
import hashlib
import importlib.util
import linecache
import marshal
import os
import sys
import tempfile
import types
from collections.abc import Callable, Iterator, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import beniget
import gast

from d2s import config
from d2s.analysis.reads import Reads
from d2s.analysis.scopes import dotted
from d2s.analysis.walk import walk

SUFFIX: Final = ".d2s"
MOST: Final = 20_000
"""So many entries are kept; the oldest half goes when there are more."""

_FORMAT: Final = b"d2s 1\n"
_DIGEST: Final = hashlib.sha256().digest_size
_HERE: Final = Path(__file__).parent

Resolve = Callable[[str], Any]


@dataclass(frozen=True)
class Entry:
    """A conversion.

    Attributes:
        code: the code of the converted function.
        namespace: the name under which it reaches the runtime.
        reads: what the user's function names.
        passes: the passes that had something to do.
    """

    code: types.CodeType
    namespace: str
    reads: Reads
    passes: tuple[str, ...]


def folder() -> Path | None:
    """Where entries are kept: what ``D2S_CACHE_DIR`` names; ``None`` where that is ``0``."""
    chosen = config.get().cache_dir
    if chosen == "0":
        return None
    if chosen:
        return Path(chosen).expanduser()
    home = os.environ.get("XDG_CACHE_HOME", "")
    try:
        return (Path(home) if home else Path.home() / ".cache") / "d2s"
    except RuntimeError:  # there is no home
        return None


def find(function: types.FunctionType, pipeline: str, resolve: Resolve) -> Entry | None:
    """The entry of a function, if it has one and its names stand for what they stood for.

    Args:
        function: a plain Python function.
        pipeline: the name of the pipeline.
        resolve: what a global or closure name stands for now.
    """
    file = _file(function, pipeline)
    if file is None:
        return None
    try:
        data = file.read_bytes()
    except OSError:
        return None
    payload = data[len(_FORMAT) + _DIGEST :]
    if data[: len(_FORMAT)] != _FORMAT or _sha(payload) != data[len(_FORMAT) :][:_DIGEST]:
        return None
    names, code, namespace, reads, passes = marshal.loads(payload)
    if any(meaning(path, resolve, deep) != text for path, deep, text in names):
        return None
    return Entry(code, namespace, Reads(*reads), passes)


def keep(
    function: types.FunctionType, pipeline: str, resolve: Resolve, tree: Any, entry: Entry
) -> None:
    """Keep a conversion, if there is a folder for it and room.

    Args:
        function: the user's function.
        pipeline: the name of the pipeline.
        resolve: what a global or closure name stands for now.
        tree: of the user's function.
        entry: what it was converted to.
    """
    file = _file(function, pipeline)
    if file is None:
        return
    names = [(path, deep, meaning(path, resolve, deep)) for path, deep in _paths(tree)]
    reads = tuple(getattr(entry.reads, field.name) for field in dataclasses.fields(Reads))
    payload = marshal.dumps((names, entry.code, entry.namespace, reads, entry.passes))
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _is_ours(file.parent):
            return
        _trim_once(file.parent)
        _write(file, _FORMAT + _sha(payload) + payload)
    except OSError:  # a full disk, a folder that cannot be written
        return


def _write(file: Path, data: bytes) -> None:
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=".new-", suffix=SUFFIX)
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(data)
        Path(name).replace(file)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _is_ours(place: Path) -> bool:
    """Whether nobody else may write into a folder: what is in it will be run."""
    found = place.stat()
    return not hasattr(os, "getuid") or (found.st_uid == os.getuid() and not found.st_mode & 0o022)


def entries() -> Iterator[os.DirEntry[str]]:
    """The files of all entries, and what was left half-written."""
    place = folder()
    if place is not None:
        with contextlib.suppress(OSError), os.scandir(place) as found:  # it may not be there
            yield from (each for each in found if each.name.endswith(SUFFIX))


def info() -> dict[str, Any]:
    """The folder, how many entries there are, and how many bytes they take."""
    place, sizes = folder(), []
    for each in entries():
        with contextlib.suppress(OSError):  # another process has removed it
            sizes.append(each.stat().st_size)
    return {
        "folder": None if place is None else str(place),
        "entries": len(sizes),
        "bytes": sum(sizes),
    }


def complaint() -> str:
    """Why nothing can be kept; empty where it can, or is not wanted."""
    place = folder()
    if place is None:
        return ""
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _is_ours(place):
            return "it is not the user's alone"
        _write(place / f".try{SUFFIX}", b"")
        (place / f".try{SUFFIX}").unlink()
    except OSError as error:
        return error.strerror or str(error)
    return ""


def clear() -> int:
    """Remove all entries; how many there were."""
    removed = 0
    for each in list(entries()):
        Path(each.path).unlink(missing_ok=True)
        removed += 1
    return removed


@functools.cache
def _trim_once(place: Path) -> None:
    """Remove the oldest half of the entries where there are too many."""
    with os.scandir(place) as found:
        files = [each for each in found if each.name.endswith(SUFFIX)]
    if len(files) > MOST:
        files.sort(key=lambda each: each.stat().st_mtime)
        for each in files[: len(files) // 2]:
            Path(each.path).unlink(missing_ok=True)


# -- the key ---------------------------------------------------------------------------------------


def _file(function: types.FunctionType, pipeline: str) -> Path | None:
    place, code = folder(), function.__code__
    if place is None or code.co_filename.startswith("<"):
        return None
    if place.exists() and not _is_ours(place):
        return None
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename, function.__globals__)
    if not lines:
        return None
    key = key_of(code, function.__qualname__, lines, pipeline)
    return place / f"{key}{SUFFIX}"


def key_of(code: types.CodeType, name: str, lines: list[str], pipeline: str) -> str:
    """What a conversion depends on, but for the meaning of names.

    Args:
        code: of the user's function.
        name: its qualified name.
        lines: of its file, as it is now.
        pipeline: the name of the pipeline.
    """
    text = _sha("".join(lines).encode("utf-8", "surrogatepass"))
    return _sha(repr((surroundings(), name, pipeline, text, _told(code))).encode()).hex()


@functools.cache
def surroundings() -> tuple[Any, ...]:
    """What all conversions of a process depend on: d2s, the libraries of its passes, Python."""
    texts = [_HERE / name for name in ("conversion.py", "pipeline.py", "disk_cache.py")]
    for room in ("analysis", "passes", "syntax"):
        texts += sorted((_HERE / room).rglob("*.py"))
    texts += [Path(str(gast.__file__)), Path(str(beniget.__file__))]
    made = [(str(each), each.stat().st_mtime_ns, each.stat().st_size) for each in texts]
    flags = sys.flags.optimize, importlib.util.MAGIC_NUMBER.hex(), sys.version
    return (*flags, _sha(repr(made).encode()).hex())


_FIELDS: Final = [
    name
    for name in (
        "co_argcount", "co_posonlyargcount", "co_kwonlyargcount", "co_flags", "co_code", "co_names",
        "co_varnames", "co_freevars", "co_cellvars", "co_filename", "co_name", "co_qualname",
        "co_firstlineno", "co_linetable", "co_exceptiontable",
    )
    if hasattr(types.CodeType, name)
]  # fmt: skip


def _told(value: Any) -> Any:
    """A constant of code, or code itself, as something whose ``repr`` tells it from all others."""
    if isinstance(value, types.CodeType):
        fields = [getattr(value, name) for name in _FIELDS]
        return ("code", *fields, *map(_told, value.co_consts))
    if isinstance(value, Set):  # its order is another one in each process
        return ("set", *sorted(repr(_told(item)) for item in value))
    if isinstance(value, tuple):
        return ("tuple", *map(_told, value))
    return (type(value).__name__, value)


def _sha(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


# -- the meaning of names --------------------------------------------------------------------------


def _paths(tree: Any) -> list[tuple[str, bool]]:
    """Each name and dotted name in a function; whether what is no module is looked into, too."""
    found: set[tuple[str, bool]] = set()
    for node in walk(tree):
        if isinstance(node, (gast.Name, gast.Attribute)) and (path := dotted(node)) is not None:
            found.add((path, False))
        if isinstance(node, gast.withitem):
            for inner in walk(node.context_expr):
                path = dotted(inner) if isinstance(inner, (gast.Name, gast.Attribute)) else None
                found.update([(path, True)] if path is not None else ())
    return sorted(found)


def meaning(path: str, resolve: Resolve, deep: bool) -> str:
    """What a dotted name stands for now, as far as a pass may look at it.

    Args:
        path: as it stands in the function.
        resolve: what a global or closure name stands for.
        deep: attributes of any object are looked at, not only those of modules.
    """
    root, *rest = path.split(".")
    found = resolve(root)
    told = [_kind(found), str(found is getattr(builtins, root, resolve))]
    for part in rest:
        if not (deep or isinstance(found, types.ModuleType)):
            break
        found = getattr(found, part, None)
        told.append(_kind(found, named=True))
    return " ".join(told)


def _kind(found: Any, *, named: bool = False) -> str:
    if found is None:
        return "nothing"
    if isinstance(found, types.ModuleType):
        return f"module:{found.__name__}"
    if not (named or isinstance(found, type)):
        return "object"
    home, name = getattr(found, "__module__", ""), getattr(found, "__name__", "")
    if not isinstance(found, type):
        return f"object:{home}:{name}"
    known = getattr(sys.modules.get(str(home)), str(name), None) is found
    return f"class:{home}:{name}:{known}:{issubclass(found, BaseException)}"
