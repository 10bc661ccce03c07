"""Random numbers of Python's and NumPy's own generators: each run draws them anew.

The call is made before the run, with the constant arguments that it has at capture, and its
result is an input of the program that stands for a Python number.  The draw at capture only tells
what kind of number it is; the generator is put back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import paddle

from d2s.runtime.host.generators import (
    SHARED_BY_NUMPY,
    SHARED_BY_PYTHON,
    generator_of,
    put_back,
    set_state,
    state_of,
)
from d2s.runtime.trace import current
from d2s.runtime.values.tensors import NUMBER_DTYPES, mark_number

_SCALARS: Final = (bool, int, float, type(None))

_NUMBERS: Final = frozenset(
    (
        "random", "uniform", "triangular", "randint", "randrange", "gauss", "normalvariate",
        "lognormvariate", "expovariate", "betavariate", "gammavariate", "vonmisesvariate",
        "paretovariate", "weibullvariate", "binomialvariate",
        "rand", "randn", "random_sample", "normal", "standard_normal", "beta", "gamma",
        "standard_gamma", "binomial", "poisson", "exponential", "standard_exponential",
        "laplace", "logistic", "lognormal", "gumbel", "geometric", "chisquare", "standard_t",
        "rayleigh", "weibull", "pareto", "power", "wald", "standard_cauchy", "vonmises",
    )
)  # fmt: skip
"""Methods of a generator that give one number."""

_LARGEST: Final = 2**62


@dataclass(frozen=True)
class Draw:
    """A call for a random number.

    Attributes:
        name: how its input of the program is called.
        function: the method of the generator.
        arguments, options: what it is called with.
        kind: the type of the number.
    """

    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    options: dict[str, Any]
    kind: type

    def __call__(self) -> Any:
        """The next number."""
        return self.function(*self.arguments, **self.options)

    def tensor(self) -> Any:
        """The next number, as the program takes it."""
        return paddle.to_tensor(self(), NUMBER_DTYPES[self.kind])

    @property
    def state(self) -> Any:
        """The state of the generator."""
        return state_of(generator_of(self.function))

    def restore(self, state: Any) -> None:
        """Give the generator an earlier state."""
        set_state(generator_of(self.function), state)


@dataclass(frozen=True)
class Asked(Draw):
    """A number that each run asks a function for: the learning rate of an optimizer.

    Attributes:
        last: the newest number and its tensor, which most runs can use again.
    """

    last: list[Any] = field(default_factory=lambda: [None, None])

    def tensor(self) -> Any:
        """The number, as the program takes it."""
        number = self()
        if self.last[0] != number:
            self.last[:] = number, paddle.to_tensor(number, NUMBER_DTYPES[self.kind])
        return self.last[1]

    @property
    def state(self) -> Any:
        """Nothing: asking changes nothing."""
        return None

    def restore(self, state: Any) -> None:
        """Nothing to put back."""


class Draws:
    """The draws of one capture, in the order of the calls.

    Attributes:
        made: the draws.
        values: the inputs of the program that stand for their results.
    """

    def __init__(self) -> None:
        self.made: list[Draw] = []
        self.values: list[Any] = []

    def __len__(self) -> int:
        return len(self.made)

    def make(
        self, function: Callable[..., Any], arguments: tuple[Any, ...], options: dict[str, Any]
    ) -> Any:
        """What stands for the result of the call; ``None`` if it cannot be drawn on each run."""
        capture = current()
        if capture is None or capture.blocks or not is_draw(function):
            return None
        generator = generator_of(function)
        if id(generator) in capture.drawn:  # this one comes behind what the run draws inside
            return None
        if not all(map(_is_small, (*arguments, *options.values()))):
            return None
        with put_back(generator):
            number = function(*arguments, **options)
        kind = type(number)
        if kind not in NUMBER_DTYPES:
            return None
        name = f"d2s_{function.__name__}_{len(self.made)}"
        self.made.append(Draw(name, function, arguments, dict(options), kind))
        value = paddle.static.data(name, [], NUMBER_DTYPES[kind])
        self.values.append(value)
        return mark_number(value, kind)

    def ask(self, name: str, function: Callable[[], Any]) -> Any:
        """What stands for the number that ``function`` gives when a run begins."""
        kind = type(function())
        self.made.append(Asked(f"d2s_{name}", function, (), {}, kind))
        value = paddle.static.data(f"d2s_{name}", [], NUMBER_DTYPES[kind])
        self.values.append(value)
        return mark_number(value, kind)


def is_draw(function: Any) -> bool:
    """Whether ``function`` draws one number from a generator that every module shares."""
    owner = generator_of(function)
    shared = owner is SHARED_BY_PYTHON or owner is SHARED_BY_NUMPY
    return shared and function.__name__ in _NUMBERS


def _is_small(thing: Any) -> bool:
    """Whether ``thing`` is a constant, and the numbers that it bounds fit into a tensor."""
    return type(thing) in _SCALARS and (type(thing) is not int or abs(thing) < _LARGEST)
