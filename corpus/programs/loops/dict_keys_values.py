"""Sum up gradients by name and clip the ones that are too large.

exercises: for over a dict, dict.keys() and dict.values() with tensor branches
rows: 31
"""

import paddle


def clip(given, bound):
    grads = dict(given)
    for name in grads:
        if grads[name].abs().max() > bound:
            grads[name] = grads[name] * 0.1
    total = paddle.zeros([])
    for value in grads.values():
        total = total + value.sum()
    used = []
    for name in grads.keys():
        used.append(name.upper())
    return total, used, grads


def build():
    return clip


def inputs():
    for a, b in ((1.0, 2.0), (50.0, 2.0), (50.0, -90.0)):
        yield {"w": paddle.to_tensor([a, 1.0]), "b": paddle.to_tensor(b)}, paddle.to_tensor(10.0)
