"""A particle that moves until it leaves the box.

exercises: attributes of a plain object assigned in a tensor while; an int attribute too
rows: 17, 84
"""

import paddle


class Particle:
    def __init__(self, x, v):
        self.x = x
        self.v = v
        self.steps = 0


def simulate(x, v, limit):
    p = Particle(x, v)
    while p.x < limit:
        p.x = p.x + 0.5 * p.v
        if p.x < 0:
            p.v = -p.v
        p.steps += 1
        p.v = p.v * 1.1
    return p.x, p.v, p.steps


def build():
    return simulate


def inputs():
    for x, v in ((5.0, 1.0), (1.0, 1.0), (1.0, -3.0)):
        yield paddle.to_tensor(x), paddle.to_tensor(v), paddle.to_tensor(4.0)
