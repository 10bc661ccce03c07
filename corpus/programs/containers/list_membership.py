"""Stop a walk as soon as it comes to a place where it has been.

exercises: `in` of a grown list in the condition of a tensor loop
rows: 76, 14
"""

import paddle


def walk(start, step):
    seen = []
    place = start
    while place not in seen:
        seen.append(place)
        place = (place + step) % 7
    return place, len(seen)


def build():
    return walk


def inputs():
    for start, step in ((0.0, 3.0), (2.0, 7.0), (1.0, 3.5)):
        yield paddle.to_tensor(start), paddle.to_tensor(step)
