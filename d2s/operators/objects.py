"""Whose a file, class or object is: the user's, or a library's."""

from __future__ import annotations

import os
import sys
import sysconfig
import types
from pathlib import Path
from typing import Any, Final

import numpy as np
import paddle

from d2s import paddle_bridge as bridge
from d2s.diagnostics.location import is_ours

_ignored_files: list[str] = []


def ignore_file(prefix: str) -> None:
    """Leave functions alone whose file begins with ``prefix``."""
    if prefix not in _ignored_files:
        _ignored_files.append(prefix)


def _roots_of(*files: str | None) -> tuple[str, ...]:
    folders = [Path(file).parent for file in files if file]
    return tuple(str(path) + os.sep for folder in folders for path in (folder, folder.resolve()))


_PACKAGES: Final = _roots_of(paddle.__file__, np.__file__)
_STDLIB: Final = tuple({sysconfig.get_paths()[key] + os.sep for key in ("stdlib", "platstdlib")})
_SITE: Final = tuple({sysconfig.get_paths()[key] + os.sep for key in ("purelib", "platlib")})


def is_library(file: str) -> bool:
    """Whether code of ``file`` is never converted: ours, Paddle, NumPy, the standard library."""
    if is_ours(file) or file.startswith(("<frozen", *_PACKAGES, *_ignored_files)):
        return True
    return file.startswith(_STDLIB) and not file.startswith(_SITE)


LAYER_FIELDS: Final = frozenset(vars(paddle.nn.Layer()))
"""Attributes that Paddle itself gives every layer."""

_classes: dict[int, tuple[type, bool]] = {}


def is_user_class(kind: type) -> bool:
    """Whether ``kind`` is defined in code that is no library's."""
    known = _classes.get(id(kind))
    if known is None or known[0] is not kind:
        home = getattr(kind, "__module__", "builtins")  # Paddle's PyLayer has none
        module = sys.modules.get(home)
        file = getattr(module, "__file__", None)
        users = home != "builtins" and not (file and is_library(file))
        known = _classes[id(kind)] = (kind, users)
    return known[1]


def is_list(value: Any) -> bool:
    """Whether ``value`` is a list, or of a class of the user's that is one."""
    return type(value) is list or (isinstance(value, list) and is_user_class(type(value)))


def is_user_object(value: Any) -> bool:
    """Whether ``value`` is an object with attributes, of a class of the user's; no layer."""
    if isinstance(value, type | types.ModuleType | types.FunctionType | paddle.nn.Layer):
        return False
    if bridge.is_eager(value) or bridge.is_value(value) or not is_user_class(type(value)):
        return isinstance(value, types.SimpleNamespace)
    return isinstance(getattr(value, "__dict__", None), dict)
