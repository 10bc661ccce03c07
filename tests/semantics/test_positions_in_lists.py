"""Items of Python's lists that are deleted, taken out or put in at a position of the run (D1)."""

from __future__ import annotations

import textwrap

import paddle
import pytest

import d2s
from tests.helpers import assert_same, function_of, scalar, tensor

HELD = {"a variable": "xs", "an item": "held['xs']", "an attribute": "owner.xs"}
MOVES = {
    "del": "del {xs}[k]",
    "del from the end": "del {xs}[k - 3]",
    "del of two": "del {xs}[k], {xs}[0]",
    "pop": "gone = {xs}.pop(k)",
    "pop in a sum": "gone = {xs}.pop(k) + {xs}.pop(0)",
    "insert": "{xs}.insert(k, x * 10)",
    "insert beyond": "{xs}.insert(k * 5 - 4, x * 10)",
}
PLACES = {
    "as it is": "{move}",
    "in a branch": "if x.sum() > 2:\n    {move}",
    "of one of two lengths": "if x.sum() > 2:\n    {xs}.append(x * 9)\n{move}",
    "in an unrolled loop": "for bound in range(2):\n    if x.sum() > bound:\n        {move}",
}


@pytest.mark.sampled(8)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("move", MOVES)
@pytest.mark.parametrize("held", HELD)
def test_a_position_of_the_run_in_a_list_of_python(held: str, move: str, place: str) -> None:
    """D1: what is behind it moves up or down, under every name of the list."""
    xs = HELD[held]
    body = PLACES[place].format(move=MOVES[move].format(xs=xs), xs=xs)
    f = function_of(
        f"""
class Owner:
    pass

def f(x, k):
    k = k.item()
    gone = x * 0
    xs = [x, x * 2, x * 3, x * 4, x * 5]
    held, owner, same = {{"xs": xs}}, Owner(), xs
    owner.xs = xs
{textwrap.indent(body, "    ")}
    return xs, held["xs"], owner.xs, same is xs, gone
""",
        "f",
    )
    assert_same(f, *[(tensor(value, 0.5), scalar(k)) for value, k in ((0.25, 0), (1, 2), (5, 1))])


@pytest.mark.parametrize("move", ["del xs[k]", "xs.pop(k)"])
def test_a_position_that_a_list_does_not_have(move: str) -> None:
    """D1: the error of Python, on the run that would raise it."""
    f = function_of(f"def f(x, k):\n    k, xs = k.item(), [x, x + 1]\n    {move}\n    return xs")
    assert_same(f, *[(tensor(1.0), scalar(k)) for k in (1, -2, 2, -3, 0)])


def test_hypotheses_from_which_the_worst_is_deleted() -> None:
    """D3: as a beam search keeps them, in objects of a list as long as the batch."""
    f = function_of(
        """
class Hypotheses:
    def __init__(self):
        self.beams = []
        self.worst = 1e9

    def add(self, hypothesis, score):
        if len(self.beams) < 2 or score > self.worst:
            self.beams.append((score, hypothesis))
            if len(self.beams) > 2:
                ranked = sorted([(s, at) for at, (s, _) in enumerate(self.beams)])
                del self.beams[ranked[0][1]]
                self.worst = ranked[1][0]
            else:
                self.worst = min(score, self.worst)

def f(x):
    kept = [Hypotheses() for _ in range(x.shape[0])]
    step = 1
    while step < x.max() + 3:
        for row, each in enumerate(kept):
            for column in range(3):
                if x[row, column] > step:
                    each.add(x[row, : column + 1], x[row, column].item() / (column + step))
        step = step + 1
    return [each.worst for each in kept], [len(each.beams) for each in kept]
""",
        "f",
    )
    spec = [paddle.static.InputSpec([None, 3])]
    calls = [(tensor(*rows),) for rows in ([[5.0, 1, 3]], [[2.0, 7, 4], [6, 6.5, 1]])]
    assert_same(f, *calls, static=d2s.to_static(f, input_spec=spec, full_graph=True))
