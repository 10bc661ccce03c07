"""The mean of each label's scores.

exercises: unique; iteration over a data-dependent tensor; boolean mask index in the loop
rows: 90
"""

import paddle


def label_means(scores, labels):
    best = scores.min()
    for label in paddle.unique(labels):
        mean = scores[labels == label].mean()
        if mean > best:
            best = mean
    return best, paddle.unique(labels)


def build():
    return label_means


def inputs():
    scores = paddle.to_tensor([1.0, 2.0, 5.0, 4.0])
    yield scores, paddle.to_tensor([0, 0, 1, 1])
    yield scores, paddle.to_tensor([0, 1, 2, 1])
    yield scores, paddle.to_tensor([3, 3, 3, 3])
