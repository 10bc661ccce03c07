"""Generators of random numbers of Python and NumPy, and the states that they are in."""

from __future__ import annotations

import contextlib
import random
import types
from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from d2s.runtime.values.objects import is_library, owner_of

Generator = random.Random | np.random.RandomState | np.random.Generator
"""What draws."""

GENERATORS: Final = (random.Random, np.random.RandomState, np.random.Generator)

SHARED_BY_PYTHON: Final[Any] = random.random.__self__  # type: ignore[attr-defined]
SHARED_BY_NUMPY: Final[Any] = np.random.random.__self__  # type: ignore[attr-defined]

_OF_NUMPY: Final = (np.random.seed, np.random.ranf, np.random.sample)
"""Functions that use NumPy's generator, and are no methods of it."""


def generator_of(function: object) -> Any:
    """The generator that ``function`` draws from; ``None`` if it is no such function."""
    if any(function is known for known in _OF_NUMPY):
        return SHARED_BY_NUMPY
    owner = owner_of(function)
    return owner if isinstance(owner, GENERATORS) and not _is_users(function) else None


def _is_users(method: object) -> bool:
    """Whether a method is one that the user has written, in a class derived of a generator's."""
    function = getattr(method, "__func__", None)
    return type(function) is types.FunctionType and not is_library(function.__code__.co_filename)


def is_known(generator: object) -> bool:
    """Whether a generator draws and keeps its state as Python and NumPy have made it."""
    kind = type(generator)
    return kind in GENERATORS or (
        isinstance(generator, random.Random)
        and not isinstance(generator, random.SystemRandom)
        and all(getattr(kind, name) is getattr(random.Random, name) for name in _DRAWING)
    )


_DRAWING: Final = ("random", "getrandbits", "_randbelow", "seed", "getstate", "setstate")
"""What all other methods of Python's generators are written with."""


def state_of(generator: Generator) -> Any:
    """What a generator draws from next."""
    if isinstance(generator, random.Random):
        return generator.getstate()
    if isinstance(generator, np.random.RandomState):
        return generator.get_state()
    return generator.bit_generator.state


def set_state(generator: Generator, state: Any) -> None:
    """Let a generator go on from an earlier state."""
    if isinstance(generator, random.Random):
        generator.setstate(state)
    elif isinstance(generator, np.random.RandomState):
        generator.set_state(state)
    else:
        generator.bit_generator.state = state


@contextlib.contextmanager
def put_back(generator: Generator) -> Iterator[None]:
    """Draw from a generator, which then goes on from where it was."""
    state = state_of(generator)
    try:
        yield
    finally:
        set_state(generator, state)
