"""The page of an item, 0-D; dygraph answers // by a number with one dimension.

exercises: // and % of a 0-D float tensor and of a 0-D int tensor by a Python number
rows: 65
"""

import paddle


def page(position, item):
    number = position // 10
    place = position % 10
    if place > 5:
        number = number + 1
    return number, place, item // 3, item % 3


def build():
    return page


def inputs():
    yield paddle.to_tensor(38.0), paddle.to_tensor(7)
    yield paddle.to_tensor(32.0), paddle.to_tensor(-7)
