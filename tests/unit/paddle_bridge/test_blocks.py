"""Branches that are taken out of a program again (``paddle_bridge.capturing.blocks``)."""

from __future__ import annotations

from tests.processes import python

LEAKS = """
import paddle
from d2s import paddle_bridge as bridge

paddle.enable_static()
program = paddle.static.Program()
with paddle.static.program_guard(program):
    x = paddle.static.data("x", [2, 3])
    branch = bridge.IfOp(x.sum() > 0)
    with branch.side(True):
        part = x[0]
    with branch.side(False):
        paddle.add_n([part, part])
    branch.drop()
    left = paddle.static.default_main_program().global_block().ops
    print([operation.name() for operation in left if operation.name() == "pd_op.if"])
"""


def test_a_branch_whose_sides_read_each_other_goes() -> None:
    """C7: what a refused attempt leaves behind is taken out; Paddle alone ends the process."""
    done = python("-c", LEAKS)
    assert (done.returncode, done.stdout) == (0, "[]\n"), done.stderr


DANGLES = """
import paddle
from d2s import paddle_bridge as bridge

paddle.enable_static()
program = paddle.static.Program()
with bridge.keeping_what_goes(), paddle.static.program_guard(program):
    x = paddle.static.data("x", [2, 3])
    loop = bridge.WhileOp(x.sum() > 0, [x])
    with loop.body() as (argument,):
        part = argument * 2
    loop.drop()
    names = [each.name() for each in program.global_block().ops]
    print("pd_op.while" in names, bridge.is_visible(part), bridge.is_visible(argument))
    branch = bridge.IfOp(x.sum() > 1)
    with branch.side(True):
        one = x + 1
    with branch.side(False):
        other = x + 2
    print(branch.makes(part), branch.makes(argument), bridge.holder_of(part))
    print(len(branch.finish([one], [other])))
"""


def test_values_of_what_was_taken_out_can_be_asked_for() -> None:
    """C7: who still holds a value of a refused attempt learns that nobody can see it."""
    done = python("-c", DANGLES)
    expected = "False False False\nFalse False None\n1\n"
    assert (done.returncode, done.stdout) == (0, expected), done.stderr
