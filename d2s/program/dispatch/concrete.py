"""The part of a converted function that Paddle asks for: ``paddle.jit.save`` and its ecosystem.

The names are Paddle's (rule G3).
"""

from __future__ import annotations

import abc
import inspect
import sys
import types
from collections.abc import Callable, Iterable, Sequence
from typing import Any, ClassVar

import paddle

from d2s import paddle_bridge as bridge
from d2s.errors import InputSpecError, NotCapturedError
from d2s.program.capture.captured import Captured
from d2s.program.dispatch.entry import Entry
from d2s.program.dispatch.program_cache import Programs
from d2s.program.keys.call_key import Call, Signature
from d2s.program.keys.callables import plain_function
from d2s.program.running.loaded import Sources, sources_of
from d2s.program.running.saved import SavedState, check_saved
from d2s.program.running.to_onnx import check_exported
from d2s.runtime.values.tree import is_list_or_tuple


class ProgramCache(dict[Any, Any]):
    """Paddle's records of programs, each with what runs it, by the key of the calls.

    Args:
        records: the records of now; programs that are captured later are not added.
        forget: drops the programs of the function.
    """

    def __init__(self, records: Iterable[tuple[Any, Any]], forget: Callable[[], None]) -> None:
        super().__init__(records)
        self._forget = forget

    def last(self) -> Any:
        """The key of the program captured last, and the program."""
        assert self, "No valid cached program in ProgramCache."
        return list(self.items())[-1]

    def clear(self) -> None:
        """Drop the programs of the function; the next call captures afresh."""
        super().clear()
        self._forget()

    def concrete_programs(self) -> list[Any]:
        """Paddle's records, the oldest first."""
        return [concrete for concrete, _ in self.values()]


def check_compatible(given: Any, own: Any, name: str) -> None:
    """Compare the ``input_spec`` of a save with that of the function, which counts.

    Raises:
        InputSpecError: (D2S302) one cannot stand for the other.
    """
    if not bridge.input_specs_compatible(paddle.utils.flatten(given), paddle.utils.flatten(own)):
        raise InputSpecError(
            f"the input_spec {given} does not fit that of {name!r}, {own}",
            cure="leave it out, or give the same one",
        )


class ConcretePrograms(bridge.ASTStaticFunction):  # type: ignore[misc]
    """Gives Paddle the programs of a function, in Paddle's own record of them.

    Attributes:
        d2s_original: the user's function.
        d2s_sources: where the operations of the program that was saved last come from.
    """

    __class_getitem__: ClassVar[Any] = classmethod(types.GenericAlias)  # StaticFunction[P, R]

    d2s_original: Callable[..., Any]
    d2s_sources: Sources
    _name: str
    _spec: Any
    _spec_program: Any
    _signature: Signature
    _programs: Programs

    @abc.abstractmethod
    def _object(self) -> Any:
        """The object whose method the function is, or ``None``."""

    @abc.abstractmethod
    def _modes(self) -> tuple[Any, ...]:
        """What a program depends on besides the call."""

    @abc.abstractmethod
    def _captured(self, call: Call, *, export: bool = False, hooks: bool = False) -> Captured:
        """A program for ``call``, of the layer with its hooks if they are asked for."""

    @abc.abstractmethod
    def clear_programs(self) -> None:
        """Drop every program; the next call captures afresh."""

    def get_traced_count(self) -> int:
        """How many programs there are."""
        return len(self._programs.entries)

    @property
    def __signature__(self) -> inspect.Signature:
        """What ``inspect`` says of the function: of a method, without the instance.

        But ``getfullargspec``, with which ``paddle.Model`` counts arguments, names the instance of
        a bound method, too; inside of ``inspect`` it says so to whom it asks.
        """
        signature = inspect.signature(self.d2s_original)
        skips = sys._getframe(1).f_locals.get("skip_bound_arg", True)
        if self._object() is None or not skips:
            return signature
        return signature.replace(parameters=list(self._signature.signature.parameters.values()))

    @property
    def program_cache(self) -> ProgramCache:
        """The programs, the oldest first, as Paddle gives them."""
        return ProgramCache(
            [
                (entry.key, (self._concrete(entry.runner.captured), self._layer_of(entry)))
                for entry in self._programs.entries
            ],
            self.clear_programs,
        )

    def _layer_of(self, entry: Entry) -> Callable[[Sequence[Any]], Any]:
        """What Paddle calls a partial program: runs a program on a list of inputs."""

        def run(inputs: Sequence[Any]) -> Any:
            return entry.runner(list(inputs), [])

        return run

    def get_concrete_program(self, *args: Any, **kwargs: Any) -> Any:
        """The captured program for a call with these arguments (tensors or InputSpecs).

        Returns:
            Paddle's record of it, and what runs the function on a list of positional arguments.
        """
        self._raise_when_property()
        hooks, _, _ = (kwargs.pop(n, None) for n in ("with_hook", "is_train", "is_prim_infer"))
        call = self._signature.call(args, kwargs, self._modes())
        made = self._captured(call, hooks=bool(hooks) and self._has_hooks())
        return self._concrete(made), lambda inputs: self(*inputs, **kwargs)

    @property
    def concrete_program(self) -> Any:
        """The newest captured program, or the one of the ``input_spec``.

        Raises:
            NotCapturedError: (D2S303) nothing was captured yet, and there is no ``input_spec``.
        """
        self._raise_when_property()
        newest = self._programs.newest
        if newest is not None:
            return self._concrete(newest.runner.captured)
        if self._spec is None:
            raise NotCapturedError(
                f"{self._name!r} has no program yet",
                cure="call it once, or give to_static an input_spec",
            )
        if self._spec_program is None:  # kept: its values must not outlive it
            self._spec_program = self._concrete(self._captured(self._spec_call(self._spec)))
        return self._spec_program

    def concrete_program_specify_input_spec(
        self, input_spec: Any = None, with_hook: bool = False, is_prim_infer: bool = False
    ) -> Any:
        """The program that ``paddle.jit.save`` writes: effects lowered, results plain tensors."""
        self._raise_when_property()
        wanted = self._spec if self._spec is not None else input_spec
        if self._spec is not None and input_spec is not None:
            check_compatible(input_spec, self._spec, self._name)
        if wanted is not None:
            call = self._spec_call(wanted)
        elif self._programs.newest is not None:
            call = self._programs.newest.call
        else:
            raise NotCapturedError(
                f"{self._name!r} has no program yet, so there is nothing to save",
                cure="give save an input_spec, or call the function once",
            )
        captured = self._captured(call, export=True, hooks=with_hook and self._has_hooks())
        return self._concrete(captured, export=True)

    def _has_hooks(self) -> bool:
        """Whether the function is the ``forward`` of a layer that has hooks of its own."""
        owner = self._object()
        if not isinstance(owner, paddle.nn.Layer) or self.d2s_original.__name__ != "forward":
            return False
        return bool(owner._forward_pre_hooks or owner._forward_post_hooks)

    def _spec_call(self, specs: Any) -> Call:
        flat = list(specs) if is_list_or_tuple(specs) else [specs]
        signature = Signature(self.d2s_original, self._name, None, bound=self._object() is not None)
        try:
            return signature.call(tuple(flat), {}, self._modes())
        except TypeError as error:
            raise InputSpecError(
                f"input_spec does not fit {self._name!r}: {error}",
                cure="give one entry for each argument",
            ) from None

    def _concrete(self, captured: Captured, *, export: bool = False) -> Any:
        """Paddle's own record of a captured program."""
        instance = self._object()
        parameters = captured.parameters
        if export:
            check_saved(captured, plain_function(self.d2s_original), self._name)
            check_exported(captured.program)
            parameters = SavedState(captured, self, instance).parameters
            self.d2s_sources = sources_of(captured.program)
        owner = [instance] if isinstance(instance, paddle.nn.Layer) else []
        return bridge.ConcreteProgram(
            inputs=[*owner, *captured.inputs],
            outputs=list(captured.outputs),
            parameters=parameters,
            function=self.dygraph_function,
            main_program=captured.program,
            startup_program=paddle.static.Program(),
            build_strategy=paddle.static.BuildStrategy(),
        )

    @property
    def inputs(self) -> list[Any]:
        """The input values of the newest program."""
        return [value for value in self.concrete_program.inputs if bridge.is_value(value)]

    @property
    def outputs(self) -> list[Any]:
        """The output values of the newest program."""
        return list(self.concrete_program.outputs)

    @property
    def main_program(self) -> Any:
        """The newest program."""
        return self.concrete_program.main_program

    def rollback(self) -> Callable[..., Any]:
        """Undo ``to_static``: the instance gets its own method back; returns the function."""
        instance = self._object()
        if instance is None:
            return self.d2s_original
        name = self._patched_name or self.d2s_original.__name__
        method = types.MethodType(self.d2s_original, instance)
        if name in instance.__dict__ and isinstance(instance.__dict__[name], ConcretePrograms):
            if getattr(type(instance), name, None) is self.d2s_original:
                del instance.__dict__[name]
            else:
                instance.__dict__[name] = method
        else:
            object.__setattr__(instance, name, method)
        return method
