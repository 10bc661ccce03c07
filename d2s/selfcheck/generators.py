"""The states of random generators: those of a user's objects, and the ones that all share."""

from __future__ import annotations

import random
from typing import Any, Final

import numpy as np
import paddle

GENERATORS: Final = (random.Random, np.random.RandomState, np.random.Generator)


def state_of(generator: Any) -> Any:
    """What a generator draws from next."""
    if isinstance(generator, random.Random):
        return generator.getstate()
    if isinstance(generator, np.random.RandomState):
        return generator.get_state()
    return generator.bit_generator.state


def set_state(generator: Any, state: Any) -> None:
    """Let a generator go on from an earlier state."""
    if isinstance(generator, random.Random):
        generator.setstate(state)
    elif isinstance(generator, np.random.RandomState):
        generator.set_state(state)
    else:
        generator.bit_generator.state = state


def random_states() -> tuple[Any, ...]:
    """The states of the generators that all share: Python's, NumPy's and Paddle's."""
    return random.getstate(), np.random.get_state(), paddle.get_rng_state()


def set_random_states(states: tuple[Any, ...]) -> None:
    """Put these states back."""
    random.setstate(states[0])
    np.random.set_state(states[1])
    paddle.set_rng_state(states[2])
