"""Where the packages are found, and empty modules in place of what no model needs.

Packages import readers of data, metrics and tools of the command line along with their models.
A stand-in lets such an import pass: its names are classes that take anything and do nothing.
"""

from __future__ import annotations

import collections
import collections.abc
import importlib
import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from corpus.zoo.model import Package

ROOT = Path(__file__).resolve().parents[2] / ".cache" / "zoo"
COMMON = (
    "scipy",
    "opencv-python-headless",
    "tqdm",
    "colorlog",
    "einops",
    "easydict",
    "prettytable",
    "wcwidth",
    "pandas",
    "pytz",
    "joblib",
    "threadpoolctl",
    "scikit-learn",
    "colorama",
    "sympy",
    "mpmath",
    "omegaconf",
    "antlr4-python3-runtime==4.9.3",
    "hydra-core",
    "yacs",
    "termcolor",
    "addict",
    "regex",
    "ftfy",
    "six",
    "cloudpickle",
    "narwhals",
    "ml_dtypes",
    "filelock",
    "huggingface_hub==0.25.2",
    "tokenizers==0.21.4",
)
"""What several packages import; installed once, into a folder of its own."""

NUMPY = "numpy==2.3.5"
"""Comes before the NumPy that is installed: 2.4 no longer takes an array of one element for a
number, which the packages rely on."""


class _Anything(type):
    """A class with every attribute."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _thing(name)


class _Thing(metaclass=_Anything):
    """Takes anything; as a decorator it leaves the function as it is."""

    def __new__(cls, *args: Any, **_: Any) -> Any:
        if len(args) == 1 and isinstance(args[0], types.FunctionType | type):
            return args[0]
        return super().__new__(cls)

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __call__(self, *args: Any, **_: Any) -> Any:
        return args[0] if len(args) == 1 and callable(args[0]) else _Thing()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _thing(name)


def _thing(name: str) -> type:
    return _Anything(name, (_Thing,), {})


class _Empty(types.ModuleType):
    __version__ = "5.0.0"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _thing(name)


class StandIns(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the modules of ``names`` and those in them, after every other finder has failed to."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)

    def find_spec(
        self, name: str, path: Any = None, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        if not any(name == each or name.startswith(f"{each}.") for each in self.names):
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return _Empty(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        pass


def _older_names() -> None:
    """Names that Python and NumPy had when the packages were written."""
    import numpy as np

    for name in ("Iterable", "Mapping", "Sequence", "Callable", "MutableMapping", "Sized"):
        if not hasattr(collections, name):
            setattr(collections, name, getattr(collections.abc, name))
    for name, type_ in (("int", int), ("float", float), ("bool8", bool), ("object", object)):
        if name not in vars(np):
            setattr(np, name, type_)


def prepare(package: Package) -> None:
    """Let ``package`` be imported in this process, and import it.

    Raises:
        Exception: whatever the import raised.
    """
    places = [*package.roots, *([] if package.alone else ["common"])] if package.pins else []
    for place in reversed(places):
        sys.path.insert(1, str(ROOT / place))
    sys.meta_path.append(StandIns(package.absent))
    if package.pins:
        _older_names()
    for module in package.modules:
        importlib.import_module(module)
    if package.ready is not None:
        package.ready()


def missing(package: Package) -> bool:
    """Whether ``package`` has still to be installed."""
    return bool(package.pins) and not (ROOT / package.roots[0]).is_dir()
