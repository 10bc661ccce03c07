"""Search a tensor for a value, by for-else and by while-else.

exercises: for-else with a tensor break; while-else with a tensor condition; loop variable after
    the loop
rows: 18, 36, 40
"""

import paddle


def find(values, wanted):
    for i, v in enumerate(values):
        if v == wanted:
            place = i
            break
    else:
        place = -1
    j = paddle.zeros([], "int64")
    while j < len(values):
        if values[j] > wanted:
            score = values[j] - wanted
            break
        j = j + 1
    else:
        score = wanted * 0.5
    return place, j, score


def build():
    return find


def inputs():
    values = paddle.to_tensor([1.0, 5.0, 3.0])
    for wanted in (1.0, 3.0, 4.0, 9.0):
        yield values, paddle.to_tensor(wanted)
