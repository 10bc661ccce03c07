"""All entries of a dict of states decay in every step.

exercises: items(), keys() and values() of a dict in the body of a tensor loop
rows: 79
"""

import paddle


def decay(states, steps):
    rates = {"a": 0.5, "b": 0.25}
    total = paddle.zeros([])
    for _ in range(steps):
        for name, value in states.items():
            states[name] = value * rates[name]
        total = total + sum(v.sum() for v in states.values())
    return [states[k] for k in states.keys()], total


def build():
    return decay


def inputs():
    for steps in (3, 0, 1):
        yield {"a": paddle.ones([2]), "b": paddle.to_tensor([2.0, 3.0])}, paddle.to_tensor(steps)
