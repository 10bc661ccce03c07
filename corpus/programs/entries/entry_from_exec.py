"""A function that a code generator made: its text is only known to linecache.

exercises: function made by exec as the entry; source registered with linecache
rows: 113
"""

import linecache

import paddle

SOURCE = """\
def relu_or(x, level):
    if x.max() > level:
        return x * 2
    total = x.sum()
    while total < level:
        total = total + 1
    return x + total
"""


def generate():
    name = "<generated relu_or>"
    linecache.cache[name] = (len(SOURCE), None, SOURCE.splitlines(keepends=True), name)
    space = {"paddle": paddle}
    exec(compile(SOURCE, name, "exec"), space)
    return space["relu_or"]


def build():
    return generate()


def inputs():
    x = paddle.to_tensor([1.0, 0.25])
    for level in (0.5, 1.1, 4.0):
        yield x, paddle.to_tensor(level)
