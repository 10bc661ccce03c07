"""The public names: every way to use them (rules G1 to G4, E2)."""

from __future__ import annotations

import copy
import dataclasses
import functools
import gc
import inspect
import sys
import textwrap
import threading
import types
import weakref
from collections import namedtuple

import numpy as np
import paddle
import pytest

import d2s
from tests.helpers import assert_same, function_of, tensor
from tests.processes import python

PLUS, MINUS = tensor(1.0, 2.0), tensor(-1.0, -2.0)
SPEC = paddle.static.InputSpec([None, 3], "float32", "x")


def branchy(x, scale=2.0):
    """Twice, or the opposite."""
    if x.sum() > 0:
        return x * scale
    return -x


class Net(paddle.nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.linear = paddle.nn.Linear(3, 4)
        self.dropout = paddle.nn.Dropout(0.5)
        self.norm = paddle.nn.BatchNorm1D(4)

    def forward(self, x):
        y = self.norm(self.linear(x))
        if y.mean() > -100:
            y = paddle.nn.functional.relu(y)
        for _ in range(2):
            y = y * 0.9
        return self.dropout(y)


class Small(paddle.nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.linear = paddle.nn.Linear(3, 1)

    def forward(self, x):
        y = self.linear(x)
        if y.sum() > 0:
            y = y * 2
        return y


# -- the forms of to_static ----------------------------------------------------------------------


def test_as_decorator() -> None:
    """G1: bare, with arguments, called on a function."""

    @d2s.to_static
    def bare(x):
        return x if x.sum() > 0 else -x

    @d2s.to_static(input_spec=[paddle.static.InputSpec([None], "float32")])
    def with_arguments(x):
        return x if x.sum() > 0 else -x

    for form in (bare, with_arguments, d2s.to_static(branchy)):
        assert form(MINUS).tolist() == [1.0, 2.0]


def test_options_of_paddle_are_accepted() -> None:
    """G3."""
    static = d2s.to_static(branchy, full_graph=True, backend=None, build_strategy=None)
    assert static(MINUS).tolist() == [1.0, 2.0]


def test_the_signature_is_kept() -> None:
    """G1."""
    static = d2s.to_static(branchy)
    assert static.__name__ == "branchy"
    assert static.__doc__ == branchy.__doc__
    assert inspect.signature(static) == inspect.signature(branchy)
    assert static.__wrapped__ is branchy


def test_a_layer_is_returned_itself() -> None:
    """G1."""
    layer = Small()
    assert d2s.to_static(layer) is layer
    assert d2s.to_static(layer) is layer
    x = paddle.ones([2, 3])
    assert_same(type(layer).forward.__get__(layer), x, static=layer)


class Kinds:
    k = 3.0

    @d2s.to_static
    def method(self, x):
        return x * self.k if x.sum() > 0 else x

    @d2s.to_static
    @classmethod
    def make(cls, x):
        return x * cls.k if x.sum() > 0 else x

    @classmethod
    @d2s.to_static
    def make_inside(cls, x):
        return x * cls.k if x.sum() > 0 else x

    @staticmethod
    @d2s.to_static
    def plain(x):
        return -x if x.sum() > 0 else x

    @d2s.to_static
    @staticmethod
    def plain_outside(x):
        return -x if x.sum() > 0 else x


class Heir(Kinds):
    k = 5.0


@pytest.mark.row(93)
def test_methods_class_methods_and_static_methods() -> None:
    """G1: each instance and class has its own."""
    for owner, k in ((Kinds(), 3.0), (Heir(), 5.0), (Kinds(), 3.0)):
        for name in ("method", "make", "make_inside"):
            assert getattr(owner, name)(PLUS).tolist() == [k, 2 * k], name
            assert getattr(owner, name)(MINUS).tolist() == [-1.0, -2.0], name
        for name in ("plain", "plain_outside"):
            assert getattr(owner, name)(PLUS).tolist() == [-1.0, -2.0], name
            assert getattr(type(owner), name)(PLUS).tolist() == [-1.0, -2.0], name


def test_an_instance_is_not_kept_alive() -> None:
    """G1: no leak through the cache."""
    import gc
    import weakref

    thing = Kinds()
    thing.method(PLUS)
    ref = weakref.ref(thing)
    del thing
    gc.collect()
    assert ref() is None


Pair = namedtuple("Pair", "a b")


@dataclasses.dataclass
class Box:
    a: object
    n: int = 1


@pytest.mark.row(91, 92)
def test_ways_to_pass_arguments() -> None:
    """G1: positional, keyword, default, ``*args``, ``**kwargs``, structures in and out."""

    def f(x, k=2.0, *rest, flag=False, **more):
        y = x * k
        for item in rest:
            y = y + item
        if flag:
            y = -y
        for key in sorted(more):
            y = y + more[key] * len(key)
        return {"y": y, "all": (rest, more)}

    static = d2s.to_static(f)
    calls = [
        ((PLUS,), {}),
        ((PLUS, 3.0), {}),
        ((), {"x": PLUS, "k": 1.5}),
        ((PLUS, 1.0, MINUS, PLUS), {"flag": True, "ab": PLUS, "c": 2.0}),
    ]
    for args, kwargs in calls:
        assert_same(
            functools.partial(f, *args, **kwargs),
            (),
            static=functools.partial(static, *args, **kwargs),
        )


@pytest.mark.row(123)
def test_structures_in_and_out() -> None:
    """G1: nested containers, dataclasses, namedtuples."""

    def f(tree):
        return Pair(
            tree["pair"].a + tree["box"].a * tree["box"].n, [tree["list"][0], (tree["box"],)]
        )

    tree = {"pair": Pair(PLUS, 1), "box": Box(MINUS, 3), "list": [PLUS, "text"]}
    assert_same(f, (tree,), grad=False)


@pytest.mark.row(123)
def test_numpy_arrays() -> None:
    """G1: arrays of NumPy are arrays of the run."""
    static = d2s.to_static(branchy)
    assert static(np.array([1.0, 2.0], "float32")).tolist() == [2.0, 4.0]
    assert static(np.array([1.0, 2.0], "float32"), 3.0).tolist() == [3.0, 6.0]


# -- programs ------------------------------------------------------------------------------------


@pytest.mark.row(111)
def test_a_program_is_reused() -> None:
    """G2: the same kind of call runs the same program."""
    static = d2s.to_static(branchy)
    for x in (PLUS, MINUS, PLUS * 5):
        static(x)
    (program,) = static.programs
    assert (program.reason, program.runs) == ("first call", 3)
    assert program.inputs == ("x: float32[2]",)
    assert program.operations > 0
    assert "first call" in repr(program)


@pytest.mark.parametrize(
    ("second", "reason"),
    [
        ((PLUS.astype("float64"),), "float64"),
        ((PLUS.reshape([1, 2]),), "shape"),
        ((PLUS, 3.0), "scale"),
    ],
)
@pytest.mark.row(111)
def test_another_kind_of_call_has_a_reason(second, reason: str) -> None:
    """G2."""
    static = d2s.to_static(branchy)
    static(PLUS)
    static(*second)
    assert len(static.programs) == 2
    assert reason in static.programs[-1].reason


@pytest.mark.row(111)
def test_grad_mode_and_stop_gradient_are_part_of_the_key() -> None:
    """G2."""
    static = d2s.to_static(branchy)
    x = tensor(1.0, 2.0)
    assert static(x).stop_gradient
    x.stop_gradient = False
    assert not static(x).stop_gradient
    with paddle.no_grad():
        assert static(x).stop_gradient


def test_what_a_program_shows() -> None:
    """G3: code, main_program, concrete_program, inputs, outputs."""
    static = d2s.to_static(branchy)
    static(PLUS)
    assert static.code == d2s.code(branchy) == d2s.code(static)
    assert "d2s.if_" in static.code
    assert isinstance(static.main_program, paddle.static.Program)
    assert static.concrete_program.main_program is static.main_program
    assert len(static.inputs) == 1
    assert len(static.outputs) == 1
    assert static.dygraph_function is branchy


def test_concrete_program_of_an_input_spec() -> None:
    """G3: without a call."""
    static = d2s.to_static(branchy, input_spec=[paddle.static.InputSpec([None], "float32")])
    assert len(static.concrete_program.inputs) == 1
    assert list(static.inputs[0].shape) == [-1]


def test_rollback() -> None:
    """G3: the layer's own method is back."""
    layer = d2s.to_static(Small())
    layer(paddle.ones([1, 3]))
    layer.forward.rollback()
    assert type(layer.forward) is types.MethodType
    assert layer.forward.__func__ is Small.forward
    assert d2s.to_static(branchy).rollback() is branchy


def test_clear_cache() -> None:
    """G2."""
    static = d2s.to_static(branchy)
    static(PLUS)
    d2s.clear_cache()
    assert static.programs == []
    assert static(MINUS).tolist() == [1.0, 2.0]


def test_enable_to_static() -> None:
    """G3: Paddle's switch."""
    static = d2s.to_static(branchy)
    paddle.jit.enable_to_static(False)
    try:
        assert static(MINUS).tolist() == [1.0, 2.0]
        assert static.programs == []
    finally:
        paddle.jit.enable_to_static(True)


# -- not converted -------------------------------------------------------------------------------


@pytest.mark.row(125)
def test_not_to_static() -> None:
    """E2."""

    @d2s.not_to_static
    def opaque(x):
        return sys._getframe().f_code

    def outer(x):
        return opaque(x)

    assert d2s.convert(outer)(1) is opaque.__code__


@pytest.mark.row(125)
def test_ignore_module(tmp_path, monkeypatch) -> None:
    """E2: functions of the module run as they are."""
    (tmp_path / "foreign.py").write_text(
        "import sys\ndef code(x):\n    return sys._getframe().f_code\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    import foreign

    def outer(x):
        return foreign.code(x)

    assert d2s.convert(outer)(1) is not foreign.code.__code__
    d2s.ignore_module(foreign)
    assert d2s.convert(outer)(1) is foreign.code.__code__


# -- save and load -------------------------------------------------------------------------------


@pytest.mark.parametrize("saver", [d2s.save, paddle.jit.save])
@pytest.mark.row(104)
def test_save_and_load(tmp_path, saver) -> None:
    """G3: our save and Paddle's; both sides of the branch are in the file."""
    layer = d2s.to_static(Small(), input_spec=[SPEC])
    layer.eval()
    path = str(tmp_path / "net")
    saver(layer, path)
    loaded = (d2s.load if saver is d2s.save else paddle.jit.load)(path)
    for rows in (1, 4):
        for sign in (1.0, -1.0):
            x = paddle.full([rows, 3], sign)
            assert loaded(x).numpy() == pytest.approx(layer(x).numpy(), rel=1e-5)


@pytest.mark.row(104)
def test_save_of_a_plain_layer_and_a_function(tmp_path) -> None:
    """G3: converted on the way."""
    d2s.save(Small(), str(tmp_path / "net"), input_spec=[SPEC])
    d2s.save(
        d2s.to_static(branchy), str(tmp_path / "f"),
        input_spec=[paddle.static.InputSpec([None], "float32")],
    )  # fmt: skip
    assert d2s.load(str(tmp_path / "f"))(MINUS).tolist() == [1.0, 2.0]
    assert d2s.load(str(tmp_path / "net"))(paddle.ones([2, 3])).shape == [2, 1]


@pytest.mark.row(104)
def test_save_after_a_call_needs_no_spec(tmp_path) -> None:
    """G3: the program of the last call is saved, as Paddle does."""
    layer = d2s.to_static(Small())
    x = paddle.ones([2, 3])
    want = layer(x).numpy()
    d2s.save(layer, str(tmp_path / "net"))
    assert d2s.load(str(tmp_path / "net"))(x).numpy() == pytest.approx(want, rel=1e-5)


@pytest.mark.row(117)
def test_the_inference_predictor_runs_the_file(tmp_path) -> None:
    """G3: in C++; effects are lowered."""

    class Checked(Small):
        def forward(self, x):
            assert x.shape[1] == 3
            y = super().forward(x)
            while y.sum() > 1:
                y = y / 2
            return y

    layer = d2s.to_static(Checked(), input_spec=[SPEC])
    layer.eval()
    path = str(tmp_path / "net")
    d2s.save(layer, path)
    x = np.full([2, 3], 3.0, "float32")
    script = f"""
        import numpy as np, paddle.inference as inference
        config = inference.Config({path + ".json"!r}, {path + ".pdiparams"!r})
        config.disable_glog_info()
        predictor = inference.create_predictor(config)
        handle = predictor.get_input_handle(predictor.get_input_names()[0])
        handle.copy_from_cpu(np.full([2, 3], 3.0, "float32"))
        predictor.run()
        name = predictor.get_output_names()[0]
        print("RESULT", predictor.get_output_handle(name).copy_to_cpu().tolist())
    """
    done = python("-c", textwrap.dedent(script))
    found = [line for line in done.stdout.splitlines() if line.startswith("RESULT")]
    assert found, done.stderr[-2000:]
    assert np.array(eval(found[0].removeprefix("RESULT"))) == pytest.approx(
        layer(paddle.to_tensor(x)).numpy(), rel=1e-5
    )


def test_an_argument_without_a_part_in_the_result_cannot_be_saved(tmp_path) -> None:
    """A coded error that names the argument, and no file."""
    spec = paddle.static.InputSpec([2], "float32")
    with pytest.raises(d2s.D2SError, match="'y'") as caught:
        d2s.save(lambda_with_two, str(tmp_path / "f"), input_spec=[spec, spec])
    assert caught.value.code == "D2S401"
    assert list(tmp_path.iterdir()) == []


def lambda_with_two(x, y):
    return x * 2


@pytest.mark.parametrize("text", ["x", "x.sum().item()", "sum(1 for v in (x, x) if v.sum() > 0)"])
def test_a_text_of_the_run_cannot_be_saved(tmp_path, text) -> None:
    """F1: what the text shows was an output of the program, in front of the tensor."""
    f = function_of(f"""
        def f(x):
            return f"{{{text}}}", x * 2
    """)
    with pytest.raises(d2s.D2SError, match="text that is made of tensors") as caught:
        d2s.save(f, str(tmp_path / "f"), input_spec=[paddle.static.InputSpec([2], "float32")])
    assert (caught.value.code, caught.value.line) == ("D2S401", 2)
    assert list(tmp_path.iterdir()) == []


def test_a_tensor_that_may_be_a_number_is_saved_as_one_output(tmp_path) -> None:
    """G3: whether it is a number was an output of its own."""
    f = function_of("""
        def f(x):
            total = x.sum()
            i = 0
            while x[i] > 0:
                total = 7
                i = i + 1
            return total, x * 2
    """)
    d2s.save(f, str(tmp_path / "f"), input_spec=[paddle.static.InputSpec([3], "float32")])
    loaded = d2s.load(str(tmp_path / "f"))
    for x in ([1.0, 1.0, -1.0], [-1.0, 1.0, 1.0]):
        want = f(paddle.to_tensor(x))
        got = loaded(paddle.to_tensor(x))
        assert len(got) == 2
        assert float(got[0]) == float(want[0])
        assert got[1].tolist() == want[1].tolist()


def test_different_structures_cannot_be_saved(tmp_path) -> None:
    """B6: a coded error that names both returns."""

    def f(x):
        if x.sum() > 0:
            return x
        return x, x

    with pytest.raises(d2s.D2SError) as caught:
        d2s.save(f, str(tmp_path / "f"), input_spec=[paddle.static.InputSpec([2], "float32")])
    assert caught.value.code == "D2S401"
    first = f.__code__.co_firstlineno
    assert str(first + 2) in str(caught.value)
    assert str(first + 3) in str(caught.value)


# -- training and the rest of the ecosystem ------------------------------------------------------


def twins(kind):
    paddle.seed(5)
    plain = kind()
    static = kind()
    static.set_state_dict(plain.state_dict())
    return plain, d2s.to_static(static)


def test_three_steps_of_training() -> None:
    """G3, C7, F3: an optimizer sees the same gradients, and buffers follow (no dropout here)."""
    plain, static = twins(Net)
    inputs = [paddle.rand([4, 3]) - 0.5 * i for i in range(3)]
    losses = []
    for net in (plain, static):
        net.dropout.p = 0.0
        optimizer = paddle.optimizer.Adam(0.05, parameters=net.parameters())
        seen = []
        for x in inputs:
            loss = (net(x) - 0.3).square().mean()
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            seen.append(float(loss))
        losses.append(seen)
    assert losses[1] == pytest.approx(losses[0], rel=1e-4)
    plain.eval()
    static.eval()
    assert static(inputs[0]).numpy() == pytest.approx(plain(inputs[0]).numpy(), rel=1e-3, abs=1e-5)


def test_training_without_randomness() -> None:
    """G3: losses equal step by step."""
    plain, static = twins(Small)
    losses = []
    for net in (plain, static):
        optimizer = paddle.optimizer.SGD(0.1, parameters=net.parameters())
        seen = []
        for k in (1.0, -2.0, 0.5):
            loss = (net(paddle.full([2, 3], k)) - 1).square().mean()
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            seen.append(float(loss))
        losses.append(seen)
    assert losses[1] == pytest.approx(losses[0], rel=1e-4)
    for (name, mine), (_, right) in zip(
        static.named_parameters(), plain.named_parameters(), strict=True
    ):
        assert mine.numpy() == pytest.approx(right.numpy(), rel=1e-4), name


@pytest.mark.row(99)
def test_train_and_eval_are_separate_programs() -> None:
    """F5, G2."""
    net = d2s.to_static(Net())
    x = paddle.ones([4, 3])
    net(x)
    net.eval()
    assert net(x).numpy() == pytest.approx(net(x).numpy())
    net.train()
    net(x)
    assert len(net.forward.programs) == 2


@pytest.mark.row(124)
def test_deepcopy() -> None:
    """G3: the copy has parameters of its own."""
    net = d2s.to_static(Small())
    x = paddle.ones([1, 3])
    before = net(x).tolist()
    twin = copy.deepcopy(net)
    assert twin(x).tolist() == before
    for parameter in twin.parameters():
        parameter.set_value(paddle.zeros_like(parameter))
    assert twin(x).tolist() == [[0.0]]
    assert net(x).tolist() == before


@pytest.mark.row(124)
def test_the_state_dict_is_the_layers_own() -> None:
    """G3."""
    net = Small()
    names = list(net.state_dict())
    d2s.to_static(net)
    net(paddle.ones([1, 3]))
    assert list(net.state_dict()) == names
    net.set_state_dict({name: paddle.zeros_like(v) for name, v in net.state_dict().items()})
    assert net(paddle.ones([1, 3])).tolist() == [[0.0]]


def test_hooks_run() -> None:
    """G3: hooks of the layer itself."""
    net = d2s.to_static(Small())
    seen = []
    net.register_forward_pre_hook(lambda layer, inputs: seen.append("before"))
    net.register_forward_post_hook(lambda layer, inputs, output: output * 0)
    assert net(paddle.ones([1, 3])).tolist() == [[0.0]]
    assert seen == ["before"]


@pytest.mark.row(125)
def test_a_converted_function_called_by_another() -> None:
    """G3: it becomes part of the caller's program."""
    inner = d2s.to_static(branchy)

    def outer(x):
        return inner(x) + inner(-x, scale=3.0)

    want = (branchy(PLUS) + branchy(-PLUS, scale=3.0)).tolist()
    assert d2s.to_static(outer)(PLUS).tolist() == want
    assert inner.programs == []


@pytest.mark.row(112)
def test_many_threads() -> None:
    """G4: one warm function and one cold one."""
    static = d2s.to_static(branchy)
    static(PLUS)
    wrong: list[object] = []

    def work(k: float) -> None:
        try:
            for _ in range(20):
                if static(PLUS * k).tolist() != (branchy(PLUS * k)).tolist():
                    wrong.append(k)
        except BaseException as error:
            wrong.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in (1.0, -1.0, 2.0, -3.0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_public_names_exist() -> None:
    """The public names, nothing else."""
    for name in d2s.__all__:
        assert getattr(d2s, name) is not None, name


def test_a_method_of_an_object_without_another_reference() -> None:
    """G1: ``Scaled().double(x)``; and the method keeps no object alive."""

    class Scaled:
        def __init__(self) -> None:
            self.factor = 2.0

        @d2s.to_static
        def double(self, x):
            return x * self.factor

    x = paddle.to_tensor([1.0])
    assert Scaled().double(x).tolist() == [2.0]
    kept = Scaled()
    kept.double(x)
    kept.double(x)
    assert len(kept.double.programs) == 1
    watched = weakref.ref(kept)
    del kept
    gc.collect()
    assert watched() is None
