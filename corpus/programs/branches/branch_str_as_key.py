"""The name of a verdict from a branch looks up a bonus.

exercises: string from a branch as key of a dict
rows: 5
"""

import paddle

BONUS = {"good": 2.0, "poor": 0.5}


def reward(score):
    verdict = "poor"
    if score > 1:
        verdict = "good"
    return score * BONUS[verdict]


def build():
    return reward


def inputs():
    for score in (2.0, 0.5, 1.0):
        yield (paddle.to_tensor(score),)
