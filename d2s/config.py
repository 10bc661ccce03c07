"""Options: one frozen dataclass, read from ``D2S_*`` variables, changed by a context manager.

>>> with options(log=1):
...     get().log
1
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import TypedDict, Unpack

    class Changes(TypedDict, total=False):
        """The options of ``options``, as a type checker sees them; those of ``Config``."""

        log: int | str
        log_json: bool
        verify: bool
        full_traceback: bool
        max_programs: int
        warn_programs: int
        dynamic_dims: bool
        debug_on_run: bool
        keep_memory_mb: int
        recompute: bool
        full_graph: bool
        least_island: int
        try_dygraph: bool
        capture_seconds: int
        cache_dir: str
        program_copies: int


@dataclass(frozen=True)
class Config:
    """All options of d2s.

    Attributes:
        log: what d2s tells of itself (``D2S_LOG``): topics with commas between them, as
            ``capture,guards``; 1 is all of them, 0 none.  See ``d2s.diagnostics.log``.
        log_json: each event is a line of JSON (``D2S_LOG_JSON``).
        verify: check the tree that the passes make (``D2S_VERIFY``; tests switch it on).
        full_traceback: show the frames of d2s and Paddle in tracebacks (``D2S_FULL_TRACEBACK``).
        max_programs: how many programs one function keeps; the one that was used least recently
            goes first (``D2S_MAX_PROGRAMS``).
        warn_programs: with how many programs a function is warned about, once; 0 is never
            (``D2S_WARN_PROGRAMS``).
        dynamic_dims: a dimension of an argument that varies becomes open, so that its sizes share
            one program; off, each size has its own (``D2S_DYNAMIC_DIMS``).
        debug_on_run: breakpoints stop while a program runs, not while it is captured
            (``D2S_DEBUG_ON_RUN``).
        keep_memory_mb: programs whose intermediate values take at most so many MiB (a quarter of
            it with branches or loops) keep them until a call, or its backward, ends, which is
            faster; others give them back in batches of no more than a quarter of it; 0 gives each
            back as soon as it is no longer read (``D2S_KEEP_MEMORY_MB``).
        recompute: a loop that trains runs once more in its backward; off, one with large trips
            keeps what its gradients read, as dygraph does (``D2S_RECOMPUTE``).
        full_graph: refuse what cannot be one program, where ``to_static`` says nothing else; off,
            it becomes several, with Python between them (``D2S_FULL_GRAPH``).
        least_island: so many operations, about, make a stretch of such a function worth a program
            (``D2S_LEAST_ISLAND``).
        try_dygraph: some calls of each such stretch, and of functions that need not be one program,
            run in dygraph, and where that is faster, all of them do from then on; off, only the
            length of a stretch decides (``D2S_TRY_DYGRAPH``).
        capture_seconds: a capture that takes more seconds of the processor is given up, and the
            function runs in dygraph, where it need not be one program; where it must be one, it is
            refused if values of several alternatives multiply in it, or if it takes twice that
            long; 0 is no limit (``D2S_CAPTURE_SECONDS``).
        cache_dir: the folder that keeps what functions were converted to, for the next process
            (``D2S_CACHE_DIR``); ``d2s`` in the user's folder of caches if empty, none if ``0``.
        program_copies: so many copies of a program, which threads that find it running run
            meanwhile, where it changes nothing and is not trained (``D2S_PROGRAM_COPIES``); 0 lets
            them wait.
    """

    log: int | str = 0
    log_json: bool = False
    verify: bool = False
    full_traceback: bool = False
    max_programs: int = 64
    warn_programs: int = 16
    dynamic_dims: bool = True
    debug_on_run: bool = False
    keep_memory_mb: int = 16
    recompute: bool = False
    full_graph: bool = False
    least_island: int = 4
    try_dygraph: bool = True
    capture_seconds: int = 30
    cache_dir: str = ""
    program_copies: int = min(os.cpu_count() or 1, 8) - 1


def from_environment(environment: dict[str, str] | os._Environ[str]) -> Config:
    """The options that ``D2S_*`` variables set; one that is not a number counts as unset."""
    changes: dict[str, Any] = {}
    for field in fields(Config):
        text = environment.get(f"D2S_{field.name.upper()}", "")
        if field.name in ("log", "cache_dir") and text.strip():
            changes[field.name] = text
        elif text.strip().isdigit():
            number = int(text)
            changes[field.name] = bool(number) if field.type in (bool, "bool") else number
    return Config(**changes)


_config: ContextVar[Config] = ContextVar("d2s_config")
_default = from_environment(os.environ)


def set_default(**changes: Any) -> None:
    """Change the options that are in force, in every thread, where no ``with`` says otherwise."""
    global _default
    _default = replace(_default, **changes)


def get() -> Config:
    """The options in force in this context."""
    return _config.get(_default)


@contextmanager
def options(**changes: Unpack[Changes]) -> Iterator[Config]:
    """Options for the time of a ``with`` statement.

    Args:
        **changes: the options and their values; ``Config`` lists them.

    Raises:
        TypeError: there is no such option.

    Examples:
        >>> with options(max_programs=8) as config:
        ...     config.max_programs
        8
    """
    token = _config.set(replace(get(), **changes))
    try:
        yield get()
    finally:
        _config.reset(token)
