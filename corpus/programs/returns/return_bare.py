"""A procedure that updates a history in place and leaves with a bare return.

exercises: bare return in a tensor if; procedure without a value; it changes the caller's dict
rows: 41
"""

import paddle


def record(history, loss):
    if paddle.isnan(loss):
        history["skipped"] = history["skipped"] + 1
        return
    history["mean"] = 0.9 * history["mean"] + 0.1 * loss
    if loss > history["worst"]:
        history["worst"] = loss
        return
    history["good"] = history["good"] + 1


def track(losses):
    history = {
        "skipped": paddle.zeros([], "int64"),
        "good": paddle.zeros([], "int64"),
        "mean": paddle.zeros([]),
        "worst": paddle.to_tensor(-1.0),
    }
    for loss in losses:
        record(history, loss)
    return history


def build():
    return track


def inputs():
    for values in ((1.0, 2.0), (2.0, 1.0), (float("nan"), 3.0), (3.0, 3.0)):
        yield ([paddle.to_tensor(v) for v in values],)
