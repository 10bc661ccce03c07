"""A solver object whose state is updated in a loop until it converges.

exercises: attributes of a plain object read and assigned in a tensor loop
rows: 84
"""

import paddle


class Solver:
    def __init__(self, x):
        self.x = x
        self.error = (x * x - 2).abs().max()
        self.trips = 0


def solve(x, tolerance):
    solver = Solver(x)
    while solver.error > tolerance:
        solver.x = (solver.x + 2 / solver.x) / 2
        solver.error = (solver.x * solver.x - 2).abs().max()
        solver.trips += 1
    return solver.x, solver.trips


def build():
    return solve


def inputs():
    for tolerance in (0.1, 50.0, 1.0):
        yield paddle.to_tensor([1.0, 3.0]), paddle.to_tensor(tolerance)
