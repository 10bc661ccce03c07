"""Squares of all entries of a signal whose length is not known beforehand.

exercises: list comprehension with a ternary over a tensor of unknown length; stack
rows: 49
"""

import paddle
from paddle.static import InputSpec

INPUT_SPEC = lambda: [InputSpec([None], "float32")]  # noqa: E731


def signed_square(x):
    return paddle.stack([v * v if v > 0 else -v for v in x])


def build():
    return signed_square


def inputs():
    for values in ([1.0, -2.0, 3.0], [-1.5], [2.0, 3.0]):
        yield (paddle.to_tensor(values),)
