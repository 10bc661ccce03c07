"""The message of a caught error is kept.

exercises: the exception variable read in the handler and kept after it; args; its name unbound
    after
rows: 58
"""

import paddle


def attempt(x, table, key):
    problem = None
    code = 0
    try:
        x = x * table[key]
    except KeyError as error:
        problem = error.args[0]
        code = len(str(error))
    if problem is None and x.sum() > 0:
        x = x + 1
    return x, problem, code


def build():
    return attempt


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    yield x, {"a": 2.0}, "a"
    yield -x, {"a": 2.0}, "a"
    yield x, {"a": 2.0}, "b"
