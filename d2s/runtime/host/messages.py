"""``warnings.warn`` and the methods of loggers: they name the line that the user's code names.

Both look for the line by counting frames.  In a program a message of a logger is an effect of each
run; so is a warning under a tensor condition, or with tensors in its text.
"""

from __future__ import annotations

import functools
import logging
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Final

from d2s.runtime.host.callers import callers, name_of
from d2s.runtime.host.lowering import lowered
from d2s.runtime.host.shipment import Shipment
from d2s.runtime.trace import current
from d2s.runtime.values.callbacks import host_call
from d2s.runtime.values.objects import owner_of

LOG_METHODS: Final = frozenset(
    ("debug", "info", "warning", "warn", "error", "critical", "exception", "log")
)
"""Methods of a logger, and functions of ``logging``, that write a record."""

_LOGGING: Final = getattr(logging, "_srcfile", "")
_COUNTS_WELL: Final = sys.version_info >= (3, 11)
"""Before, ``stacklevel`` of a logger counts the frames of ``logging``, too."""


_OPTIONS: Final = frozenset(("skip_file_prefixes",) if sys.version_info >= (3, 12) else ())


def _taken(
    message: object,
    category: object = None,
    stacklevel: int = 1,
    source: object = None,
    **options: object,
) -> tuple[Any, ...]:
    """The arguments of ``warnings.warn`` in order."""
    return message, category, stacklevel, source, options


def warn_(*things: Any, **named: Any) -> None:
    """``warnings.warn``: about the line that the original would warn of.

    In a program, a warning under a tensor condition or with a tensor in it happens on the runs
    that come to it; another one, as all that is Python's own, at capture.
    """
    capture = current()
    try:
        message, category, stacklevel, source, options = _taken(*things, **named)
    except TypeError:
        options = {"": None}
    if not options.keys() <= _OPTIONS:
        warnings.warn(*things, **named)  # it says what is wrong
        return
    given = (message, category, source)
    if capture is None or capture.export:
        if capture is not None and capture.guarded:
            lowered("the warning is given while the program is saved")
        _warn(*given, stacklevel, options, callers(sys._getframe(1)))
        return
    shipment = Shipment()
    pack = shipment.pack((message, source))
    if not (shipment.values or capture.guarded):
        _warn(*given, stacklevel, options, callers(sys._getframe(1)))
        return
    frames = list(callers(sys._getframe(1)))
    scope = [_Place(frame.f_code.co_filename, frame.f_lineno, frame.f_globals) for frame in frames]

    def host(*tensors: object) -> None:
        text, origin = pack(tensors)
        _warn(text, category, origin, stacklevel, options, iter(scope))

    host_call(host, shipment.values, raises=True, effects=True)


class _Place:
    """What a warning says of a frame."""

    def __init__(self, file: str, line: int, scope: dict[str, Any]) -> None:
        self.f_code = types.SimpleNamespace(co_filename=file)
        self.f_lineno = line
        self.f_globals = scope


def _warn(
    message: Any,
    category: Any,
    source: Any,
    stacklevel: int,
    options: dict[str, Any],
    frames: Iterator[Any],
) -> None:
    """What Python's own ``warnings.warn`` does, with the frames that count."""
    prefixes = options.get("skip_file_prefixes", ())
    usual = all(type(prefix) is str for prefix in prefixes) and type(prefixes) is tuple
    kind = type(message) if isinstance(message, Warning) else category or UserWarning
    fine = isinstance(kind, type) and issubclass(kind, Warning)
    if not (usual and fine and type(stacklevel) is int):
        warnings.warn(message, category, stacklevel, source, **options)  # it says what is wrong
        return
    if prefixes:
        stacklevel = max(stacklevel, 2)
    first = next(frames)
    others = (
        frame
        for frame in frames
        if not _is_import(frame.f_code.co_filename)
        and not (prefixes and frame.f_code.co_filename.startswith(prefixes))
    )
    frame = first if stacklevel <= 1 else next(islice(others, stacklevel - 2, None), None)
    if frame is None:
        scope, file, line = vars(sys), _SYS[0], _SYS[1]
    else:
        scope, file, line = frame.f_globals, frame.f_code.co_filename, frame.f_lineno
    registry = scope.setdefault("__warningregistry__", {})
    module = scope.get("__name__") or "<string>"
    warnings.warn_explicit(message, kind, file, line, module, registry, None, source)


def _beyond_all_callers() -> tuple[str, int]:
    """Where Python says that a warning comes from when there are not so many callers."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.warn("", UserWarning, stacklevel=sys.getrecursionlimit() * 10)
    return caught[0].filename, caught[0].lineno


_SYS: Final = _beyond_all_callers()


def _is_import(file: str) -> bool:
    return "importlib" in file and "_bootstrap" in file


# -- logging -------------------------------------------------------------------------------------


def log_(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of a logger, or function of ``logging``: on every run of a program.

    The record names the line of the user's, of whose callers ``stacklevel`` tells.
    """
    if current() is None:
        return functools.partial(_log, method) if _may_count(method) else method

    def log(*things: object, **options: object) -> None:
        capture = current()
        if capture is None:
            method(*things, **options)
        elif capture.export:
            lowered(f"{method.__name__}() of logging is left out")
        else:
            level = options.get("stacklevel", 1)
            if not (_may_count(method) and type(level) is int and level > 1):
                level = 1
            else:
                options = {name: value for name, value in options.items() if name != "stacklevel"}
            frames = list(callers(sys._getframe(1)))
            speak = _speaker(frames[min(level, len(frames)) - 1])
            shipment = Shipment()
            arguments, keywords = shipment.pack(things), shipment.pack(options)

            def host(*tensors: object) -> None:
                speak(method, arguments(tensors), keywords(tensors))

            host_call(host, shipment.values)

    return log


def _may_count(method: object) -> bool:
    """Whether ``method`` is one of ``logging`` itself, and hands ``stacklevel`` on."""
    function = getattr(method, "__func__", method)
    code = getattr(function, "__code__", None)
    owner = owner_of(method)
    plain = owner is None or type(owner)._log is logging.Logger._log
    return _COUNTS_WELL and plain and code is not None and code.co_filename == _LOGGING


def _log(method: Callable[..., Any], /, *things: object, **options: object) -> Any:
    """``method`` with the number of the frame that is meant, as it counts."""
    level = options.get("stacklevel", 1)
    if type(level) is not int:
        return method(*things, **options)
    here = sys._getframe(1)
    wanted = next(islice(callers(here), max(level, 1) - 1, None), None)
    count = 2  # this function is the first
    frame: types.FrameType | None = here
    while frame is not None and frame is not wanted:
        frame = frame.f_back
        file = "" if frame is None else frame.f_code.co_filename
        count += file != _LOGGING and not _is_import(file)
    return method(*things, **{**options, "stacklevel": count})


def _speaker(frame: types.FrameType) -> Callable[[Any, Any, Any], Any]:
    """A function that calls another one from the line where ``frame`` stands."""
    text = "\n" * (frame.f_lineno - 1) + "def f(method, given, options): method(*given, **options)"
    scope: dict[str, Any] = {}
    exec(compile(text, frame.f_code.co_filename, "exec"), scope)
    name = name_of(frame)
    code = scope["f"].__code__.replace(co_name=name)
    made: Callable[[Any, Any, Any], Any] = types.FunctionType(code, scope, name)
    return made
