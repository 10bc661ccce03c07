"""``if`` statements and conditional expressions: Python, or one ``if`` of the program (B1)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from d2s import paddle_bridge as bridge
from d2s.diagnostics.blame import is_defect
from d2s.diagnostics.notes import note
from d2s.errors import ContainerInGraphError, D2SError
from d2s.runtime.aliasing.holders import choices_with, holders_of
from d2s.runtime.aliasing.origins import Origins, note_form
from d2s.runtime.aliasing.reach import Reach, Scope
from d2s.runtime.aliasing.replays import calling
from d2s.runtime.aliasing.slots import Attribute, Slot
from d2s.runtime.aliasing.snapshots import (
    Frozen,
    containers_beside,
    freeze,
    has_other_form,
    renew_doubles,
    same_items,
    thaw,
)
from d2s.runtime.aliasing.variables import State
from d2s.runtime.aliasing.views.arrays import ConstantArrays, with_arrays_of_run
from d2s.runtime.aliasing.views.branches import places_in, relink
from d2s.runtime.control_flow.effects import BlockLeft, error, raise_later
from d2s.runtime.control_flow.ends import Ends
from d2s.runtime.control_flow.guards import (
    End,
    close,
    extent,
    handed_out,
    leave,
    merge_sides,
    skip_where,
)
from d2s.runtime.control_flow.merge import Merger, cure_of_change, plural
from d2s.runtime.control_flow.outputs import Builder, Written
from d2s.runtime.control_flow.raises import Raised
from d2s.runtime.control_flow.unbound import as_local
from d2s.runtime.host.ahead import taking_none
from d2s.runtime.lists.becoming import NeedsFormError, SharedError, may_run_code, subject_of
from d2s.runtime.lists.divided import join_again
from d2s.runtime.lists.dynamic_list import DynamicList
from d2s.runtime.lists.lending import check_given, left_alone, settle_block
from d2s.runtime.trace import current, error_here, open_trace
from d2s.runtime.values.choice import Choice
from d2s.runtime.values.tensors import decided
from d2s.runtime.values.tree import refill
from d2s.runtime.values.unbound import UNBOUND

Body = Callable[[], Any]


def if_(test: object, body: Body, orelse: Body | None, names: tuple[str, ...]) -> None:
    """An ``if`` statement.

    Args:
        test: the condition, evaluated.
        body, orelse: the two sides; ``orelse`` may be ``None``.
        names: the state that the sides change and somebody reads afterwards.
    """
    test = decided(test)
    if bridge.is_value(test):
        decide_anew(test, body, orelse, State(names, body, orelse))
        return
    truth = bool(test)  # asked once: it may be the user's ``__bool__``
    note("if", truth)
    try:
        if truth:
            body()
        elif orelse is not None:
            orelse()
    except NameError as error:
        raise as_local(error)  # noqa: B904 - mostly the same one


def ifelse(test: object, body: Body, orelse: Body) -> Any:
    """A conditional expression."""
    test = decided(test)
    if not bridge.is_value(test):
        truth = bool(test)
        note("if", truth)
        try:
            return body() if truth else orelse()
        except NameError as error:
            raise as_local(error)  # noqa: B904 - mostly the same one
    return choose(test, body, orelse, (body, orelse))


@dataclass
class _Outcome(Slot):
    """The value of an expression, handed on like a variable."""

    value: Any = None

    def get(self) -> Any:
        return self.value

    def set(self, value: object) -> None:
        self.value = value


def choose(
    test: object, body: Body, orelse: Body, parts: tuple[Body, ...], names: tuple[str, ...] = ()
) -> Any:
    """:func:`select` of code of the user's, which may change what it reaches.

    Args:
        test: a bool value.
        body, orelse: the two sides.
        parts: the user's code in them, as functions.
        names: the variables that ``parts`` bind.
    """
    outcome = _Outcome()
    state = State(names, *parts)
    state.add("value", outcome)

    def side(make: Body) -> Body:
        def run() -> None:
            outcome.value = None
            outcome.value = make()

        return run

    decide_anew(test, side(body), side(orelse), state)
    return outcome.value


def select(test: object, body: Body, orelse: Body, name: str = "value") -> Any:
    """The value of ``body()`` where the bool value ``test`` holds, else of ``orelse()``."""
    test = decided(test)
    if not bridge.is_value(test):
        return body() if test else orelse()
    outcome: list[Any] = [None]

    def side(make: Body) -> Body:
        def run() -> None:
            outcome[0] = None
            outcome[0] = freeze(taking_none(make)())

        return run

    sides = _sides(test, (side(body), side(orelse)), lambda: list(outcome), (name,))
    build = sides.merger.merge(*sides.outcomes(0), name)
    results = sides.finish()
    value = build(results)
    sides.go_on()
    return value


def _each(use: Callable[[Any], Any], thing: Choice) -> Any:
    """``use`` of both alternatives of ``thing``, each in a side of its own.

    A list or dict among the alternatives may be changed there: what it holds afterwards is handed
    out with the result.  One that others know, too, becomes one of the run before it gets another
    length.
    """
    each_ = _each_with_code if any(map(may_run_code, thing.leaves())) else _each_alone
    capture = open_trace()
    while True:
        known = capture.checkpoint()
        try:
            return each_(use, thing)
        except SharedError as request:
            capture.rollback(known)
            request.answer()
        thing = thing.renewed()


def _each_alone(use: Callable[[Any], Any], thing: Choice) -> Any:
    outcome: list[Any] = [None]
    alternatives = (thing.true, thing.false)
    subjects = subject_of(thing.true), subject_of(thing.false)
    before = freeze(subjects[0]), freeze(subjects[1])
    turn = iter((0, 1))
    reach = Reach()
    for leaf in thing.leaves():
        if not callable(leaf):
            reach.add(thing.name, leaf)
    objects = [scope.note() for scope in reach.found().values() if scope.owner is not None]

    def side(alternative: object) -> Body:
        def run() -> None:
            outcome[0] = None
            if alternative is UNBOUND:
                raise thing.unbound()
            outcome[0] = freeze(taking_none(use)(alternative))
            _refuse_changed(objects, thing)

        return run

    def snapshot() -> list[Any]:
        return [outcome[0], freeze(subjects[next(turn)])]

    def between() -> None:
        for state in before:
            thaw(state)

    run = [side(alternative) for alternative in alternatives]
    sides = _sides(thing.flag, (run[0], run[1]), snapshot, (thing.name, thing.name), between)
    merger = sides.merger
    true, false = merger.outcomes
    merger.outcomes = [*true, None], [false[0], None, *false[1:]]  # each of them stays itself
    try:
        build = merger.merge(*sides.outcomes(0), thing.name)
        changed = _changes(merger, before, sides.outcomes(1), thing)
    except SharedError:
        open_trace().drop(merger.op)
        raise
    results = sides.finish()
    value = build(results)
    for change in changed:
        change(results)
    sides.go_on()
    return value


def _changes(
    merger: Merger, before: Sequence[Any], after: Sequence[Any], thing: Choice
) -> list[Builder]:
    """What the two sides have changed of the alternatives of ``thing``, as each run has it."""
    found = [
        {id(now.container): (was, now) for was, now in containers_beside(left, right)}
        for left, right in zip(before, after, strict=True)
    ]
    changed: list[Callable[[list[Any]], Any]] = []
    for key in found[0] | found[1]:
        pairs = [each[key] for each in found if key in each]
        container = pairs[0][1].container
        if all(same_items(was, now) for was, now in pairs):
            continue
        if not isinstance(container, DynamicList):
            _refuse_other_choices(pairs[-1][1], thing)
        if len(pairs) == 2:  # it may be the one on both sides
            _refuse_other_form(pairs[0][1], pairs[1][1], thing)
            changed.append(merger.containers(pairs[0][1], pairs[1][1], thing.name))
        elif isinstance(container, DynamicList):
            was, now = pairs[0]
            ends = (now, was) if key in found[0] else (was, now)
            changed.append(merger.containers(*ends, thing.name))
        else:
            contents = merger.changed(key in found[0], *pairs[0], thing)
            changed.append(lambda run, to=container, new=contents: refill(to, new(run)))  # type: ignore[misc]
    return changed


def _each_with_code(use: Callable[[Any], Any], thing: Choice) -> Any:
    """The same for alternatives whose use may change whatever can be reached from them."""

    def side(alternative: object) -> Body:
        def run() -> Any:
            if alternative is UNBOUND:
                raise thing.unbound()
            return use(alternative)

        return run

    body, orelse = side(thing.true), side(thing.false)
    return choose(thing.flag, body, orelse, (body, orelse, *map(side, thing.leaves())))


def _refuse_changed(objects: Iterable[Scope], thing: Choice) -> None:
    """Objects in one of several lists must not be changed by an expression that goes over it."""
    for scope in objects:
        for name in {**scope.base, **dict.fromkeys(scope.keys())}:
            slot, base = scope.slot(name), scope.base.get(name, UNBOUND)
            if not same_items(base, freeze(slot.get())):
                slot.set(thaw(base))
                raise error_here(
                    ContainerInGraphError,
                    f"{scope.path_of(name)!r} is changed by an expression that goes over "
                    f"{thing.name!r}, one of several {plural(thing.leaves()[0])} as a tensor "
                    "decides",
                    "change it in a for statement",
                )


def _refuse_other_form(true: Frozen, false: Frozen, thing: Choice) -> None:
    """A list or dict that both sides reach must not be left with two lengths, or other keys."""
    if not isinstance(true.container, DynamicList) and has_other_form(true, false):
        refusal = error_here(
            ContainerInGraphError,
            f"{thing.said} is one of several {plural(true.container)}, which a tensor decides; one "
            "of them that several ways lead to would not be changed on each of them",
            cure_of_change(thing),
        )
        raise SharedError.of(max(true, false, key=lambda end: len(end.items)), refusal)


def _refuse_other_choices(now: Frozen, thing: Choice) -> None:
    """What is changed as one of several lists must not be one of several elsewhere, too."""
    others = choices_with(now.container, subject_of(thing))
    if others:
        refusal = error_here(
            ContainerInGraphError,
            f"{thing.said} is one of several {plural(now.container)}, which a tensor decides; it "
            f"is changed, and {others[0]!r} may be the same one",
            cure_of_change(thing),
        )
        raise SharedError.of(now, refusal)


class _Sides:
    """The two sides of an ``if``, captured, and what each of them leaves behind.

    Attributes:
        merger: makes one value of what the sides leave.
    """

    def __init__(self, op: bridge.IfOp, ends: list[End], written: Written) -> None:
        self.ends, self._written = ends, written
        self.merger = Merger(op, (ends[0].left, ends[1].left), select)
        self.merger.outcomes = ends[0].outcome, ends[1].outcome
        self._pending = handed_out(self.merger, ends[0].raised, ends[1].raised)
        self._raised: Raised | None = None

    def outcomes(self, index: int) -> tuple[Any, Any]:
        """The thing at ``index`` of what the two sides leave."""
        return self.ends[0].outcome[index], self.ends[1].outcome[index]

    def finish(self) -> list[Any]:
        """Yield everything; the results in order."""
        self._written.hand_out(self.merger)
        results = self.merger.finish()
        self._raised = self._pending(results)
        return results

    def go_on(self) -> None:
        """What follows runs only where no side has raised; never when both have."""
        renew_doubles()
        self.merger.over()
        if self.ends[0].left and self.ends[1].left:
            leave(self._raised)
        if self._raised is not None:
            skip_where(self._raised)


def _sides(
    test: object,
    bodies: tuple[Body, Body | None],
    snapshot: Callable[[], list[Any]],
    names: tuple[str, ...],
    between: Callable[[], None] = lambda: None,
    state: State | None = None,
) -> _Sides:
    """Capture the two sides.

    Args:
        test: the condition, a bool value.
        bodies: the sides.
        snapshot: gives, frozen, what a side leaves behind at its end.
        names: what that is.
        between: called after each side.
        state: the variables and attributes that the sides hand on.
    """
    capture = current()
    assert capture is not None
    op = bridge.IfOp(test)
    handed_on = () if state is None else state.names
    ends, written = [], Written()
    try:
        for which, side in zip((True, False), bodies, strict=True):
            with (
                capture.block("branch", handed_on) as block,
                op.side(which),
                extent(block.frame, handed_on, state) as stretch,
            ):
                block.state, block.makes = state, op.makes
                block.known = bridge.implied(test, which, capture.facts())
                try:
                    if side is not None:
                        calling(side)
                except BlockLeft:
                    block.left = True
                except D2SError:
                    raise
                except (Exception, SystemExit) as error:  # dygraph raises it on these runs
                    if is_defect(error):
                        raise
                    raise_later(as_local(error))
                    block.left = True
                taken = settle_block()
                outcome = snapshot()
                check_given(taken, outcome)
                labels = (*names, *(["state"] * (len(outcome) - len(names))))
                ends.append(close(stretch, block.left, outcome, labels, select))
                written.side()
                between()
        return _Sides(op, ends, written)
    except BaseException:
        capture.drop(op)
        raise


@with_arrays_of_run
def decide_anew(test: object, body: Body, orelse: Body | None, state: State) -> None:
    """:func:`decide`, once more for each container that becomes one of the run before it."""
    capture = current()
    assert capture is not None
    while True:
        known, moved = capture.checkpoint(), set(capture.moved)
        state.repeats = True
        try:
            decide(test, body, orelse, state)
        except NeedsFormError as request:
            if request.state is not state:
                raise
            if any(holders_of(capture.moved[key][0]) for key in capture.moved.keys() - moved):
                raise error_here(
                    ContainerInGraphError,
                    f"a {type(request.container).__name__} gets keys or items that only the run "
                    "knows, in a branch that takes items of an iterator from outside of it",
                    "take them before the branch",
                ) from None
            capture.rollback(known)
            request.answer()
            state = state.anew()
        else:
            return


def decide(test: object, body: Body, orelse: Body | None, state: State) -> None:
    """An ``if`` of the program on the bool value ``test``; ``state`` is what it hands on."""
    before = state.freeze()
    origins = Origins(before)
    state.began = origins.before
    arrays = ConstantArrays(before, len(open_trace().blocks))

    def snapshot() -> list[Any]:
        arrays.check()
        found = state.freeze()
        origins.side(found)
        return found

    def between() -> None:
        state.thaw(before)
        origins.back()

    try:
        with arrays.noted():
            sides = _sides(test, (body, orelse), snapshot, state.names, between, state)
    except BaseException:
        with left_alone():
            state.find()  # what the side has changed so far, too: it may be captured again
        state.thaw(before)
        origins.back()
        raise
    for end in sides.ends:
        end.outcome = state.padded(end.outcome)
    origins.joined([end.outcome for end in sides.ends])
    merger = sides.merger
    merger.state, merger.became = state, (origins.ends[0], origins.ends[1])
    merger.outcomes = sides.ends[0].outcome, sides.ends[1].outcome
    merger.ends = (
        Ends(state.slots, sides.ends[0].outcome),
        Ends(state.slots, sides.ends[1].outcome),
    )
    left = [sides.outcomes(index) for index in range(len(state.names))]
    builders = merge_sides(merger, state, left, sides.ends)
    dropped = [(root, merger.aside(true, false)) for root, true, false in origins.leavings()]
    placed = open_trace().places and not any(merger.left)
    places = places_in(left, merger, merger.op.makes) if placed else []
    results = sides.finish()
    values = [build(results) for build in builders]
    forms = [(root, build(results)) for root, build in dropped]
    for slot, value in zip(state.slots, values, strict=True):
        if isinstance(slot, Attribute) and isinstance(value, Choice):
            value.missing = slot.missing_error()
    state.write(values)
    if not all(merger.left):
        merged = [(*pair, value) for pair, value in zip(left, values, strict=True)]
        relink(merged, merger.left, merger.op.makes, places, results)
    origins.note(values, [end.left for end in sides.ends])
    for root, form in forms:
        note_form(root, form)
    join_again(state, select)
    sides.go_on()


class Branches:
    """How values make an ``if`` where they are used: see ``trace.Branching``."""

    def over(self, use: Callable[[Any], Any], choice: Choice, *, changes: bool) -> Any:
        return _each_with_code(use, choice) if changes else _each(use, choice)

    def raise_where(self, test: object, make: Callable[[], Any]) -> None:
        def body() -> None:
            raise error(make)

        decide(test, body, None, State(()))
