"""The object that ``to_static`` returns: binds, looks up, captures, runs.

It derives from Paddle's own class, so that ``paddle.jit.save`` and the rest of the ecosystem
accept it (rule G3).
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import types
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import paddle

from d2s import config
from d2s import paddle_bridge as bridge
from d2s.analysis.exits import return_lines
from d2s.conversion import trace_of
from d2s.diagnostics import log
from d2s.diagnostics.tracebacks import user_traceback
from d2s.errors import InputSpecError, NotCapturedError, SaveError, StaticModeError
from d2s.operators.calls import call as converted_of
from d2s.operators.calls import call_method
from d2s.program.capture import Captured, capture, capture_lock
from d2s.program.execute import Runner
from d2s.program.signature import Call, Identity, Signature
from d2s.program.state import Change
from d2s.syntax.printer import to_source
from d2s.syntax.source import source_of


@dataclass(frozen=True)
class ProgramInfo:
    """One program of a converted function, as ``fn.programs`` shows it.

    Attributes:
        reason: why it was captured.
        inputs: path, dtype and shape of each tensor it takes (-1 for an open dimension).
        operations: how many operations it has, those inside branches and loops included.
        runs: how often it has run.
        program: the Paddle program.
    """

    reason: str
    inputs: tuple[str, ...]
    operations: int
    runs: int
    program: Any

    def __repr__(self) -> str:
        inputs = ", ".join(self.inputs)
        return f"Program({inputs}; {self.operations} operations, {self.runs} runs; {self.reason})"


class StaticFunction(bridge.ASTStaticFunction):  # type: ignore[misc]
    """A function that runs as a captured program.

    Args:
        function: the user's function; a bound method is taken apart.
        input_spec: the ``InputSpec`` of each argument, or ``None``.
        instance: the object whose method it is.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        input_spec: Any = None,
        *,
        instance: Any = None,
        **options: Any,
    ) -> None:
        self.d2s_original: Callable[..., Any] = function
        self._instance = None if instance is None else _reference(instance)
        self._options = options
        self._name = getattr(function, "__qualname__", None) or type(function).__name__
        self._signature = Signature(
            function,
            getattr(function, "__name__", self._name),
            input_spec,
            bound=instance is not None,
        )
        self._spec = input_spec
        self._runners: collections.OrderedDict[Any, Runner] = collections.OrderedDict()
        self._reasons: dict[Any, str] = {}
        self._variants: dict[Any, list[Any]] = {}
        self._constant: set[Any] = set()
        self._spec_program: Any = None
        self._calls: dict[Any, Call] = {}
        super().__init__(
            function,
            input_spec,
            build_strategy=paddle.static.BuildStrategy(),
            full_graph=True,
            backend=bridge.Backend.PHI,
        )
        if instance is not None:
            self._class_instance = self._instance
        functools.update_wrapper(self, function)

    # -- as a method -----------------------------------------------------------------------------

    def __get__(self, instance: Any, owner: Any) -> Any:
        if instance is None:
            return self
        try:
            found = self._descriptor_cache.get(instance)
        except TypeError:  # the instance cannot be referenced weakly or hashed
            return StaticFunction(self.d2s_original, self._spec, instance=instance, **self._options)
        if found is None:
            found = StaticFunction(
                self.d2s_original, self._spec, instance=instance, **self._options
            )
            self._descriptor_cache[instance] = found
            originals = getattr(instance, "_original_funcs", None)
            if originals is not None:
                originals.setdefault(self.d2s_original.__name__, self.d2s_original)
        return found

    def __deepcopy__(self, memo: Any) -> Any:
        instance = self._object()
        if instance is None:
            return self
        twin = memo.get(id(instance), instance)
        return StaticFunction(self.d2s_original, self._spec, instance=twin, **self._options)

    def __copy__(self) -> Any:
        return self

    def _object(self) -> Any:
        return None if self._instance is None else self._instance()

    # -- the call --------------------------------------------------------------------------------

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the function as a program; a new kind of call captures a new one."""
        if not self._program_trans.enable_to_static:
            return self.dygraph_function(*args, **kwargs)
        if not paddle.in_dynamic_mode():
            if not bridge.inside_to_static():
                raise StaticModeError(
                    f"the converted function {self._name!r} is called in static mode",
                    cure="call paddle.disable_static() first; what it returns are tensors, not "
                    "values of a program",
                )
            # Called while another function is being captured: become part of its program.
            return converted_of(self.dygraph_function)(*args, **kwargs)
        try:
            call = self._signature.call(args, kwargs, self._modes())
            runner = self._runner(call)
            return runner(call.tensors, call.containers)
        except BaseException as error:
            if not config.get().full_traceback:
                error.__traceback__ = user_traceback(error.__traceback__)
            raise

    def _modes(self) -> tuple[Any, ...]:
        """What else a program depends on: the instance's modes, grad mode, AMP."""
        instance = self._object()
        training: tuple[Any, ...] = (self._training,)
        if isinstance(instance, paddle.nn.Layer):
            training = tuple(
                (id(layer), layer.training) for layer in instance.sublayers(include_self=True)
            )
        return (
            training,
            paddle.is_grad_enabled(),
            paddle.get_default_dtype(),
            bridge.amp_state(),
        )

    def _runner(self, call: Call) -> Runner:
        runner = self._fitting(call)
        return self._capture(call) if runner is None else runner

    def _fitting(self, call: Call) -> Runner | None:
        """The newest program for calls like this one that fits the state outside, too."""
        for key in reversed(self._variants.get(call.key, ())):
            runner = self._runners.get(key)
            if runner is not None and runner.fresh():
                return runner
        return None

    def _capture(self, call: Call) -> Runner:
        with capture_lock:
            runner = self._fitting(call)
            if runner is not None:
                return runner
            reason = self._reason(call)
            log.capture(self._name, reason)
            runner = Runner(self._lifted(call))
            variants = self._variants.setdefault(call.key, [])
            key = (*call.key, 0 if not variants else variants[-1][-1] + 1)
            variants.append(key)
            self._runners[key] = runner
            self._reasons[key] = reason
            self._calls[key] = dataclasses.replace(call, tensors=[], containers=[])
            limit = config.get().max_programs
            while len(self._runners) > limit:
                self._drop(next(iter(self._runners)))
            return runner

    def _drop(self, key: Any) -> None:
        self._runners.pop(key)
        self._reasons.pop(key, None)
        self._calls.pop(key, None)
        variants = self._variants[key[:-1]]
        variants.remove(key)
        if not variants:
            del self._variants[key[:-1]]

    def _lifted(self, call: Call) -> Captured:
        """A program for ``call``; numbers of the state that it counts on are inputs.

        The first program takes them as constants.  When one of them has another value on a later
        call because the function itself changes it, it becomes an input, so that there is not a
        program for every value; unless the function cannot be captured like that.
        """
        counters: dict[Any, Change] = {}
        for key in self._variants.get(call.key, ()):
            captured = self._runners[key].captured
            for change in captured.counters:
                identity = change.place.identity
                if identity not in self._constant and type(change.place.get()) in (int, float):
                    counters[identity] = change
        if counters:
            try:
                return self._captured(call, export=False, lifted=tuple(counters.values()))
            except Exception:
                self._constant.update(counters)
        return self._captured(call, export=False)

    def _captured(self, call: Call, *, export: bool, lifted: tuple[Change, ...] = ()) -> Captured:
        return capture(
            self.dygraph_function,
            call,
            roots=self._roots(call),
            gradients=paddle.is_grad_enabled(),
            export=export,
            lifted=lifted,
        )

    def _roots(self, call: Call) -> list[Any]:
        roots = [self._object()] if self._object() is not None else []
        for _, value in call.key[1]:
            if isinstance(value, Identity):
                roots.append(value.thing)
        return roots

    def _reason(self, call: Call) -> str:
        """Why no program fits ``call``, in words."""
        if not self._runners:
            return "first call"
        last = next(reversed(self._runners))
        for leaf, other in zip(call.key[0], last[0], strict=False):
            if leaf.dtype != other.dtype:
                return f"{leaf.path} is {leaf.dtype}, was {other.dtype}"
            if leaf.shape != other.shape:
                return f"{leaf.path} has shape {list(leaf.shape)}, had {list(other.shape)}"
            if leaf.stop_gradient != other.stop_gradient:
                return f"{leaf.path} has stop_gradient={leaf.stop_gradient}"
        for (path, value), (_, other) in zip(call.key[1], last[1], strict=False):
            if value != other:
                return f"{path} is {_shown(value)}, was {_shown(other)}"
        for name, mine, theirs in zip(
            ("layers or train/eval mode", "grad mode", "default dtype", "AMP state"),
            call.key[2],
            last[2],
            strict=False,
        ):
            if mine != theirs:
                return f"{name} changed"
        broken = self._runners[last].broken() if call.key == last[:-1] else None
        return "other arguments" if broken is None else f"{broken} changed"

    # -- what Paddle asks for --------------------------------------------------------------------

    @property
    def dygraph_function(self) -> Callable[..., Any]:
        """The user's function, bound to its instance."""
        instance = self._object()
        if instance is None:
            return self.d2s_original
        return types.MethodType(self.d2s_original, instance)

    @property
    def code(self) -> str:
        """The generated code."""
        return to_source(trace_of(_plain(self.d2s_original)).tree).text

    @property
    def programs(self) -> list[ProgramInfo]:
        """The programs, oldest first, each with the reason why it was captured."""
        return [
            ProgramInfo(
                self._reasons.get(key, ""),
                tuple(
                    f"{leaf.path}: {leaf.dtype}{list(leaf.shape)}"
                    for leaf in runner.captured.leaves
                ),
                sum(1 for _ in bridge.operations(runner.captured.program)),
                runner.runs,
                runner.captured.program,
            )
            for key, runner in self._runners.items()
        ]

    def get_traced_count(self) -> int:
        """How many programs there are."""
        return len(self._runners)

    @property
    def program_cache(self) -> Any:
        """The programs by key."""
        return self._runners

    def clear_programs(self) -> None:
        """Drop every program; the next call captures afresh."""
        self._runners.clear()
        self._variants.clear()
        self._reasons.clear()
        self._calls.clear()
        self._spec_program = None

    def get_concrete_program(self, *args: Any, **kwargs: Any) -> Any:
        """The captured program for a call with these arguments (tensors or InputSpecs)."""
        for name in ("with_hook", "is_train", "is_prim_infer"):
            kwargs.pop(name, None)
        call = self._signature.call(args, kwargs, self._modes())
        concrete = self._concrete(self._captured(call, export=False))
        return concrete, None

    @property
    def concrete_program(self) -> Any:
        """The newest captured program, or the one of the ``input_spec``.

        Raises:
            NotCapturedError: (D2S303) nothing was captured yet, and there is no ``input_spec``.
        """
        if self._runners:
            return self._concrete(next(reversed(self._runners.values())).captured)
        if self._spec is None:
            raise NotCapturedError(
                f"{self._name!r} has no program yet",
                cure="call it once, or give to_static an input_spec",
            )
        if self._spec_program is None:  # kept: its values must not outlive it
            captured = self._captured(self._spec_call(self._spec), export=False)
            self._spec_program = self._concrete(captured)
        return self._spec_program

    def concrete_program_specify_input_spec(
        self, input_spec: Any = None, with_hook: bool = False, is_prim_infer: bool = False
    ) -> Any:
        """The program that ``paddle.jit.save`` writes: effects lowered, results plain tensors."""
        wanted = self._spec if self._spec is not None else input_spec
        if wanted is not None:
            call = self._spec_call(wanted)
        elif self._runners:
            call = self._calls[next(reversed(self._runners))]
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
        if export:
            if captured.ambiguous:
                source = source_of(_plain(self.d2s_original))
                lines = return_lines(source.tree)
                listed = " and ".join(map(str, lines))
                raise SaveError(
                    f"{self._name!r} returns a different structure on different paths (its returns "
                    f"stand on lines {listed}), which a saved program cannot express",
                    cure="return the same structure of tensors on every path",
                    file=source.file,
                    line=lines[0] if lines else source.first_line,
                )
            unused = [
                leaf.path
                for leaf, value in zip(captured.leaves, captured.inputs, strict=True)
                if value.use_empty()
            ]
            if unused:
                raise SaveError(
                    f"the argument {unused[0]!r} of {self._name!r} has no part in the result, "
                    "which a saved program cannot express",
                    cure="save a function without it",
                )
            if not captured.outputs:
                raise SaveError(
                    f"{self._name!r} returns no tensor, so there is nothing to save",
                    cure="return at least one tensor",
                )
        outputs = list(captured.outputs)
        instance = self._object()
        inputs: list[Any] = list(captured.inputs)
        if isinstance(instance, paddle.nn.Layer):
            inputs = [instance, *inputs]
        return bridge.ConcreteProgram(
            inputs=inputs,
            outputs=outputs,
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

    def rollback(self) -> Callable[..., Any]:
        """Undo ``to_static``: the instance gets its own method back; returns the function."""
        instance = self._object()
        if instance is None:
            return self.d2s_original
        name = self._patched_name or self.d2s_original.__name__
        method = types.MethodType(self.d2s_original, instance)
        if name in instance.__dict__ and isinstance(instance.__dict__[name], StaticFunction):
            if getattr(type(instance), name, None) is self.d2s_original:
                del instance.__dict__[name]
            else:
                instance.__dict__[name] = method
        else:
            object.__setattr__(instance, name, method)
        return method


def _reference(instance: Any) -> Callable[[], Any]:
    try:
        return weakref.ref(instance)
    except TypeError:
        return lambda: instance


def _plain(function: Any) -> types.FunctionType:
    """The plain function inside a method, partial or decorated callable."""
    while not isinstance(function, types.FunctionType):
        if isinstance(function, types.MethodType):
            function = function.__func__
        elif isinstance(function, functools.partial):
            function = function.func
        elif isinstance(call_method(function), types.FunctionType):
            function = call_method(function)
        else:
            break
    return cast(types.FunctionType, function)


def _shown(value: Any) -> str:
    return repr(value[1]) if isinstance(value, tuple) and len(value) > 1 else repr(value)
