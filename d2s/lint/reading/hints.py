"""What the text says of values, beside what is assigned: annotations, tests, how names are used."""

from __future__ import annotations

from typing import Any, Final

import gast

from d2s.analysis.scopes import own_nodes
from d2s.lint.reading import tables
from d2s.lint.reading.modules import Module
from d2s.lint.reading.reader import Reader
from d2s.lint.reading.values import PLAIN, TENSOR, UNKNOWN, Value

_PYTHON: Final = frozenset(("int", "float", "bool", "str", "bytes", "complex", "None", "dtype"))


def tensor_names(function: Any, owner: Any) -> frozenset[str]:
    """The parameters of a converted function that are tensors, by all that can be seen.

    They are those that the function uses as only tensors can be used, and the first one, unless it
    is used as a container.
    """
    used: dict[str, set[str]] = {}
    for node in own_nodes(function.body):
        if isinstance(node, gast.Attribute) and isinstance(node.value, gast.Name):
            used.setdefault(node.value.id, set()).add(node.attr)
    found = {name for name, attributes in used.items() if attributes & tables.OF_TENSORS_ONLY}
    names = [*function.args.posonlyargs, *function.args.args][owner is not None :]
    defaults = len(function.args.defaults)
    if len(names) > defaults and not used.get(names[0].id, set()) & tables.OF_CONTAINERS:
        found.add(names[0].id)
    return frozenset(found)


def annotated(module: Module, annotation: Any) -> Value | None:
    """What an annotation says; None if nothing that is of use."""
    if annotation is None:
        return None
    if isinstance(annotation, gast.Constant) and isinstance(annotation.value, str):
        words = set(annotation.value.replace("|", " ").replace(".", " ").split())
    else:
        words = {
            str(getattr(node, "attr", None) or getattr(node, "id", ""))
            for node in gast.walk(annotation)
            if isinstance(node, gast.Name | gast.Attribute)
        }
        if isinstance(annotation, gast.Subscript):
            return None
    words -= {"Optional", "paddle", "typing", ""}
    if words == {"Tensor"} or words == {"Tensor", "None"}:
        return TENSOR
    return PLAIN if words and words <= _PYTHON else None


def narrowed(
    reader: Reader, test: Any, values: dict[str, Value], *, holds: bool
) -> dict[str, Value]:
    """The variables where ``isinstance(x, kind)`` holds, or does not."""
    values = dict(values)
    while isinstance(test, gast.UnaryOp) and isinstance(test.op, gast.Not):
        test, holds = test.operand, not holds
    if not isinstance(test, gast.Call) or not test.args or not isinstance(test.args[0], gast.Name):
        return values
    name, path = test.args[0].id, reader.module.resolved(test.func)
    if path == "paddle.is_tensor":
        values[name] = TENSOR if holds else UNKNOWN
    elif path == "isinstance" and len(test.args) == 2:
        text = {getattr(n, "attr", getattr(n, "id", "")) for n in gast.walk(test.args[1])}
        tensor = "Tensor" in text or "Variable" in text
        if tensor and text <= {"Tensor", "Variable", "paddle", "static", "Value", ""}:
            values[name] = TENSOR if holds else UNKNOWN
        elif not tensor and holds:
            values[name] = UNKNOWN
    return values


def is_open(reader: Reader, source: Any) -> bool:
    """Whether a loop over ``source`` has a number of trips that the run decides."""
    while isinstance(source, gast.Call) and isinstance(source.func, gast.Name):
        if source.func.id == "range":
            return any(reader.of(argument).decided for argument in source.args)
        if source.func.id not in ("enumerate", "reversed", "zip", "list", "tuple", "tqdm"):
            return False
        if not source.args:
            return False
        source = source.args[0]
    return False


def is_generator(function: Any) -> bool:
    """Whether a function yields."""
    return any(isinstance(n, gast.Yield | gast.YieldFrom) for n in own_nodes(function.body))


def is_vector(path: str, call: Any) -> bool:
    """Whether a call makes a tensor of more than one element, by what is written there."""
    given = call.args[0] if call.args else None
    if not isinstance(given, gast.List | gast.Tuple):
        return False
    if path == "paddle.to_tensor":
        return len(given.elts) > 1 and not any(isinstance(e, gast.Starred) for e in given.elts)
    if path in ("paddle.ones", "paddle.zeros", "paddle.rand", "paddle.randn"):
        sizes = [getattr(size, "value", None) for size in given.elts]
        known = [size for size in sizes if isinstance(size, int)]
        return known == sizes and max(known, default=0) > 1 and 0 not in known
    return False
