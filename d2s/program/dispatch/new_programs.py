"""Which program is captured for a call: for its very sizes and numbers, or for more than that.

::

    f(x of [4, 8]), then f(x of [6, 8])        ->    a program for x of [-1, 8]
    self.steps += 1, a program at each call    ->    one program with self.steps as an input

What a function does not go with is not tried again.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable
from typing import Any, Protocol

from d2s import config
from d2s.diagnostics.blame import is_defect
from d2s.program.capture.capture import capture_lock
from d2s.program.capture.captured import Captured
from d2s.program.dispatch import events
from d2s.program.dispatch.entry import Entry, Reason
from d2s.program.dispatch.program_cache import Programs, differences, explain
from d2s.program.keys.call_key import Call
from d2s.program.keys.callables import written
from d2s.program.keys.dimensions import Dimensions, Shapes, Trial, shapes_of, with_shapes
from d2s.program.running.execute import Runner
from d2s.program.state.lifted import Lifted, lift
from d2s.program.state.records import Change
from d2s.runtime.control_flow.guards import limited_together


class CaptureOf(Protocol):
    """Runs a function once into a program, for a call."""

    def __call__(
        self,
        call: Call,
        *,
        lifted: tuple[Lifted, ...] = (),
        tentative: bool = False,
        decided: bool = False,
    ) -> Captured: ...


class NewPrograms:
    """Captures programs of one function.

    Args:
        name: the function's name, for messages.
        function: the function.
        programs: those that there are.
        opens: whether dimensions may be left open that no ``input_spec`` leaves open.
    """

    def __init__(
        self, name: str, function: Callable[..., object], programs: Programs, *, opens: bool
    ) -> None:
        self.programs = programs
        self._name = name
        self._function = function
        self._opens = opens
        self._dimensions = Dimensions()
        self._returning = events.Returning()
        self._constant: set[Any] = set()
        self._decided: set[Any] = set()

    @property
    def written(self) -> types.CodeType:
        """The code that the user has written, for what is told of it."""
        return written(self._function).__code__

    def clear(self) -> None:
        """Forget which dimensions vary."""
        self._dimensions.clear()

    def fitting(self, call: Call) -> Entry | None:
        """The newest program for calls like this one that fits the state outside, too."""
        entry = self.programs.fitting(call.key)
        if entry is None and self._opens:
            wide = self._dimensions.widened(shapes_of(call))
            if wide is not None:
                entry = self.programs.fitting(with_shapes(call, wide).key)
        return entry

    def capture(self, call: Call, captured: CaptureOf) -> Entry:
        """Capture a program for ``call``, with open dimensions where it can be.

        Args:
            call: the call.
            captured: what runs the function once.
        """
        with capture_lock:
            entry = self.fitting(call)
            if entry is not None:
                return entry
            known = self.programs.entries
            if known:
                events.differs(self._name, self.written, differences(call, known), len(known))
            shapes = shapes_of(call)
            if self._opens and config.get().dynamic_dims:
                with limited_together(config.get().capture_seconds):
                    entry = self._first_opened(call, shapes, captured)
            if entry is None:
                entry = self._exact(call, captured)
            self._dimensions.note(shapes)
            return entry

    def _first_opened(self, call: Call, shapes: Shapes, captured: CaptureOf) -> Entry | None:
        """A program with some of the open dimensions that it may have."""
        for trial in self._dimensions.trials(shapes):
            entry = self._opened(call, trial, captured)
            if entry is not None:
                self._dimensions.open(trial)
                return entry
            self._dimensions.close(trial)
        return None

    def _exact(self, call: Call, captured: CaptureOf, *, lifts: bool = True) -> Entry:
        reason = explain(call, self.programs.entries)
        with events.capturing(self._name, self.written, reason) as now:
            made = self._lifted(call, captured) if lifts else captured(call)
            now.runner = runner = Runner(made)
        return self._kept(call, runner, reason)

    def _opened(self, call: Call, trial: Trial, captured: CaptureOf) -> Entry | None:
        """A program with open dimensions; ``None`` if the function does not go with them."""
        wide = with_shapes(call, trial.shapes)
        reason = explain(wide, self.programs.entries)
        try:
            with events.capturing(self._name, self.written, reason) as now:
                runner = Runner(self._lifted(wide, captured, tentative=True))
                runner.prepare(wide.tensors)
                now.runner = runner
        except Exception as error:  # what the function makes of a size that it does not know
            events.kept(self._name, self.written, "the sizes stay as they are", error)
            return None
        return self._kept(wide, runner, reason)

    def _kept(self, call: Call, runner: Runner, reason: Reason) -> Entry:
        entry = Entry(
            call.key, dataclasses.replace(call, tensors=[], containers=[]), runner, reason
        )
        self.programs.add(entry)
        self._returning.note(self._name, self.written, entry)
        return entry

    def run_open(self, entry: Entry, call: Call, captured: CaptureOf) -> Any:
        """Run a program with open dimensions; one of this very size if Paddle fails in it.

        An error of the user's is raised by both, in the end as dygraph has it.
        """
        try:
            return entry.runner(call.tensors, call.containers)
        except Exception as error:
            events.kept(self._name, self.written, "a program of this size alone is captured", error)
        with capture_lock:
            of_state = entry.runner.captured.opens
            exact = None if of_state else self.programs.fitting(call.key)
            exact = exact or self._exact(call, captured, lifts=not of_state)
        return exact.runner(call.tensors, call.containers)

    def _lifted(self, call: Call, captured: CaptureOf, *, tentative: bool = False) -> Captured:
        """A program for ``call``; numbers and sizes of the state that it counts on are inputs.

        The first program takes them as they are.  When one of them is another one on a later call
        because the function itself changes it, it becomes an input, so that there is not a
        program for each; unless the function cannot be captured like that.
        """
        counters: dict[Any, list[Change]] = {}
        for entry in self.programs.entries:
            for change in entry.runner.captured.counters:
                if change.place.identity not in self._constant:
                    counters.setdefault(change.place.identity, []).append(change)
        lifted = lift(list(counters.values()))
        numbers = tuple(each for each in lifted if not each.is_tensor)
        with limited_together(config.get().capture_seconds):
            for several in (lifted, numbers) if len(numbers) < len(lifted) else (lifted,):
                made = self._with(several, call, captured) if several else None
                if made is not None:
                    return made
        return captured(call, tentative=tentative)

    def _with(self, lifted: tuple[Lifted, ...], call: Call, captured: CaptureOf) -> Captured | None:
        """A program with inputs for ``lifted``; ``None`` if the function does not go with them."""
        known = {each.place.identity for each in lifted}
        for decided in (False, True):
            if not decided and not self._decided.isdisjoint(known):
                continue
            try:
                made = captured(call, lifted=lifted, tentative=True, decided=decided)
            except Exception as error:  # what is made of a number, or size, that is not known
                if is_defect(error):
                    raise
                events.kept(self._name, self.written, "the state stays as it is", error)
            else:
                self._decided.update(known if decided else ())
                return made
        self._constant |= {each.place.identity for each in lifted if each.is_tensor} or known
        return None
