"""What type checkers see of converted functions: ``StaticFunction[P, R]`` and ``to_static``.

The class that runs derives from Paddle's, which a checker may not know or takes for ``Any``; and it
cannot say that a method loses its ``self`` when it is bound.  This module says both.  A checker
reads it in the place of ``d2s.StaticFunction``, which is ``d2s.program.static_function`` when the
program runs; ``tests/types`` holds the two together.

No checker can say that a class method is bound to the class.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Concatenate, Generic, Literal, ParamSpec, TypeVar, overload

if TYPE_CHECKING:
    from typing import Protocol

    from paddle.nn import Layer
    from paddle.static import BuildStrategy, Program
    from typing_extensions import Self, TypedDict, Unpack

    from d2s.program.dispatch.entry import Entry
    from d2s.program.dispatch.info import ProgramInfo
    from d2s.program.islands.breaks import Break
    from d2s.program.islands.island import Island
    from d2s.selfcheck.check import Checker

P = ParamSpec("P")
Q = ParamSpec("Q")
R = TypeVar("R", covariant=True)
T = TypeVar("T")
S = TypeVar("S")


class StaticFunction(Generic[P, R]):
    """A function that runs as a captured program, with the parameters and results that it had.

    ``StaticFunction[[Tensor, float], Tensor]`` takes a tensor and a number and gives a tensor.
    """

    __name__: str
    __qualname__: str
    __wrapped__: Callable[P, R]

    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Run the function as a program; a new kind of call captures a new one."""
        raise NotImplementedError

    @overload  # a method, from its class
    def __get__(self, instance: None, owner: type, /) -> Self: ...
    @overload  # a method
    def __get__(
        self: StaticFunction[Concatenate[S, Q], T], instance: S, owner: type | None = None, /
    ) -> StaticFunction[Q, T]: ...
    @overload  # a static method
    def __get__(self, instance: object, owner: type | None = None, /) -> Self: ...
    def __get__(self, instance: Any, owner: type | None = None, /) -> Any:
        raise NotImplementedError

    if TYPE_CHECKING:

        @property
        def code(self) -> str:
            """The generated code."""

        @property
        def programs(self) -> list[ProgramInfo]:
            """The programs, oldest first, each with the reason why it was captured."""

        @property
        def breaks(self) -> tuple[Break, ...]:
            """Where the function is not one program."""

        @property
        def entries(self) -> tuple[Entry, ...]:
            """The programs of the function as a whole, each with what it relies on."""

        @property
        def islands(self) -> tuple[Island, ...] | None:
            """The stretches that have programs of their own; ``None`` while it is one program."""

        @property
        def captures(self) -> int:
            """How often a program was made."""

        @property
        def main_program(self) -> Program:
            """The newest program."""

        @property
        def inputs(self) -> list[Any]:
            """What the newest program takes."""

        @property
        def outputs(self) -> list[Any]:
            """What the newest program gives."""

        @property
        def dygraph_function(self) -> Callable[P, R]:
            """The function as it was written, bound to its object."""

        @property
        def class_instance(self) -> Any:
            """The object whose method it is."""

        @property
        def concrete_program(self) -> Any:
            """Paddle's record of the newest program, or of that of the ``input_spec``."""

        @property
        def program_cache(self) -> Any:
            """The programs, as Paddle's cache gives them."""

        @property
        def function_spec(self) -> Any:
            """Paddle's record of the parameters and their ``input_spec``."""

        @property
        def is_property(self) -> bool:
            """Whether ``to_static`` was told ``property=True``."""

    def concrete_program_specify_input_spec(
        self, input_spec: Sequence[Any] | None = None, with_hook: bool = False
    ) -> Any:
        """Paddle's record of the program of an ``input_spec``."""
        raise NotImplementedError

    def get_concrete_program(self, *args: Any, **kwargs: Any) -> tuple[Any, Any]:
        """Paddle's record of the program of a call, and what runs it on a list of inputs."""
        raise NotImplementedError

    def get_concrete_program_with_cache_key(self, cached_key: Any) -> tuple[Any, Any]:
        """As ``get_concrete_program``, by a key of Paddle's cache."""
        raise NotImplementedError

    def get_traced_count(self) -> int:
        """How many programs there are."""
        raise NotImplementedError

    def clear_programs(self) -> None:
        """Drop every program; the next call captures afresh."""
        raise NotImplementedError

    def rollback(self) -> Callable[P, R]:
        """Undo ``to_static``."""
        raise NotImplementedError

    def train(self) -> None:
        """Run as in training, where the function is of no layer."""
        raise NotImplementedError

    def eval(self) -> None:
        """Run as in evaluation, where the function is of no layer."""
        raise NotImplementedError


if TYPE_CHECKING:
    L = TypeVar("L", bound=Layer)

    class Options(TypedDict, total=False):
        """The options of ``to_static`` that have names only."""

        full_graph: bool | None
        property: bool
        check: bool | Checker | None

    class SaveOptions(TypedDict, total=False):
        """The options of ``save``, those of ``paddle.jit.save``."""

        output_spec: Sequence[Any] | None
        with_hook: bool
        combine_params: bool
        clip_extra: bool
        skip_forward: bool
        input_names_after_prune: Sequence[str] | None
        skip_prune_program: bool
        separate_parameters: bool

    class LoadOptions(TypedDict, total=False):
        """The options of ``load``, those of ``paddle.jit.load``."""

        model_filename: str | None
        params_filename: str | None

    class Converter(Protocol):
        """What ``to_static`` with options alone gives: it takes the function or layer."""

        @overload
        def __call__(self, function: L, /) -> L: ...
        @overload
        def __call__(  # type: ignore[overload-cannot-match]  # to checkers without Paddle
            self, function: Callable[P, T], /
        ) -> StaticFunction[P, T]: ...

    Spec = Sequence[Any] | None
    Backend = Literal["CINN", "PCC", "PHI"] | None

    @overload
    def to_static(
        function: None = None,
        input_spec: Spec = None,
        build_strategy: BuildStrategy | None = None,
        backend: Backend = None,
        **options: Unpack[Options],
    ) -> Converter: ...
    @overload
    def to_static(
        function: L,
        input_spec: Spec = None,
        build_strategy: BuildStrategy | None = None,
        backend: Backend = None,
        **options: Unpack[Options],
    ) -> L: ...
    @overload
    def to_static(  # type: ignore[overload-cannot-match]  # to checkers without Paddle
        function: Callable[P, T],
        input_spec: Spec = None,
        build_strategy: BuildStrategy | None = None,
        backend: Backend = None,
        **options: Unpack[Options],
    ) -> StaticFunction[P, T]: ...
    def to_static(
        function: Any = None,
        input_spec: Spec = None,
        build_strategy: BuildStrategy | None = None,
        backend: Backend = None,
        **options: Unpack[Options],
    ) -> Any:
        """See ``d2s.api.to_static``."""
