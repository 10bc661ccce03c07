"""The name of a verdict, compared and returned after the branch.

exercises: different strings in branches; == and != on the string afterwards; returned
rows: 5
"""

import paddle


def judge(score):
    if score > 1:
        verdict = "good"
    elif score > 0:
        verdict = "fair"
    else:
        verdict = "poor"
    if verdict == "good":
        score = score + 1
    elif verdict != "fair":
        score = score * 3
    return score, verdict


def build():
    return judge


def inputs():
    for score in (2.0, 0.5, -1.0, 1.0):
        yield (paddle.to_tensor(score),)
