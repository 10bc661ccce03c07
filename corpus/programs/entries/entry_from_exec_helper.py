"""The entry is in a file, a helper that it calls was made by exec.

exercises: helper made by exec with its text in linecache; tensor if inside
rows: 113
"""

import linecache

import paddle

SOURCE = """\
def squash(x):
    if x.abs().max() > 1:
        return x / x.abs().max()
    return x
"""
NAME = "<ipython-input-1-squash>"

linecache.cache[NAME] = (len(SOURCE), None, SOURCE.splitlines(keepends=True), NAME)
exec(compile(SOURCE, NAME, "exec"))


def run(x):
    return squash(x) + 1  # noqa: F821


def build():
    return run


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    yield (x,)
    yield (x * 0.1,)
