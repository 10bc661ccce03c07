"""Skip the entries that a table lacks.

exercises: try in an unrolled loop; continue in a handler; break in a handler; break in else
rows: 58
"""

import paddle


def total_of(names, table, x):
    total = x * 0
    for name in names:
        try:
            value = table[name]
        except KeyError:
            if name == "stop":
                break
            continue
        else:
            if x.sum() < 0:
                break
        finally:
            total = total + 1
        total = total + value * x
    return total


def build():
    return total_of


def inputs():
    table = {"a": 2.0, "b": 3.0}
    x = paddle.to_tensor([1.0, 2.0])
    yield ["a", "x", "b"], table, x
    yield ["a", "stop", "b"], table, x
    yield ["a", "x", "b"], table, -x
    yield [], table, x
