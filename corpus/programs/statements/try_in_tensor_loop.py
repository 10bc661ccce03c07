"""A loop that retries each step.

exercises: try around Python values in a tensor while loop; finally in each trip
rows: 58
"""

import paddle


def descend(x, rates):
    steps = 0
    while x > 1:
        try:
            x = x * rates["fast"]
        except KeyError:
            x = x - 1
        finally:
            steps += 1
    return x, steps


def build():
    return descend


def inputs():
    for rates in ({"fast": 0.25}, {}):
        for x in (0.5, 1.5, 9.0):
            yield paddle.to_tensor(x), rates
