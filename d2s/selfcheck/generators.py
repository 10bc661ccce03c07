"""The states of the random generators that all share."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import paddle


def random_states() -> tuple[Any, ...]:
    """The states of the generators that all share: Python's, NumPy's and Paddle's."""
    return random.getstate(), np.random.get_state(), paddle.get_rng_state()


def set_random_states(states: tuple[Any, ...]) -> None:
    """Put these states back."""
    random.setstate(states[0])
    np.random.set_state(states[1])
    paddle.set_rng_state(states[2])
