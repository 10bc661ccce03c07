"""The caller's list gets the result of each call.

exercises: list argument appended to and assigned in a tensor branch; the caller sees it
rows: 78
"""

import paddle

GRAD = False  # the result is an int; what the function gives goes out through the list


def accumulate(results, x):
    if x.sum() > 0:
        results[0] = results[0] + x
    else:
        results[0] = results[0] - x
    results.append(x * 2)
    return len(results)


def build():
    return accumulate


def inputs():
    for sign in (1.0, -1.0):
        yield [paddle.zeros([2])], paddle.to_tensor([1.0, 2.0]) * sign
