"""The words that generated code may use, and the name under which it reaches them.

``passes`` write these names into code and ``runtime`` give them meaning; neither imports the
other.  A test holds the two against each other: every word here is an operator, every operator
is a word here.
"""

from __future__ import annotations

from typing import Final

NAMESPACE: Final = "d2s"
"""How generated code names the operators; a free variable of it, not one of its globals."""

WORDS: Final[dict[str, str]] = {
    "if_": "if_(test, body, orelse, names): an if statement",
    "ifelse": "ifelse(test, body, orelse): a conditional expression",
    "while_": "while_(test, body, names, stop): a while statement",
    "for_": "for_(iter_, body, names, stop): a for statement",
    "over": "over(things): what a for statement goes over that stays Python, as one with a yield",
    "hand": "hand(take, item): in the place of a yield; whether the loop wants no more items",
    "stepped": "stepped(step, names, returns): a generator made of what it does up to a yield",
    "step": "step(found, get): what one step has come to: whether it has yielded, and what",
    "kept": "kept(value): a variable that is kept between the steps, and bound where it is read",
    "begun": "begun(things): what a for statement of such a generator goes over",
    "asked": "asked(items, position): whether it has another item, and what gives it",
    "taken": "taken(get): that item",
    "list_": "list_(iter_, element, accept, names): a list comprehension",
    "set_": "set_(things): a set of what the run may decide",
    "dict_": "dict_(pairs): a dict, likewise",
    "mapped": "mapped(things): {**things}, likewise",
    "generator": "generator(iter_, element, accept, names, consumer): a generator expression",
    "and_": "and_(left, *thunks): the operator and",
    "or_": "or_(left, *thunks): the operator or",
    "not_": "not_(operand): the operator not",
    "in_": "in_(item, container): the operator in",
    "not_in": "not_in(item, container): the operator not in",
    "is_": "is_(left, right): the operator is",
    "is_not": "is_not(left, right): the operator is not",
    "eq": "eq(left, right): the operator ==, where both sides may be containers",
    "ne": "ne(left, right): the operator !=, where both sides may be containers",
    "compare": "compare(left, (operator, thunk), ...): a comparison of tuples, or a chained one",
    "apart": "apart(item, use): what a function gives of the parts of an item of a comprehension",
    "assert_": "assert_(test, message): an assert statement",
    "error": "error(make, cause): the exception of a raise statement that a tensor may guard",
    "attempt": "attempt(types, names, cells): the body of a try statement",
    "handle": "handle(tried, handlers, orelse, names): what follows the body of a try statement",
    "manage": "manage(manager, names, cells): the context manager of a with statement",
    "settle": "settle(tried): the state after a body whose exceptions are not handled there",
    "again": "again(tried): raises what the body has raised, after finally",
    "call": "call(function): the converted function, or the operator of a built-in",
    "call_unpacked": "call_unpacked(function): the same for a call with * or **",
    "unpacked": "unpacked(things): what stands behind * in a call",
    "listed": "listed(things): [*things], where the run may know how many there are",
    "tupled": "tupled(things): (*things,), likewise",
    "parts": "parts(things): what a, b = things takes apart",
    "parted": "parted(things, before, after): what a, *rest, b = things binds, likewise",
    "gathered": "gathered(things): what *things of a function holds",
    "keywords": "keywords(options): what stands behind ** in a call",
    "probe": "probe(kind, name, value): what a statement has bound, for the self-check",
    "read": "read(value, name): a variable that may be unbound on some path",
    "seen": "seen(found, hidden, named): locals(), vars() or dir() without names of generated code",
    "result": "result(value): the value that leaves the function",
    "getitem": "getitem(container, key): container[key], where the run may know the key",
    "setitem": "setitem(value, container, key): the container after container[key] = value",
    "delitem": "delitem(container, key): del container[key], where the run may know the key",
    "shape": "shape(thing): thing.shape, open dimensions as tensors",
    "class_": "class_(thing): thing.__class__, of a value the class that dygraph has there",
    "percent": "percent(template, things): template % things, where the template is text",
    "late": "late(value, make): what print shows of a tensor, such as x.numpy(), made on the run",
    "subject": "subject(value): the subject of a match statement that stays Python",
    "formatted": "formatted(value, conversion, spec): a part of an f-string before others",
    "text": "text(*parts): an f-string, formatted when the tensors in it are known",
}


def word(name: str) -> str:
    """``d2s.name``, checked: a pass that misspells a word fails at import."""
    if name not in WORDS:
        raise KeyError(f"{name!r} is not a word of generated code")
    return f"{NAMESPACE}.{name}"
