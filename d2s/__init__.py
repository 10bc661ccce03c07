"""d2s: PaddlePaddle functions in dynamic-graph style, run as static programs.

The public names, nothing else; and one clear message where Paddle is missing or another one.  What
is behind a name is imported when it is asked for, so that ``import d2s`` alone is quick: a program
that converts nothing pays for nothing, and one that does for no debugger.  For the command ``d2s``
(``d2s_command.py``) that goes for Paddle, too: its help, ``explain`` and ``lint`` need none.
"""

import gc as _gc
import sys as _sys
from importlib import import_module as _import_module
from typing import TYPE_CHECKING
from typing import Any as _Any

from d2s.errors import D2SError, PaddleVersionError

if TYPE_CHECKING:
    from d2s.api import (
        clear_cache,
        code,
        convert,
        ignore_module,
        load,
        not_to_static,
        register_container,
        save,
    )
    from d2s.config import options
    from d2s.debug.explain import explain, report
    from d2s.debug.facts.explanation import Explanation
    from d2s.debug.on_run import debug_on_run
    from d2s.debug.show import dump, source_map
    from d2s.diagnostics.log import set_log_level
    from d2s.patch import patch_paddle
    from d2s.runtime.calls.host_functions import host
    from d2s.selfcheck.check import Checker, check
    from d2s.selfcheck.report import Report
    from d2s.typed import StaticFunction, to_static

__version__ = "0.1.0"

__all__ = [
    "Checker",
    "D2SError",
    "Explanation",
    "Report",
    "StaticFunction",
    "check",
    "clear_cache",
    "code",
    "convert",
    "debug_on_run",
    "dump",
    "explain",
    "host",
    "ignore_module",
    "load",
    "not_to_static",
    "options",
    "patch_paddle",
    "register_container",
    "report",
    "save",
    "set_log_level",
    "source_map",
    "to_static",
]

_HOMES = {
    **dict.fromkeys(("clear_cache", "code", "convert", "ignore_module", "load"), "d2s.api"),
    **dict.fromkeys(("not_to_static", "register_container", "save", "to_static"), "d2s.api"),
    "options": "d2s.config",
    **dict.fromkeys(("explain", "report"), "d2s.debug.explain"),
    "Explanation": "d2s.debug.facts.explanation",
    "debug_on_run": "d2s.debug.on_run",
    **dict.fromkeys(("dump", "source_map"), "d2s.debug.show"),
    "set_log_level": "d2s.diagnostics.log",
    **dict.fromkeys(("Checker", "check"), "d2s.selfcheck.check"),
    "host": "d2s.runtime.calls.host_functions",
    "patch_paddle": "d2s.patch",
    "Report": "d2s.selfcheck.report",
    "StaticFunction": "d2s.program.static_function",
}
"""The module of each public name."""


def __getattr__(name: str) -> _Any:
    """A public name that has not been asked for yet.

    Raises:
        AttributeError: there is no such name.
        PaddleVersionError: (D2S104) Paddle is missing, or another one.
    """
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return globals().setdefault(name, getattr(_imported(_HOMES[name]), name))


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})


def _imported(home: str) -> _Any:
    """A module of d2s; no garbage is collected meanwhile.

    Paddle alone has made some 100,000 objects, so that Python goes through all of them, in vain,
    while it imports our modules: half of the time that it takes.
    """
    collects = _gc.isenabled()
    _gc.disable()
    try:
        return _import_module(home)
    except ModuleNotFoundError as error:
        if error.name != "paddle":
            raise
        raise PaddleVersionError(
            "Paddle is not installed", cure="pip install 'd2s[cpu]', or paddlepaddle 3.x"
        ) from None
    finally:
        if collects:
            _gc.enable()


def _as_command() -> bool:
    """Whether the package is imported for the command: ``d2s``, or ``python -m d2s``."""
    given = _sys.orig_argv
    run = _sys.argv[:1] == ["-m"] and "d2s" in given and given[given.index("d2s") - 1].endswith("m")
    return run or "d2s_command" in _sys.modules


if not _as_command():
    _imported("d2s.paddle_bridge")
