"""The public names on what is converted already, by d2s or by Paddle; unusual forms of the rest."""

from __future__ import annotations

import contextlib
import functools
import gc
import io
import logging
import sys
from pathlib import Path
from typing import Any

import paddle
import pytest
from typer.testing import CliRunner

import d2s
from d2s import cli, config
from d2s.cli.bench import undecorated
from d2s.cli.dump import find
from d2s.cli.explain import explain
from d2s.errors import ArgumentsError, D2SError, SaveError, TargetError, UserCodeError
from tests.helpers import assert_same, function_of, tensor

PLUS, MINUS = tensor(1.0, 2.0), tensor(-1.0, -2.0)
SPEC = paddle.static.InputSpec([None], "float32", "x")


def branchy(x):
    if x.sum() > 0:
        return x * 2
    return -x


class Net(paddle.nn.Layer):
    def forward(self, x):
        return branchy(x) + 1


class Called:
    def __call__(self, x):
        return branchy(x) + 1

    @staticmethod
    def plain(x):
        return branchy(x) - 1


# -- what is converted already -------------------------------------------------------------------


def test_to_static_of_what_is_static() -> None:
    """G1, G3: it is the same; with options there is another, of the function as it was written."""
    static = d2s.to_static(branchy, input_spec=[SPEC])
    assert d2s.to_static(static) is static
    checked = d2s.to_static(static, check=True)
    assert checked is not static
    assert checked.dygraph_function is branchy
    assert [spec.shape for spec in checked.programs] == []
    assert_same(branchy, PLUS, MINUS, static=checked)
    assert checked.concrete_program.inputs[0].shape[0] == -1
    fixed = d2s.to_static(static, input_spec=[paddle.static.InputSpec([2], "float32", "x")])
    assert fixed.concrete_program.inputs[0].shape[0] == 2
    paddles = paddle.jit.to_static(branchy, full_graph=True)
    ours = d2s.to_static(paddles)
    assert ours.dygraph_function is branchy
    assert_same(branchy, PLUS, MINUS, static=ours)


def test_to_static_of_layers_that_are_static() -> None:
    """G1: a layer of ours with other options, and one that Paddle has converted."""
    ours = d2s.to_static(Net(), input_spec=[SPEC])
    before = ours.forward
    assert d2s.to_static(ours, check=True) is ours
    assert ours.forward is not before
    assert_same(Net(), PLUS, MINUS, static=ours)
    assert ours.forward.concrete_program.inputs[-1].shape[0] == -1
    paddles = paddle.jit.to_static(Net(), full_graph=True)
    assert d2s.to_static(paddles) is paddles
    assert_same(Net(), PLUS, MINUS, static=paddles)
    assert "d2s.if_" in d2s.code(branchy)


def test_convert_of_what_is_static() -> None:
    """A1: the rewritten function of what was given to ``to_static``."""
    assert d2s.convert(d2s.to_static(branchy))(MINUS).tolist() == [1.0, 2.0]


def test_the_code_of_what_wraps_a_function() -> None:
    """``d2s.code`` finds the plain function in all that ``to_static`` and ``convert`` take."""
    text = d2s.code(branchy)
    paddles = paddle.jit.to_static(branchy, full_graph=True)
    for wrapped in (d2s.to_static(branchy), paddles, functools.partial(branchy, PLUS)):
        assert d2s.code(wrapped) == text
    assert "branchy)(x) + 1" in d2s.code(Called())
    assert "branchy)(x) - 1" in d2s.code(vars(Called)["plain"])


def test_the_forms_of_a_dump() -> None:
    """``d2s.dump`` prints one of four forms; two at once are refused (D2S301)."""

    def dumped(**options: Any) -> str:
        out = io.StringIO()
        d2s.dump(branchy, file=out, **options)
        return out.getvalue()

    texts = [
        dumped(),
        dumped(side_by_side=True),
        dumped(passes=True),
        dumped(program=True, input_spec=[SPEC]),
    ]
    assert len(set(texts)) == 4
    assert all("d2s.if_" in text for text in texts[:3])
    assert "pd_op.if" in texts[3]
    with pytest.raises(ArgumentsError, match="more than one form") as caught:
        dumped(passes=True, program=True)
    assert caught.value.code == "D2S301"


def test_a_package_that_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """E2: the functions of its modules are called as they are."""
    folder = tmp_path / "rare_package"
    folder.mkdir()
    (folder / "__init__.py").write_text("", encoding="utf-8")
    (folder / "inner.py").write_text(
        "def decide(x):\n    return x * 2 if x.sum() > 0 else x\n", encoding="utf-8"
    )
    monkeypatch.syspath_prepend(tmp_path)
    import rare_package.inner  # type: ignore[import-not-found]

    def f(x):
        return rare_package.inner.decide(x)

    assert_same(f, PLUS, MINUS)
    d2s.ignore_module(rare_package)
    with pytest.raises(D2SError) as caught:
        d2s.to_static(f)(PLUS)
    assert caught.value.code == "D2S205"
    for name in ("rare_package", "rare_package.inner"):
        sys.modules.pop(name)


def test_a_path_that_names_no_file_is_refused(tmp_path: Path) -> None:
    """D2S401: Paddle's own reason is in the message."""
    static = d2s.to_static(branchy, input_spec=[SPEC])
    with pytest.raises(SaveError, match="Paddle cannot save this program") as caught:
        d2s.save(static, f"{tmp_path}/")
    assert caught.value.cure is not None
    assert isinstance(caught.value.__cause__, ValueError)


# -- conversions ---------------------------------------------------------------------------------


def test_a_function_whose_closure_is_not_complete_yet() -> None:
    """A4: a variable that is bound later is found when it is read."""

    def make() -> Any:
        def early(x):
            return late(x) if x.sum() > 0 else -x

        converted = d2s.convert(early)

        def late(x):
            return x * 3

        return early, converted

    early, converted = make()
    assert converted(PLUS).tolist() == early(PLUS).tolist() == [3.0, 6.0]
    assert_same(early, PLUS, MINUS)


def test_what_is_forgotten_is_converted_again() -> None:
    """G2: the code of a function may go before or after ``clear_cache``; a converted one stays."""

    def make() -> Any:
        return function_of("def f(x):\n    return x * 2 if x.sum() > 0 else -x\n")

    function = make()
    converted = d2s.convert(function)
    d2s.clear_cache()
    assert converted(MINUS).tolist() == [1.0, 2.0]
    del function, converted
    gc.collect()
    assert d2s.convert(make())(PLUS).tolist() == [2.0, 4.0]


def makes_managers(log):
    @contextlib.contextmanager
    def entered(x):
        log.append("in")
        try:
            yield x * 2
        finally:
            log.append("out")

    def use(x):
        with entered(x) as y:
            if y.sum() > 0:
                raise ValueError("on the run")
        return y

    return use


def test_a_manager_of_a_function_whose_conversion_was_forgotten() -> None:
    """F3: the generator is run as it is, or refused; never left half done."""
    for x in (PLUS, MINUS):
        wanted: list[str] = []
        want = _outcome(makes_managers(wanted), x)
        log: list[str] = []
        use = d2s.convert(makes_managers)(log)
        d2s.clear_cache()
        try:
            got = _outcome(d2s.to_static(use), x)
        except D2SError as error:
            assert error.code.startswith("D2S2")  # noqa: PT017
            continue
        assert (got, log) == (want, wanted)


def _outcome(function: Any, x: Any) -> Any:
    try:
        return function(x).tolist()
    except ValueError as error:
        if isinstance(error, D2SError):
            raise
        return str(error)


@contextlib.contextmanager
def noting():
    print("in")
    try:
        yield 2
    except ValueError as error:
        print(error)
    print("out")


def under(x, manager):
    y = x
    with manager as two:
        y = x * two
        if x.sum() > 0:
            raise ValueError("on the run")
        y = y + 1
    return y


def test_a_manager_that_was_made_outside(capfd: Any) -> None:
    """F3: a generator that has not begun is cut as one that the function makes itself."""
    for x in (PLUS, MINUS):
        seen = []
        for function in (under, d2s.to_static(under)):
            seen.append((function(x, noting()).tolist(), capfd.readouterr().out))
        assert seen[0] == seen[1]


def test_managers_without_source_text() -> None:
    """D2S101: a generator that ``exec`` has made cannot be converted; made outside, it cannot be
    cut, and what only the run raises in it is refused.
    """
    scope: dict[str, Any] = {"contextlib": contextlib, "__name__": "made"}
    exec(
        "@contextlib.contextmanager\ndef entered(log):\n    log.append(1)\n    yield 2\n"
        "    log.append(3)\n",
        scope,
    )
    entered = scope["entered"]
    log: list[int] = []
    assert under(MINUS, entered(log)).tolist() == [-1.0, -3.0]
    assert log == [1, 3]
    with pytest.raises(D2SError) as caught:
        d2s.to_static(lambda x: under(x, entered([])))(MINUS)
    assert caught.value.code == "D2S101"
    with pytest.raises(D2SError) as caught:
        d2s.to_static(under)(MINUS, entered([]))
    assert caught.value.code == "D2S205"


# -- the command line ----------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_modules_that_raise_when_they_are_imported(folder: Path) -> None:
    """D2S502: the line is that of the module; what d2s raises there stays as it is."""
    (folder / "rare_raises.py").write_text("x = 1\ny = x / 0\n", encoding="utf-8")
    (folder / "rare_lacks.py").write_text("import rare_nowhere\n", encoding="utf-8")
    (folder / "rare_ours.py").write_text(
        "import d2s\nd2s.to_static(full_graph=3)(len)\n", encoding="utf-8"
    )
    (folder / "rare_stops.py").write_text("raise KeyboardInterrupt\n", encoding="utf-8")
    for name, line in (("rare_raises", 2), ("rare_lacks", 1)):
        with pytest.raises(UserCodeError) as caught:
            find(f"{name}:f")
        assert (caught.value.code, caught.value.line) == ("D2S502", line)
    with pytest.raises(ArgumentsError, match="full_graph"):
        find("rare_ours:f")
    with pytest.raises(KeyboardInterrupt):
        find("rare_stops:f")


def test_names_in_places_without_functions(folder: Path) -> None:
    """D2S501: the cure names no function where there is none."""
    (folder / "rare_values.py").write_text("limit = 3\n\n\nclass Held:\n    size = 1\n")
    (folder / "rare_comment.py").write_text("# nothing yet\n", encoding="utf-8")
    for target in ("rare_values.py:zzz", "rare_values.py:Held.zzz", "rare_comment.py:zzz"):
        with pytest.raises(TargetError) as caught:
            find(target)
        assert caught.value.code == "D2S501"
        assert caught.value.cure == "name a function that is defined there"


TESTED = """
import itertools

import paddle

import d2s

clock = itertools.count()


@d2s.not_to_static
def now():
    return float(next(clock))


def unsteady(x: paddle.Tensor, raw: bool):
    return x * now()


def some(x: paddle.Tensor, raw: bool):
    if raw:
        raise ValueError("no")
    return x


def wrong(x: paddle.Tensor, name: str):
    return x if paddle.in_dynamic_mode() else x + 1
"""


def test_what_a_search_says_of_calls_that_are_not_like_the_others(folder: Path) -> None:
    """``d2s test`` tells what it has not compared, and shows values that are no tensors."""
    (folder / "rare_tested.py").write_text(TESTED, encoding="utf-8")

    def run(name: str) -> tuple[int, str]:
        command = ["test", f"rare_tested.py:{name}", "--examples", "12"]
        result = CliRunner().invoke(cli.app, command)
        assert not isinstance(result.exception, D2SError), result.exception
        return result.exit_code, result.output

    code, text = run("unsteady")
    assert code == 0, text
    assert "dygraph itself differs from one call to the next in result" in text
    code, text = run("some")
    assert code == 0, text
    assert "of them raise" in text
    code, text = run("wrong")
    assert code == 1, text
    assert text.endswith("  name = ''\n")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_an_explanation_in_a_terminal_is_laid_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """It holds what the plain text holds, without the signs of Markdown."""
    texts = []
    for out in (Terminal(), io.StringIO()):
        monkeypatch.setattr(sys, "stdout", out)
        explain("D2S204")
        texts.append(out.getvalue())
    monkeypatch.undo()
    assert texts[0] != texts[1]
    assert all("D2S204" in text for text in texts)


def test_a_layer_that_is_not_decorated_is_measured_as_it_is() -> None:
    """``d2s bench`` changes nothing of it."""
    layer = Net()
    layer.forward = branchy
    assert undecorated(layer) is layer
    assert layer.forward is branchy


# -- what d2s tells ------------------------------------------------------------------------------


def test_the_log_is_shown_where_nobody_has_set_up_logging(
    monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    """``D2S_LOG=1`` alone is enough to see each capture, once."""
    ours = logging.getLogger("d2s")
    monkeypatch.setattr(logging.getLogger(), "handlers", [])
    monkeypatch.setattr(ours, "handlers", [])
    monkeypatch.setattr(ours, "level", ours.level)
    monkeypatch.setattr(ours, "propagate", True)
    with config.options(log=True):
        static = d2s.to_static(branchy)
        static(PLUS)
        static(tensor(1.0, 2.0, 3.0))
    lines = [line for line in capsys.readouterr().err.splitlines() if "captured in" in line]
    assert len(lines) == 2
    assert all(line.startswith("d2s.capture: branchy (") for line in lines)
