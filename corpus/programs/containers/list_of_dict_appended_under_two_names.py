"""A record of the positive values in a settings dict; the caller holds the record by itself, too.

exercises: append on one side, to a list in a dict; the list's other name outside
rows: 78
"""

import paddle

GRAD = False  # the record is what counts
record = []
settings = {"record": record, "limit": 2.0}
OBSERVED = lambda: (record is settings["record"], [float(item) for item in record])


def reset(index):
    del record[:]
    settings["record"] = record


BEFORE = reset


def keep(x):
    if x > 0:
        settings["record"].append(x)
    if x > settings["limit"]:
        settings["record"].append(x * 10)
    return x


def build():
    return keep


def inputs():
    for value in (3.0, -1.0, 1.0):
        yield (paddle.to_tensor(value),)
