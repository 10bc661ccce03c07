"""One loss is differentiated twice."""

import paddle

CODE = "D2S309"


def loss_of(x):
    if x.sum() > 0:
        x = x * x
    return x.sum()


def main(to_static):
    x = paddle.ones([2])
    x.stop_gradient = False
    loss = to_static(loss_of)(x)
    loss.backward()
    loss.backward()  # <- fails
