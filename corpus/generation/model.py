"""What is known of a decoding loop."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import paddle
from paddle.static import InputSpec

from corpus.generation import loops

WORDS = 100

Arguments = tuple[Any, ...]


@dataclass(frozen=True)
class Loop:
    """A published decoding loop, as a user would convert it.

    Args:
        name: unique in its package.
        make: builds the model with random weights, and gives the function that is converted and
            that runs the whole loop.
        calls: the arguments of each call; called once more for each side.
        specs: from the widest to the narrowest what one program is asked to serve; the loop lasts
            if the first one does.
    """

    name: str
    make: Callable[[], Callable[..., Any]]
    calls: Callable[[], list[Arguments]]
    specs: tuple[list[Any], ...]


def prompts(words: int = WORDS) -> list[Arguments]:
    """Two prompts, two batches, two lengths, and one row alone, which may end early."""
    paddle.seed(11)
    first, other = (paddle.randint(4, words, [2, 8]) for _ in range(2))
    more, short = paddle.randint(4, words, [3, 8]), paddle.randint(4, words, [3, 5])
    return [(first,), (other,), (more,), (short,), (first[:1].clone(),)]


def of_any_prompt(dtype: str = "int64") -> tuple[list[Any], ...]:
    """Any batch of any length; any length; one size."""
    return tuple([InputSpec(shape, dtype)] for shape in ([None, None], [2, None], [2, 8]))


def packages() -> list[str]:
    """The packages of the zoo that have loops."""
    return [info.name for info in pkgutil.iter_modules(loops.__path__)]


def loops_of(package: str) -> list[Loop]:
    """The loops of a package of the zoo, which can be imported."""
    found: list[Loop] = importlib.import_module(f"corpus.generation.loops.{package}").loops()
    return found
