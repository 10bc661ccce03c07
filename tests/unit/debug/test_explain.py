"""``d2s.explain`` and ``d2s.report``: what they say of each line is what became of it."""

from __future__ import annotations

import contextlib
import json
import random

import numpy as np
import paddle
import pytest

import d2s
from d2s.debug.facts.constructs import COND, LOOP
from d2s.errors import NotAFunctionError

ITEMS = list(range(100))
CALLS = []


def branch(x):
    if x.mean() > 0:
        y = x * 2
    else:
        y = x - 1
    return y


def loop(x, n):
    i = paddle.zeros([], "int64")
    rows = []
    while i < n:
        rows.append(x * i)
        i = i + 1
    return paddle.stack(rows).sum()


def over_python(x, flag=False):
    if flag:
        x = x - 1
    for _ in range(3):
        x = x + 1
    ys = [x * k for k in ITEMS[:4]]
    return ys[-1]


def many_trips(x):
    for i in range(70):
        x = x + i
    return x


def prints_in_loop(x, n):
    i = paddle.zeros([], "int64")
    while i < n:
        print("trip", i)
        i = i + 1
    return x * i


def per_number(x, n):
    return x * n


def reads_a_list(x):
    for each in ITEMS:
        x = x + each
    return x


def helper(x):
    return x * 3 if x.sum() > 0 else x


def calls_helper(x):
    CALLS.append(1)
    return helper(x) + 1


def broken(x):
    y = paddle.tanh(x * 2) + 1
    k = sum(y.numpy().tobytes()) % 7
    for _ in range(3):
        y = y * 0.5 + y.mean() - k
    return y.sum()


def once(x):
    return x * len(str(random)) + np.random.rand() * 0


def raising(x):
    raise ValueError("always")


def no_arguments():
    return paddle.ones([2]).sum()


class Net(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.linear = paddle.nn.Linear(2, 2)
        self.calls = 0

    def forward(self, x):
        self.calls = self.calls + 1
        return self.linear(x).sum() if self.training else x


def x() -> paddle.Tensor:
    return paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]])


def line_of(found: d2s.Explanation, text: str, listing: int = 0):
    """The only line that has ``text``."""
    (line,) = [line for line in found.functions[listing].lines if text in line.text]
    return line


def kinds(line) -> list[str]:
    return [fate.kind for fate in line.fates]


def test_branch_of_a_tensor():
    found = d2s.explain(branch, x())
    assert line_of(found, "if x.mean").fates == (COND,)
    assert line_of(found, "if x.mean").operations > 0
    assert {line_of(found, text).where for text in ("x * 2", "x - 1")} == {"program"}
    assert line_of(found, "return y").where == "capture"
    assert len(found.programs) == 1
    assert found.ok
    assert found.breaks == ()


def test_loop_of_a_tensor_and_a_list_of_the_run():
    found = d2s.explain(loop, x(), paddle.to_tensor(3))
    assert line_of(found, "while i").fates == (LOOP,)
    assert kinds(line_of(found, "rows.append")) == ["list"]


def test_what_python_decides():
    found = d2s.explain(over_python, x())
    assert kinds(line_of(found, "if flag")) == ["python"]
    assert "was False" in str(line_of(found, "if flag").fates[0])
    assert kinds(line_of(found, "x - 1")) == ["skipped"]
    assert str(line_of(found, "for _ in").fates[0]) == "unrolled 3 times: it goes over a range"
    assert str(line_of(found, "ys = ").fates[0]) == "unrolled 4 times: it goes over a list"


def test_a_long_unrolled_loop_costs():
    found = d2s.explain(many_trips, x())
    (hint,) = line_of(found, "for i").hints
    assert hint.text.startswith("unrolled 70 times")
    assert hint.cure


def test_a_host_operator_in_a_loop_costs():
    found = d2s.explain(prints_in_loop, x(), paddle.to_tensor(2))
    line = line_of(found, "print(")
    assert kinds(line) == ["host"]
    assert [hint.text.split(":")[0] for hint in line.hints] == ["a host operator in a loop"]


def test_a_program_for_each_number():
    static = d2s.to_static(per_number)
    for n in range(3):
        static(x(), n)
    found = d2s.explain(static)
    assert [each.reason for each in found.programs] == [
        "first call",
        "n is 1, was 0",
        "n is 2, was 1",
    ]
    (hint,) = [hint for hint in found.hints if hint.code == "D2S308"]
    assert hint.text == "2 programs because n has changed"
    assert "tensor" in hint.cure


def test_a_list_that_each_call_looks_at():
    found = d2s.explain(reads_a_list, x())
    assert any("100 entries of ITEMS" in hint.text for hint in found.hints)


def test_functions_that_became_part_of_the_program():
    found = d2s.explain(calls_helper, x())
    assert [each.name for each in found.functions] == ["calls_helper", "helper"]
    assert kinds(line_of(found, "return x * 3", 1)) == ["cond"]
    assert line_of(found, "helper(x) + 1").operations > line_of(found, "x * 3", 1).operations


def test_several_programs_and_what_is_inside():
    found = d2s.explain(d2s.to_static(broken, full_graph=False), x())
    assert [each.line for each in found.breaks] == [line_of(found, "tobytes").number]
    assert line_of(found, "tobytes").where == "outside"
    assert line_of(found, "y.mean()").where == "island"
    assert kinds(line_of(found, "tobytes"))[0] == "outside"
    assert found.ok
    share = found.share
    assert share.operations_inside > share.operations_outside >= 3
    assert 0 < share.seconds_inside <= share.seconds
    titles = [each.title for each in found.functions[0].generated]
    assert titles[0].startswith("Python")
    assert titles[1].startswith("lines ")


def test_one_program_is_all_inside():
    share = d2s.explain(branch, x()).share
    assert share.operations_inside > 0
    assert share.operations_outside == 0


def test_refused_as_one_program():
    found = d2s.explain(broken, x())
    assert not found.ok
    assert found.refused.code == "D2S208"
    assert "refused with D2S208" in found.text().splitlines()[0]


def test_what_happens_once():
    found = d2s.explain(process_number, x())
    assert [hint.code for hint in line_of(found, "os.getpid").hints] == ["D2S702"]


def process_number(x):
    import os

    return x * os.getpid()


def test_an_exception_is_that_of_dygraph():
    found = d2s.report(raising, x())
    line = raising.__code__.co_firstlineno + 1
    assert found.raised == f"ValueError: always (test_explain.py:{line})"
    assert found.timing is None
    assert found.share is None
    assert found.check.ok


def test_one_count_of_operations_for_all_who_tell_of_them():
    """Those that hand values in and out are counted nowhere; calls to find this out are no runs."""
    static = d2s.to_static(loop)
    static(x(), paddle.to_tensor(3))
    (program,) = static.programs
    of_programs, of_a_call = d2s.explain(static), d2s.explain(loop, x(), paddle.to_tensor(3))
    assert of_programs.programs[0].operations == program.operations
    assert of_a_call.programs[0].operations == program.operations
    assert of_programs.programs[0].title.endswith("operations, 1 run")
    assert of_a_call.programs[0].title.endswith("operations")


def test_nothing_is_changed_by_it():
    net = Net()
    before = [parameter.numpy() for parameter in net.parameters()]
    forward = net.__dict__.get("forward")
    given = x()
    d2s.report(net, given)
    d2s.report(calls_helper, given)
    assert net.calls == 0
    assert CALLS == []
    assert net.__dict__.get("forward") is forward
    for old, parameter in zip(before, net.parameters(), strict=True):
        np.testing.assert_array_equal(old, parameter.numpy())
    assert paddle.get_flags(["FLAGS_low_precision_op_list"]) == {"FLAGS_low_precision_op_list": 0}


def test_what_it_prints_is_kept_back(capsys):
    d2s.report(prints_in_loop, x(), paddle.to_tensor(2))
    assert capsys.readouterr().out == ""


def test_a_report_checks_and_times():
    found = d2s.report(branch, x())
    assert found.check.ok
    assert found.timing.dygraph_s > 0
    assert found.timing.program_s > 0
    assert found.timing.calls >= 2
    assert "agrees with dygraph" in found.summary


def test_without_arguments():
    assert len(d2s.explain(no_arguments).programs) == 1
    found = d2s.explain(branch)
    assert found.programs == ()
    assert found.share is None
    assert {line.where for line in found.functions[0].lines} == {""}
    assert any("d2s.if_" in line for line in found.functions[0].generated[0].lines)


def test_as_plain_values():
    found = d2s.report(broken, x())
    facts = json.loads(json.dumps(found.as_dict()))
    assert facts["name"] == "broken"
    assert facts["check"]["ok"] is True
    assert facts["refused"]["code"] == "D2S208"
    line = next(line for line in facts["functions"][0]["lines"] if "tobytes" in line["text"])
    assert line["where"] == "outside"
    assert line["fates"][0]["kind"] == "outside"


def test_text_has_each_line_and_what_became_of_it():
    found = d2s.explain(branch, x())
    text = found.text()
    for line in found.functions[0].lines:
        assert line.text in text
    assert str(COND) in text
    assert str(found) == text.rstrip("\n")
    assert "branch" in repr(found)
    assert "1 program" in repr(found)


@pytest.mark.parametrize("thing", [len, "text", Net, 3])
def test_no_function(thing):
    with pytest.raises(NotAFunctionError):
        d2s.explain(thing, x())


def test_arguments_that_do_not_fit():
    with pytest.raises(TypeError):
        d2s.explain(branch, x(), x())


def test_of_a_layer_and_its_method():
    net = Net()
    found = d2s.explain(net, x())
    assert found.name == "Net.forward"
    assert str(line_of(found, "self.linear(x)").fates[0]).endswith("was True")
    with contextlib.redirect_stdout(None):
        assert d2s.explain(net.forward, x()).name == "Net.forward"


def heavy(x, small):
    while small.sum() < 3:
        small = small + 1
    y = x @ x @ x  # nearly all of the time
    if small.mean() > 0:
        print("small", small.sum())
    return multiplied(y), small


def multiplied(y):
    return y * 2


def test_a_profile_finds_the_line_that_takes_the_time(capsys):
    """The programs are measured, operation by operation: loops, calls and what prints as well."""
    found = d2s.report(heavy, paddle.ones([600, 600]), paddle.zeros([]), profile=True)
    assert capsys.readouterr().out == ""
    assert found.check is not None
    assert found.check.ok
    assert found.profile is not None
    assert found.profile.seconds > 0
    lines = {line.text.strip(): line for line in found.functions[0].lines}
    matmul = next(line for text, line in lines.items() if text.startswith("y = x @"))
    assert matmul.share > 0.5
    assert matmul.share == max(line.share for line in lines.values())
    first = found.functions[0].line
    loop_and_call = [found.profile.lines.get((found.file, first + k)) for k in (2, 6)]
    assert None not in loop_and_call, "a line in the loop, and one of a function that is called"
    assert f"{matmul.share:.0%}" in found.text()
    assert f"--share:{matmul.share:.3f}" in found.html()
    assert found.as_dict()["profile"] == {
        "seconds": found.profile.seconds,
        "calls": found.profile.calls,
    }


def trained(x, weight):
    while x.sum() < 30:
        x = x * weight
    return x.sum()


def test_a_profile_of_what_can_be_trained_and_of_several_programs():
    """Probes are left out of gradients; each program of a function that is split is measured."""
    weight = paddle.to_tensor([2.0], stop_gradient=False)
    found = d2s.report(trained, paddle.ones([1]), weight, profile=True)
    assert found.profile is not None
    assert len(found.profile.lines) >= 3
    assert d2s.report(trained, paddle.ones([1]), weight).profile is None

    split = d2s.report(split_in_two, paddle.ones([300, 300]), profile=True)
    assert split.breaks
    assert split.profile is not None
    first = {line.number for line in split.functions[0].lines if line.share > 0}
    behind = {line for line in first if line > split.breaks[0].line}
    assert behind
    assert first - behind


def split_in_two(x):
    y = x @ x
    for _ in range(3):
        y = y * 0.5 + y.mean()
    k = sum(y[0, :3].numpy().tobytes()) % 7
    for _ in range(3):
        y = (y * (k + 1)) @ x
    return y.sum()


def tidied(scores):
    return sum(scores.numpy().tobytes()) % 5


class Head(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.fc = paddle.nn.Linear(2, 2)

    def forward(self, x):
        logits = paddle.tanh(self.fc(x)) * 2 + 1
        n = tidied(logits)
        return logits * n - logits.mean() + logits.max()


class WithHeads(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.heads = paddle.nn.LayerList([Head(), Head()])

    def forward(self, x):
        y = self.heads[0](x)
        return y + self.heads[1](y)


@pytest.mark.parametrize("whole", [True, False])
def test_what_is_called_and_keeps_it_from_being_one_program(whole):
    """Each callee and sublayer that breaks, with line, code and cure, once; callers name it."""
    net = WithHeads()
    found = d2s.explain(net if whole else d2s.to_static(net, full_graph=False), x())
    assert found.ok is not whole
    assert [each.name for each in found.functions[:3]] == [
        "WithHeads.forward",
        "Head.forward",
        "tidied",
    ]
    (callee,) = found.callees
    assert callee.name == "tidied"
    (cause,) = callee.breaks
    assert cause.code == "D2S208"
    assert cause.line == line_of(found, "tobytes", 2).number
    (hint,) = [hint for hint in found.hints if hint.cure == cause.cure]
    assert line_of(found, "tobytes", 2).hints == (hint,)
    assert kinds(line_of(found, "tobytes", 2))[0] == "outside"
    (called,) = line_of(found, "n = tidied", 1).hints
    assert "calls tidied, which is not (test_explain.py:" in called.text
    (called,) = line_of(found, "self.heads[0]").hints
    assert "calls Head.forward, which is not" in called.text
    assert "! tidied is not one program: test_explain.py:" in found.text()
    assert json.loads(json.dumps(found.as_dict()))["callees"][0]["breaks"][0]["cure"] == cause.cure


def test_programs_of_what_is_called():
    """A callee that breaks has programs of its own, and its lines say so."""
    found = d2s.explain(d2s.to_static(WithHeads(), full_graph=False), x())
    of_heads = [each for each in found.programs if each.function == "Head.forward"]
    assert of_heads
    assert " of Head.forward; " in of_heads[0].title
    assert line_of(found, "logits.mean()", 1).where == "island"
    assert line_of(found, "logits.mean()", 1).operations > 0
    assert line_of(found, "n = tidied", 1).where == "outside"


def test_a_layer_of_paddles_own_has_operations_per_line():
    """What is in Paddle's folder counts as the user's, where it is what is asked for."""
    net = paddle.vision.models.LeNet()
    found = d2s.explain(net, paddle.ones([1, 1, 28, 28]))
    assert line_of(found, "self.features(").operations > 3
    assert line_of(found, "self.fc(").operations > 3
    assert line_of(found, "flatten").where == "program"
    assert not any(line.operations for line in d2s.explain(branch).functions[0].lines)
