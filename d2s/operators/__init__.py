"""What generated code calls.  ``syntax.vocabulary`` lists the same words; a test compares them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Final

from d2s.operators.attempts import again, attempt, handle, settle
from d2s.operators.branches import if_, ifelse
from d2s.operators.calls import call, call_unpacked, keywords, unpacked
from d2s.operators.comparing import eq, ne
from d2s.operators.comprehensions import generator, list_
from d2s.operators.effects import assert_, error
from d2s.operators.either import read, result, subject
from d2s.operators.items import getitem, setitem
from d2s.operators.logic import and_, compare, in_, is_, is_not, not_, not_in, or_
from d2s.operators.loops import for_, while_
from d2s.operators.managers import manage
from d2s.operators.probes import probe
from d2s.operators.shown import formatted, late, percent, text
from d2s.operators.values import shape
from d2s.syntax.vocabulary import WORDS

_defined = {
    "again": again,
    "and_": and_,
    "assert_": assert_,
    "attempt": attempt,
    "call": call,
    "call_unpacked": call_unpacked,
    "compare": compare,
    "eq": eq,
    "error": error,
    "for_": for_,
    "formatted": formatted,
    "generator": generator,
    "getitem": getitem,
    "handle": handle,
    "if_": if_,
    "ifelse": ifelse,
    "in_": in_,
    "is_": is_,
    "is_not": is_not,
    "keywords": keywords,
    "late": late,
    "list_": list_,
    "manage": manage,
    "ne": ne,
    "not_": not_,
    "not_in": not_in,
    "or_": or_,
    "percent": percent,
    "probe": probe,
    "read": read,
    "result": result,
    "setitem": setitem,
    "settle": settle,
    "shape": shape,
    "subject": subject,
    "text": text,
    "unpacked": unpacked,
    "while_": while_,
}

NAMESPACE: Final = SimpleNamespace(**{word: _defined[word] for word in WORDS})
"""The operators as generated code reaches them: ``d2s.if_(...)``."""
