"""A dataclass that holds the state of an optimiser over a tensor loop.

exercises: fields of a dataclass assigned in a tensor loop; property of the dataclass
rows: 83
"""

from dataclasses import dataclass, field

import paddle


@dataclass
class Momentum:
    weight: paddle.Tensor
    velocity: paddle.Tensor
    rate: float = 0.1
    log: list = field(default_factory=list)

    @property
    def loss(self):
        return (self.weight * self.weight).sum()


def descend(weight, tolerance):
    state = Momentum(weight, paddle.zeros_like(weight))
    while state.loss > tolerance:
        state.velocity = 0.5 * state.velocity - state.rate * 2 * state.weight
        state.weight = state.weight + state.velocity
    return state


def build():
    return descend


def inputs():
    for tolerance in (1.0, 9.0, 4.0):
        yield paddle.to_tensor([2.0, 1.0]), paddle.to_tensor(tolerance)
