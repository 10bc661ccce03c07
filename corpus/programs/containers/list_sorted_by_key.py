"""Candidates ranked by their score; each is a pair of score and payload.

exercises: sorted with a key over tensors; max with a key
rows: 15
"""

import paddle


def ranked(scores, payload):
    pairs = [(scores[i], payload[i]) for i in range(3)]
    order = sorted(pairs, key=lambda pair: pair[0], reverse=True)
    best = max(pairs, key=lambda pair: pair[0])
    return [row for _, row in order], best[1]


def build():
    return ranked


def inputs():
    payload = paddle.arange(6, dtype="float32").reshape([3, 2])
    for scores in ([1.0, 2.0, 3.0], [3.0, 1.0, 2.0], [2.0, 3.0, 1.0]):
        yield paddle.to_tensor(scores), payload
