"""The memory of an array is read."""

import paddle

CODE = "D2S208"


def quantile(x):
    ordered = x.sort()
    middle = memoryview(ordered.numpy())[1]  # <- fails
    return x - float(middle)


def main(to_static):
    to_static(quantile)(paddle.to_tensor([3.0, 1.0, 2.0]))
