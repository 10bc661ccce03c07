"""The decorator and what it decorates both live inside the function.

exercises: decorator defined and used in a nested scope
rows: 52
"""

import paddle


def run(x, bound):
    def limited(fn):
        def wrapper(t):
            out = fn(t)
            if out.max() > bound:
                out = out * bound / out.max()
            return out

        return wrapper

    @limited
    def grow(t):
        return t * 3 if t.mean() > 0 else t

    return grow(x)


def build():
    return run


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    for bound in (2.0, 10.0):
        yield x, paddle.to_tensor(bound)
        yield -x, paddle.to_tensor(bound)
