"""Spectral normalisation with its own power iteration.

exercises: buffers assigned in a tensor loop under no_grad; parameter divided by the norm
rows: 86
"""

import paddle
from paddle import nn

RTOL, ATOL = 1e-4, 1e-5


class Spectral(nn.Layer):
    def __init__(self):
        super().__init__()
        self.weight = self.create_parameter(
            [2, 3],
            default_initializer=nn.initializer.Assign([[1.0, 0.5, 0.2], [0.1, 2.0, 0.3]]),
        )
        self.register_buffer("u", paddle.to_tensor([0.6, 0.8]))

    def forward(self, x, rounds):
        with paddle.no_grad():
            v = paddle.nn.functional.normalize(self.weight.t() @ self.u, axis=0)
            for _ in range(rounds):
                self.u = paddle.nn.functional.normalize(self.weight @ v, axis=0)
                v = paddle.nn.functional.normalize(self.weight.t() @ self.u, axis=0)
        sigma = self.u @ (self.weight @ v)
        return x @ (self.weight / sigma)


def build():
    return Spectral()


def inputs():
    for rounds in (2, 0, 1):
        yield paddle.to_tensor([1.0, -1.0]), paddle.to_tensor(rounds)
