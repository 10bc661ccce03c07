"""Whether the programs of a function that is one program pay beside dygraph.

Calls are told apart by what may decide over their work and is asked in less than a microsecond:
train or eval, grad mode, the kinds of the arguments, which flags and texts they are.  Of each kind
some calls run as programs and some in dygraph, each once, and where dygraph is faster the next
ones run there.  Where a backward comes to the results, all counts from the beginning of one call to
that of the next one.  Programs that draw random numbers of Paddle are not tried.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any, Final

from d2s import config
from d2s import paddle_bridge as bridge
from d2s.program.dispatch import events
from d2s.program.dispatch.entry import Entry
from d2s.program.dispatch.new_programs import NewPrograms
from d2s.program.islands.paying import BLOCK, LEAST_LOSS, SETTLED, Comparison

RESTING: Final = 1024
"""So many calls run in dygraph then, twice as many each further time, until both are timed anew."""

_AWAITED: Final = 24
"""So many calls wait for a backward, if one may come."""

_LONGEST: Final = 256
"""So many calls of a kind are looked at; where nothing is found in them, programs it is."""

_KINDS: Final = 16
"""So many kinds of calls are told apart; others run as programs."""

_FLAGS: Final = frozenset((bool, str, type(None)))


class Kind:
    """Calls of one kind.

    Attributes:
        pays: whether they run as programs; ``None`` while that is being found out.
    """

    def __init__(self) -> None:
        self.pays: bool | None = None
        self._calls = 0
        self._rest = 0
        self._losses = 0
        self._begun: tuple[bool, float] | None = None
        self._start()

    @property
    def rests(self) -> bool:
        """Whether they run in dygraph for a while, which is faster."""
        return self.pays is False

    def way(self) -> bool:
        """Whether the next call, which is timed, runs as a program."""
        return self._settled >= 0 or self._comparison.way()

    def rest(self) -> None:
        """One more call runs in dygraph."""
        self._rest -= 1
        if not self._rest:
            self.pays = None

    def begin(self, now: float, *, program: bool) -> None:
        """A call that is timed begins, and with it ends what came after the last one."""
        if self._reached and self._begun is not None:
            was, before = self._begun
            self._count(now - before, program=was)
        self._begun = program, now

    def end(
        self, took: float | None, entries: Iterable[Entry], *, program: bool, captured: bool
    ) -> bool:
        """That call has come to its end; whether the next ones run in dygraph.

        Args:
            took: its seconds; ``None`` if what it calls was timed, and so takes another time later.
            entries: the programs of the function.
            program: whether it has run as one.
            captured: one was made for it, which is not what is timed.
        """
        self._calls += 1
        if captured or self._calls > _LONGEST:
            self._start()
            self.pays = True if self._calls > _LONGEST else None
        elif took is None:
            self._begun = None
        elif self._settled >= 0:
            self._settle([entry.runner for entry in entries])
        elif not self._reached:
            self._count(took, program=program)
        return self.rests

    def _start(self) -> None:
        """Begin to time calls, when some have found their programs."""
        self._settled, self._reached = 0, False
        self._comparison = Comparison(LEAST_LOSS, BLOCK)
        self._begun = None

    def _settle(self, runners: list[Any]) -> None:
        """One more call has found its program; the next one is timed when that were enough."""
        self._settled += 1
        self._reached = any(each.program.reached for each in runners)
        awaited = not self._reached and any(each.training for each in runners)
        if any(each.draws for each in runners):
            self.pays = True
        elif self._settled >= (_AWAITED if awaited else SETTLED):
            self._settled, self._begun = -1, None

    def _count(self, took: float, *, program: bool) -> None:
        self._comparison.note(took, converted=program)
        self.pays = self._comparison.pays
        if self.pays is False:
            self._rest = RESTING << self._losses
            self._losses += 1
            self._calls = 0
            self._start()


class _Timed:
    """What is being found out.

    Attributes:
        count: another number after each call that was timed.
    """

    count = 0


_has_grad: Final = bridge.has_grad


class Resting:
    """Calls like the last one, which has run in dygraph: found in less than half a microsecond.

    Args:
        kind: their kind.
        args: what the last one was given, by position.
        trains, grad: train or eval, and grad mode.
    """

    __slots__ = ("_flags", "_grad", "_kind", "_options", "_places", "_trains", "_types")

    def __init__(self, kind: Kind, args: tuple[Any, ...], trains: Any, grad: bool) -> None:
        self._kind = kind
        self._types = tuple(map(type, args))
        self._places = [at for at, each in enumerate(self._types) if each in _FLAGS]
        self._flags = [args[at] for at in self._places]
        self._trains, self._grad, self._options = trains, grad, config.get()

    def goes_on(self, args: tuple[Any, ...], trains: Any) -> bool:
        """Whether the next call is like them; it is counted."""
        kind = self._kind
        if (
            kind.pays is not False
            or (*map(type, args),) != self._types
            or trains != self._trains
            or _has_grad() is not self._grad
            or config.get() is not self._options
            or (self._places and [args[at] for at in self._places] != self._flags)
        ):
            return False
        kind.rest()
        return True


class Kinds:
    """The kinds of the calls of a function.

    Attributes:
        tries: whether calls have to be looked at, as one may be timed or run in dygraph.
        resting: those like the last one, where that has run in dygraph.
    """

    def __init__(self) -> None:
        self.tries = False
        self.resting: Resting | None = None
        self._busy = False
        self._kinds: dict[Any, Kind] = {}

    def of(self, args: tuple[Any, ...], kwargs: dict[str, Any], trains: Any) -> Kind | None:
        """The kind of a call that may run in dygraph; ``None``: it runs as a program."""
        if self._busy or not config.get().try_dygraph:
            return None
        given = (*args, *kwargs, *kwargs.values()) if kwargs else args
        kinds = [each if type(each) in _FLAGS else type(each) for each in given]
        grad = bridge.has_grad()
        key = trains, grad, *kinds
        found = self._kinds.get(key)
        rests = found is not None and found.rests and not kwargs
        self.resting = Resting(found, args, trains, grad) if found and rests else None
        if found is None and len(self._kinds) < _KINDS:
            found = self._kinds[key] = Kind()
        self.tries = self.tries or (found is not None and not found.pays)
        return found if self.tries else None

    def run(
        self,
        kind: Kind,
        new: NewPrograms,
        ways: tuple[Callable[..., Any], Callable[..., Any]],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        """Make a call the one way or the other.

        Args:
            kind: its kind.
            new: makes the programs of the function, and has them.
            ways: the function in dygraph, and as programs.
            args, kwargs: the call.
        """
        if kind.rests:
            kind.rest()
            return ways[False](*args, **kwargs)
        self._busy, self.tries = True, False
        try:
            if kind.pays:
                return ways[True](*args, **kwargs)
            programs, program = new.programs, kind.way()
            made, timed = programs.made, _Timed.count
            start = time.perf_counter()
            kind.begin(start, program=program)
            result = ways[program](*args, **kwargs)
            took = time.perf_counter() - start if _Timed.count == timed else None
            captured = programs.made != made
            _Timed.count += 1
            if kind.end(took, programs.entries, program=program, captured=captured):
                events.slower(programs.name, new.written)
        except Exception as error:  # it has left a call already: nobody looks here for a defect
            trace = error.__traceback__
            raise error.with_traceback(trace.tb_next if trace else None)  # noqa: B904
        finally:
            self._busy = False
            self.tries = not all(each.pays for each in self._kinds.values())
        return result

    @property
    def rests(self) -> bool:
        """Whether calls run in dygraph at present, as programs are slower."""
        return any(each.rests for each in self._kinds.values())
