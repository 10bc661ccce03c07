"""A value is taken out to NumPy and put back in."""

import paddle

CODE = "D2S208"


def quantile(x):
    ordered = x.sort()
    middle = ordered.numpy()[1]  # <- fails
    return x - float(middle)


def main(to_static):
    to_static(quantile)(paddle.to_tensor([3.0, 1.0, 2.0]))
