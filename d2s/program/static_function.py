"""The object that ``to_static`` returns: binds, looks up, captures, runs.

It derives from Paddle's own class, so that ``paddle.jit.save`` and the rest of the ecosystem
accept it (rule G3).
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import time
import types
from collections.abc import Callable, Iterator
from inspect import iscoroutinefunction
from typing import Any

import paddle
from paddle import in_dynamic_mode

from d2s import config
from d2s import paddle_bridge as bridge
from d2s.conversion import trace_of
from d2s.diagnostics import leaving
from d2s.diagnostics.defects import as_defect
from d2s.errors import D2SError, NotAFunctionError, StaticModeError
from d2s.markup.listing import Generated
from d2s.program.capture.capture import Wanted, capture
from d2s.program.capture.captured import Captured, check_size
from d2s.program.capture.parameters import MakesParametersError
from d2s.program.dispatch import events
from d2s.program.dispatch.by_reference import reduced
from d2s.program.dispatch.concrete import ConcretePrograms
from d2s.program.dispatch.entry import Entry
from d2s.program.dispatch.info import ProgramInfo, info_of
from d2s.program.dispatch.new_programs import NewPrograms
from d2s.program.dispatch.options import is_whole
from d2s.program.dispatch.program_cache import Programs
from d2s.program.dispatch.recent_calls import Modes, Parts, parts_of
from d2s.program.dispatch.specialized_call import ANOTHER
from d2s.program.islands.breaks import Break, Noted, leaves_graph, note, tell
from d2s.program.islands.driver import Driver
from d2s.program.islands.island import Island
from d2s.program.islands.listing import page_of, pieces_of, place_of, rewritten
from d2s.program.islands.whole import Kinds
from d2s.program.keys.call_key import Call, Identity, Signature
from d2s.program.keys.callables import (
    iterators_in,
    plain_function,
    reference,
    replaceable,
    with_inner,
    written,
)
from d2s.program.running.loaded import Sources
from d2s.program.running.once import Watch
from d2s.program.running.turns import TakenMeanwhileError
from d2s.program.state.lifted import Lifted
from d2s.runtime.calls.call import call as converted_of
from d2s.runtime.host.said import not_again
from d2s.syntax.printer import to_source


class StaticFunction(ConcretePrograms):
    """A function that runs as a captured program; ``to_static`` has an example.

    Args:
        function: the user's function; a bound method is taken apart.
        input_spec: the ``InputSpec`` of each argument, or ``None``.
        instance: the object whose method it is.
        **options: handed on when it is bound to an instance.

    Attributes:
        tried: under the default, calls run in dygraph where that is faster.
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
        self._instance = None if instance is None else reference(instance)
        self._options = options
        self._name = getattr(function, "__qualname__", None) or type(function).__name__
        self._spec = input_spec
        self._signature = self._bound_signature()
        self._programs = Programs(self._name, function)
        self._layer_modes = Modes()
        self._new = NewPrograms(self._name, function, self._programs, opens=input_spec is None)
        self._spec_program: Any = None
        self._driver: Driver | None = None
        self._idle: int | None = None
        self._kinds = Kinds()
        self._once = False
        self.tried = not ({"part", "checker"} & set(options) or iscoroutinefunction(function))
        self.d2s_sources: Sources = []
        super().__init__(
            function,
            input_spec,
            build_strategy=paddle.static.BuildStrategy(),
            full_graph=True,
            property=bool(options.get("property")),
            backend=bridge.NO_COMPILER,
        )
        if instance is not None:
            self._class_instance = self._instance
        self._take_attributes(function)

    def _bound_signature(self) -> Signature:
        """How calls are bound, with the defaults that the function has now."""
        function = self.d2s_original
        self._defaults = getattr(function, "__defaults__", None)
        bound, name = self._instance is not None, getattr(function, "__name__", self._name)
        return Signature(function, name, self._spec, bound=bound)

    def _take_attributes(self, function: Any) -> None:
        """As ``functools.wraps`` does; but what wraps a converted function has its attributes."""
        functools.update_wrapper(self, function, updated=())
        for name, value in getattr(function, "__dict__", {}).items():
            self.__dict__.setdefault(name, value)

    # -- as a method -----------------------------------------------------------------------------

    def __get__(self, instance: Any, owner: Any) -> Any:
        if instance is None:
            return self
        try:
            found = self._descriptor_cache.get(instance)
        except TypeError:  # the instance cannot be referenced weakly or hashed
            return type(self)(self.d2s_original, self._spec, instance=instance, **self._options)
        if found is None:
            found = type(self)(self.d2s_original, self._spec, instance=instance, **self._options)
            self._descriptor_cache[instance] = found
            return found._holding(instance)
        return found

    def _holding(self, instance: Any) -> StaticFunction:
        """This method, keeping its object alive: ``Model().method(x)`` has no other reference.

        It shares its programs with the one kept for later calls, which must not keep the object.
        """
        made: StaticFunction = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        made._instance = lambda: instance
        return made

    def hold(self) -> None:
        """Keep the object alive."""
        instance = self._object()
        self._instance = self._class_instance = lambda: instance

    def __deepcopy__(self, memo: Any) -> Any:
        instance = self._object()
        if instance is None:
            return self
        options = {**self._options, "instance": memo.get(id(instance), instance)}
        return type(self)(self.d2s_original, self._spec, **options)

    def __copy__(self) -> Any:
        return self

    def __reduce__(self) -> Any:
        return reduced(self, self._object())

    def _object(self) -> Any:
        if self._instance is None:
            return None
        instance = self._instance()
        if instance is None:
            raise NotAFunctionError(
                f"the object whose method {self._name!r} is has been deleted",
                cure="keep a reference to it, as in net = to_static(Net()); net.forward(x)",
            )
        return instance

    # -- the call --------------------------------------------------------------------------------

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Run the function as a program; a new kind of call captures a new one."""
        try:
            if self._idle == Noted.count and in_dynamic_mode():  # nothing is worth a program
                if self._instance is None:
                    return self.d2s_original(*args, **kwargs)
                if (owner := self._instance()) is not None:
                    return self.d2s_original(owner, *args, **kwargs)
            resting = self._kinds.resting
            if resting is not None and not kwargs and in_dynamic_mode():
                alone = self._instance is None
                if resting.goes_on(args, self._training if alone else self._trains()):
                    return (self.d2s_original if alone else self.dygraph_function)(*args)
            on = self._program_trans.enable_to_static and not self._property
            warm = self._programs.known.warm
            if warm is not None and on and not self._kinds.tries:
                training = self._training if self._instance is None else self._trains()
                failed = None
                try:
                    result = warm(args, kwargs, training)
                except Exception as error:
                    failed = error
                if failed is not None:
                    return self._instead(failed, args, kwargs)
                if result is not ANOTHER:
                    return result
            if on and (in_dynamic_mode() or not bridge.inside_to_static()):
                return self._call(args, kwargs)
        except BaseException as error:
            leaving.leave(error)
            raise
        if not on:
            return self.dygraph_function(*args, **kwargs)
        # Called while another function is being captured: become part of its program.
        return converted_of(self.dygraph_function)(*args, **kwargs)

    def _call(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run the program for a call that is not like the last one."""
        if not in_dynamic_mode():
            if not self._whole():
                return self.dygraph_function(*args, **kwargs)
            raise StaticModeError(
                f"the converted function {self._name!r} is called in static mode",
                cure="call paddle.disable_static() first; what it returns are tensors, not "
                "values of a program",
            )
        if self._driver is not None:
            self._idle = self._driver.idle()
            return self._driven(self._driver)(*args, **kwargs)
        if self._programs.rests():
            return self.dygraph_function(*args, **kwargs)
        if self.tried and (self._kinds.tries or not self._whole()):
            kind = self._kinds.of(args, kwargs, self._trains())
            if kind is not None:
                ways = self.dygraph_function, self
                return self._kinds.run(kind, self._new, ways, args, kwargs)
        if getattr(self.d2s_original, "__defaults__", None) is not self._defaults:
            self._signature = self._bound_signature()
        modes = self._modes()
        quick = parts_of(args, kwargs, modes)
        again = None if quick is None else self._programs.again(quick, args, kwargs)
        if again is not None:
            entry, tensors = again
            if not entry.fallible:
                try:
                    return entry.runner(tensors, [])
                except Exception as error:
                    failed = error
                return self._instead(failed, args, kwargs)
            with contextlib.suppress(Exception):  # the long way finds out what it is
                return entry.runner(tensors, [])
        return self._run(args, kwargs, modes, quick)

    def _run(
        self,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        modes: tuple[Any, ...],
        quick: tuple[Parts, list[Any]] | None,
    ) -> Any:
        """Run the program for a call that has to be taken apart; capture it if there is none."""
        start, failed, watched = time.perf_counter(), None, False
        entry: Entry | None = None
        try:
            call = self._signature.call(args, kwargs, modes)
            captured = (entry := self._new.fitting(call)) is None
            if entry is None:
                with bridge.names_kept():
                    entry = self._new.capture(call, self._captured)
                if len(self._programs.entries) == 1:
                    bridge.show_code(self._name, lambda: self.code)
                if not self._whole():
                    entry.runner.prepare(call.tensors)
                    self._programs.spent(time.perf_counter() - start)
                    entry.runner.twice, entry.runner.repeats = self._drive, True
                    watched = not self._once and entry.runner.goes_back_once
        except MakesParametersError:
            return self._made(args, kwargs)
        except Exception as error:
            leaving.mark_untouched(error)
            failed = error
        if failed is not None:
            return self._instead(failed, args, kwargs, time.perf_counter() - start)
        assert entry is not None
        if watched:
            return self._watched(args, kwargs, entry)
        if quick is not None and not entry.runner.captured.callers:
            self._programs.known.add(quick, entry, call.tensors)
        try:
            if entry.fallible:
                return self._new.run_open(entry, call, self._captured)
            return entry.runner(call.tensors, call.containers)
        except Exception as error:
            failed = error
        finally:
            call.write_back()
            if captured:
                entry.runner.fresh()  # looks up what is guarded now: the next call is a warm one
        return self._instead(failed, args, kwargs)

    def _watched(self, args: tuple[Any, ...], kwargs: dict[str, Any], entry: Entry) -> Any:
        """A call in dygraph, before programs are run that can be gone back through once only.

        If its backward retains the graph, or a second one comes, the function is none of these.
        """
        result = self.dygraph_function(*args, **kwargs)
        Watch(self._drive, lambda: setattr(self, "_once", True), entry.runner).set_on(result)
        return result

    def _instead(
        self, error: Exception, args: tuple[Any, ...], kwargs: dict[str, Any], seconds: float = 0.0
    ) -> Any:
        """What a call gives whose capture or run has ended with ``error``.

        Where nothing has happened yet, dygraph does it: with programs for the parts that can be,
        if the function cannot be one program; alone, if nobody can tell whether ``error`` is the
        user's.

        Args:
            error: an exception that was caught.
            args, kwargs: the call.
            seconds: how long the capture took.

        Raises:
            Exception: ``error``, if something has happened or the function is to be one program.
        """
        if isinstance(error, TakenMeanwhileError):
            return self._call(args, kwargs)
        untouched, said = leaving.is_untouched(error), leaving.said_before(error)
        refused = leaves_graph(error)
        if not refused and not (self._whole() and "part" in self._options):
            leaving.forget_untouched(error)  # the driver around an island asks what has happened
        if self._whole() or not untouched or (isinstance(error, D2SError) and not refused):
            if refused and not self._whole():
                self._drive(error, seconds)  # what this call has done cannot be undone; later ones
            raise error
        if refused:
            driven = self._driven(self._drive(error, seconds))
            with not_again(said):
                return driven(*args, **kwargs)
        own: Exception | None = None
        try:
            with not_again(said):
                result = self.dygraph_function(*args, **kwargs)
        except Exception as raised:
            own = raised
        if own is not None:
            raise error if type(own) is type(error) else own  # ours says what it was given, too
        self._drive(as_defect(error), seconds)
        return result

    # -- several programs ------------------------------------------------------------------------

    def _whole(self) -> bool:
        """Whether a function that cannot be one program is refused."""
        return is_whole(self._options)

    def _drive(self, error: Exception, seconds: float = 0.0) -> Driver:
        """Let the function run as a driver, as ``error`` says that it cannot be one program."""
        self._kinds, self._programs.known.warm = Kinds(), None
        function = replaceable(self.d2s_original)
        found = note(error, function.__code__, seconds)
        converted = functools.partial(StaticFunction, **self._options)
        self._driver = Driver(function, converted, part=bool(self._options.get("part")))
        if found is not None:
            events.broken(self._name, self._new.written, found.line, found.code, found.cause)
            tell(self._name, found, whole=self._driver.rests or self._driver.plain)
        return self._driver

    @property
    def breaks(self) -> tuple[Break, ...]:
        """Where the function is not one program: empty, unless ``full_graph`` is off."""
        return () if self._driver is None else tuple(self._driver.breaks())

    @property
    def driver(self) -> Driver | None:
        """What runs a function that is not one program."""
        return self._driver

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The programs of the function as a whole, oldest first, each with what it relies on."""
        return self._programs.entries

    @property
    def islands(self) -> tuple[Island, ...] | None:
        """The stretches that have programs of their own; ``None`` while it is one program."""
        if self._driver is None:
            return None
        self._driver.current()
        return self._driver.islands

    def rewritten(self) -> Iterator[Generated]:
        """The generated code to read, with links to the user's lines; of several programs, each."""
        return rewritten(plain_function(self.d2s_original), self._driver)

    def __repr__(self) -> str:
        count, place = len(self.programs), place_of(self.d2s_original)
        programs = "1 program" if count == 1 else f"{count} programs"
        rests = ", in dygraph, which is faster" if self.rests else ""
        return f"<d2s.StaticFunction {self._name} ({place}), {programs}{rests}>"

    def _repr_html_(self) -> str:
        return page_of(self.d2s_original, self._name, self._driver, [*map(repr, self.programs)])

    @property
    def rests(self) -> bool:
        """Whether calls run in dygraph at present, as that has turned out to be faster."""
        return self._kinds.rests

    @property
    def captures(self) -> int:
        """How often a program was made."""
        return self._programs.made

    def _driven(self, driver: Driver) -> Callable[..., Any]:
        """The driver, to be called with the arguments of the function."""
        return with_inner(self.dygraph_function, driver.function, driver)

    def _made(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run a call in dygraph that makes parameters, for those that come after it.

        Raises:
            MakesParametersError: (D2S205) each call makes them anew.
        """
        result = self.dygraph_function(*args, **kwargs)
        try:
            call = self._signature.call(args, kwargs, self._modes())
            self._new.capture(dataclasses.replace(call, repeated=True), self._captured)
        except MakesParametersError as error:
            if self._whole():
                raise
            self._drive(error)
        except Exception as error:  # a later call may be another one, or never come
            events.kept(
                self._name, self._new.written, "what is to run from now on is captured later", error
            )
        return result

    def _modes(self) -> tuple[Any, ...]:
        """What else a program depends on: the instance's modes, grad mode, AMP."""
        return self._trains(), config.get().debug_on_run, *bridge.thread_modes()

    def _trains(self) -> Any:
        """Train or eval."""
        if self._instance is not None:
            instance = self._instance()
            if isinstance(instance, paddle.nn.Layer):
                return self._layer_modes.of(instance)
        return self._training

    def _captured(
        self, call: Call, *, hooks: bool = False, lifted: tuple[Lifted, ...] = (), **options: bool
    ) -> Captured:
        """The program for ``call``; ``options`` are those of :func:`capture`."""
        function = self._object() if hooks else self.dygraph_function
        part, dygraph = self._options.get("part"), not self._whole() or "part" in self._options
        wanted = Wanted(function, call, self._roots(call), lifted, bool(part), dygraph)
        made = capture(wanted, gradients=paddle.is_grad_enabled(), **options)
        return check_size(made) if dygraph else made

    def _roots(self, call: Call) -> list[Any]:
        given = [value.thing for _, value in call.key[1] if isinstance(value, Identity)]
        given += iterators_in(self.d2s_original)
        return given if (owner := self._object()) is None else [owner, *given]

    # -- what Paddle asks for --------------------------------------------------------------------

    @property
    def dygraph_function(self) -> Callable[..., Any]:
        """The user's function, bound to its instance."""
        owner, function = self._object(), self.d2s_original
        return function if owner is None else types.MethodType(function, owner)

    @property
    def code(self) -> str:
        """The generated code; of a function that is several programs, its driver and islands."""
        if self._driver is not None:
            return self._driver.code()
        return to_source(trace_of(written(self.d2s_original)).tree).text

    def pieces(self) -> list[tuple[str, Any]]:
        """The driver and the islands, each a title and a tree; empty where it is one program."""
        return [] if self._driver is None else pieces_of(self._driver)

    @property
    def programs(self) -> list[ProgramInfo]:
        """The programs, oldest first, each with the reason why it was captured.

        Those of a function that is several programs come in the order of its lines.
        """
        driver = self._driver
        return [*map(info_of, self._programs.entries)] if driver is None else driver.programs()

    def clear_programs(self) -> None:
        """Drop every program; the next call captures afresh."""
        self._programs.clear()
        self._new.clear()
        self._spec_program = None
