"""A momentum step done in place, with an element reset on overflow.

exercises: in-place methods; item assignment in a branch; write through a slice; argument
    changed in place
rows: 87, 88
"""

import paddle

GRAD = False  # leaves that need a gradient may not be changed in place


def momentum_step(weight, velocity, gradient):
    velocity.scale_(0.9)
    velocity.add_(gradient)
    moved = weight - 0.1 * velocity
    if moved.abs().max() > 10:
        moved[0] = 0.0
        velocity[:2] = velocity[:2] * 0.5
    else:
        moved.add_(paddle.full([3], 1.0))
    return moved


def build():
    return momentum_step


def inputs():
    weight = paddle.to_tensor([1.0, 2.0, 3.0])
    yield weight, paddle.to_tensor([0.0, 1.0, 2.0]), paddle.to_tensor([1.0, 1.0, 1.0])
    yield weight, paddle.to_tensor([0.0, 1.0, 2.0]), paddle.to_tensor([400.0, 1.0, 1.0])
    yield weight, paddle.to_tensor([0.0, 0.0, 0.0]), paddle.to_tensor([0.0, 0.0, 0.0])
