"""From a call to its key (rule G2): calls with one key can share a program.

The key holds what the capture would see: dtype, shape and ``stop_gradient`` of tensors, the
Python values themselves, other objects by identity, train or eval, grad mode, AMP.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Sized
from dataclasses import dataclass
from typing import Any

import numpy as np
import paddle

from d2s import paddle_bridge as bridge
from d2s.errors import ArgumentsError, InputSpecError
from d2s.runtime.python.arrays.contents import KNOWN, RunArray
from d2s.runtime.python.arrays.views import FIXED
from d2s.runtime.values.container_kinds import Rebuild
from d2s.runtime.values.tree import is_list_or_tuple, scan


@dataclass(frozen=True)
class TensorLeaf:
    """What the key says of a tensor argument.

    Attributes:
        path: how the argument is reached, for messages and input names.
        dtype: its dtype, as text.
        shape: its shape; -1 where an ``InputSpec`` leaves the dimension open.
        stop_gradient: whether no gradient goes back to it.
        name: the name that an ``InputSpec`` gives it.
    """

    path: str
    dtype: str
    shape: tuple[int, ...]
    stop_gradient: bool
    name: str | None = None


@dataclass
class Call:
    """One call, bound to the function's parameters and taken apart.

    Attributes:
        key: equal for calls that can share a program.
        leaves: what the key says of each tensor; one that is passed twice occurs once.
        tensors: the tensors.
        containers: the caller's lists, dicts, arrays of NumPy and so on, in the order of the walk.
        arrays: arrays of NumPy for which an ``InputSpec`` wants a tensor, with the index of it.
        rebuild: makes ``(args, kwargs)`` and the containers in them, in the same order, from
            replacements of the tensors.
        repeated: it has run in dygraph, because it makes parameters.
    """

    key: tuple[Any, ...]
    leaves: list[TensorLeaf]
    tensors: list[Any]
    containers: list[Any]
    rebuild: Callable[[list[Any]], tuple[Any, Any, dict[int, Any]]]
    arrays: list[tuple[int, Any]]
    repeated: bool = False

    def write_back(self) -> None:
        """Let arrays of NumPy hold what the function has written into their tensors."""
        for index, array in self.arrays:
            if self.tensors[index].inplace_version:
                array[...] = self.tensors[index].numpy()


class Signature:
    """How calls of one function are bound and keyed.

    Args:
        function: the user's function; a method without its instance.
        name: its name, for messages.
        specs: the ``InputSpec`` of each parameter in order (nested like the arguments), if given.
        bound: the function is a method: its first parameter is filled by the instance.
    """

    def __init__(
        self, function: Callable[..., Any], name: str, specs: Any = None, *, bound: bool = False
    ) -> None:
        self.name = name
        self._function = function
        self._bound = bound
        try:
            signature = _own_signature(function)
        except (TypeError, ValueError):
            signature = inspect.Signature(
                [
                    inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL),
                    inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD),
                ]
            )
        parameters = list(signature.parameters.values())
        if (
            bound
            and parameters
            and parameters[0].kind
            in (
                inspect.Parameter.POSITIONAL_ONLY,
                inspect.Parameter.POSITIONAL_OR_KEYWORD,
            )
        ):
            parameters = parameters[1:]
        self.signature = inspect.Signature(parameters)
        self.specs = self._checked(specs)

    def _checked(self, specs: Any) -> Any:
        if specs is None:
            return None
        if not is_list_or_tuple(specs):
            raise InputSpecError(
                f"input_spec of {self.name!r} is a {type(specs).__name__}, not a list",
                cure="pass a list with one entry for each argument",
            )
        positional = [
            parameter
            for parameter in self.signature.parameters.values()
            if parameter.kind
            in (
                inspect.Parameter.POSITIONAL_ONLY,
                inspect.Parameter.POSITIONAL_OR_KEYWORD,
            )
        ]
        open_ended = any(
            parameter.kind is inspect.Parameter.VAR_POSITIONAL
            for parameter in self.signature.parameters.values()
        )
        if len(specs) > len(positional) and not open_ended:
            raise InputSpecError(
                f"input_spec has {len(specs)} entries, but {self.name!r} takes "
                f"{len(positional)} arguments",
                cure="give one entry for each argument",
            )
        for position, spec in enumerate(specs):
            if isinstance(spec, str):
                raise InputSpecError(
                    f"entry {position} of the input_spec of {self.name!r} is the text {spec!r}",
                    cure="write paddle.static.InputSpec(shape, dtype) there",
                )
        return tuple(specs)

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> inspect.BoundArguments:
        """The call's arguments by parameter, defaults filled in.

        Raises:
            TypeError: the arguments do not fit; Python's own message with the function's name.
        """
        bound = self.fit(args, kwargs)
        bound.apply_defaults()
        return bound

    def fit(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> inspect.BoundArguments:
        """The call's arguments by parameter, those that it gives.

        Raises:
            TypeError: the arguments do not fit; Python's own message.
        """
        try:
            return self.signature.bind(*args, **kwargs)
        except TypeError as error:
            said = self._pythons_words(args, kwargs) or f"{self.name}() {error}"
            raise TypeError(said) from None

    def _pythons_words(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str | None:
        """What Python says is wrong with a call of the function; ``None`` if it cannot be asked."""
        function = self._function
        if type(function) is not types.FunctionType:
            return None
        plain = [
            parameter.replace(
                annotation=parameter.empty,
                default=parameter.default if parameter.default is parameter.empty else None,
            )
            for parameter in _own_signature(function).parameters.values()
        ]
        scope: dict[str, Any] = {}
        exec(f"def stub{inspect.Signature(plain)}: pass", scope)
        stub = scope["stub"]
        stub.__name__, stub.__qualname__ = function.__name__, function.__qualname__
        try:
            stub(*([None] if self._bound else []), *args, **kwargs)
        except TypeError as error:
            return str(error)
        return None

    def call(self, args: tuple[Any, ...], kwargs: dict[str, Any], extra: tuple[Any, ...]) -> Call:
        """Take a call apart.

        Args:
            args, kwargs: as the user passed them.
            extra: further parts of the key (modes, the instance).

        Raises:
            InputSpecError: (D2S302) a tensor does not fit its ``InputSpec``.
            ArgumentsError: (D2S301) an argument cannot be part of a key.
        """
        bound = self.bind(args, kwargs)
        parts = _Parts(self.name, self._spec_leaves(bound))
        try:
            build = scan_arguments(bound, parts.leaf, parts.around)
        except RecursionError:
            raise ArgumentsError(
                f"the arguments of {self.name!r} hold containers in each other, deeper than "
                "Python's limit on recursion",
                cure="pass flatter ones",
            ) from None

        def rebuild(leaves: list[Any]) -> tuple[Any, Any, dict[int, Any]]:
            parts.made.clear()
            args, kwargs = build(parts.with_arrays(leaves))
            return args, kwargs, dict(parts.made)

        key = (tuple(parts.leaves), tuple(parts.others), extra)
        return Call(key, parts.leaves, parts.tensors, parts.containers, rebuild, parts.arrays)

    def _spec_leaves(self, bound: inspect.BoundArguments) -> dict[str, Any]:
        if self.specs is None:
            return {}
        found: dict[str, Any] = {}

        def leaf(thing: Any, path: str) -> None:
            if isinstance(thing, paddle.static.InputSpec):
                found[path] = thing

        for name, spec in zip(_flat_names(bound, len(self.specs)), self.specs, strict=False):
            scan(spec, leaf, name)
        return found


class _Parts:
    """Takes the arguments of one call apart.

    Args:
        name: the function, for messages.
        specs: the ``InputSpec`` of leaves, by their paths.

    Attributes:
        leaves, tensors: what the key says of each tensor, and these.
        others: what it says of the rest, by path.
        containers: the caller's, in the order in which they are met.
        arrays: NumPy arrays that are tensors, and which of the tensors stands for each.
        made: the containers of one call of the program, by number.
    """

    def __init__(self, name: str, specs: dict[str, Any]) -> None:
        self.name, self.specs = name, specs
        self.leaves: list[TensorLeaf] = []
        self.tensors: list[Any] = []
        self.others: list[Any] = []
        self.containers: list[Any] = []
        self.arrays: list[tuple[int, Any]] = []
        self.made: dict[int, Any] = {}
        self._held: dict[int, int] = {}
        self._shared: set[int] = set()
        self._seen: dict[int, int] = {}
        self._open: set[int] = set()

    def around(self, thing: Any, path: str, walk: Callable[[], Rebuild]) -> Rebuild:
        """Take in a container: see ``tree.scan``."""
        made, known = self.made, self._seen.get(id(thing))
        if known is not None and not isinstance(thing, tuple):
            if known in self._open:
                raise ArgumentsError(
                    f"argument {path!r} of {self.name!r} is a container that holds itself",
                    cure="pass what the function needs of it",
                )
            self.others.append((path, ("same", known)))
            return lambda leaves: made[known]
        number = self._seen[id(thing)] = len(self.containers)
        self.containers.append(thing)
        self.others.append((path, _form(thing)))
        self._open.add(number)
        build = walk()
        self._open.discard(number)

        def kept(leaves: list[Any]) -> Any:
            made[number] = build(leaves)
            return made[number]

        return kept

    def leaf(self, thing: Any, path: str) -> int | None:
        """Take in what is no container: see ``tree.scan``."""
        if isinstance(thing, np.ndarray):
            if path not in self.specs:
                return self._array(thing, path)
            self.arrays.append((len(self.tensors), thing))
            thing = self._tensor(thing, path)
        if isinstance(thing, paddle.static.InputSpec):
            return self._added(from_spec(thing, path), thing)
        if not bridge.is_eager(thing) or not thing.is_dense():
            self.others.append((path, _keyed(thing, path, self.name)))
            return None
        spec, known = self.specs.get(path), self._seen.get(id(thing))
        if known is not None and spec is None:
            self.others.append((path, ("same", known)))
            return known
        self._seen[id(thing)] = len(self.tensors)
        dtype = str(thing.dtype).rsplit(".", 1)[-1]
        leaf = TensorLeaf(path, dtype, tuple(thing.shape), bool(thing.stop_gradient))
        return self._added(leaf if spec is None else self._fitted(leaf, spec), thing)

    def _added(self, leaf: TensorLeaf, thing: Any) -> int:
        self.leaves.append(leaf)
        self.tensors.append(thing)
        return len(self.tensors) - 1

    def _array(self, array: Any, path: str) -> int:
        """Take in a NumPy array: the program computes with its contents (decision 21)."""
        known = self._seen.get(id(array))
        if known is not None:
            self.others.append((path, ("same", known)))
            return known
        if type(array) is not np.ndarray:
            raise ArgumentsError(
                f"argument {path!r} of {self.name!r} is a {type(array).__name__}, which computes "
                "otherwise than an array of NumPy",
                cure="pass np.asarray() of it, or a tensor",
            )
        position = self._seen[id(array)] = len(self.tensors)
        contents = self._tensor(array, path)
        shared = [
            number
            for number in self._held.values()
            if np.may_share_memory(self.containers[number], array)
        ]
        number = self._held[position] = len(self.containers)
        self.containers.append(array)
        self._shared.update((*shared, number) if shared else ())
        self.others.append((path, ("array", array.flags.writeable, *shared)))
        dtype = array.dtype.name
        return self._added(TensorLeaf(path, dtype, array.shape, True), contents)

    def with_arrays(self, leaves: list[Any]) -> list[Any]:
        """What stands for the tensors of a call, with arrays around those that are contents."""
        leaves = list(leaves)
        for position, number in self._held.items():
            array = leaves[position] = self.made[number] = RunArray.made(leaves[position])
            fixed = not self.containers[number].flags.writeable
            array.part = FIXED if fixed else "part" if number in self._shared else ""
        return leaves

    def _tensor(self, array: Any, path: str) -> Any:
        """The contents of a NumPy array as the tensor that the program is given."""
        if array.dtype.name not in KNOWN or not array.dtype.isnative:
            raise ArgumentsError(
                f"argument {path!r} of {self.name!r} is a NumPy array of dtype {array.dtype}, of "
                "which Paddle has no tensors",
                cure="pass numbers, or a list of what it holds",
            )
        return paddle.to_tensor(array)

    def _fitted(self, leaf: TensorLeaf, spec: Any) -> TensorLeaf:
        """The leaf as its ``InputSpec`` has it, checked against the tensor."""
        wanted = from_spec(spec, leaf.path)
        if wanted.dtype != leaf.dtype:
            raise InputSpecError(
                f"argument {leaf.path!r} of {self.name!r} is {leaf.dtype}, but its InputSpec says "
                f"{wanted.dtype}",
                cure=f"cast it with .astype('{wanted.dtype}'), or change the InputSpec",
            )
        fits = len(wanted.shape) == len(leaf.shape) and all(
            size in (-1, actual) for size, actual in zip(wanted.shape, leaf.shape, strict=True)
        )
        if not fits:
            raise InputSpecError(
                f"argument {leaf.path!r} of {self.name!r} has shape {list(leaf.shape)}, but its "
                f"InputSpec says {[None if size < 0 else size for size in wanted.shape]}",
                cure="use None in the InputSpec for dimensions that vary",
            )
        # An empty tensor has a program of its own: Paddle must see the 0 while it captures.
        shape = tuple(
            0 if actual == 0 else size
            for size, actual in zip(wanted.shape, leaf.shape, strict=True)
        )
        return TensorLeaf(leaf.path, leaf.dtype, shape, leaf.stop_gradient, wanted.name)


def _own_signature(function: Any) -> inspect.Signature:
    """What ``function`` itself takes, whatever it wraps or says of itself."""
    if not isinstance(function, types.FunctionType):
        return inspect.signature(function, follow_wrapped=False)
    bare = types.FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    bare.__kwdefaults__ = function.__kwdefaults__
    bare.__annotations__ = function.__annotations__
    return inspect.signature(bare)


def from_spec(spec: Any, path: str) -> TensorLeaf:
    """The leaf that an ``InputSpec`` describes."""
    shape = tuple(-1 if size is None or size < 0 else int(size) for size in spec.shape)
    dtype = str(spec.dtype).rsplit(".", 1)[-1]
    return TensorLeaf(path, dtype, shape, bool(spec.stop_gradient), spec.name)


def _flat_names(bound: inspect.BoundArguments, count: int) -> list[str]:
    """Names for positional specs: parameters in order, then ``args[0]`` and so on."""
    names: list[str] = []
    for name, parameter in bound.signature.parameters.items():
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            names.extend(f"{name}[{index}]" for index in range(count - len(names)))
        elif parameter.kind is not inspect.Parameter.VAR_KEYWORD:
            names.append(name)
    return names


def scan_arguments(
    bound: inspect.BoundArguments,
    leaf: Callable[[Any, str], int | None],
    around: Callable[[Any, str, Callable[[], Rebuild]], Rebuild] | None = None,
) -> Rebuild:
    """A function from replaced leaves to ``(args, kwargs)``."""
    names = list(bound.arguments)
    parts = [scan(bound.arguments[name], leaf, name, around) for name in names]
    signature = bound.signature

    def build(leaves: list[Any]) -> Any:
        fresh = inspect.BoundArguments(signature, bound.arguments.__class__())
        for name, part in zip(names, parts, strict=True):
            fresh.arguments[name] = part(leaves)
        return fresh.args, fresh.kwargs

    return build


def _form(thing: Any) -> Any:
    """What stands in the key for a container: its type, with its length or its keys."""
    if isinstance(thing, dict):
        return (type(thing), tuple(thing))
    return (type(thing), len(thing) if isinstance(thing, Sized) else None)


def _keyed(thing: Any, path: str, name: str) -> Any:
    """What stands in the key for a Python value: itself with its type, or its identity."""
    if bridge.is_value(thing):
        raise ArgumentsError(
            f"argument {path!r} of {name!r} is a tensor of a static program",
            cure="call the converted function in dygraph mode, with paddle tensors",
        )
    if thing is None or isinstance(thing, bool | int | str | bytes):
        return (type(thing), thing)
    if isinstance(thing, float):
        return (float, thing if thing == thing else "nan", str(thing)[:1] == "-")
    if isinstance(thing, frozenset | range | slice | complex | np.generic):
        return (type(thing), repr(thing))
    return Identity(thing)


class Identity:
    """An object in a key, by identity; the key keeps it alive, so the identity stays its own."""

    __slots__ = ("thing",)

    def __init__(self, thing: Any) -> None:
        self.thing = thing

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Identity) and other.thing is self.thing

    def __hash__(self) -> int:
        return id(self.thing)

    def __repr__(self) -> str:
        return f"<{type(self.thing).__name__} at {id(self.thing):#x}>"
