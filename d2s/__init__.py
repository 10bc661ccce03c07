"""d2s: PaddlePaddle functions in dynamic-graph style, run as static programs.

The public names, nothing else; and one clear message where Paddle is missing or another one.
"""

import sys as _sys
from pathlib import Path as _Path

from d2s.errors import D2SError, PaddleVersionError

try:
    from d2s.api import (
        clear_cache,
        code,
        convert,
        ignore_module,
        load,
        not_to_static,
        save,
        to_static,
    )
    from d2s.config import options
    from d2s.debug.on_run import debug_on_run
    from d2s.debug.show import dump, source_map
    from d2s.selfcheck.check import Checker, check
    from d2s.selfcheck.report import Report
except (PaddleVersionError, ModuleNotFoundError) as _error:
    if isinstance(_error, ModuleNotFoundError):
        if _error.name != "paddle":
            raise
        _error = PaddleVersionError(
            "Paddle is not installed", cure="pip install 'd2s[cpu]', or paddlepaddle 3.x"
        )
    if _Path(_sys.argv[0]).name == "d2s":  # the command: a message, and status 2
        print(_error, file=_sys.stderr)
        raise SystemExit(2) from None
    raise _error from None

__version__ = "0.1.0"

__all__ = [
    "Checker",
    "D2SError",
    "Report",
    "check",
    "clear_cache",
    "code",
    "convert",
    "debug_on_run",
    "dump",
    "ignore_module",
    "load",
    "not_to_static",
    "options",
    "save",
    "source_map",
    "to_static",
]
