"""A queue of tasks: the first is split until it is small.

exercises: pop(0) and append in a tensor loop
rows: 76
"""

import paddle


def split_tasks(task, limit):
    queue = [task, task * 0.5]
    done = paddle.zeros([])
    while len(queue) > 0:
        job = queue.pop(0)
        if job > limit:
            queue.append(job / 2)
        else:
            done = done * 0.5 + job
    return done


def build():
    return split_tasks


def inputs():
    for task in (3.0, 0.5, 1.5):
        yield paddle.to_tensor(task), paddle.to_tensor(1.0)
