"""A class that hands out batches of a list.

exercises: for over an object with __iter__ and __next__; tensor break in it
rows: 31, 39
"""

import paddle


class Batches:
    def __init__(self, items, size):
        self.items = items
        self.size = size
        self.place = 0

    def __iter__(self):
        self.place = 0
        return self

    def __next__(self):
        if self.place >= len(self.items):
            raise StopIteration
        batch = self.items[self.place : self.place + self.size]
        self.place += self.size
        return paddle.stack(batch)


def consume(items, bound):
    total = paddle.zeros([])
    for batch in Batches(items, 2):
        total = total + (batch * batch).sum()
        if total > bound:
            break
    return total


def build():
    return consume


def inputs():
    for bound in (1.0, 20.0, 99.0):
        yield [paddle.to_tensor(v) for v in (1.0, 2.0, 3.0, 4.0, 5.0)], paddle.to_tensor(bound)
