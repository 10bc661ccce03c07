"""A vector and matrix that live only inside one trip.

exercises: names first bound in the body that nobody reads later; tuple assignment
rows: 17, 25
"""

import paddle


def orthogonalise(a, b, steps):
    i = paddle.zeros([], "int64")
    while i < steps:
        dot, norm = (a * b).sum(), (a * a).sum()
        shift = dot / norm * a
        b = b - 0.5 * shift
        i += 1
    return b


def build():
    return orthogonalise


def inputs():
    for steps in (0, 1, 3):
        a, b = paddle.to_tensor([1.0, 2.0]), paddle.to_tensor([3.0, -1.0])
        yield a, b, paddle.to_tensor(steps)
