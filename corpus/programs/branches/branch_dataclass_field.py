"""Fields of a dataclass are assigned in a branch, one of them a Python count.

exercises: dataclass fields assigned in a branch; nested dataclass
rows: 83
"""

import dataclasses

import paddle


@dataclasses.dataclass
class Inner:
    rate: paddle.Tensor


@dataclasses.dataclass
class Run:
    best: paddle.Tensor
    inner: Inner
    worse: int = 0


def note(loss, best, rate):
    run = Run(best, Inner(rate))
    if loss < run.best:
        run.best = loss
    else:
        run.worse += 1
        run.inner.rate = run.inner.rate / 2
    return run, run.best * run.inner.rate


def build():
    return note


def inputs():
    rate = paddle.to_tensor(0.5)
    for loss in (1.0, 3.0, 2.0):
        yield paddle.to_tensor(loss), paddle.to_tensor(2.0), rate
