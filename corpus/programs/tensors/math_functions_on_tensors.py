"""The haversine distance written with the math module.

exercises: math.sqrt, math.sin, math.atan2, math.floor and math.pi on tensors
rows: 71
"""

import math

import paddle

GRAD = False  # math.sqrt takes the number out of the tensor


def distance(x, y):
    d = math.sqrt(x * x + y * y)
    angle = math.atan2(y, x)
    if d > 4:
        d = math.floor(d)
    return d, angle, math.sin(x) + math.pi


def build():
    return distance


def inputs():
    yield paddle.to_tensor(3.0), paddle.to_tensor(1.5)
    yield paddle.to_tensor(3.0), paddle.to_tensor(4.5)
    yield paddle.to_tensor(-0.5), paddle.to_tensor(0.0)
