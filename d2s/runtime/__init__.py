"""What generated code calls.  ``syntax.vocabulary`` lists the same words; a test compares them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Final

from d2s.runtime.builtins.keyed import dict_, mapped, set_
from d2s.runtime.calls.call import call
from d2s.runtime.calls.implicit import begun, next_asked, stepped
from d2s.runtime.calls.managers import manage
from d2s.runtime.calls.unpacking import call_unpacked, gathered, keywords, taken_apart, unpacked
from d2s.runtime.control_flow.cond import if_, ifelse
from d2s.runtime.control_flow.effects import assert_, error
from d2s.runtime.control_flow.try_ import again, attempt, handle, settle
from d2s.runtime.host.ahead import over
from d2s.runtime.host.text import formatted, late, percent, text
from d2s.runtime.lists.probes import probe
from d2s.runtime.loops.comprehensions import apart, generator, list_, listed, parted, tupled
from d2s.runtime.loops.for_ import for_
from d2s.runtime.loops.while_ import while_
from d2s.runtime.python.comparing import eq, ne
from d2s.runtime.python.generators import Step, hand, kept, taken
from d2s.runtime.python.items import getitem
from d2s.runtime.python.kinds import class_
from d2s.runtime.python.logic import and_, compare, in_, is_, is_not, not_, not_in, or_
from d2s.runtime.python.stores import delitem, setitem
from d2s.runtime.values.reading import read, result, seen, subject
from d2s.runtime.values.tensors import shape
from d2s.syntax.vocabulary import WORDS

_defined = {
    "again": again,
    "and_": and_,
    "apart": apart,
    "asked": next_asked,
    "assert_": assert_,
    "attempt": attempt,
    "begun": begun,
    "call": call,
    "call_unpacked": call_unpacked,
    "class_": class_,
    "compare": compare,
    "eq": eq,
    "error": error,
    "for_": for_,
    "formatted": formatted,
    "gathered": gathered,
    "generator": generator,
    "getitem": getitem,
    "hand": hand,
    "handle": handle,
    "if_": if_,
    "ifelse": ifelse,
    "in_": in_,
    "is_": is_,
    "is_not": is_not,
    "kept": kept,
    "keywords": keywords,
    "late": late,
    "list_": list_,
    "set_": set_,
    "dict_": dict_,
    "listed": listed,
    "manage": manage,
    "mapped": mapped,
    "ne": ne,
    "not_": not_,
    "not_in": not_in,
    "or_": or_,
    "over": over,
    "parted": parted,
    "parts": taken_apart,
    "percent": percent,
    "probe": probe,
    "read": read,
    "result": result,
    "seen": seen,
    "setitem": setitem,
    "delitem": delitem,
    "settle": settle,
    "shape": shape,
    "step": Step,
    "stepped": stepped,
    "subject": subject,
    "taken": taken,
    "text": text,
    "tupled": tupled,
    "unpacked": unpacked,
    "while_": while_,
}

NAMESPACE: Final = SimpleNamespace(**{word: _defined[word] for word in WORDS})
"""The operators as generated code reaches them: ``d2s.if_(...)``."""
