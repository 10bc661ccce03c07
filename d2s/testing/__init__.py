"""A test bench for functions that are to run as static programs; see ``docs/guide/testing.md``.

- :func:`assert_equivalent`: the program of a function does what dygraph does;
- :func:`programs`, :func:`tensors`: strategies of hypothesis for whole programs and for tensors;
- :func:`inputs_of`: a strategy of calls for a function, from its annotations and ``InputSpec``;
- :data:`PROPERTIES`: what holds for every program.

Strategies need the package hypothesis, an extra of d2s; they are loaded when they are asked for.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Final

from d2s.errors import MissingPackageError
from d2s.testing.equivalence import assert_equivalent
from d2s.testing.forms import constructs
from d2s.testing.program import Program
from d2s.testing.properties import PROPERTIES, Property, Verdict, judge

if TYPE_CHECKING:
    from d2s.testing.arguments import inputs_of
    from d2s.testing.strategies import programs, tensors

_STRATEGIES: Final = {
    "inputs_of": "d2s.testing.arguments",
    "programs": "d2s.testing.strategies",
    "tensors": "d2s.testing.strategies",
}

__all__ = [
    "PROPERTIES",
    "Program",
    "Property",
    "Verdict",
    "assert_equivalent",
    "constructs",
    "inputs_of",
    "judge",
    "programs",
    "tensors",
]


def __getattr__(name: str) -> Any:
    """Load a strategy.

    Raises:
        MissingPackageError: (D2S603) hypothesis is not installed.
    """
    if name not in _STRATEGIES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = importlib.import_module(_STRATEGIES[name])
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "hypothesis":
            raise
        raise MissingPackageError(
            f"d2s.testing.{name} needs the package hypothesis, which is not installed",
            cure="pip install 'd2s[testing]'",
        ) from None
    return getattr(module, name)
