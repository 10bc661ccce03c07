"""What Python does on each call and no program can.

It asks the clock, changes files, and uses objects whose state nobody else can see.

::

    start = time.perf_counter()     would be asked once, while the program is captured
    os.mkdir(path)                  would be done once
    item = requests.get()           of a queue from outside: would be taken by the capture

So they are refused before anything has happened.
"""

from __future__ import annotations

import collections.abc
import concurrent.futures
import contextlib
import contextvars
import datetime
import functools
import io
import logging
import multiprocessing.context
import multiprocessing.pool
import multiprocessing.process
import pathlib
import subprocess
import sys
import threading
import types
from collections.abc import Callable
from typing import Final, NoReturn

import numpy as np
import paddle

from d2s.diagnostics.location import here
from d2s.errors import UnsupportedInGraphError
from d2s.runtime.trace import Capture, current, error_here
from d2s.runtime.values.fields import check_counts
from d2s.runtime.values.objects import (
    HEAP_TYPE,
    KEEP_ELSEWHERE,
    attribute,
    changes,
    is_user_class,
    owner_of,
)

_EACH: Final = frozenset(("secrets", "shutil", "socket", "subprocess", "tempfile", "webbrowser"))
"""Modules all functions of which are such, but for what only looks."""

_ONLY_LOOK: Final = frozenset(("which", "disk_usage", "gettempdir", "list2cmdline"))

_CLOCK: Final = frozenset(
    (
        "ctime", "monotonic", "monotonic_ns", "perf_counter", "perf_counter_ns", "process_time",
        "process_time_ns", "sleep", "thread_time", "thread_time_ns", "time", "time_ns",
    )
)  # fmt: skip

_FILES: Final = frozenset(
    (
        "abort", "chdir", "chmod", "chown", "close", "execv", "execve", "fork", "fsync",
        "ftruncate", "kill", "link", "makedirs", "mkdir", "mkfifo", "open", "pipe", "popen",
        "putenv", "read", "remove", "removedirs", "rename", "renames", "replace", "rmdir",
        "sendfile", "spawnv", "startfile", "symlink", "system", "truncate", "unlink", "unsetenv",
        "urandom", "utime", "write", "fchdir", "nice", "setpriority", "umask",
    )
)  # fmt: skip

_SIGNALS: Final = frozenset(("alarm", "setitimer", "signal"))

_NAMES: Final[dict[str, frozenset[str]]] = {
    "time": _CLOCK,
    "posix": _FILES,
    "nt": _FILES,
    "os": _FILES,
    "uuid": frozenset(("uuid1", "uuid4")),
    "urllib.request": frozenset(("urlopen", "urlretrieve")),
    "numpy": frozenset(
        ("save", "savetxt", "savez", "savez_compressed", "setbufsize", "seterrcall")
    ),
    "paddle": frozenset(("save", "seed", "set_rng_state", "set_cuda_rng_state")),
    "atexit": frozenset(("register", "unregister")),
    "builtins": frozenset(("exec", "input")),
    "_codecs": frozenset(("register",)),
    "_locale": frozenset(("setlocale",)),
    "_signal": _SIGNALS,
    "_thread": frozenset(("start_new", "start_new_thread")),
    "locale": frozenset(("resetlocale", "setlocale")),
    "logging": frozenset(("addLevelName", "basicConfig", "captureWarnings", "setLoggerClass")),
    "logging.config": frozenset(("dictConfig", "fileConfig")),
    "signal": _SIGNALS,
    "sys": frozenset(("setprofile", "setrecursionlimit", "settrace")),
    "threading": frozenset(("setprofile", "settrace")),
}

_OF_LOGGERS: Final = frozenset(
    ("addFilter", "addHandler", "removeFilter", "removeHandler", "setFormatter", "setLevel")
)

_CLASSES: Final = (
    subprocess.Popen,
    multiprocessing.pool.ThreadPool,
    contextlib.redirect_stdout,
    contextlib.redirect_stderr,
    *((contextlib.chdir,) if sys.version_info >= (3, 11) else ()),
)

_SETS: Final[dict[str, frozenset[str]]] = {
    "_contextvars": frozenset(("reset", "set")),
    "_decimal": frozenset(("setcontext",)),
    "gc": frozenset(("disable", "enable", "freeze", "set_threshold")),
    "logging": frozenset(("disable",)),
    "numpy": frozenset(("set_printoptions", "seterr")),
    "paddle": frozenset(("set_default_dtype",)),
    "sys": frozenset(("setswitchinterval",)),
    "warnings": frozenset(("filterwarnings", "resetwarnings", "simplefilter")),
}
"""What may be as it was when the function ends; its line is remembered, for where it is not."""

_STATEFUL: Final = frozenset(
    (
        "_bz2", "_csv", "_hashlib", "_lzma", "_queue", "_socket", "asyncio", "bz2",
        "concurrent", "dbm", "http", "mmap", "multiprocessing", "queue", "sched",
        "select", "shelve", "socket", "sqlite3", "subprocess", "tarfile", "threading", "urllib",
        "zipfile", "zlib",
    )
)  # fmt: skip
"""Modules of the standard library whose objects have a state that nobody else sees."""

_GOING_ON: Final = (
    collections.abc.Iterator,
    io.IOBase,
    paddle.io.DataLoader,
    contextlib.ExitStack,
    contextlib.AsyncExitStack,
)

_OF_PATHS: Final = frozenset(
    (
        "chmod", "hardlink_to", "mkdir", "rename", "replace", "rmdir", "symlink_to", "touch",
        "unlink", "write_bytes", "write_text",
    )
)  # fmt: skip
"""Methods of ``pathlib.Path`` that change files."""

_OF_ARRAYS: Final = frozenset(
    ("byteswap", "fill", "itemset", "partition", "put", "resize", "setfield", "setflags", "sort")
)
"""Methods of arrays of NumPy that write into them."""

_INTO_FIRST: Final = frozenset(("at", "copyto", "fill_diagonal", "place", "put", "putmask"))
"""Functions of NumPy that write into their first argument."""

ASKING: Final = frozenset(("isinstance", "issubclass", "type", "id", "hasattr", "callable"))
"""Functions that look at what an object is, and do nothing with it."""


def is_stateful(kind: type) -> bool:
    """Whether objects of ``kind`` go on from where the last call has left them."""
    if kind.__flags__ & HEAP_TYPE and is_user_class(kind):
        return False
    if issubclass(kind, _GOING_ON):
        return True
    return kind.__module__.partition(".")[0] in _STATEFUL


def _path(capture: Capture, thing: object) -> str | None:
    """What a reader would call ``thing``, where it is such an object and was there before."""
    if capture.outside is None or not is_stateful(type(thing)):
        return None
    return capture.outside(thing)


def reached_by(callee: object) -> Callable[..., object] | None:
    """What refuses a call of ``callee`` that reaches out of the program; ``None`` for others."""
    capture = current()
    if capture is None:
        return None
    if _asks(callee):
        return functools.partial(_refuse, callee)
    if _sets(callee):
        capture.set_at = here()
    owner = owner_of(callee)
    check_counts(owner)
    path = None if owner is None else _path(capture, owner)
    if (
        isinstance(owner, np.ndarray)
        and attribute(callee, "__name__", "") in _OF_ARRAYS
        and capture.outside
    ):
        path = capture.outside(owner)
    return None if path is None else functools.partial(_refuse_change, owner, path)


def check_given(function: object, given: list[object]) -> None:
    """Refuse a library's function that is given an object whose state it may change.

    Raises:
        UnsupportedInGraphError: (D2S205).
    """
    capture = current()
    if capture is None or capture.outside is None:
        return
    name = attribute(function, "__name__", "")
    if name in ASKING:
        return
    check_counts(*given)
    for thing in given:
        path = _path(capture, thing)
        if path is not None:
            _refuse_change(thing, path)
    if name in _INTO_FIRST and given and isinstance(given[0], np.ndarray):
        path = capture.outside(given[0])
        if path is not None:
            _refuse_change(given[0], path)


def _asks(callee: object) -> bool:
    owner = owner_of(callee)
    for kind, methods in _METHODS.items():
        if isinstance(owner, kind):
            return attribute(callee, "__name__", "") in methods
    if type(callee) not in _FUNCTIONS:
        return any(callee is each for each in _CLASSES)
    if isinstance(owner, type):
        dates = issubclass(owner, datetime.date)
        return dates and attribute(callee, "__name__", "") in ("now", "today", "utcnow")
    module = attribute(callee, "__module__", None) or ""
    name = attribute(callee, "__name__", "")
    if module in _EACH:
        return name not in _ONLY_LOOK
    names = _NAMES.get(module) or _NAMES.get(module.partition(".")[0])
    is_method = "." in attribute(callee, "__qualname__", "")
    return names is not None and name in names and not is_method


def _sets(callee: object) -> bool:
    owner = owner_of(callee)
    home = "_contextvars" if isinstance(owner, contextvars.ContextVar) else None
    names = _SETS.get(home or attribute(callee, "__module__", None) or "")
    return names is not None and attribute(callee, "__name__", "") in names


_METHODS: Final[dict[type, frozenset[str]]] = {
    pathlib.Path: _OF_PATHS,
    logging.Filterer: _OF_LOGGERS,
    np.random.BitGenerator: frozenset(("advance",)),
    # Other threads and processes run what they are given as it is.
    threading.Thread: frozenset(("start",)),
    multiprocessing.process.BaseProcess: frozenset(("start",)),
    multiprocessing.context.BaseContext: frozenset(("Manager", "Pool")),
    concurrent.futures.Executor: frozenset(("map", "submit")),
    type(functools.lru_cache(lambda: None)): frozenset(("cache_clear", "cache_info")),
}

_FUNCTIONS: Final = (types.FunctionType, types.BuiltinFunctionType, type(np.save))


def _refuse(callee: object, *_: object, **__: object) -> NoReturn:
    name = attribute(callee, "__qualname__", "a function")
    raise error_here(
        UnsupportedInGraphError,
        f"{name}() is to happen on each call, and would happen once, while the program is captured",
        "call it outside of the converted function and pass what it gives, or make it an operator "
        "of the program with d2s.host",
    )


def _refuse_change(thing: object, path: str, *_: object, **__: object) -> NoReturn:
    raise error_here(UnsupportedInGraphError, changes(thing, path), KEEP_ELSEWHERE)
