"""A loss is differentiated only if it is large."""

import paddle

CODE = "D2S205"


def train(weight, x):
    loss = (weight * x).sum()
    if loss > 1:
        loss.backward()  # <- fails
    return loss


def main(to_static):
    weight = paddle.ones([2])
    weight.stop_gradient = False
    to_static(train)(weight, paddle.ones([2]))
