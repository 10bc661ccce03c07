"""The part of a converted function that Paddle asks for: ``paddle.jit.save`` and its ecosystem.

The names are Paddle's (rule G3).
"""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any

import paddle

from d2s import paddle_bridge as bridge
from d2s.errors import InputSpecError, NotCapturedError
from d2s.program.capture.captured import Captured
from d2s.program.dispatch.program_cache import Programs
from d2s.program.keys.call_key import Call, Signature
from d2s.program.keys.callables import plain_function
from d2s.program.running.loaded import Sources, sources_of
from d2s.program.running.saved import check_saved


class ConcretePrograms(bridge.ASTStaticFunction):  # type: ignore[misc]
    """Gives Paddle the programs of a function, in Paddle's own record of them.

    Attributes:
        d2s_original: the user's function.
        d2s_sources: where the operations of the program that was saved last come from.
    """

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
    def _captured(self, call: Call, *, export: bool = False) -> Captured:
        """A program for ``call``."""

    def get_traced_count(self) -> int:
        """How many programs there are."""
        return len(self._programs.entries)

    @property
    def program_cache(self) -> Any:
        """The programs, the oldest first, by the order in which they were captured."""
        return {number: entry.runner for number, entry in enumerate(self._programs.entries)}

    def get_concrete_program(self, *args: Any, **kwargs: Any) -> Any:
        """The captured program for a call with these arguments (tensors or InputSpecs)."""
        for name in ("with_hook", "is_train", "is_prim_infer"):
            kwargs.pop(name, None)
        call = self._signature.call(args, kwargs, self._modes())
        return self._concrete(self._captured(call)), None

    @property
    def concrete_program(self) -> Any:
        """The newest captured program, or the one of the ``input_spec``.

        Raises:
            NotCapturedError: (D2S303) nothing was captured yet, and there is no ``input_spec``.
        """
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
        wanted = self._spec if self._spec is not None else input_spec
        if wanted is not None:
            call = self._spec_call(wanted)
        elif self._programs.newest is not None:
            call = self._programs.newest.call
        else:
            raise NotCapturedError(
                f"{self._name!r} has no program yet, so there is nothing to save",
                cure="give save an input_spec, or call the function once",
            )
        captured = self._captured(call, export=True)
        return self._concrete(captured, export=True)

    def _spec_call(self, specs: Any) -> Call:
        flat = list(specs) if isinstance(specs, list | tuple) else [specs]
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
        if export:
            check_saved(captured, plain_function(self.d2s_original), instance, self._name)
            self.d2s_sources = sources_of(captured.program)
        owner = [instance] if isinstance(instance, paddle.nn.Layer) else []
        return bridge.ConcreteProgram(
            inputs=[*owner, *captured.inputs],
            outputs=list(captured.outputs),
            parameters=captured.parameters,
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
