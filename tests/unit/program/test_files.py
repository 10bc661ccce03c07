"""What cannot be saved, and the errors of what was loaded (rules B6, F1, G3)."""

from __future__ import annotations

import functools
import inspect
import re
from pathlib import Path
from typing import Any

import paddle
import pytest
from paddle.static import InputSpec

import d2s
from d2s.errors import (
    ArgumentsError,
    InputSpecError,
    LoadError,
    NotCapturedError,
    SaveError,
)
from d2s.program.dispatch.saving import LOADING, SAVING
from tests.helpers import tensor

X = tensor(1.0, 2.0, 3.0)


SPEC = [InputSpec([3], "float32")]


class Model(paddle.nn.Layer):
    def forward(self, x: Any) -> Any:
        return x * 2


class Ambiguous(paddle.nn.Layer):
    def forward(self, x: Any) -> Any:
        if x.sum() > 0:
            return x
        return x, x


class Checking(paddle.nn.Layer):
    def forward(self, x: Any) -> Any:
        assert x.sum() > 0
        return 3


@pytest.mark.parametrize(
    ("layer", "specs", "kind", "words"),
    [
        (Model, None, NotCapturedError, "no program yet"),
        (Model, SPEC * 2, InputSpecError, "does not fit"),
        (Checking, SPEC, SaveError, "returns no tensor"),
    ],
)
def test_what_cannot_be_saved(
    layer: Any, specs: Any, kind: type[Exception], words: str, tmp_path: Path
) -> None:
    """G3: no program, too many specs, no result."""
    options = {} if specs is None else {"input_spec": specs}
    with pytest.raises(kind, match=words):
        d2s.save(d2s.to_static(layer()), str(tmp_path / "model"), **options)


class Calling:
    def __call__(self, x: Any) -> Any:
        if x.sum() > 0:
            return x
        return x, x


def two_forms(k: Any, x: Any) -> Any:
    if x.sum() > 0:
        return x * k
    return x, x


@pytest.mark.parametrize(
    ("thing", "line"),
    [
        (Ambiguous(), Ambiguous.forward.__code__.co_firstlineno + 2),
        (functools.partial(two_forms, 2), two_forms.__code__.co_firstlineno + 2),
        (Calling(), Calling.__call__.__code__.co_firstlineno + 2),
        (Calling().__call__, Calling.__call__.__code__.co_firstlineno + 2),
    ],
)
def test_two_structures_are_refused_where_they_are_returned(
    thing: Any, line: int, tmp_path: Path
) -> None:
    """B6: the lines are found in a method, a partial function, and a callable object."""
    with pytest.raises(SaveError, match="different structure") as error:
        paddle.jit.save(d2s.to_static(thing), str(tmp_path / "model"), input_spec=SPEC)
    assert (error.value.file, error.value.line) == (__file__, line)


class Methods(paddle.nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", paddle.zeros([1]))

    def forward(self, x: Any, index: Any) -> Any:
        self.calls.add_(paddle.ones([1]))
        return paddle.gather(x, index) * self.calls

    def other(self, x: Any, index: Any) -> Any:
        return paddle.gather(x, index) * 3


def test_a_loaded_layer_has_its_methods_and_their_errors(tmp_path: Path) -> None:
    """F1: the same error in each, at the user's line, with Paddle's own on demand."""
    specs = [*SPEC, InputSpec([1], "int64")]
    layer = d2s.to_static(Methods(), input_spec=specs)
    layer.other = d2s.to_static(layer.other, input_spec=specs)
    paddle.jit.save(layer, str(tmp_path / "model"))
    loaded = d2s.load(str(tmp_path / "model"))
    good, bad = paddle.to_tensor([1]), paddle.to_tensor([9])
    assert loaded(X, good).tolist() == [2.0]
    assert loaded.other(X, good).tolist() == [6.0]
    with pytest.raises(IndexError) as want:
        paddle.gather(X, bad)
    first = str(want.value).splitlines()[0]
    for method in (loaded, loaded.other):
        for full in (False, True):
            with d2s.options(full_traceback=full), pytest.raises(IndexError) as error:
                method(X, bad)
            assert str(error.value).splitlines()[0] == first
            assert error.value.__cause__ is None or full


def at(folder: Path, name: str, text: str | None) -> str:
    """The path of a saved layer, one of whose files has another text, or is gone."""
    path = folder / "net"
    d2s.save(paddle.nn.Linear(3, 2), path, [InputSpec([None, 3], name="x")])
    if text is None:
        (folder / name).unlink()
    else:
        (folder / name).write_text(text)
    return str(path)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("net.json", None, "there is no saved program"),
        ("net.json", "{}", "Invalid model file"),
        ("net.json", "something else", "parse error"),
        ("net.pdiparams", None, "has lost its parameters"),
        ("net.pdiparams", "something else", "not a paddle model"),
    ],
)
def test_files_that_are_no_program(name: str, text: str | None, words: str, tmp_path: Path) -> None:
    """G3: what is wrong with a file is said, and that it is the file."""
    with pytest.raises(LoadError, match=words) as failure:
        d2s.load(at(tmp_path, name, text))
    assert failure.value.file == __file__


def test_files_under_other_names(tmp_path: Path) -> None:
    """G3: ``model_filename`` and ``params_filename``, as ``paddle.jit.load`` takes them."""
    path = at(tmp_path, "unused", "")
    (tmp_path / "net.pdiparams").rename(tmp_path / "weights")
    given = X.reshape([1, 3])
    (tmp_path / "net.json").rename(tmp_path / "program.json")
    names = {"model_filename": "program.json", "params_filename": "weights"}
    assert d2s.load(str(tmp_path), **names)(given).shape == [1, 2]  # type: ignore[arg-type]
    with pytest.raises(LoadError):
        d2s.load(path)


@pytest.mark.parametrize("where", ["file/net", "/proc/net"])
def test_a_place_that_takes_no_file(where: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SaveError, match="Cannot open") as failure:
        d2s.save(Model(), str(tmp_path / where), SPEC)
    assert "folder can be written to" in str(failure.value)


def test_options_of_files_that_there_are_not(tmp_path: Path) -> None:
    """G3: a mistake in a name, and a path that is none."""
    anything: Any = d2s
    with pytest.raises(ArgumentsError, match="save has no option 'outputspec'"):
        anything.save(Model(), str(tmp_path / "net"), SPEC, outputspec=[0])
    with pytest.raises(ArgumentsError, match="load has no option 'params'"):
        anything.load(at(tmp_path, "unused", ""), params="x")
    for call in (lambda: anything.save(Model(), 3, SPEC), lambda: anything.load(None)):
        with pytest.raises(ArgumentsError, match="the path is a value of type"):
            call()


def test_what_a_function_raises_while_it_is_saved(tmp_path: Path) -> None:
    """A1: it is no error of the file."""

    def failing(x):
        raise RuntimeError("of the user")

    with pytest.raises(RuntimeError, match="of the user") as failure:
        d2s.save(failing, str(tmp_path / "f"), SPEC)
    assert not isinstance(failure.value, SaveError)


def test_the_options_are_those_of_paddle(tmp_path: Path) -> None:
    """G3: each is one that ``paddle.jit.save`` or ``load`` takes."""
    source = inspect.getsource(inspect.getmodule(paddle.jit.save))
    for names, function in ((SAVING, "_parse_save_configs"), (LOADING, "_parse_load_config")):
        body = source.partition(f"def {function}(")[2].partition("]")[0]
        assert sorted(re.findall(r"[\"'](\w+)[\"']", body)) == sorted(names)
