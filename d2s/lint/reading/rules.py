"""The rules: what a conversion refuses, does once, or leaves behind, at the place where it stands.

Each is asked by the reader of statements, expressions or calls, with what is known there, and says
nothing where it is not sure.  What d2s really does was tried for each; ``python -m corpus.lint``
holds them against the programs of the corpus.
"""

from __future__ import annotations

from typing import Any, Final

import gast

from d2s.analysis.exits import jumps, returns
from d2s.analysis.scopes import dotted, own_nodes, reads_in
from d2s.lint.reading.reader import Reader
from d2s.lint.reading.values import UNKNOWN, VECTOR, Kind, Value
from d2s.passes.statements.generators import hands_on

# -- what a branch or loop of the program cannot have ---------------------------------------------


def condition(reader: Reader, node: Any, value: Value) -> None:
    """D2S204: a condition that has more than one element."""
    if value == VECTOR:
        reader.report(
            node,
            "D2S204",
            "the condition is a tensor of more than one element",
            "say which is meant: .all(), .any(), or the item that decides",
        )


def yielded(reader: Reader, node: Any) -> None:
    """D2S205: a yield that a tensor decides, of a generator that has to stay Python."""
    if reader.stack and hands_on(reader.stack[-1]):
        return
    marks = [getattr(m, "attr", getattr(m, "id", "")) for m in reader.marks]
    if len(reader.around) > reader.scope.depth and "contextmanager" not in marks:
        reader.report(
            node,
            "D2S205",
            "a yield stands under a condition that a tensor decides",
            "compute the condition outside of the generator, or collect the items in a list",
        )


def awaited(reader: Reader, node: Any) -> None:
    """D2S205: waiting for what is not there yet, or where a tensor decides."""
    if len(reader.around) > reader.scope.depth:
        reader.report(
            node,
            "D2S205",
            "an await stands in a branch or loop that a tensor decides",
            "await in front of it, and choose between the results with if",
        )
        return
    call = node.value
    path = reader.module.resolved(call.func) if isinstance(call, gast.Call) else ""
    if path.startswith(("asyncio.", "aiohttp.")):
        reader.report(
            node,
            "D2S205",
            f"the coroutine awaits {path}(), which is not there while the program is captured",
            "await it in a coroutine that is not converted, and pass the result",
        )


def advanced(reader: Reader, node: Any, arguments: list[Value]) -> None:
    """D2S205: an iterator moves on where a tensor decides, or is one of outside."""
    if not arguments or not isinstance(node.args[0], gast.Name):
        return
    name = node.args[0].id
    if isinstance(arguments[0].home, gast.For):
        _moved(reader, node, name)
    outside = arguments[0].kind is Kind.NAMED or reader.scope.is_outer(name)
    # Trips that a tensor may leave early are captured one by one, and move it on in their order.
    decided = any(each.kind != "rest" for each in reader.around)
    if (decided and arguments[0].kind in (Kind.ITERATOR, Kind.UNKNOWN)) or (
        outside and arguments[0].kind is Kind.ITERATOR
    ):
        _moved(reader, node, name)


def _moved(reader: Reader, node: Any, name: str) -> None:
    reader.report(
        node,
        "D2S205",
        f"the iterator {name!r} moves on where a tensor decides, or outside of the program",
        "iterate over a list, and keep the position as a number",
    )


def loop_left(reader: Reader, node: Any, source: Value) -> None:
    """D2S205: what a loop that a tensor leaves cannot iterate."""
    if source.kind is Kind.ITERATOR and _endless(source.home):
        reader.report(
            node.iter,
            "D2S205",
            "a tensor leaves a loop over a generator that has no end of its own",
            "write the loop with while, and let a tensor decide its condition",
        )
    elif source.kind is Kind.ITERATOR and isinstance(node.iter, gast.Name):
        reader.scope.values[node.iter.id] = Value(Kind.ITERATOR, UNKNOWN, home=node)


def _endless(function: Any) -> bool:
    if not isinstance(function, gast.FunctionDef) or hands_on(function):
        return False
    for item in own_nodes(function.body):
        if isinstance(item, gast.While) and isinstance(item.test, gast.Constant):
            return not returns(item.body) and not jumps(item.body, gast.Break)
    return False


def iterated(reader: Reader, node: Any, value: Value) -> None:
    """D2S205: an iterator that a loop has used which a tensor has left."""
    if value.kind is Kind.ITERATOR and isinstance(value.home, gast.For) and value.home is not node:
        _moved(reader, node.iter, dotted(node.iter) or "it")


def raised(reader: Reader, node: Any, *, decided: bool) -> None:
    """D2S205: an exception of the run, out of a loop of the program into a ``try``."""
    inside = any(one.kind == "loop" and one.tries for one in reader.around)
    if decided and inside and reader.tries:
        reader.report(
            node,
            "D2S205",
            "an exception that a tensor decides leaves a loop of the program into a try",
            "put the try into the loop, decide with if, or catch in the caller",
        )


def finally_returns(reader: Reader, node: Any) -> None:
    """D2S205: a ``return`` in a ``finally`` around what a tensor decides."""
    for item in own_nodes(node.finalbody):
        if isinstance(item, gast.Return):
            reader.report(
                item,
                "D2S205",
                "a return stands in a finally, around what a tensor decides",
                "return behind the try",
            )


def identity(reader: Reader, node: Any) -> None:
    """D2S205: which object a name is, behind a branch that a tensor decides."""
    parts = [node.left, *node.comparators]
    if not all(isinstance(part, gast.Name) for part in parts):
        return
    if len({part.id for part in parts}) == 1:
        return
    merged = [part.id for part in parts if part.id in reader.scope.merged]
    kinds = {reader.of(part).kind for part in parts}
    if merged and kinds == {Kind.TENSOR}:
        reader.report(
            node,
            "D2S205",
            f"which tensor {merged[0]!r} is depends on a tensor, and 'is' asks for it",
            "keep a flag beside it, and ask for that",
        )


def py_layer(reader: Reader, node: Any, owner: Value) -> None:
    """D2S205: a PyLayer in a loop of the program."""
    bases = [reader.module.resolved(base) for base in owner.home.bases]
    if reader.in_loop and any(base.endswith("PyLayer") for base in bases):
        reader.report(
            node,
            "D2S205",
            f"the PyLayer {owner.home.name!r} is applied in a loop that a tensor ends",
            "let a Python value decide the number of trips",
        )


def recursion(reader: Reader, function: Any, at: Any) -> None:
    """D2S206: a recursion that only tensors end."""
    index = reader.stack.index(function)
    if not reader.decided or index != len(reader.stack) - 1:
        return
    tests = [n.test for n in own_nodes(function.body) if isinstance(n, gast.If | gast.IfExp)]
    if tests and all(_is_decided(reader, test) for test in tests):
        reader.report(
            at,
            "D2S206",
            f"{function.name!r} calls itself, and only tensors say when to stop",
            "write a while loop, or pass the depth as a Python number",
        )


def _is_decided(reader: Reader, test: Any) -> bool:
    """Whether only tensors decide ``test``; what Python finds false in an ``and`` ends it, too."""
    if isinstance(test, gast.BoolOp) and isinstance(test.op, gast.And):
        return all(_is_decided(reader, each) for each in test.values)
    return reader.of(test).decided


def returned(reader: Reader, node: Any, value: Value) -> None:
    """D2S205: what leaves a converted function and would compute later."""
    later = {Kind.ITERATOR: "a generator or iterator", Kind.FUNCTION: "a function"}
    if value.kind not in later:
        return
    if value.kind is Kind.FUNCTION and not _uses_locals(reader, value.home):
        return
    if value.kind is Kind.ITERATOR and (value.item is None or not value.item.decided):
        return
    reader.report(
        node,
        "D2S205",
        f"{later[value.kind]} leaves the function, and would be used when the program is gone",
        "return the tensors, or a list of them",
    )


def _uses_locals(reader: Reader, function: Any) -> bool:
    names = reads_in(function)
    return any(
        value.kind is Kind.TENSOR and name in names for name, value in reader.scope.values.items()
    )


# -- containers -----------------------------------------------------------------------------------


def mutated(reader: Reader, node: Any, owner: Value, arguments: list[Value]) -> None:
    """D2S207, D2S208: a method changes a container."""
    name, path = node.func.attr, dotted(node.func.value) or ""
    if owner.kind is Kind.SET and name == "add" and arguments:
        hashed(reader, node.args[0], arguments[0])
    numbers = owner.item is not None and owner.item.kind is Kind.NUMBER
    if owner.kind is Kind.SET and name == "pop" and numbers:
        reader.report(
            node,
            "D2S207",
            "an item is popped of a set whose items only the run knows, in the order of hashes",
            "take min(...) of it, or keep a list",
        )
    if not reader.decided:
        return
    if any(loop.source == path and path for loop in reader.loops):
        reader.report(
            node,
            "D2S207",
            f"{path!r} is changed while a loop iterates over it, where a tensor decides",
            "collect in another list",
        )
    if name == "append" and reader.in_loop:
        if path:
            reader.scope.grown.add(path)
        if arguments and _varying(reader, node.args[0]):
            reader.report(
                node,
                "D2S207",
                "items of different shapes are put into a list in a loop that a tensor ends",
                "give every item the same shape, for example with paddle.nn.functional.pad",
            )


def _varying(reader: Reader, item: Any) -> bool:
    """Whether an item is a slice of a tensor up to a number of the run."""
    if not isinstance(item, gast.Subscript) or not isinstance(item.slice, gast.Slice):
        return False
    bounds = [reader.of(p) for p in (item.slice.lower, item.slice.upper) if p is not None]
    sliced = reader.of(item.value).kind is Kind.TENSOR
    return sliced and len(bounds) == 1 and bounds[0].decided


_SETS: Final = ("set", "frozenset")


def passed_on(reader: Reader, node: Any) -> None:
    """D2S207: the items of a list of unknown length are arguments."""
    owner = getattr(node.func, "value", None)
    if not isinstance(owner, gast.Constant) and dotted(getattr(owner, "func", None)) not in _SETS:
        return  # a function that is converted takes as many as the run has
    for argument in node.args:
        name = dotted(argument.value) if isinstance(argument, gast.Starred) else None
        if name in reader.scope.grown:
            reader.report(
                argument,
                "D2S207",
                f"{name!r} has a length that a tensor decides, and its items are arguments",
                "hand on the list, or paddle.stack(...) of it",
            )


def item_set(reader: Reader, target: Any, owner: Value, key: Value) -> None:
    """D2S207, D2S208: an item is assigned."""
    if owner.kind is not Kind.TABLE or isinstance(target.slice, gast.Slice):
        return
    if reader.in_loop and _counts(target):
        reader.report(
            target,
            "D2S207",
            "a dict gets an item under its length in each trip of a loop that a tensor ends",
            "count in a variable, or use a list",
        )
    elif key.kind in (Kind.TENSOR, Kind.TEXT):
        hashed(reader, target.slice, key)


def _counts(target: Any) -> bool:
    """Whether a key is the length, another one in each trip: ``d[len(d)]``."""
    key = target.slice
    return isinstance(key, gast.Call) and dotted(key.func) == "len"


def item_read(reader: Reader, node: Any, owner: Value, key: Value) -> None:
    """D2S208: a text with tensors is a key."""
    if owner.kind is Kind.TABLE and key.kind is Kind.TEXT:
        hashed(reader, node.slice, key)


def hashed(reader: Reader, node: Any, value: Value) -> None:
    """D2S208: a text that only the run knows is a key of a dict or an item of a set."""
    if value.kind is not Kind.TEXT:
        return
    reader.report(
        node,
        "D2S208",
        "a text with tensors in it is a key of a dict or an item of a set",
        "choose with if, or index a list or a tensor with it",
    )


def template(reader: Reader, node: Any, right: Value) -> None:
    """D2S208: a template in a variable is filled with a tensor."""
    if isinstance(node.left, gast.Name) and right.kind in (Kind.TENSOR, Kind.NUMBER):
        name = node.left.id
        function = reader.scope.function
        local = function is not None and name in reader.scope.values
        if _is_text(function, name) if local else _assigns_text(reader.module.tree, name):
            reader.report(
                node,
                "D2S208",
                f"{name!r} is filled with a tensor",
                f"write {name} % (tensor,), or an f-string",
            )


def _is_text(function: Any, name: str) -> bool:
    """Whether a variable of a function is a text, by its default or by what is assigned."""
    names = [*function.args.posonlyargs, *function.args.args]
    for one, default in zip(names[::-1], function.args.defaults[::-1], strict=False):
        if one.id == name:
            return isinstance(getattr(default, "value", None), str)
    return _assigns_text(function, name)


def _assigns_text(home: Any, name: str) -> bool:
    """Whether a function, or the top level of a file, assigns a text to a variable."""
    return any(
        isinstance(node, gast.Assign)
        and dotted(node.targets[0]) == name
        and isinstance(getattr(node.value, "value", None), str)
        for node in own_nodes(home.body)
    )
