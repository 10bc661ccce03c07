"""The same idiom as break, by a flag in the condition.

exercises: while not done with a flag that a tensor comparison sets in the body
rows: 10, 17, 20
"""

import paddle


def search(x, step, bound):
    done = False
    trips = 0
    while not done and trips < 5:
        x = x + step
        trips += 1
        if x > bound:
            done = True
    return x, trips, done


def build():
    return search


def inputs():
    for bound in (0.5, 2.5, 99.0):
        yield paddle.to_tensor(0.0), paddle.to_tensor(1.0), paddle.to_tensor(bound)
