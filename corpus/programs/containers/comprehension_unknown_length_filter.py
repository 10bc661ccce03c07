"""Positive rows of a matrix with any number of rows.

exercises: list comprehension with a tensor filter over a tensor of unknown length; returned list
rows: 49
"""

import paddle
from paddle.static import InputSpec

INPUT_SPEC = lambda: [InputSpec([None, 2], "float32")]  # noqa: E731


def positive_rows(x):
    kept = [row for row in x if row.sum() > 0]
    return kept, len(kept)


def build():
    return positive_rows


def inputs():
    for values in ([[1.0, 2.0], [-3.0, 1.0], [0.0, 4.0]], [[-1.0, -1.0]], [[1.0, 1.0]]):
        yield (paddle.to_tensor(values),)
