"""Walk through nested lists with a stack until enough is gathered.

exercises: while over a Python list used as a stack, with pop and extend; tensor break
rows: 31, 39
"""

import paddle


def gather(tree, bound):
    stack = [tree]
    total = paddle.zeros([])
    while stack:
        node = stack.pop()
        if isinstance(node, list):
            stack.extend(node)
            continue
        total = total + node * node
        if total > bound:
            break
    return total, len(stack)


def build():
    return gather


def inputs():
    for bound in (1.0, 12.0, 99.0):
        a, b, c = (paddle.to_tensor(v) for v in (1.0, 2.0, 3.0))
        yield [a, [b, [c, a]], b], paddle.to_tensor(bound)
