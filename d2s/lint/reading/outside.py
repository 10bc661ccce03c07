"""Rules about what is outside of Paddle: NumPy, draws, clocks, files, other modules."""

from __future__ import annotations

from typing import Any

import gast

from d2s.analysis.scopes import own_nodes
from d2s.errors import HappensOnceWarning, StaleValueWarning
from d2s.lint.findings import Edit
from d2s.lint.reading import tables
from d2s.lint.reading.reader import Reader
from d2s.lint.reading.values import PLAIN, Kind, Value


def leaves(reader: Reader, node: Any, what: str) -> None:
    """D2S208: the values of a tensor go to NumPy or Python, and not into text that is shown."""
    if reader.shown:
        return
    reader.report(
        node,
        "D2S208",
        f"{what} takes the values of a tensor out of the program",
        "compute with the tensor itself, with functions of Paddle; a saved program cannot do this",
        "note",
        _shortened(reader, node),
    )


def _shortened(reader: Reader, node: Any) -> tuple[Edit, ...]:
    """``x.numpy().item()`` and ``float(x.numpy())`` mean the same without ``numpy()``."""
    if id(node) not in reader.module.doubled or node.args or node.keywords:
        return ()
    return (Edit(node.end_lineno, node.end_col_offset, ".numpy()", ""),)


def named(reader: Reader, node: Any, path: str) -> None:
    """D2S702: something of another module that is read where it stands."""
    if path == "os.environ":
        _stale(reader, node, path)


def _stale(reader: Reader, node: Any, path: str) -> None:
    name = f"{path}()" if isinstance(node, gast.Call) else path
    reader.report(
        node,
        StaleValueWarning.code,
        f"{name} is asked once, while the function is captured; every run has "
        f"{tables.STALE[path]} of then",
        "ask in the caller, and pass it as an argument",
        "warning",
    )


def called(reader: Reader, node: Any, path: str, arguments: list[Value]) -> None:
    """A call of something of another module."""
    head = path.partition(".")[0]
    if any(value.holds_decided or value.kind is Kind.TEXT for value in arguments):
        if path in tables.NEEDS_VALUES:
            _needs_values(reader, node, path)
            return
        if path in tables.COMPARING:
            _compares(reader, node, path)
    decided = any(value.kind is Kind.TENSOR for value in arguments)
    if head in ("random", "numpy") and "random." in path:
        _drawn(reader, node, path)
    elif head == "numpy" and decided:
        leaves(reader, node, f"{path.replace('numpy.', 'np.')}()")
    elif path == "paddle.grad":
        _second_derivative(reader, node)
    elif (path in tables.STALE and not path.startswith("os.environ.")) or path == "os.environ.get":
        _stale(reader, node, path)
    elif path in tables.EACH_CALL:
        reader.report(
            node,
            "D2S205",
            f"{path}() is to happen on each call, which no program does",
            "do it in the caller; otherwise the function runs as several programs",
            "note",
        )
    elif path in tables.ONCE:
        _once(reader, node, f"{path}()")
    elif path in tables.DYGRAPH_ONLY:
        reader.report(
            node,
            "D2S902",
            f"{path}() is there in dygraph only",
            "compute it outside of the converted function, and pass the result",
        )
    elif path == "paddle.create_parameter":
        _made(reader, node, "a parameter")


def _second_derivative(reader: Reader, node: Any) -> None:
    """D2S307: the gradient of a gradient, of an operation that has none in Paddle."""
    again = [k.value for k in node.keywords if k.arg == "create_graph"]
    function = reader.scope.function
    if not again or getattr(again[0], "value", None) is not True or function is None:
        return
    for one in own_nodes(function.body):
        path = reader.module.resolved(one.func) if isinstance(one, gast.Call) else ""
        if path in tables.WITHOUT_SECOND:
            reader.report(
                one,
                "D2S307",
                f"Paddle has no gradient of the gradient of {path}()",
                "use another operation of the same meaning, such as paddle.matmul for paddle.bmm",
            )


def _needs_values(reader: Reader, node: Any, path: str) -> None:
    reader.report(
        node,
        tables.NEEDS_VALUES[path],
        f"{path}() needs the values of a tensor, which only the run knows",
        "return the tensor, and do this in the caller",
    )


def _compares(reader: Reader, node: Any, path: str) -> None:
    reader.report(
        node,
        "D2S205",
        f"{path}() compares values that only the run knows, in code that stays Python",
        "compare with if statements of the converted function, or sort with paddle.argsort",
    )


def _drawn(reader: Reader, node: Any, path: str) -> None:
    name = path.rpartition(".")[2]
    if name in tables.NOT_DRAWN:
        reader.report(
            node,
            "D2S205",
            f"{name}() of Python or NumPy would be called once, while the function is captured",
            "call it in the caller, and pass what it gives",
        )


def _once(reader: Reader, node: Any, what: str) -> None:
    reader.report(
        node,
        HappensOnceWarning.code,
        f"{what} happens once, while the function is captured, and not on its runs",
        "do it in the caller, or in a function under d2s.not_to_static that the caller calls",
        "warning",
    )


def opened(reader: Reader, node: Any) -> None:
    """D2S205, D2S702: a file is opened."""
    modes = [*node.args[1:2], *(k.value for k in node.keywords if k.arg == "mode")]
    mode = getattr(modes[0], "value", None) if modes else "r"
    if not isinstance(mode, str):
        return
    if set(mode) & set("wax+"):
        reader.report(
            node,
            "D2S205",
            "a file is opened for writing, which would happen once, while the function is captured",
            "open it in the caller, and write to it there",
        )
    else:
        reader.report(
            node,
            StaleValueWarning.code,
            "a file is read once, while the function is captured; every run has what it held then",
            "read it in the caller, and pass what it holds",
            "warning",
        )


def written(reader: Reader, node: Any, arguments: list[Value]) -> Value:
    """D2S902: text with tensors goes into a file."""
    if node.func.attr == "write" and any(v.kind is Kind.TEXT or v.decided for v in arguments):
        reader.report(
            node,
            "D2S902",
            "the text for a file has tensors in it, and is there on the run only",
            "return the tensors, and write the file in the caller",
        )
    return PLAIN


def layer_made(reader: Reader, node: Any, made: Value) -> None:
    """D2S205: a layer with parameters is made on each call."""
    if made.name in tables.PARAMETRIC:
        _made(reader, node, f"a layer with parameters, {made.name},")


def _made(reader: Reader, node: Any, what: str) -> None:
    if reader.scope.function is not None and reader.scope.function.name == "__init__":
        return
    reader.report(
        node,
        "D2S205",
        f"{what} is made in a converted function; dygraph makes a new one on each call",
        "make it once, outside of the function",
    )
