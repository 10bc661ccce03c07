"""d2s: PaddlePaddle functions in dynamic-graph style, run as static programs.

The public names, nothing else.
"""

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
from d2s.debug.show import dump
from d2s.errors import D2SError

__version__ = "0.1.0"

__all__ = [
    "D2SError",
    "clear_cache",
    "code",
    "convert",
    "dump",
    "ignore_module",
    "load",
    "not_to_static",
    "options",
    "save",
    "to_static",
]
