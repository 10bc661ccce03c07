"""The functions that train: what d2s converts as a whole."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import paddle

from corpus.zoo.compare import floats


def objective(outputs: Any) -> paddle.Tensor:
    """A loss of all floating outputs; the square keeps a softmax from having no gradient."""
    total = paddle.zeros([])
    for output in floats(outputs):
        value = output.astype("float32")
        total = total + (value + 0.5 * value * value).mean()
    return total


def training_step(layer: Any, optimizer: Any) -> Callable[..., paddle.Tensor]:
    """A function that trains ``layer`` on its arguments once."""

    def step(*given: Any) -> paddle.Tensor:
        loss = objective(layer(*given))
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        return loss

    return step
