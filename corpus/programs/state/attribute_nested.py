"""Settings in an object inside an object, changed in a branch and a loop.

exercises: attribute of an attribute assigned in a tensor branch and loop; item of an attribute
rows: 84
"""

from types import SimpleNamespace

import paddle


def run(x, steps):
    env = SimpleNamespace(body=SimpleNamespace(mass=x, parts={"a": x * 2}))
    if x.sum() > 0:
        env.body.mass = x * 3
    for _ in range(steps):
        env.body.parts["a"] = env.body.parts["a"] + env.body.mass
        env.body.mass = env.body.mass * 0.5
    return env.body.mass, env.body.parts


def build():
    return run


def inputs():
    for sign, steps in ((1.0, 2), (-1.0, 2), (1.0, 0), (-1.0, 1)):
        yield paddle.to_tensor([1.0, 2.0]) * sign, paddle.to_tensor(steps)
