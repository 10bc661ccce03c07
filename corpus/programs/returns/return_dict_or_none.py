"""A detector that returns a record of its hit, or None.

exercises: dict with a string and a tensor on one path, None on the other
rows: 45
"""

import paddle


def detect(scores, bound):
    best = scores.argmax()
    if scores[best] < bound:
        return None
    return {"label": "hit", "index": best, "score": scores[best]}


def build():
    return detect


def inputs():
    scores = paddle.to_tensor([0.1, 0.7, 0.2])
    yield scores, paddle.to_tensor(0.5)
    yield scores, paddle.to_tensor(0.9)
