"""Functions that the cases of this group import, as a user's own module of helpers."""

import functools

import paddle

leaky = lambda x, slope=0.1: x if x.sum() > 0 else x * slope  # noqa: E731


def soften(x):
    if x.abs().max() > 1:
        x = x / x.abs().max()
    return x


def harden(x):
    if x.sum() > 0:
        return x * 2
    return x - 1


def clamped(fn):
    """Keep the result of ``fn`` small."""

    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        out = fn(*args, **kwargs)
        if out.abs().max() > 5:
            out = out / 5
        return out

    return wrapper


def scaled(factor, bound=1.0):
    """Scale what the function gives when it is over ``bound``."""

    def decorator(fn):
        @functools.wraps(fn)
        def wrapper(x):
            out = fn(x)
            return out * factor if out.sum() > bound else out

        return wrapper

    return decorator


ACTIVATIONS = {"soften": soften, "harden": harden, "leaky": leaky, "tanh": paddle.tanh}
