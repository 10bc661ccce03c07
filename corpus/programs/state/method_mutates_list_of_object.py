"""A replay buffer class: push in a loop, sample afterwards.

exercises: method that appends to a list attribute, called in a tensor loop; __len__
rows: 85, 74
"""

import paddle


class Replay:
    def __init__(self):
        self.items = []

    def push(self, item):
        self.items.append(item)

    def __len__(self):
        return len(self.items)

    def latest(self):
        return self.items[-1]


def play(x, steps):
    replay = Replay()
    replay.push(x)
    for _ in range(steps):
        x = paddle.tanh(x) * 2
        replay.push(x)
    return replay.latest(), len(replay), paddle.stack(replay.items).mean()


def build():
    return play


def inputs():
    for steps in (3, 0, 1):
        yield paddle.to_tensor([1.0, 2.0]), paddle.to_tensor(steps)
