"""Effects: ``print``, ``assert`` and ``raise`` of a captured program happen on every run.

Text that contains tensors is a :class:`HostText` until the run: its parts travel, the host
formats them, and the result is letter for letter what dygraph prints.
"""

from __future__ import annotations

import contextlib
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any, Final

import paddle

from d2s import paddle_bridge as bridge
from d2s.diagnostics.location import Location
from d2s.diagnostics.tracebacks import name_tensors, places_in, settled
from d2s.errors import NotStaticError
from d2s.operators.context import current, error_here
from d2s.operators.either import Either, simplified
from d2s.operators.hosts import host_call, places_here, raise_where
from d2s.operators.lowering import lowered
from d2s.operators.raises import catching, note
from d2s.operators.values import SIZE, Sizes, condition, is_tensor, number_kind

_CONVERSIONS: Final[dict[str, Callable[[Any], str]]] = {"r": repr, "s": str, "a": ascii}


class BlockLeft(BaseException):
    """Ends the capture of a branch side or loop body that raises; never seen by user code."""


class HostText:
    """Text of which the run fills in the tensors.

    Attributes:
        parts: strings, and ``(value, conversion, spec)`` for what is formatted; see
            :func:`_formatted`.
    """

    def __init__(self, parts: tuple[Any, ...]) -> None:
        self.parts = parts

    def __add__(self, other: Any) -> Any:
        return HostText((*self.parts, (other, "s", ""))) if _is_text(other) else NotImplemented

    def __radd__(self, other: Any) -> Any:
        return HostText(((other, "s", ""), *self.parts)) if _is_text(other) else NotImplemented

    def __mul__(self, times: Any) -> Any:
        return HostText(self.parts * times) if type(times) is int else NotImplemented

    __rmul__ = __mul__

    def __mod__(self, things: Any) -> Any:
        return HostText(((things, "%", self),))

    def __getitem__(self, key: Any) -> Any:
        return HostText(((self, "[]", key),))

    def __getattr__(self, name: str) -> Any:
        if name not in _TEXT_METHODS:
            raise AttributeError(f"'str' object has no attribute {name!r}")
        return lambda *arguments: HostText(((self, f".{name}", arguments),))

    def __str__(self) -> str:
        raise error_here(
            NotStaticError,
            "text that contains a tensor is needed while the program is being captured",
            "use it in print, assert or raise only, or return the tensor and format it outside",
        )

    def __format__(self, spec: str) -> str:
        return str(self)

    def __repr__(self) -> str:
        return f"<text that the run fills in, {len(self.parts)} parts>"

    def __bool__(self) -> bool:
        return bool(str(self))

    def __len__(self) -> int:
        return len(str(self))

    def __iter__(self) -> Iterator[str]:
        return iter(str(self))

    def __contains__(self, item: Any) -> bool:
        return item in str(self)

    def __eq__(self, other: object) -> bool:
        return self is other or (_is_text(other) and str(self) == other)

    def __hash__(self) -> int:
        return hash(str(self))


_TEXT_METHODS: Final = frozenset(
    (
        "capitalize", "center", "expandtabs", "ljust", "lower", "lstrip", "replace", "rjust",
        "rstrip", "strip", "swapcase", "title", "upper", "zfill",
    )
)  # fmt: skip
"""Methods of text that give text."""


class HostObject(HostText):
    """What only the host can make of a tensor, such as ``x.numpy()``; it can be printed.

    Attributes:
        value: the tensor.
        make: from the run's tensor to the object.
    """

    def __init__(self, value: Any, make: Callable[[Any], Any]) -> None:
        super().__init__(((value, "", make),))

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name)


def _is_text(thing: object) -> bool:
    return isinstance(thing, str | HostText)


def is_dynamic(thing: object) -> bool:
    """Whether the run decides what ``thing`` looks like."""
    if is_tensor(thing) or isinstance(thing, HostText | Either):
        return True
    if isinstance(thing, list | tuple | set):
        return any(is_dynamic(item) for item in thing)
    if isinstance(thing, dict):
        return any(is_dynamic(item) for item in thing.values())
    return False


def text(*parts: Any) -> Any:
    """An f-string: formatted now when no tensor of a program is in it.

    Args:
        *parts: strings, and ``(value, conversion, spec)`` where conversion is ``None`` or one of
            ``"r"``, ``"s"``, ``"a"``.
    """
    if current() is not None and any(
        isinstance(part, tuple) and (is_dynamic(part[0]) or is_dynamic(part[2])) for part in parts
    ):
        return text_of(parts)
    return _formatted(parts)


def text_of(parts: tuple[Any, ...]) -> Any:
    """The text of ``parts``: one of several constants where a tensor chooses only among these."""
    if _is_open(parts):
        return HostText(parts)
    try:
        return _folded(parts)
    except Exception:  # one of them has no such text: the run says so, if it comes to it
        return HostText(parts)


def _is_open(thing: Any) -> bool:
    """Whether more than a choice among constants is in ``thing``."""
    if isinstance(thing, Either):
        return not thing.plain
    if isinstance(thing, list | tuple | set):
        return any(map(_is_open, thing))
    if isinstance(thing, dict):
        return any(map(_is_open, thing.values()))
    return is_dynamic(thing)


def _folded(parts: tuple[Any, ...]) -> Any:
    chosen = _first_choice(parts)
    if chosen is None:
        return _formatted(parts)
    return simplified(chosen.spread(lambda found: _folded(_with(parts, chosen, found))))


def _first_choice(thing: Any) -> Either | None:
    if isinstance(thing, Either):
        return thing
    if isinstance(thing, dict):
        thing = tuple(thing.values())
    if isinstance(thing, list | tuple):
        found = map(_first_choice, thing)
        return next((item for item in found if item is not None), None)
    return None


def _with(thing: Any, chosen: Either, found: Any) -> Any:
    """``thing`` with ``found`` in the place of ``chosen``."""
    if thing is chosen:
        return found
    if type(thing) in (list, tuple):
        return type(thing)(_with(item, chosen, found) for item in thing)
    if type(thing) is dict:
        return {key: _with(item, chosen, found) for key, item in thing.items()}
    return thing


def percent(template: Any, things: Any) -> Any:
    """``template % things``, where the template is plainly text, or ``things`` is a tuple."""
    if not isinstance(template, str | HostText):
        return template % things
    if current() is None or not (is_dynamic(template) or is_dynamic(things)):
        return template % things
    return text_of(((things, "%", template),))


def late(value: Any, make: Callable[[Any], Any]) -> Any:
    """What ``make`` gives for the tensor ``value``, made on the run: for ``print`` and texts."""
    if current() is None or not bridge.is_value(value) or number_kind(value) is not None:
        return make(value)
    return HostObject(value, make)


def _formatted(parts: tuple[Any, ...]) -> str:
    """The text of ``parts``.

    The conversion of a part is what an f-string has (``None``, ``"r"``, ``"s"``, ``"a"``), or
    ``"%"`` (the third item is the template), ``"[]"`` (the key) or ``".name"`` (the arguments of
    that method).
    """
    done: list[str] = []
    for part in parts:
        if isinstance(part, str):
            done.append(part)
            continue
        value, conversion, spec = part
        if conversion == "%":
            value, spec = spec % value, ""
        elif conversion == "[]":
            value, spec = value[spec], ""
        elif conversion is not None and conversion.startswith("."):
            value, spec = getattr(value, conversion[1:])(*spec), ""
        elif conversion is not None:
            value = _CONVERSIONS[conversion](value)
        done.append(format(value, spec))
    return "".join(done)


def _members(error: BaseException) -> Iterator[tuple[str, Any]]:
    """What ``error`` keeps outside of its ``__dict__``: ``errno``, ``__slots__`` and the like."""
    for kind in type(error).__mro__:
        for name, item in vars(kind).items():
            if isinstance(item, types.MemberDescriptorType | types.GetSetDescriptorType) and not (
                name.startswith("__") or name == "args"
            ):
                value = getattr(error, name, None)
                if value is not None:
                    yield name, value


class Shipment:
    """Collects the tensors in some objects, and puts the run's tensors back in their place."""

    def __init__(self) -> None:
        self.values: list[Any] = []

    def pack(self, thing: Any) -> Callable[[tuple[Any, ...]], Any]:
        """A function from the run's tensors to ``thing`` with them in it."""
        if is_tensor(thing):
            if not bridge.is_value(thing):
                return lambda tensors: thing
            self.values.append(thing)
            position = len(self.values) - 1
            return lambda tensors: tensors[position]
        if isinstance(thing, HostObject):
            ((value, _, make),) = thing.parts
            inner = self.pack(value)
            return lambda tensors: make(inner(tensors))
        if isinstance(thing, HostText):
            parts = [self.pack(part) for part in thing.parts]
            return lambda tensors: _formatted(tuple(part(tensors) for part in parts))
        if isinstance(thing, Either):
            flag = self.pack(thing.flag)
            true, false = self.pack(thing.true), self.pack(thing.false)
            return lambda tensors: (true if bool(flag(tensors)) else false)(tensors)
        if type(thing) in (list, tuple, set, Sizes):
            items = [self.pack(item) for item in thing]
            kind: Any = SIZE if type(thing) is Sizes else type(thing)
            return lambda tensors: kind(item(tensors) for item in items)
        if type(thing) is dict:
            pairs = [(key, self.pack(value)) for key, value in thing.items()]
            return lambda tensors: {key: value(tensors) for key, value in pairs}
        return lambda tensors: thing

    def pack_error(self, error: Any) -> Callable[[tuple[Any, ...]], BaseException]:
        """A function from the run's tensors to a fresh exception like ``error``.

        Its ``__init__`` is not called again: it may take other arguments than ``args``.
        """
        if isinstance(error, type):
            return lambda tensors: error()
        arguments = self.pack(tuple(error.args))
        fields = self.pack(dict(vars(error)))
        members = self.pack(dict(_members(error)))
        chain = [
            None if other is None or other is error else self.pack_error(other)
            for other in (error.__cause__, error.__context__)
        ]
        trace = settled(error.__traceback__)

        def rebuilt(tensors: tuple[Any, ...]) -> BaseException:
            base = next(kind for kind in type(error).__mro__ if kind.__module__ == "builtins")
            fresh: BaseException = base.__new__(type(error), *error.args)
            for name, value in members(tensors).items():
                with contextlib.suppress(AttributeError, TypeError):  # read-only ones are there
                    object.__setattr__(fresh, name, value)
            object.__setattr__(fresh, "args", arguments(tensors))
            vars(fresh).update(fields(tensors))
            cause, context = (None if other is None else other(tensors) for other in chain)
            for name, value in (
                ("__cause__", cause),
                ("__context__", context),
                ("__suppress_context__", error.__suppress_context__),
            ):
                object.__setattr__(fresh, name, value)
            object.__setattr__(fresh, "__traceback__", trace)
            return fresh

        return rebuilt


def print_(*things: Any, **options: Any) -> None:
    """``print``: on every run of a program, with the text that dygraph prints."""
    capture = current()
    if capture is None:
        print(*things, **options)
        return
    if capture.export:
        _print_in_file(things)
        return
    stream = options.get("file")
    name = next((n for n in ("stdout", "stderr") if stream is getattr(sys, n)), None)
    shipment = Shipment()
    arguments, keywords = shipment.pack(things), shipment.pack(options)

    def host(*tensors: Any) -> None:
        options = keywords(tensors)
        if stream is not None and name is not None:  # whatever is there by then
            options["file"] = getattr(sys, name)
        print(*arguments(tensors), **options)

    host_call(host, shipment.values)


def _print_in_file(things: tuple[Any, ...]) -> None:
    """``print`` as Paddle's own operation: each tensor with the text before it."""
    said: list[str] = []
    for piece in _pieces(things):
        if bridge.is_value(piece):
            paddle.static.Print(piece, message=" ".join(said) or None)
            said.clear()
        else:
            said.append(str(piece).strip())
    lowered("print shows the tensors, in Paddle's format")


def _pieces(things: Any) -> Iterator[Any]:
    """Tensors, and what has a text already, in their order."""
    for thing in things:
        if isinstance(thing, HostText):
            for part in thing.parts:
                yield from _pieces(part[:1] if isinstance(part, tuple) else [part])
        elif bridge.is_value(thing) or not is_dynamic(thing):
            yield thing
        elif isinstance(thing, list | tuple | set):
            yield from _pieces(thing)
        elif isinstance(thing, dict):
            yield from _pieces(thing.values())


def assert_(test: Any, message: Callable[[], Any] | None = None) -> None:
    """``assert test, message()``: on the run when ``test`` is a tensor of a program."""
    test = condition(test)
    capture = current()

    def failure() -> AssertionError:
        return AssertionError(*(() if message is None else (message(),)))

    if capture is None or not (bridge.is_value(test) or capture.guarded):
        if not test:
            raise failure()
        return
    if not bridge.is_value(test):
        if not test:
            raise error(failure)
        return
    caught = catching(AssertionError) is not None
    if capture.export and not caught:
        lowered("assert fails without its message")
        paddle.static.nn.control_flow.Assert(test)
    elif caught or message is not None:  # the message is made when it is needed, as in Python
        raise_where(paddle.logical_not(test), failure)
    else:

        def host(holds: Any) -> None:
            if not bool(holds):
                raise AssertionError

        host_call(host, [test], raises=True)


def error(make: Callable[[], Any], cause: Callable[[], Any] | None = None) -> Any:
    """The exception of a ``raise`` statement.

    Under a tensor condition it is not returned: the run raises it, and the capture of the side
    ends here.
    """
    made = make()
    capture = current()
    if capture is None or not capture.guarded:
        return made
    if isinstance(made, type):
        if not issubclass(made, BaseException):
            return made  # Python says that it is no exception
        made = made()
    if not isinstance(made, BaseException):
        return made
    found = catching(type(made))
    if found is not None and found[0].depth == len(capture.blocks):
        return made  # no tensor decides between the try and here
    if cause is not None:
        made.__cause__ = _instance(cause())
    context = sys.exc_info()[1]
    if made.__context__ is None and context is not made and context is not capture.handled:
        made.__context__ = context
    if found is None:
        _raise_on_run(made, [*places_here(), *places_in(made.__traceback__)])
    else:
        note(*found, made)
    raise BlockLeft


def _instance(error: Any) -> Any:
    return error() if isinstance(error, type) else error


def _raise_on_run(made: BaseException, places: list[Location]) -> None:
    """Raise ``made`` on the run, where no ``try`` of the program catches it."""
    capture = current()
    assert capture is not None
    if capture.export:
        lowered(f"the {type(made).__name__} is a failed assertion")
        paddle.static.nn.control_flow.Assert(paddle.full([], False, "bool"))
        return
    object.__setattr__(made, "__traceback__", None)
    shipment = Shipment()
    rebuilt = shipment.pack_error(made)

    def host(*tensors: Any) -> None:
        raise rebuilt(tensors[: len(shipment.values)])

    host_call(host, shipment.values, places, raises=True)


def raise_later(made: BaseException) -> None:
    """Raise on the run, from where it came, what one side of a branch raised at capture."""
    capture = current()
    if capture is not None and capture.tentative:
        raise made
    name_tensors(made)
    found = catching(type(made))
    if found is not None:
        note(*found, made)
        return
    _raise_on_run(made, places_here(made))
