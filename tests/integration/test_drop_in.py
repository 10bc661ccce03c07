"""d2s in the place of ``paddle.jit.to_static``: the public surface, with Paddle's real parts.

``SURFACE`` has a test for each row of the table in ``docs/guide/from-paddle-jit.md``.
"""

from __future__ import annotations

import contextlib
import copy
import importlib
import inspect
import logging
import multiprocessing
import pickle
import subprocess
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
import paddle
import pytest
from paddle.jit.dy2static.program_translator import StaticFunction as PaddlesFunction
from paddle.static import BuildStrategy, InputSpec

import d2s
from d2s.errors import (
    ArgumentsError,
    IgnoredOptionWarning,
    InputSpecError,
    NotAFunctionError,
    NotCapturedError,
    SaveError,
)

GUIDE: Final = Path(__file__).parents[2] / "docs/guide/from-paddle-jit.md"
X = paddle.to_tensor([[1.0, -2.0, 3.0, 4.0], [0.5, 0.25, 1.0, 2.0]])


class Net(paddle.nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.fc = paddle.nn.Linear(4, 3)

    def forward(self, x, scale=1.0):
        if x.sum() > 0:
            return self.fc(x) * scale
        return self.fc(x) * 2


class Decorated(Net):
    @d2s.to_static
    def forward(self, x, scale=1.0):
        if x.sum() > 0:
            return self.fc(x) * scale
        return self.fc(x) * 2


class Several(Net):
    @d2s.to_static(input_spec=[InputSpec([None, 4], name="x")])
    def forward(self, x):
        return self.fc(x)

    @d2s.to_static(input_spec=[InputSpec([None, 4], name="x"), InputSpec([None, 3], name="y")])
    def loss(self, x, y):
        return ((self.fc(x) - y) ** 2).mean()

    @d2s.to_static(property=True)
    def version(self):
        return 7


class Two(Net):
    def forward(self, x):
        first = self.fc(x)
        return first, first * 2


class WithLabel(Net):
    def forward(self, x, label):
        out = self.fc(x)
        return out, (out - label).mean()


def plain(x):
    if x.sum() > 0:
        return x * 2
    return x - 1


@d2s.to_static
def decorated(x):
    if x.sum() > 0:
        return x * 2
    return x - 1


def converted(kind: type = Net, **options: Any) -> Any:
    """A converted layer that has been called once."""
    net = d2s.to_static(kind(), **options)
    net(X)
    return net


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """No warning of d2s."""
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=r".*D2S\d{3}")
        yield


# -- options of to_static ------------------------------------------------------------------------


def test_input_spec() -> None:
    net = d2s.to_static(Net(), input_spec=[InputSpec([None, 4])])
    assert net(X[:1]).shape == [1, 3]
    assert net(X).shape == [2, 3]
    assert net.forward.get_traced_count() == 1


def test_build_strategy() -> None:
    """G3: one as it is by default is what d2s does; what else it asks for is named, once."""
    with quiet():
        assert d2s.to_static(plain, build_strategy=BuildStrategy())(X).shape == [2, 4]
    strategy = BuildStrategy()
    strategy.build_cinn_pass = True
    with pytest.warns(IgnoredOptionWarning, match=r"build_strategy \(build_cinn_pass\)") as told:
        d2s.to_static(plain, None, strategy)(X)
    assert len(told) == 1
    assert told[0].filename == __file__
    with pytest.raises(TypeError, match=r"build_strategy=3") as failure:
        d2s.to_static(plain, build_strategy=3)
    assert isinstance(failure.value, ArgumentsError)


def test_backend() -> None:
    """G3: the same results, one warning; by position, too."""
    with pytest.warns(IgnoredOptionWarning, match="backend='CINN'") as told:
        static = d2s.to_static(plain, None, None, "CINN")
    assert len(told) == 1
    with quiet():
        assert np.array_equal(static(X), plain(X))
        d2s.to_static(plain, backend=None)
    with pytest.raises(ArgumentsError, match="backend='TVM'"):
        d2s.to_static(plain, backend="TVM")


def test_both_are_one_warning() -> None:
    strategy = BuildStrategy()
    strategy.fuse_bn_act_ops = True
    with pytest.warns(IgnoredOptionWarning, match="fuse_bn_act_ops.*and backend") as told:
        d2s.to_static(build_strategy=strategy, backend="CINN")(plain)
    assert len(told) == 1


def test_full_graph() -> None:
    for whole in (True, False, None):
        assert np.array_equal(d2s.to_static(plain, full_graph=whole)(X), plain(X))


def test_property(tmp_path) -> None:
    """G3: the function runs as it is, and its value is saved with the layer."""
    net = Several()
    assert net.version() == 7
    assert net.version.is_property
    assert not net.forward.is_property
    with pytest.raises(RuntimeError, match="property"):
        _ = net.version.concrete_program
    paddle.jit.save(net, str(tmp_path / "net"))
    loaded = paddle.jit.load(str(tmp_path / "net"))
    assert np.allclose(loaded(X), net(X))


# -- the module ----------------------------------------------------------------------------------


@paddle.jit.not_to_static
def left_by_paddle(x):
    return paddle.to_tensor(sys._getframe().f_code.co_filename == __file__) * (x + 1)


@d2s.not_to_static()
def left_by_d2s(x):
    return paddle.to_tensor(sys._getframe().f_code.co_filename == __file__) * (x + 1)


def decides(x):
    if x.sum() > 0:
        return x * 2
    return x


@pytest.mark.parametrize("mark", [paddle.jit.not_to_static, d2s.not_to_static, d2s.not_to_static()])
def test_not_to_static(mark: Callable[..., Any]) -> None:
    """With parentheses or without, d2s's or Paddle's: the function is called as it is written."""
    left = mark(types.FunctionType(decides.__code__, globals()))

    def calls(x):
        return left(x) + 1

    assert np.array_equal(d2s.to_static(calls, full_graph=False)(X), decides(X) + 1)
    with pytest.raises(d2s.D2SError, match="code that stays Python"):
        d2s.to_static(calls, full_graph=True)(X)
    for function in (left_by_d2s, left_by_paddle):
        assert np.array_equal(d2s.to_static(function)(X), X + 1)


@pytest.mark.parametrize("ignore", [paddle.jit.ignore_module, d2s.ignore_module])
def test_ignore_module(ignore: Callable[..., Any], tmp_path, monkeypatch) -> None:
    """Called before or after a function of the module is known; submodules are meant, too."""
    name = f"ignored_{ignore.__module__.partition('.')[0]}"
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").write_text(f"from {name}.inner import decides\n")
    (tmp_path / name / "inner.py").write_text(inspect.getsource(decides))
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module(name)

    def calls(x):
        return module.decides(x) + 1

    assert np.array_equal(d2s.to_static(calls, full_graph=True)(X), decides(X) + 1)
    ignore([module])
    assert np.array_equal(d2s.to_static(calls, full_graph=False)(X), decides(X) + 1)
    with pytest.raises(d2s.D2SError, match="code that stays Python"):
        d2s.to_static(lambda x: module.decides(x) + 1, full_graph=True)(X)


def test_enable_to_static(tmp_path) -> None:
    net = d2s.to_static(Net())
    paddle.jit.enable_to_static(False)
    try:
        before = net(X)
        with pytest.raises(d2s.D2SError, match=r"enable_to_static\(False\) is in force"):
            d2s.save(net, str(tmp_path / "net"), [paddle.static.InputSpec([2, 4])])
    finally:
        paddle.jit.enable_to_static(True)
    assert net.forward.get_traced_count() == 0
    assert np.allclose(before, net(X))
    assert net.forward.get_traced_count() == 1


def test_set_code_level(caplog, capsys) -> None:
    """The code that d2s makes of a function is logged with its first program, once."""
    from paddle.jit.dy2static.logging_utils import _TRANSLATOR_LOGGER as log

    paddle.jit.set_code_level(100, also_to_stdout=True)
    log.logger.addHandler(caplog.handler)
    try:
        static = d2s.to_static(plain)
        static(X)
        static(X.astype("float64"))
    finally:
        log.logger.removeHandler(caplog.handler)
        paddle.jit.set_code_level(-1)
    assert capsys.readouterr().out.count("d2s.if_") == 1
    assert caplog.text.count("The converted code of plain") == 1
    d2s.to_static(plain)(X)
    assert "converted code" not in capsys.readouterr().out


def test_set_verbosity(capsys) -> None:
    """Paddle's own echo of a program fails on the ``%`` in it; a call does not."""
    paddle.jit.set_verbosity(3, also_to_stdout=True)
    try:
        with quiet():
            assert np.array_equal(d2s.to_static(plain, full_graph=True)(X), plain(X))
    finally:
        paddle.jit.set_verbosity(0)
        logging.getLogger().setLevel(logging.WARNING)


def test_save_and_load(tmp_path) -> None:
    """Several methods, by either ``save``, loaded by either ``load``."""
    net = Several()
    y = paddle.ones([2, 3])
    for save in (paddle.jit.save, d2s.save):
        for load in (paddle.jit.load, d2s.load):
            save(net, str(tmp_path / "net"))
            loaded = load(str(tmp_path / "net"))
            assert np.allclose(loaded(X), net(X))
            assert np.allclose(loaded.loss(X, y), net.loss(X, y))


@pytest.mark.parametrize(
    "options",
    [
        {"clip_extra": True},
        {"skip_prune_program": True},
        {"skip_prune_program": False},
        {"combine_params": True},
        {"with_hook": True},
    ],
    ids=lambda options: next(iter(options)),
)
def test_options_of_save(tmp_path, options) -> None:
    net = Several()
    paddle.jit.save(net, str(tmp_path / "net"), **options)
    if "combine_params" not in options:
        assert np.allclose(paddle.jit.load(str(tmp_path / "net"))(X), net(X))
    assert (tmp_path / "net.json").exists()


def test_separate_parameters(tmp_path) -> None:
    net = converted()
    paddle.jit.save(
        net, str(tmp_path / "net"), input_spec=[InputSpec([None, 4])], separate_parameters=True
    )
    files = {path.name for path in tmp_path.iterdir()}
    assert {parameter.name for parameter in net.parameters()} <= files


def test_skip_forward(tmp_path) -> None:
    class Odd(Net):
        @d2s.to_static(input_spec=[InputSpec([None, 4])])
        def encode(self, x):
            return self.fc(x)

    paddle.jit.save(Odd(), str(tmp_path / "net"), skip_forward=True)
    assert (tmp_path / "net.encode.json").exists()
    assert not (tmp_path / "net.json").exists()


def test_hooks_are_saved(tmp_path) -> None:
    """Those of the outermost layer, before and after its ``forward``, as Paddle saves them."""
    net = Net()
    net.register_forward_pre_hook(lambda layer, given: (given[0] + 1,))
    net.register_forward_post_hook(lambda layer, given, result: result * 10)
    d2s.to_static(net)
    path = str(tmp_path / "net")
    paddle.jit.save(net, path, input_spec=[InputSpec([None, 4])])
    assert np.allclose(paddle.jit.load(path)(X), net(X))


@pytest.mark.parametrize("way", ["value", "position", "of a spec"])
def test_output_spec(tmp_path, way) -> None:
    spec = [InputSpec([None, 4])]
    net = d2s.to_static(Two(), input_spec=spec) if way == "of a spec" else converted(Two)
    wanted = [1] if way == "position" else [net.forward.outputs[1]]
    d2s.save(net, tmp_path / "net", input_spec=spec, output_spec=wanted)
    assert np.allclose(d2s.load(tmp_path / "net")(X), net(X)[1])


def test_output_spec_of_everything_and_of_nothing_known(tmp_path) -> None:
    spec = [InputSpec([None, 4])]
    net = converted(Two)
    first, second = net.forward.outputs
    d2s.save(net, tmp_path / "net", input_spec=spec, output_spec=[first, second])
    assert np.allclose(d2s.load(tmp_path / "net")(X)[1], net(X)[1])
    for wrong in ([second, first], [X], [1, 0]):
        with pytest.raises(SaveError, match="output_spec"):
            d2s.save(net, tmp_path / "net", input_spec=spec, output_spec=wrong)


def test_a_loaded_layer_is_trained_on(tmp_path) -> None:
    """The curve goes on as that of the layer that was saved."""
    net = converted()
    d2s.save(net, tmp_path / "net", input_spec=[InputSpec([None, 4])])
    loaded = d2s.load(tmp_path / "net")
    loaded.train()
    curves = []
    for layer in (loaded, net):
        sgd = paddle.optimizer.Adam(0.1, parameters=layer.parameters())
        curve = []
        for _ in range(5):
            loss = (layer(X) ** 2).mean()
            loss.backward()
            sgd.step()
            sgd.clear_grad()
            curve.append(loss.item())
        curves.append(curve)
    assert np.allclose(*curves)
    assert curves[0][-1] < curves[0][0]
    d2s.save(loaded, tmp_path / "again", input_spec=[InputSpec([None, 4])])
    assert np.allclose(d2s.load(tmp_path / "again")(X), loaded(X))
    assert type(loaded.program()).__name__ == "Program"


# -- a converted function ------------------------------------------------------------------------


def test_concrete_program() -> None:
    net = converted()
    concrete = net.forward.concrete_program
    assert concrete.main_program is net.forward.main_program
    assert concrete.inputs[0] is net
    assert len(concrete.outputs) == 1
    assert {each.name for each in concrete.parameters[0]} == {p.name for p in net.parameters()}
    fresh = d2s.to_static(Net())
    with pytest.raises(NotCapturedError) as failure:
        _ = fresh.forward.concrete_program
    assert isinstance(failure.value, ValueError)  # Paddle's


def test_concrete_program_specify_input_spec() -> None:
    """G3: the function's own ``input_spec`` counts; another one must fit it."""
    given = [InputSpec([None, 4])]
    layer = d2s.to_static(Net())
    free = layer.forward.concrete_program_specify_input_spec(given)
    assert list(free.inputs[1].shape) == [-1, 4]
    net = Several()
    bound = net.forward
    fitting = bound.concrete_program_specify_input_spec([InputSpec([2, 4], name="x")])
    assert list(fitting.inputs[1].shape) == [-1, 4]
    with pytest.raises(InputSpecError) as failure:
        bound.concrete_program_specify_input_spec([InputSpec([None, 4, 4], name="x")])
    assert isinstance(failure.value, ValueError)


def test_get_concrete_program() -> None:
    net = converted()
    concrete, layer = net.forward.get_concrete_program(X)
    assert len(concrete.outputs) == 1
    assert np.allclose(layer([X]), net(X))
    concrete, _ = net.forward.get_concrete_program(InputSpec([None, 4]))
    assert list(concrete.inputs[1].shape) == [-1, 4]


def test_program_cache() -> None:
    net = converted()
    net(X.reshape([2, 1, 4]))
    cache = net.forward.program_cache
    assert len(cache) == net.forward.get_traced_count() == 2
    key, (concrete, layer) = cache.last()
    assert key in cache
    assert concrete.main_program is net.forward.main_program
    assert np.allclose(layer([X.reshape([2, 1, 4])]), net(X.reshape([2, 1, 4])))
    assert [each.main_program for each in cache.concrete_programs()][1] is concrete.main_program


@pytest.mark.parametrize("convert", [partial(paddle.jit.to_static, full_graph=True), d2s.to_static])
def test_a_program_cache_is_emptied(convert: Any) -> None:
    """As in Paddle: the programs are dropped, and an empty cache has no last one."""
    static = convert(plain)
    with pytest.raises(AssertionError, match="No valid cached program in ProgramCache"):
        static.program_cache.last()
    static(X)
    static.program_cache.clear()
    assert len(static.program_cache) == static.get_traced_count() == 0
    assert np.allclose(static(X), plain(X))
    assert static.get_traced_count() == 1


def test_a_method_without_its_layer() -> None:
    """As in Paddle, a layer does not keep itself alive; calling what is left of it says so."""
    forward = d2s.to_static(Net()).forward
    with pytest.raises(NotAFunctionError, match="has been deleted"):
        forward(X)


def test_rollback() -> None:
    net = converted()
    assert net.forward.rollback() == net.forward
    assert type(net.forward).__name__ == "method"
    assert d2s.to_static(plain).rollback() is plain


def test_code_and_programs() -> None:
    net = converted()
    forward = net.forward
    assert "d2s.if_" in forward.code
    assert len(forward.programs) == 1
    assert type(forward.main_program).__name__ == "Program"


def test_inputs_outputs_and_parameters() -> None:
    net = converted()
    assert [list(each.shape) for each in net.forward.inputs] == [[2, 4]]
    assert [list(each.shape) for each in net.forward.outputs] == [[2, 3]]
    assert len(net.forward.concrete_program.parameters[0]) == 2


def test_function_spec_and_instance() -> None:
    net = Several()
    assert net.forward.function_spec.args_name == ["x"]
    assert len(net.forward.function_spec.input_spec) == 1
    assert net.forward.class_instance is net
    assert net.forward.dygraph_function(X).shape == [2, 3]


def test_train_and_eval() -> None:
    static = d2s.to_static(lambda x: paddle.nn.functional.dropout(x, 0.5))
    static.eval()
    static.train()
    assert static._training


def test_signature() -> None:
    """``inspect`` sees what a caller passes."""
    assert list(inspect.signature(converted().forward).parameters) == ["x", "scale"]
    assert list(inspect.signature(Decorated().forward).parameters) == ["x", "scale"]
    assert list(inspect.signature(Decorated.forward).parameters) == ["self", "x", "scale"]
    assert inspect.signature(decorated) == inspect.signature(plain)
    net = Decorated()
    assert inspect.getfullargspec(net.forward).args == ["self", "x", "scale"]  # as of a method
    assert inspect.getfullargspec(decorated).args == ["x"]


def test_deepcopy_is_converted_too() -> None:
    """The copy has its own parameters, and programs of its own; ``rollback`` makes it plain."""
    for net in (converted(), Decorated()):
        twin = copy.deepcopy(net)
        assert isinstance(twin.forward, PaddlesFunction)
        before = net(X)
        twin.fc.weight.set_value(paddle.zeros([4, 3]))
        assert np.allclose(net(X), before)
        assert np.allclose(twin(X), twin.forward.dygraph_function(X))


def called(function: Callable[..., Any], given: Any) -> Any:
    return function(paddle.to_tensor(given)).numpy()


def test_pickle_of_a_function() -> None:
    """By reference, as Python's functions are."""
    assert pickle.loads(pickle.dumps(decorated)) is decorated
    loaded = pickle.loads(pickle.dumps(d2s.to_static(plain, full_graph=True)))
    assert isinstance(loaded, PaddlesFunction)
    assert np.array_equal(loaded(X), plain(X))
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(d2s.to_static(lambda x: x))


@pytest.mark.parametrize("kind", [Net, Decorated, Several])
def test_pickle_of_a_layer(kind) -> None:
    """Converted again where it is loaded, with its own parameters."""
    net = kind() if kind is Several else converted(kind)
    loaded = pickle.loads(pickle.dumps(net))
    assert isinstance(loaded.forward, PaddlesFunction)
    assert np.allclose(loaded(X), net(X))
    loaded.fc.weight.set_value(paddle.zeros([4, 3]))
    assert np.allclose(loaded(X), loaded.forward.dygraph_function(X))
    method = pickle.loads(pickle.dumps(net.forward))
    assert np.allclose(method(X), net(X))


@pytest.mark.slow
def test_spawned_processes() -> None:
    net = Decorated()
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        for function in (decorated, net, d2s.to_static(plain)):
            assert np.allclose(pool.apply(called, (function, X.numpy())), function(X))


SENT = """
import sys
import cloudpickle, paddle, d2s

@d2s.to_static(full_graph=True)
def halved(x):
    while x.max() > 1:
        x = x / 2
    return x

class Net(paddle.nn.Layer):
    def __init__(self):
        super().__init__()
        self.fc = paddle.nn.Linear(4, 3)

    @d2s.to_static(full_graph=True)
    def forward(self, x):
        return halved(self.fc(x)) if x.sum() > 0 else x

net = Net()
net.eval()
x = paddle.ones([2, 4])
given = halved, net, net.forward, d2s.to_static(lambda x: x * 2, full_graph=True), x.numpy()
results = [function(x).numpy() for function in given[:4]]
sys.stdout.buffer.write(cloudpickle.dumps((*given, results)))
"""
LOADED = """
import pickle, sys
import numpy as np, paddle

*functions, x, results = pickle.load(sys.stdin.buffer)
for function, expected in zip(functions, results, strict=True):
    assert np.array_equal(function(paddle.to_tensor(x)), expected)
    print(len(getattr(function, "forward", function).programs))
"""


@pytest.mark.slow
def test_workers_of_ray(tmp_path) -> None:
    """Functions and layers of a script, sent as cloudpickle sends them, are converted there."""
    script = tmp_path / "script.py"
    script.write_text(SENT)
    sent = subprocess.run([sys.executable, script], capture_output=True, check=True, timeout=240)
    loaded = subprocess.run(
        [sys.executable, "-c", LOADED], input=sent.stdout, capture_output=True, check=False,
        timeout=240,
    )  # fmt: skip
    assert loaded.returncode == 0, loaded.stderr.decode()[-2000:]
    assert loaded.stdout.split() == [b"1", b"1", b"1", b"1"]


def test_converted_by_paddle_before_or_after() -> None:
    """Whoever comes last converts the function as it was written."""
    assert np.array_equal(d2s.to_static(paddle.jit.to_static(plain))(X), plain(X))
    assert np.array_equal(d2s.to_static(paddle.jit.to_static(plain, full_graph=True))(X), plain(X))
    again = paddle.jit.to_static(decorated, full_graph=True)
    assert again.dygraph_function is decorated.dygraph_function


# -- the table of the guide ----------------------------------------------------------------------


def test_the_table_names_the_whole_surface() -> None:
    """What Paddle adds to its public surface has to get a row, and a test."""
    text = GUIDE.read_text(encoding="utf-8")
    names = set(paddle.jit.__all__) - {"TranslatedLayer"}
    names |= {name for name in dir(PaddlesFunction) if not name.startswith("_")}
    names |= {*inspect.signature(paddle.jit.to_static).parameters} - {"function", "kwargs"}
    names |= {"full_graph", "property"}
    rows = [line.split("|") for line in text.splitlines() if line.startswith("| `")]
    said = {word for row in rows for word in row[1].replace("`", " ").replace("(", " ").split()}
    assert sorted(name for name in names if name not in said) == []
    tests = {name for name in globals() if name.startswith("test_")}
    shown = {word.strip("` ") for row in rows for word in row[3].split(",")}
    assert shown <= tests
