"""The entry appends to a history that its caller keeps.

exercises: list argument appended to and an item of it assigned by the entry
rows: 78
"""

import paddle


def record(history, loss):
    if loss > history[0]:
        history[0] = loss
    history.append(loss * 0.5)
    return loss - history[0]


def build():
    return record


def inputs():
    for loss in (2.0, 0.5):
        yield [paddle.to_tensor(1.0)], paddle.to_tensor(loss)
