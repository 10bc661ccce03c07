"""Shapes as dataclasses, taken apart by class patterns with tensors as fields.

exercises: class patterns, positional and by keyword; tensor guard on a captured field; nested
rows: 47
"""

import dataclasses

import paddle


@dataclasses.dataclass
class Circle:
    radius: paddle.Tensor


@dataclasses.dataclass
class Box:
    width: paddle.Tensor
    height: paddle.Tensor


def area(shape):
    match shape:
        case Circle(radius=r) if r < 0:
            return r * 0
        case Circle(r):
            return 3.0 * r * r
        case Box(w, h) if w == h:
            return w * w
        case Box(width=w, height=h):
            return w * h
        case (Circle() as inner, Box(w, _)):
            return inner.radius + w
        case _:
            return None


def build():
    return area


def inputs():
    two, three = paddle.to_tensor(2.0), paddle.to_tensor(3.0)
    yield (Circle(two),)
    yield (Circle(-two.detach()),)
    yield (Box(two, three),)
    yield (Box(three, three.detach()),)
    yield ((Circle(two), Box(three, two)),)
    yield (5,)
