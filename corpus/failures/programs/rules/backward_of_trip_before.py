"""A trip differentiates the loss that the trip before has computed."""

import paddle

CODE = "D2S307"


def train(weight, x):
    loss = (weight * x).sum()
    while loss > 1:
        loss.backward()  # <- fails
        x = x * 0.5
        loss = (weight * x).sum()
    return loss


def main(to_static):
    weight = paddle.ones([2])
    weight.stop_gradient = False
    to_static(train)(weight, paddle.ones([2]))
