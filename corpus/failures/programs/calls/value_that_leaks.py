"""A branch puts a tensor into a queue, and the function takes it out behind the branch."""

import queue

import paddle

CODE = "D2S305"


def use(x):
    waiting = queue.SimpleQueue()
    waiting.put(x)
    if x.sum() > 0:
        waiting.put(x * 2)
    return x + waiting.get() + waiting.get()  # <- fails


def main(to_static):
    to_static(use)(paddle.ones([2]))
