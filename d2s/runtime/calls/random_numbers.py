"""Generators of Python and NumPy: each run draws from them what the program would repeat."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from d2s.errors import UnsupportedInGraphError
from d2s.runtime.calls.callables import is_outside
from d2s.runtime.lists import iteration
from d2s.runtime.trace import current, error_here
from d2s.runtime.values.objects import attribute, owner_of

_RANDOM: Final = (random.Random, np.random.RandomState, np.random.Generator)


_OF_NUMPY: Final = (np.random.seed, np.random.ranf, np.random.sample)
"""Functions that use NumPy's generator, and are no methods of it."""


_SEEDING: Final = (random.Random, np.random.RandomState, np.random.default_rng)
"""What makes a generator of a seed."""


def uses_generator(function: object) -> bool:
    """Whether ``function`` uses a generator of Python's or NumPy's."""
    return isinstance(owner_of(function), _RANDOM) or any(function is known for known in _OF_NUMPY)


def makes_generator(function: object) -> bool:
    """Whether ``function`` makes a generator of a seed."""
    return any(function is known for known in _SEEDING)


def seeded(function: Callable[..., Any], *arguments: object, **options: object) -> Any:
    """A generator that the function makes: with a known seed it gives the same on each call.

    Raises:
        UnsupportedInGraphError: (D2S205) the run decides the seed.
    """
    capture = current()
    seeds = [*arguments, *options.values()]
    if not is_outside(seeds):
        raise error_here(
            UnsupportedInGraphError,
            "a tensor is the seed of a generator of Python or NumPy, which a program cannot draw "
            "from",
            "pass the seed as a Python number, or draw with paddle.rand, paddle.randint",
        )
    made = function(*arguments, **options)
    if capture is not None and seeds and all(type(seed) in (int, str) for seed in seeds):
        capture.seeded[id(made)] = made
    return made


def drawn(function: Callable[..., Any], *arguments: object, **options: object) -> Any:
    """A random number of Python or NumPy: each run draws it, if the program always does.

    Raises:
        UnsupportedInGraphError: (D2S205) the program would repeat what was drawn at capture.
    """
    capture = current()
    if capture is None:
        return function(*arguments, **options)
    owner = owner_of(function)
    if id(owner) in capture.seeded:
        iteration.going_on(owner, "draws from the generator", "draw")
        return function(*arguments, **options)
    number = None if capture.draw is None else capture.draw(function, arguments, options)
    if number is None:
        raise error_here(
            UnsupportedInGraphError,
            f"{attribute(function, '__name__', 'a random function')}() of Python or NumPy would be "
            "drawn once, while the program is captured, and repeated on every run",
            "draw a single number outside of branches and loops that a tensor decides, draw with "
            "paddle.rand, paddle.randint or paddle.randperm, or pass the number as an argument",
        )
    return number
