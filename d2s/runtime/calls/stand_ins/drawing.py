"""Random numbers of Python and NumPy that a program draws while it runs (rule F2).

A draw is a host operator, which calls the generator itself where dygraph does: in branches, in
static loops, and behind such ones.  What it gives is found by drawing while the program is
captured, from the generator that is put back afterwards::

    rng.permutation(4)        an array of the run
    rng.gauss(0, 1)           a number of the run
    rng.choice(items)         items[rng.choice(range(len(items)))]
    rng.sample(items, k)      the items at the positions rng.sample(range(len(items)), k)
    rng.shuffle(items)        items[:] = those at the positions of a shuffled range

The last ones draw positions as Python draws them, so that the generator is left as dygraph
leaves it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import paddle

from d2s import paddle_bridge as bridge
from d2s.diagnostics.notes import note
from d2s.runtime.builtins.reductions import reordered
from d2s.runtime.host.generators import Generator, generator_of, is_known, put_back
from d2s.runtime.lists.dynamic_list import DynamicList
from d2s.runtime.python.arrays.contents import RunArray
from d2s.runtime.python.arrays.numpy_calls import call, holds_tensors, holds_values
from d2s.runtime.python.casts import len_, over
from d2s.runtime.python.items import getitem
from d2s.runtime.python.stores import check_changed
from d2s.runtime.trace import BranchNeededError, current
from d2s.runtime.values.callbacks import check_uncaught, host_call, raise_when
from d2s.runtime.values.choice import Choice
from d2s.runtime.values.tensors import mark_number
from d2s.runtime.values.tree import any_leaf, is_list_or_tuple

NUMBERS: Final = frozenset(
    (
        "random", "uniform", "triangular", "randint", "randrange", "gauss", "normalvariate",
        "lognormvariate", "expovariate", "betavariate", "gammavariate", "vonmisesvariate",
        "paretovariate", "weibullvariate", "binomialvariate", "getrandbits",
    )
)  # fmt: skip
"""Methods of Python's generators that give a number."""

_OTHERS: Final = frozenset(("bytes", "get_state", "set_state", "spawn", "tomaxint"))
"""Methods of NumPy's generators that give nothing a program has, or draw nothing."""

_LARGEST: Final = 62
"""So many bits a number of the run has room for."""


def draw(function: Callable[..., Any], arguments: list[object], options: dict[str, object]) -> Any:
    """What each run draws where the program comes to the call.

    Returns:
        What stands for it; ``NotImplemented`` if its form is the run's, too.
    """
    capture = current()
    assert capture is not None
    generator = generator_of(function)
    if any_leaf(_is_large, [arguments, options]) or "out" in options:
        return NotImplemented
    if capture.at_once:
        raise BranchNeededError
    name = function.__name__
    if not is_known(generator):
        return NotImplemented
    if name == "seed":
        return _seeded(function, arguments, options)
    if isinstance(generator, random.Random):
        if name in _OF_ITEMS:
            return _of_items(function, arguments, options)
        if name not in NUMBERS or holds_tensors([arguments, options]):
            return NotImplemented
        return _drawn(function, arguments, options)
    if name in _OTHERS:
        return NotImplemented
    if name == "shuffle":
        return _shuffled_by_numpy(function, arguments, options)
    return _drawn(function, arguments, options)


def _is_large(leaf: object) -> bool:
    return type(leaf) is int and leaf.bit_length() > _LARGEST


def _draws_from(generator: Generator) -> None:
    capture = current()
    assert capture is not None
    capture.drawn[id(generator)] = generator


def _drawn(
    function: Callable[..., Any], arguments: list[object], options: dict[str, object]
) -> Any:
    generator = generator_of(function)
    if holds_values([arguments, options]):
        check_uncaught(ValueError)  # of bounds that do not go together
    with put_back(generator):
        made = call(function, arguments, options)
    _draws_from(generator)
    return made


def _seeded(
    function: Callable[..., Any], arguments: list[object], options: dict[str, object]
) -> Any:
    """``rng.seed(3)``: each run does it."""
    if holds_values([arguments, options]):
        return NotImplemented
    note("host", text="calls seed()")
    _draws_from(generator_of(function))
    host_call(lambda: function(*arguments, **options), [])
    return None


# -- of some items ---------------------------------------------------------------------------------


def _of_items(
    function: Callable[..., Any], arguments: list[object], options: dict[str, object]
) -> Any:
    """``choice``, ``choices``, ``sample`` and ``shuffle`` of Python."""
    generator, draw_positions = generator_of(function), _OF_ITEMS[function.__name__]
    try:
        found = draw_positions(generator, *arguments, **options)
    except TypeError:
        with put_back(generator):
            function(*arguments, **options)  # it says what is wrong with the arguments
        raise
    return found


def _choice(generator: random.Random, seq: object) -> Any:
    if isinstance(seq, Choice):
        return over(lambda found: _choice(generator, found), seq)

    def choice(length: int) -> int:
        return generator.choice(range(length))

    length = len_(seq)
    if bridge.is_value(length):
        raise_when(length == 0, IndexError("Cannot choose from an empty sequence"))
    return getitem(seq, _positions(generator, choice, length))


def _choices(
    generator: random.Random,
    population: object,
    weights: object = None,
    *,
    cum_weights: object = None,
    k: int = 1,
) -> Any:
    def choices(length: int, weights: Any, cum_weights: Any) -> Any:
        found = generator.choices(range(length), weights, cum_weights=cum_weights, k=k)
        return np.array(found, "int64")

    if not _is_known(population, k):
        return NotImplemented
    return _at(population, _positions(generator, choices, len_(population), weights, cum_weights))


def _sample(
    generator: random.Random, population: object, k: int, *, counts: list[int] | None = None
) -> Any:
    def sample(length: int) -> Any:
        return np.array(generator.sample(range(length), k, counts=counts), "int64")

    if not _is_known(population, k) or holds_values([counts]):
        return NotImplemented
    if not isinstance(population, Sequence) or type(k) is not int:
        raise TypeError
    return _at(population, _positions(generator, sample, len(population)))


def _shuffle(generator: Generator, x: object) -> Any:
    def shuffle(length: int) -> Any:
        order = list(range(length))
        generator.shuffle(order)
        return np.array(order, "int64")

    if type(x) is not list:
        return NotImplemented
    check_changed(x)
    x[:] = _at(x, _positions(generator, shuffle, len(x)))
    return None


_OF_ITEMS: Final[dict[str, Callable[..., Any]]] = {
    "choice": _choice,
    "choices": _choices,
    "sample": _sample,
    "shuffle": _shuffle,
}


def _shuffled_by_numpy(
    function: Callable[..., Any], arguments: list[object], options: dict[str, object]
) -> Any:
    if len(arguments) != 1 or options:
        return NotImplemented
    if isinstance(arguments[0], RunArray):
        return _drawn(function, arguments, options)
    return _shuffle(generator_of(function), arguments[0])


def _is_known(population: object, k: object) -> bool:
    """Whether the numbers of items, and of those that are drawn, are known at capture."""
    return not (isinstance(population, Choice | DynamicList) or holds_values([k]))


def _positions(generator: Generator, function: Callable[..., Any], *given: object) -> Any:
    """What each run gets of ``function``, which draws from a generator."""
    with put_back(generator):
        made = call(function, list(given), {})
    _draws_from(generator)
    return made


def _at(population: object, positions: RunArray) -> list[Any]:
    """The items of ``population`` at the positions that an array of the run holds."""
    if positions.value.shape[0] == 0:
        return []
    if is_list_or_tuple(population):
        return list(reordered(list(population), positions.value))
    numbers = [mark_number(row, int) for row in paddle.unbind(positions.value)]
    return [getitem(population, number) for number in numbers]
