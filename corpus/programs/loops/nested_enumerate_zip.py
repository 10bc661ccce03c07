"""A perceptron over samples and labels that counts its mistakes.

exercises: for i, (x, y) in enumerate(zip(tensor, tensor))
rows: 28, 29
"""

import paddle


def perceptron(samples, labels, w):
    last = -1
    for i, (x, y) in enumerate(zip(samples, labels)):
        if (x * w).sum() * y <= 0:
            w = w + x * y
            last = i
    return w, last


def build():
    return perceptron


def inputs():
    samples = [[1.0, 2.0], [-1.0, 0.5], [2.0, -1.0]]
    for labels in ([1.0, 1.0, 1.0], [1.0, -1.0, -1.0], [-1.0, -1.0, 1.0]):
        yield paddle.to_tensor(samples), paddle.to_tensor(labels), paddle.to_tensor([0.5, 0.25])
