"""Predictions as a Python list.

exercises: tolist() as a value, iterated and returned
rows: 71
"""

import paddle

GRAD = False  # lists of numbers are returned


def predictions(logits):
    labels = logits.argmax(axis=-1).tolist()
    kept = [label for label in labels if label > 0]
    return labels, kept, len(kept), logits.max().tolist()


def build():
    return predictions


def inputs():
    yield (paddle.to_tensor([[1.0, 2.0, 0.0], [3.0, 1.0, 0.0]]),)
    yield (paddle.to_tensor([[1.0, 2.0, 0.0], [3.0, 1.0, 9.0]]),)
