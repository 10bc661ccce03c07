"""Rules about tensors: what they become in a loop, and what they are asked for."""

from __future__ import annotations

from typing import Any

import gast

from d2s.analysis.scopes import reads_in
from d2s.lint.reading import tables
from d2s.lint.reading.reader import Reader
from d2s.lint.reading.values import Kind, Value


def assigned(reader: Reader, node: Any, value: Value) -> None:
    """D2S202: a variable that has one dimension more in each trip."""
    names = [target.id for target in node.targets if isinstance(target, gast.Name)]
    if isinstance(node.value, gast.IfExp) and reader.of(node.value.test).decided:
        reader.scope.merged.update(names)
    if not reader.in_loop or not names or value.kind is not Kind.TENSOR:
        return
    called = node.value.func if isinstance(node.value, gast.Call) else None
    if isinstance(called, gast.Attribute) and called.attr == "unsqueeze":
        inner = [n for n in gast.walk(node.value) if isinstance(n, gast.Attribute)]
        if names[0] in reads_in(called.value) and not _reduces(inner):
            reader.report(
                node,
                "D2S202",
                f"{names[0]!r} gets one dimension more in each trip of the loop",
                "keep the number of dimensions, or use another variable",
            )


def _reduces(attributes: list[Any]) -> bool:
    less = ("squeeze", "sum", "mean", "max", "min", "reshape", "flatten", "argmax", "prod")
    return any(node.attr in less for node in attributes)


def hooked(reader: Reader, node: Any) -> None:
    """D2S205: a gradient hook is set in a loop of the program."""
    if reader.in_loop:
        reader.report(
            node,
            "D2S205",
            "a gradient hook is set in a loop that a tensor ends",
            "scale or clip the gradient behind backward(), or let a Python value end the loop",
        )


def viewed(reader: Reader, node: Any, arguments: list[Value]) -> None:
    """D2S205: the memory of a tensor is read as another dtype."""
    if len(node.args) != 1 or arguments[0].kind not in (Kind.PLAIN, Kind.NAMED):
        return
    given = getattr(node.args[0], "value", None)
    dtype = given if isinstance(given, str) else arguments[0].name.rpartition("paddle.")[2]
    if dtype in tables.DTYPES:
        reader.report(
            node,
            "D2S205",
            "view() reads the memory of a tensor as a dtype, which programs cannot",
            "convert the values with astype(), or do this outside of the converted function",
        )


def property_set(reader: Reader, target: Any, owner: Value, value: Value) -> None:
    """D2S205: a tensor is assigned to a property of a layer; Paddle makes a buffer as well."""
    if owner.kind is not Kind.OBJECT or value.kind is not Kind.TENSOR:
        return
    method = reader.module.method(owner.home, target.attr)
    marks = [getattr(mark, "id", "") for mark in method.decorator_list] if method else []
    if "property" in marks and reader.module.is_layer(owner.home):
        reader.report(
            target,
            "D2S205",
            f"a tensor is assigned to {target.attr!r}, a property of a layer",
            f"write a method such as set_{target.attr}(value) in place of the setter",
        )


def attribute_set(reader: Reader, target: Any, owner: Value) -> None:
    """D2S205: the gradient of a computed tensor is assigned."""
    if target.attr != "grad" or owner.kind is not Kind.TENSOR:
        return
    if isinstance(target.value, gast.Name) and target.value.id in reader.scope.values:
        function = reader.scope.function
        names = {a.id for a in function.args.args} if function is not None else set()
        if target.value.id not in names:
            reader.report(
                target,
                "D2S205",
                f"the gradient of {target.value.id!r}, a computed tensor, is assigned",
                "keep it in a variable",
            )
