"""Generators of Python and NumPy: each run draws from them what the program would repeat."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from d2s.errors import UnsupportedInGraphError
from d2s.runtime.calls.callables import is_outside
from d2s.runtime.calls.stand_ins.drawing import draw
from d2s.runtime.host.generators import SHARED_BY_NUMPY, SHARED_BY_PYTHON, generator_of
from d2s.runtime.lists import iteration
from d2s.runtime.trace import current, error_here
from d2s.runtime.values.objects import attribute

_SEEDING: Final = (random.Random, np.random.RandomState, np.random.default_rng)
"""What makes a generator of a seed."""


def uses_generator(function: object) -> bool:
    """Whether ``function`` uses a generator of Python's or NumPy's."""
    return generator_of(function) is not None


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
    owner = generator_of(function)
    if id(owner) in capture.seeded:
        iteration.going_on(owner, "draws from the generator", "draw")
        return function(*arguments, **options)
    if owner not in (SHARED_BY_PYTHON, SHARED_BY_NUMPY) and not capture.was_there(owner):
        raise error_here(
            UnsupportedInGraphError,
            f"the function draws from a {type(owner).__name__} that it has made, and not of a "
            "Python number; each run would go on with the same one",
            "make the generator of a Python number, or outside of the converted function",
        )
    number = None if capture.draw is None else capture.draw(function, arguments, options)
    if number is not None:
        return number
    found = NotImplemented if capture.export else draw(function, [*arguments], options)
    if found is NotImplemented:
        raise error_here(
            UnsupportedInGraphError,
            f"{attribute(function, '__name__', 'a random function')}() of Python or NumPy would be "
            "drawn once, while the program is captured, and repeated on every run",
            "draw numbers or arrays of a length that is known, draw with paddle.rand, "
            "paddle.randint or paddle.randperm, or pass what was drawn as an argument",
        )
    return found
