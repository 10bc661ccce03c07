"""Optimizers that a variable of the function holds, beside tensors that the function changes."""

from __future__ import annotations

from typing import Any

import paddle
import pytest

import d2s
from tests.helpers import tensor


class Trainer:
    def __init__(self) -> None:
        paddle.seed(3)
        self.model = paddle.nn.Sequential(paddle.nn.Linear(2, 3), paddle.nn.BatchNorm1D(3))
        self.opt = paddle.optimizer.SGD(0.1, parameters=self.model.parameters())


def fit(trainer: Trainer, x: Any, rounds: int) -> Any:
    model, opt = trainer.model, trainer.opt
    total = 0.0
    for _ in range(rounds):
        loss = model(x).square().mean()
        loss.backward()
        opt.step()
        opt.clear_grad()
        model[1]._mean.set_value(model[1]._mean * 0.5)
        total = total + loss.detach()
    return total


@pytest.mark.parametrize("full_graph", [True, False])
def test_its_parameters_stay_what_they_are(full_graph: bool) -> None:
    """C7: a batch norm's statistics change in place; the optimizer's list keeps its tensors."""
    x = tensor(1.0, 2.0, -1.0, 0.5).reshape([2, 2])
    plain, trainer = Trainer(), Trainer()
    converted = d2s.to_static(fit, full_graph=full_graph)
    for rounds in (1, 2, 1):
        before = list(map(id, trainer.opt._parameter_list))
        expected = fit(plain, x, rounds)
        assert paddle.allclose(converted(trainer, x, rounds), expected)
        assert list(map(id, trainer.opt._parameter_list)) == before
        for one, other in zip(
            trainer.model.state_dict().values(), plain.model.state_dict().values(), strict=True
        ):
            assert paddle.allclose(one, other)
