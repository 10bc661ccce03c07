"""Losses grouped by task, each weighted by a tensor condition.

exercises: defaultdict(list) filled in a loop over Python names; setdefault
rows: 79
"""

from collections import defaultdict

import paddle


def grouped(tasks, losses):
    groups = defaultdict(list)
    for task, loss in zip(tasks, losses):
        if loss > 1:
            loss = loss.sqrt()
        groups[task].append(loss)
    return {task: sum(items) / len(items) for task, items in groups.items()}, len(groups)


def build():
    return grouped


def inputs():
    for values in ([0.5, 4.0, 0.25], [9.0, 0.5, 2.0]):
        yield ["a", "b", "a"], paddle.to_tensor(values)
