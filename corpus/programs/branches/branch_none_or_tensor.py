"""A mask exists only for long sequences; later code asks whether it is None.

exercises: None against a tensor; is None and is not None after the branch
rows: 4
"""

import paddle


def masked_mean(x, length):
    mask = None
    if length < x.shape[0]:
        mask = (paddle.arange(x.shape[0]) < length).astype("float32")
    if mask is None:
        return x.mean()
    total = (x * mask).sum()
    if mask is not None and total > 5:
        total = total - 5
    return total / mask.sum()


def build():
    return masked_mean


def inputs():
    x = paddle.to_tensor([1.0, 2.0, 3.0, 4.0])
    for length in (4, 2, 3, 1):
        yield x, paddle.to_tensor(length)
