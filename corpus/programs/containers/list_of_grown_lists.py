"""Words of different lengths: each sequence is a list of its own.

exercises: a fresh list grown in each trip of an unrolled loop, collected in an outer list
rows: 75
"""

import paddle


def countdowns(starts):
    runs = []
    for start in starts:
        run = []
        while start > 0:
            run.append(start)
            start = start - 1
        runs.append(run)
    return runs, [len(run) for run in runs]


def build():
    return countdowns


def inputs():
    for starts in ([2.0, 0.0, 3.0], [0.0, 0.0, 1.0], [1.5, 2.5, 0.5]):
        yield (paddle.to_tensor(starts),)
