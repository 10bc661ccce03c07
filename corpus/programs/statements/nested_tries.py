"""An inner handler that fails itself.

exercises: try inside try; inner handler raises what the outer one catches; else and finally order
rows: 58
"""

import paddle


def load(x, first, second):
    order = []
    try:
        try:
            scale = first["scale"]
            order.append("first")
        except KeyError:
            scale = second["scale"]
            order.append("second")
        finally:
            order.append("inner")
    except KeyError:
        scale = 1.0
        order.append("none")
    finally:
        order.append("outer")
    if x.sum() > 0:
        scale = scale * 2
    return x * scale, order


def build():
    return load


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    yield x, {"scale": 2.0}, {}
    yield x, {}, {"scale": 3.0}
    yield -x, {}, {}
