"""What Paddle has prepared to run programs: the scopes it is for, and its end.

Paddle makes an interpreter for each scope that a program runs in, and keeps it until the process
ends, also when the program is gone::

    for number in range(5000):
        function = d2s.to_static(make(number))       function is dropped, two threads of Paddle's
        function(x)                                  stay (eight after a backward) and 1.5 MB

Linux gives a process some 32,000 threads.  ``clear_executor_cache`` ends what was prepared for all
programs, also for those that are called again: they prepare anew then.  So it is called when more
scopes are gone than there are, and only while nothing can be running: Paddle has no lock there.

A scope must not go on after that: with a backward that was prepared between, Paddle 3.3.1 loses
values ("Tensor holds no memory").  Ours are replaced; Paddle's own programs keep theirs, so where
one of them has run, nothing is ended.
"""

from __future__ import annotations

import functools
import gc
import os
import sys
import weakref
from collections.abc import Callable
from typing import Any, Final

import paddle

from d2s.paddle_bridge.gate import GATE
from d2s.paddle_bridge.names import FAKE_VALUE_NAME, PartialProgramLayer, clear_executor_cache
from d2s.paddle_bridge.running.backward import RunScope
from d2s.paddle_bridge.versions import run_operations

ENOUGH: Final = 64
"""So many scopes must be gone at least: the end of what was prepared takes 0.2 ms for a thread."""

_PROCESS: Final = os.getpid()
"""A fork of it has Paddle's interpreters, but not their threads, whose end would be waited for."""


class Scopes:
    """The scopes that one program runs in.

    A scope holds the values of a run; after the forward of a training program it holds them
    until the backward.  Paddle remembers by a scope's address what it has prepared for it, so a
    scope is not given up while the program lives and Paddle remembers.

    Attributes:
        free: those that the next run may take.
        held: those that a backward may come to.
        broken: those that are not to be taken again.
    """

    def __init__(self) -> None:
        self.free: list[RunScope] = []
        self.held: list[RunScope] = []
        self.broken: list[RunScope] = []
        _owners.add(self)

    def made(self, scope: RunScope) -> RunScope:
        """A new one, for which Paddle is about to prepare the program."""
        _since.add(scope)
        return scope

    def take(self) -> RunScope | None:
        """One of those held that nothing uses any more; ``None`` if there is none."""
        for index, scope in enumerate(self.held):
            if scope.scope._can_reused and not scope.is_reserved:  # is_free, without a call
                return self.held.pop(index)
        return None

    def put(self, scope: RunScope) -> None:
        """Take it back from a run."""
        (self.free if scope.scope._can_reused else self.held).append(scope)

    def forget(self) -> None:
        """Paddle has nothing prepared any more: the next run begins in a new scope.

        What a backward may still come to is kept: it is prepared anew, under the same address.
        """
        known = [*self.held, *self.broken]
        self.broken = [each for each in known if not each.is_free or each.is_reserved]
        self.free.clear()
        self.held.clear()
        for scope in self.broken:
            scope.is_prepared = False


class _Since:
    """The scopes made since Paddle had nothing prepared."""

    def __init__(self) -> None:
        self._alive: weakref.WeakSet[RunScope] = weakref.WeakSet()
        self._made = 0

    def add(self, scope: RunScope) -> None:
        """One more."""
        self._made += 1
        self._alive.add(scope)

    def begin(self) -> None:
        """Those that are still there are no more than any other object."""
        self._alive.clear()
        self._made = 0

    @property
    def is_waste(self) -> bool:
        """Whether most of what Paddle has prepared is for programs that are gone."""
        alive = len(self._alive)
        return self._made - alive >= max(ENOUGH, alive)


class _Others:
    """Whether programs have run that are not ours.

    The first one goes through here; after it, Paddle's functions are as they were.
    """

    def __init__(self) -> None:
        self._have_run: bool | None = None
        self._originals = [(*place, getattr(*place)) for place in run_operations()]
        for module, name, original in self._originals:
            setattr(module, name, self._noting(original))

    def _noting(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def run_program(*arguments: Any) -> Any:
            self._have_run = True
            for module, name, before in self._originals:
                setattr(module, name, before)
            return original(*arguments)

        return run_program

    def have_run(self) -> bool:
        """Whether one has; what was there before d2s is looked for once, and counts if it lives."""
        if self._have_run is None:
            self._have_run = any(type(each) in _KINDS for each in gc.get_objects())
        return self._have_run


_KINDS: Final = (PartialProgramLayer, paddle.jit.TranslatedLayer)
"""What Paddle runs programs of its own by; ours are of a class of their own."""

run_program: Final = paddle._C_ops.run_program
"""Runs our programs."""

_others: Final = _Others()
_owners: Final[weakref.WeakSet[Scopes]] = weakref.WeakSet()
_since: Final = _Since()


def end_unused() -> None:
    """End what Paddle has prepared, if most of it is for programs that are gone.

    Not while the process has another Python thread, as it may run programs of its own: neither
    Paddle's converters nor its executor tell us when they do.
    """
    if not _since.is_waste or os.getpid() != _PROCESS or _has_threads():
        return
    if not GATE.is_idle or _others.have_run():  # a host operator of a program that runs calls us
        return
    with GATE.alone():
        clear_executor_cache()
        for scopes in list(_owners):
            scopes.forget()
        _since.begin()


def _has_threads() -> bool:
    return len(sys._current_frames()) > 1


def without_gradient(built: Any) -> list[int]:
    """The inputs and parameters of a training program that get no gradient."""
    names = [*built.x_grad_names, *built.p_grad_names]
    return [at for at, name in enumerate(names) if name == FAKE_VALUE_NAME]
