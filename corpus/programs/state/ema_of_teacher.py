"""A teacher network that follows the student when the student is better.

exercises: parameters of a sublayer set by set_value in a loop over zip of parameters, in a branch
rows: 86
"""

import paddle
from paddle import nn


class Teaching(nn.Layer):
    def __init__(self):
        super().__init__()
        self.student = nn.Linear(2, 2)
        self.teacher = nn.Linear(2, 2)
        for p in self.teacher.parameters():
            p.stop_gradient = True

    @paddle.no_grad()
    def follow(self):
        for t, s in zip(self.teacher.parameters(), self.student.parameters()):
            t.set_value(0.9 * t + 0.1 * s)

    def forward(self, x):
        with paddle.no_grad():
            goal = self.teacher(x)
        out = self.student(x)
        self.follow()
        return ((out - goal) ** 2).mean()


def build():
    return Teaching()


def inputs():
    for value in (1.0, 2.0):
        yield (paddle.to_tensor([value, 0.5]),)
