"""A particle that moves until it leaves the box.

exercises: attributes of a local plain object assigned by a method that a tensor while calls
rows: 85
"""

import paddle


class Particle:
    def __init__(self, x, v):
        self.x = x
        self.v = v
        self.steps = 0

    def move(self, dt):
        self.x = self.x + dt * self.v
        if self.x < 0:
            self.v = -self.v
        self.steps += 1


def simulate(x, v, limit):
    p = Particle(x, v)
    while p.x < limit:
        p.move(0.5)
        p.v = p.v * 1.1
    return p.x, p.v, p.steps


def build():
    return simulate


def inputs():
    for x, v in ((5.0, 1.0), (1.0, 1.0), (1.0, -3.0)):
        yield paddle.to_tensor(x), paddle.to_tensor(v), paddle.to_tensor(4.0)
