"""A template that is not written in place is filled with a tensor."""

import paddle

CODE = "D2S208"

TEMPLATE = "loss %.3f"


def report(x):
    loss = x.mean()
    print(TEMPLATE % loss)  # <- fails
    return loss


def main(to_static):
    to_static(report)(paddle.ones([2]))
