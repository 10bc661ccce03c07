"""A converted function is called in static mode."""

import paddle

CODE = "D2S306"


def named(x):
    return {"features": x}


def main(to_static):
    static = to_static(named)
    x = paddle.ones([2])
    paddle.enable_static()
    try:
        static(x)  # <- fails
    finally:
        paddle.disable_static()
