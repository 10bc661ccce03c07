"""Whole training steps in one program: ``loss.backward()``, ``opt.step()``, ``opt.clear_grad()``.

While a program is captured, ``backward()`` adds the gradients to it and keeps them as the ``.grad``
of each leaf: a parameter, an argument, or a tensor of the function's own with
``stop_gradient=False``::

    before                              in the program
    loss.backward()                     g = gradient of loss; w.grad = old w.grad + g
    opt.step()                          sgd_(w, rate, w.grad)
    opt.clear_grad()                    each run: w.clear_gradient()

``program.capture.steps`` says what each run does with it.
"""

from __future__ import annotations

import paddle

from d2s.runtime.trace import Capture, current
from d2s.runtime.training.gradients import Gradients
from d2s.runtime.training.leaves import Leaves
from d2s.runtime.training.optimizer_facts import ReadBySteps
from d2s.runtime.training.optimizers import Optimizers
from d2s.runtime.training.parameters import Parameters
from d2s.runtime.training.record import Record


class Steps:
    """The training that one capture has met.

    Attributes:
        buffers: attributes of layers that have been given tensors, by the layer's id and the name,
            with their positions: dygraph keeps them in a table of their own, in that order.
        read: what the steps of schedulers read, which a run makes last.
    """

    def __init__(self, capture: Capture) -> None:
        self.buffers: dict[tuple[int, str], int] = {}
        self.read = ReadBySteps()
        self.record = Record(capture)
        self.leaves = Leaves(self.record)
        self.gradients = Gradients(self.record, self.leaves)
        self.parameters = Parameters(self.record, self.leaves)
        self.optimizers = Optimizers(self.record, self.leaves, self.gradients, self.parameters)


def steps() -> Steps | None:
    """The training of the capture under way in this thread."""
    capture = current()
    return None if capture is None else capture.steps


def steps_here() -> Steps | None:
    """:func:`steps`, which dygraph code that runs while a program is captured is no part of."""
    state = steps()
    return None if state is None or paddle.in_dynamic_mode() else state
