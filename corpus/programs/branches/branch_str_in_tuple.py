"""The name of a verdict from a branch is looked up among accepted ones.

exercises: string from a branch in a tuple of strings; substring in it
rows: 5, 14
"""

import paddle


def accept(score):
    verdict = "fair"
    if score > 1:
        verdict = "good"
    if verdict in ("good", "best"):
        score = score * 3
    if "ai" in verdict:
        score = score - 1
    return score


def build():
    return accept


def inputs():
    for score in (2.0, 0.5, 1.0):
        yield (paddle.to_tensor(score),)
