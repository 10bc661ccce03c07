"""What a program has read outside of its arguments is read again when it changes (rule G2).

Each case is a module with a function ``f`` and a function ``change``.  It is loaded twice; the
converted ``f`` must do what the plain one does, before the change and after it.
"""

from __future__ import annotations

import itertools
import linecache
import textwrap
from typing import Any

import numpy as np
import paddle
import pytest

import d2s
from d2s import config

_count = itertools.count()

GLOBALS_AND_CELLS = {
    "global": """
        K = 2
        def f(x):
            return x * K
        def change():
            global K
            K = 3
    """,
    "closure": """
        def mk():
            k = 2
            def f(x):
                return x * k
            def change():
                nonlocal k
                k = 3
            return (f, change)
        f, change = mk()
    """,
    "closure nested": """
        def mk():
            k = 2
            def g(x):
                def h(y):
                    return y * k
                return h(x)
            def f(x):
                return g(x)
            def change():
                nonlocal k
                k = 3
            return (f, change)
        f, change = mk()
    """,
    "nested dict": """
        D = {"a": {"b": {"c": [1, {"d": 2}]}}}
        def f(x):
            return x * D["a"]["b"]["c"][1]["d"]
        def change():
            D["a"]["b"]["c"][1]["d"] = 3
    """,
    "tuple of lists": """
        T = ([2], [5])
        def f(x):
            return x * T[0][0]
        def change():
            T[0][0] = 3
    """,
    "none to layer": """
        l = None
        def f(x):
            return x * 2 if l is None else l(x)
        def change():
            global l
            l = paddle.nn.Tanh()
    """,
    "float zero sign": """
        K = 0.0
        def f(x):
            return x / (x * 0 + K)
        def change():
            global K
            K = -0.0
    """,
    "bool vs int": """
        K = 1
        def f(x):
            return x * 2 if K is True else x * 3
        def change():
            global K
            K = True
    """,
    "list replaced equal": """
        L = [2]
        def f(x):
            return x * L[0]
        def change():
            global L
            L = [3]
    """,
    "builtin shadow": """
        def f(x):
            return x * len([1, 2])
        def change():
            global len
            len = lambda l: 3
    """,
    "tensor to num": """
        t = paddle.ones([2])
        def f(x):
            return x * t
        def change():
            global t
            t = 3
    """,
    "num to tensor": """
        t = 2
        def f(x):
            return x * t
        def change():
            global t
            t = paddle.to_tensor(3.0)
    """,
    "enum": """
        import enum
        class E(enum.Enum):
            A = 2
            B = 3
        c = E.A
        def f(x):
            return x * c.value
        def change():
            global c
            c = E.B
    """,
    "enum if": """
        import enum
        class E(enum.Enum):
            A = 2
            B = 3
        class C:
            pass
        c = C()
        c.m = E.A
        def f(x):
            return x * 2 if c.m is E.A else x * 3
        def change():
            c.m = E.B
    """,
    "frozenset": """
        S = frozenset({1})
        def f(x):
            return x * len(S)
        def change():
            global S
            S = frozenset({1, 2})
    """,
    "deque": """
        import collections
        D = collections.deque([2])
        def f(x):
            return x * D[0]
        def change():
            D[0] = 3
    """,
    "defaultdict": """
        import collections
        D = collections.defaultdict(int, a=2)
        def f(x):
            return x * D["a"]
        def change():
            D["a"] = 3
    """,
    "counter": """
        import collections
        D = collections.Counter("aa")
        def f(x):
            return x * D["a"]
        def change():
            D["a"] = 3
    """,
    "ordereddict": """
        import collections
        D = collections.OrderedDict(a=2)
        def f(x):
            return x * D["a"]
        def change():
            D["a"] = 3
    """,
    "dict get missing": """
        D = {}
        def f(x):
            return x * D.get("a", 2)
        def change():
            D["a"] = 3
    """,
    "dict sub": """
        class D(dict):
            pass
        d = D(a=2)
        def f(x):
            return x * d["a"]
        def change():
            d["a"] = 3
    """,
    "list sub": """
        class D(list):
            pass
        d = D([2])
        def f(x):
            return x * d[0]
        def change():
            d[0] = 3
    """,
    "in list": """
        L = [1, 2]
        def f(x):
            return x * 2 if 3 in L else x * 3
        def change():
            L.append(3)
    """,
    "set mut": """
        S = {1, 2}
        def f(x):
            return x * 2 if 3 in S else x * 3
        def change():
            S.add(3)
    """,
    "len global": """
        L = [1, 2]
        def f(x):
            return x * len(L)
        def change():
            L.append(1)
    """,
    "unpack": """
        P = [2, 5]
        def f(x):
            a, b = P
            return x * a + b
        def change():
            P[0] = 3
    """,
    "starred": """
        P = [2, 5]
        def g(x, a, b):
            return x * a + b
        def f(x):
            return g(x, *P)
        def change():
            P[0] = 3
    """,
    "kwstar": """
        P = {"k": 2}
        def g(x, k):
            return x * k
        def f(x):
            return g(x, **P)
        def change():
            P["k"] = 3
    """,
    "comprehension": """
        P = [2, 5]
        def f(x):
            return sum([x * p for p in P])
        def change():
            P[0] = 3
    """,
    "sorted global": """
        L = [3, 2]
        def f(x):
            return x * sorted(L)[0]
        def change():
            L[1] = 5
    """,
    "decimal": """
        from fractions import Fraction
        B = Fraction(2)
        def f(x):
            return x * float(B)
        def change():
            global B
            B = Fraction(3)
    """,
    "np scalar": """
        K = np.float32(2)
        def f(x):
            return x * float(K)
        def change():
            global K
            K = np.float32(3)
    """,
}
LONG_CONTAINERS = {
    "big dict": """
        D = {i: i for i in range(100)}
        D[5] = 2
        def f(x):
            return x * D[5]
        def change():
            D[5] = 3
    """,
    "big list": """
        D = list(range(100))
        D[5] = 2
        def f(x):
            return x * D[5]
        def change():
            D[5] = 3
    """,
    "huge dict": """
        D = {i: i for i in range(5000)}
        D[5] = 2
        def f(x):
            return x * D[5]
        def change():
            D[5] = 3
    """,
    "huge list sum": """
        D = [0] * 5000
        D[5] = 2
        def f(x):
            return x * sum(D)
        def change():
            D[5] = 3
    """,
    "big list tensors": """
        D = [paddle.to_tensor(float(i)) for i in range(100)]
        def f(x):
            return x * D[5]
        def change():
            D[5] = paddle.to_tensor(3.0)
    """,
    "big nested": """
        D = {i: {"v": 2} for i in range(100)}
        def f(x):
            return x * D[5]["v"]
        def change():
            D[5]["v"] = 3
    """,
    "len big": """
        L = [1] * 100
        def f(x):
            return x * len(L)
        def change():
            L.append(1)
    """,
    "big set": """
        S = set(range(10, 200))
        def f(x):
            return x * 2 if 3 in S else x * 3
        def change():
            S.add(3)
            S.remove(11)
    """,
    "obj in big": """
        class C:
            pass
        L = [C() for _ in range(100)]
        L[7].k = 2
        def f(x):
            return x * L[7].k
        def change():
            L[7].k = 3
    """,
}
MODULES = {
    "mod attr": """
        import types
        m = types.ModuleType("mm")
        m.K = 2
        def f(x):
            return x * m.K
        def change():
            m.K = 3
    """,
    "pkg attr": """
        import types
        m = types.ModuleType("mm")
        m.s = types.ModuleType("s")
        m.s.K = 2
        def f(x):
            return x * m.s.K
        def change():
            m.s.K = 3
    """,
    "mod tensor": """
        import types
        m = types.ModuleType("mm")
        m.K = paddle.to_tensor(2.0)
        def f(x):
            return x * m.K
        def change():
            m.K = paddle.to_tensor(3.0)
    """,
    "mod dict": """
        import types
        m = types.ModuleType("mm")
        m.K = {"a": 2}
        def f(x):
            return x * m.K["a"]
        def change():
            m.K["a"] = 3
    """,
    "mod func": """
        import types
        m = types.ModuleType("mm")
        m.g = lambda x: x * 2
        def f(x):
            return m.g(x)
        def change():
            m.g = lambda x: x * 3
    """,
    "module dict global": """
        import math
        math_k = math
        def f(x):
            return x * math_k.floor(2.5)
        def change():
            global math_k
            import types
            math_k = types.SimpleNamespace(floor=lambda v: 3)
    """,
}
CLASSES = {
    "class attr": """
        class A:
            K = 2
        def f(x):
            return x * A.K
        def change():
            A.K = 3
    """,
    "class attr inst": """
        class A:
            K = 2
        a = A()
        def f(x):
            return x * a.K
        def change():
            A.K = 3
    """,
    "inst shadow": """
        class A:
            K = 2
        a = A()
        def f(x):
            return x * a.K
        def change():
            a.K = 3
    """,
    "base attr": """
        class B:
            K = 2
        class A(B):
            pass
        a = A()
        def f(x):
            return x * a.K
        def change():
            B.K = 3
    """,
    "class new shadow": """
        class B:
            K = 2
        class A(B):
            pass
        a = A()
        def f(x):
            return x * a.K
        def change():
            A.K = 3
    """,
    "layer class attr": """
        class L(paddle.nn.Layer):
            K = 2
            def forward(self, x):
                return x * self.K
        l = L()
        def f(x):
            return l(x)
        def change():
            L.K = 3
    """,
    "method patch": """
        class A:
            def g(self, x):
                return x * 2
        a = A()
        def f(x):
            return a.g(x)
        def change():
            A.g = lambda self, x: x * 3
    """,
    "method patch inst": """
        class A:
            def g(self, x):
                return x * 2
        a = A()
        def f(x):
            return a.g(x)
        def change():
            a.g = lambda x: x * 3
    """,
    "forward patch": """
        class L(paddle.nn.Layer):
            def forward(self, x):
                return x * 2
        l = L()
        def f(x):
            return l(x)
        def change():
            L.forward = lambda self, x: x * 3
    """,
    "class replaced": """
        class C:
            k = 2
        def f(x):
            return x * C().k
        def change():
            global C
            class C:
                k = 3
    """,
    "class init": """
        class C:
            S = 2
            def __init__(s):
                s.k = s.S
        def f(x):
            return x * C().k
        def change():
            C.S = 3
    """,
    "classmethod": """
        class C:
            S = 2
            @classmethod
            def g(cls):
                return cls.S
        def f(x):
            return x * C.g()
        def change():
            C.S = 3
    """,
    "class list": """
        class C:
            S = [2]
        def f(x):
            return x * C.S[0]
        def change():
            C.S[0] = 3
    """,
    "property": """
        class C:
            def __init__(s):
                s._k = 2
            @property
            def k(s):
                return s._k
        c = C()
        def f(x):
            return x * c.k
        def change():
            c._k = 3
    """,
    "property class": """
        class C:
            S = 2
            @property
            def k(s):
                return s.S
        c = C()
        def f(x):
            return x * c.k
        def change():
            C.S = 3
    """,
    "property patch": """
        class C:
            @property
            def k(s):
                return 2
        c = C()
        def f(x):
            return x * c.k
        def change():
            C.k = property(lambda s: 3)
    """,
}
FUNCTIONS = {
    "defaults": """
        def g(x, k=2):
            return x * k
        def f(x):
            return g(x)
        def change():
            g.__defaults__ = (3,)
    """,
    "kwdefaults": """
        def g(x, *, k=2):
            return x * k
        def f(x):
            return g(x)
        def change():
            g.__kwdefaults__ = {"k": 3}
    """,
    "own defaults": """
        def f(x, k=2):
            return x * k
        def change():
            f.__defaults__ = (3,)
    """,
    "mutable default": """
        def g(x, k=[2]):
            return x * k[0]
        def f(x):
            return g(x)
        def change():
            g.__defaults__[0][0] = 3
    """,
    "code swap": """
        def g(x):
            return x * 2
        def h(x):
            return x * 3
        def f(x):
            return g(x)
        def change():
            g.__code__ = h.__code__
    """,
    "own code": """
        def h(x):
            return x * 3
        def f(x):
            return x * 2
        def change():
            f.__code__ = h.__code__
    """,
    "func attr": """
        def g(x):
            return x * g.k
        g.k = 2
        def f(x):
            return g(x)
        def change():
            g.k = 3
    """,
    "partial args": """
        import functools
        def g(k, x):
            return x * k[0]
        k = [2]
        p = functools.partial(g, k)
        def f(x):
            return p(x)
        def change():
            k[0] = 3
    """,
    "func replaced": """
        def g(x):
            return x * 2
        def f(x):
            return g(x)
        def change():
            global g
            g = lambda x: x * 3
    """,
    "bound method repl": """
        class C:
            def a(s, x):
                return x * 2
            def b(s, x):
                return x * 3
        c = C()
        h = c.a
        def f(x):
            return h(x)
        def change():
            global h
            h = c.b
    """,
    "callable obj": """
        class C:
            def __init__(s, k):
                s.k = k
            def __call__(s, x):
                return x * s.k
        h = C(2)
        def f(x):
            return h(x)
        def change():
            h.k = 3
    """,
    "callable list": """
        hs = [lambda x: x * 2]
        def f(x):
            for h in hs:
                x = h(x)
            return x
        def change():
            hs.append(lambda x: x * 3)
    """,
    "lru cache": """
        import functools
        K = 2
        @functools.lru_cache
        def g():
            return K
        def f(x):
            return x * g()
        def change():
            global K
            K = 3
            g.cache_clear()
    """,
    "generator state": """
        K = [2]
        def gen():
            for k in K:
                yield k
        def f(x):
            for k in gen():
                x = x * k
            return x
        def change():
            K.append(3)
    """,
    "method self attr": """
        class C:
            def __init__(s):
                s.k = 2
            def g(s, x):
                return x * s.k
        c = C()
        f2 = c.g
        def f(x):
            return f2(x)
        def change():
            c.k = 3
    """,
    "returned obj": """
        class C:
            pass
        c = C()
        c.k = 2
        def get():
            return c
        def f(x):
            return x * get().k
        def change():
            c.k = 3
    """,
    "arg method global": """
        K = 2
        class C:
            def g(s, x):
                return x * K
        c = C()
        def f(x):
            return c.g(x)
        def change():
            global K
            K = 3
    """,
}
OBJECTS = {
    "dataclass": """
        import dataclasses
        @dataclasses.dataclass
        class C:
            k: int = 2
        c = C()
        def f(x):
            return x * c.k
        def change():
            c.k = 3
    """,
    "slots": """
        class C:
            __slots__ = ("k",)
        c = C()
        c.k = 2
        def f(x):
            return x * c.k
        def change():
            c.k = 3
    """,
    "attr later": """
        class C:
            pass
        c = C()
        def f(x):
            return x * getattr(c, "k", 2)
        def change():
            c.k = 3
    """,
    "hasattr later": """
        class C:
            pass
        c = C()
        def f(x):
            return x * 3 if hasattr(c, "k") else x * 2
        def change():
            c.k = 3
    """,
    "attr deleted": """
        class C:
            pass
        c = C()
        c.k = 2
        def f(x):
            return x * 3 if not hasattr(c, "k") else x * 2
        def change():
            del c.k
    """,
    "try attr": """
        class C:
            pass
        c = C()
        def f(x):
            try:
                return x * c.k
            except AttributeError:
                return x * 2
        def change():
            c.k = 3
    """,
    "getattr var": """
        class C:
            pass
        c = C()
        c.k = 2
        c.j = 3
        n = "k"
        def f(x):
            return x * getattr(c, n)
        def change():
            c.k = 3
    """,
    "getattr var2": """
        class C:
            pass
        c = C()
        c.k = 2
        c.j = 3
        n = "k"
        def f(x):
            return x * getattr(c, n)
        def change():
            global n
            n = "j"
    """,
    "getattr fmt": """
        class C:
            pass
        c = C()
        c.k1 = 2
        def f(x):
            for i in (1,):
                x = x * getattr(c, "k%d" % i)
            return x
        def change():
            c.k1 = 3
    """,
    "getattr later var": """
        class C:
            pass
        c = C()
        def f(x):
            for i in (1,):
                x = x * getattr(c, "k%d" % i, 2)
            return x
        def change():
            c.k1 = 3
    """,
    "vars": """
        class C:
            pass
        c = C()
        c.k = 2
        def f(x):
            return x * vars(c)["k"]
        def change():
            c.k = 3
    """,
    "dunder dict": """
        class C:
            pass
        c = C()
        c.k = 2
        def f(x):
            return x * c.__dict__["k"]
        def change():
            c.k = 3
    """,
    "dict attr obj": """
        class C(dict):
            __getattr__ = dict.__getitem__
        d = C(a=2)
        def f(x):
            return x * d.a
        def change():
            d["a"] = 3
    """,
    "getattr dyn": """
        class C:
            def __init__(s):
                s._d = {"k": 2}
            def __getattr__(s, n):
                if n.startswith("_"):
                    raise AttributeError(n)
                return s._d[n]
        c = C()
        def f(x):
            return x * c.k
        def change():
            c._d["k"] = 3
    """,
    "simplens": """
        import types
        n = types.SimpleNamespace(k=2)
        def f(x):
            return x * n.k
        def change():
            n.k = 3
    """,
    "simplens nested": """
        import types
        n = types.SimpleNamespace(m=types.SimpleNamespace(k=2))
        def f(x):
            return x * n.m.k
        def change():
            n.m.k = 3
    """,
    "argparse": """
        import argparse
        n = argparse.Namespace(k=2)
        def f(x):
            return x * n.k
        def change():
            n.k = 3
    """,
    "namedtuple": """
        import collections
        P = collections.namedtuple("P", "k")
        n = P([2])
        def f(x):
            return x * n.k[0]
        def change():
            n.k[0] = 3
    """,
    "mappingproxy": """
        import types
        d = {"k": 2}
        n = types.MappingProxyType(d)
        def f(x):
            return x * n["k"]
        def change():
            d["k"] = 3
    """,
    "chainmap": """
        import collections
        d = {"k": 2}
        n = collections.ChainMap(d)
        def f(x):
            return x * n["k"]
        def change():
            d["k"] = 3
    """,
    "userdict": """
        import collections
        n = collections.UserDict(k=2)
        def f(x):
            return x * n["k"]
        def change():
            n["k"] = 3
    """,
    "contextvar": """
        import contextvars
        v = contextvars.ContextVar("v", default=2)
        def f(x):
            return x * v.get()
        def change():
            v.set(3)
    """,
    "threadlocal": """
        import threading
        t = threading.local()
        t.k = 2
        def f(x):
            return x * t.k
        def change():
            t.k = 3
    """,
    "list obj": """
        class C:
            pass
        L = [C()]
        L[0].k = 2
        def f(x):
            return x * L[0].k
        def change():
            L[0].k = 3
    """,
    "str attr": """
        class C:
            pass
        c = C()
        c.mode = "a"
        def f(x):
            return x * 2 if c.mode == "a" else x * 3
        def change():
            c.mode = "b"
    """,
    "environ": """
        import os
        os.environ["D2T"] = "2"
        def f(x):
            return x * int(os.environ["D2T"])
        def change():
            os.environ["D2T"] = "3"
    """,
    "environ get": """
        import os
        os.environ["D2T"] = "2"
        def f(x):
            return x * int(os.environ.get("D2T", "7"))
        def change():
            os.environ["D2T"] = "3"
    """,
    "getenv": """
        import os
        os.environ["D2T"] = "2"
        def f(x):
            return x * int(os.getenv("D2T"))
        def change():
            os.environ["D2T"] = "3"
    """,
}
ARRAYS = {
    "np array": """
        A = np.array([2.0, 2.0], "float32")
        def f(x):
            return x * paddle.to_tensor(A)
        def change():
            A[:] = 3
    """,
    "np item": """
        A = np.array([2.0, 2.0], "float32")
        def f(x):
            return x * float(A[0])
        def change():
            A[0] = 3
    """,
    "np attr": """
        class C:
            pass
        c = C()
        c.a = np.array([2, 2])
        def f(x):
            return x * int(c.a[0])
        def change():
            c.a[0] = 3
    """,
    "np in dict": """
        D = {"a": np.array([2.0, 2.0], "float32")}
        def f(x):
            return x * paddle.to_tensor(D["a"])
        def change():
            D["a"][0] = 3
    """,
    "np closure": """
        def mk():
            a = np.array([2.0, 2.0], "float32")
            def f(x):
                return x * paddle.to_tensor(a)
            def change():
                a[:] = 3
            return (f, change)
        f, change = mk()
    """,
    "numpy random state": """
        D = np.arange(4)
        def f(x):
            return x * int(D.sum())
        def change():
            D[0] = 9
    """,
    "bytearray": """
        B = bytearray([2])
        def f(x):
            return x * B[0]
        def change():
            B[0] = 3
    """,
    "array": """
        import array
        B = array.array("i", [2])
        def f(x):
            return x * B[0]
        def change():
            B[0] = 3
    """,
}
LAYERS = {
    "sublayer replaced": """
        class L(paddle.nn.Layer):
            def __init__(s):
                super().__init__()
                s.a = paddle.nn.ReLU()
            def forward(s, x):
                return s.a(x - 3)
        l = L()
        def f(x):
            return l(x)
        def change():
            l.a = paddle.nn.Tanh()
    """,
    "sublayer added": """
        class L(paddle.nn.Layer):
            def __init__(s):
                super().__init__()
                s.a = paddle.nn.LayerList([paddle.nn.Softplus()])
            def forward(s, x):
                for a in s.a:
                    x = a(x)
                return x
        l = L()
        def f(x):
            return l(x)
        def change():
            l.a.append(paddle.nn.Tanh())
    """,
    "seq item": """
        l = paddle.nn.Sequential(paddle.nn.Softplus())
        def f(x):
            return l(x)
        def change():
            l[0] = paddle.nn.Tanh()
    """,
    "train": """
        l = paddle.nn.Dropout(1.0)
        def f(x):
            return l(x)
        def change():
            l.eval()
    """,
    "train sub": """
        class L(paddle.nn.Layer):
            def __init__(s):
                super().__init__()
                s.d = paddle.nn.Dropout(1.0)
            def forward(s, x):
                return s.d(x)
        l = L()
        def f(x):
            return l(x)
        def change():
            l.d.eval()
    """,
    "dropout p": """
        l = paddle.nn.Dropout(1.0)
        def f(x):
            return l(x)
        def change():
            l.p = 0.0
    """,
    "hook pre": """
        l = paddle.nn.Softplus()
        def f(x):
            return l(x)
        def change():
            l.register_forward_pre_hook(lambda l, i: (i[0] * 3,))
    """,
    "hook post": """
        l = paddle.nn.Softplus()
        def f(x):
            return l(x)
        def change():
            l.register_forward_post_hook(lambda l, i, o: o * 3)
    """,
    "hook user": """
        class L(paddle.nn.Layer):
            def __init__(s):
                super().__init__()
                s.d = paddle.nn.Softplus()
            def forward(s, x):
                return s.d(x)
        l = L()
        def f(x):
            return l(x)
        def change():
            l.d.register_forward_post_hook(lambda l, i, o: o * 3)
    """,
    "hook removed": """
        l = paddle.nn.Softplus()
        h = l.register_forward_post_hook(lambda l, i, o: o * 3)
        def f(x):
            return l(x)
        def change():
            h.remove()
    """,
    "param replaced": """
        l = paddle.nn.Linear(2, 2)
        def f(x):
            return l(x)
        def change():
            p = l.create_parameter([2, 2])
            p.set_value(paddle.ones([2, 2]) * 3)
            l.weight = p
    """,
    "param other shape": """
        l = paddle.nn.Linear(2, 2)
        def f(x):
            return x @ l.weight
        def change():
            p = l.create_parameter([2, 5])
            p.set_value(paddle.ones([2, 5]) * 3)
            l.weight = p
    """,
    "param none": """
        l = paddle.nn.Linear(2, 2)
        l.bias.set_value(paddle.ones([2]))
        def f(x):
            return l(x)
        def change():
            l.bias = None
    """,
    "param inplace": """
        l = paddle.nn.Linear(2, 2)
        def f(x):
            return l(x)
        def change():
            l.weight.set_value(paddle.ones([2, 2]))
    """,
    "buffer dtype": """
        class L(paddle.nn.Layer):
            def __init__(s):
                super().__init__()
                s.register_buffer("b", paddle.ones([2]))
            def forward(s, x):
                return x * s.b.astype("float32") + (1 if s.b.dtype == paddle.float32 else 2)
        l = L()
        def f(x):
            return l(x)
        def change():
            l.b = paddle.ones([2], "float64")
    """,
    "layer to64": """
        class L(paddle.nn.Layer):
            def __init__(s):
                super().__init__()
                s.w = s.create_parameter([2])
            def forward(s, x):
                return x + (1 if s.w.dtype == paddle.float32 else 2)
        l = L()
        def f(x):
            return l(x)
        def change():
            l.to(dtype="float64")
    """,
    "self dict": """
        class L(paddle.nn.Layer):
            def __init__(s):
                super().__init__()
                s.cfg = {"a": {"k": 2}}
            def forward(s, x):
                return x * s.cfg["a"]["k"]
        l = L()
        def f(x):
            return l(x)
        def change():
            l.cfg["a"]["k"] = 3
    """,
}
TENSORS_AND_MODES = {
    "stopgrad": """
        t = paddle.ones([2])
        def f(x):
            return x * (2 if t.stop_gradient else 3)
        def change():
            t.stop_gradient = False
    """,
    "stopgrad result": """
        t = paddle.ones([2])
        def f(x):
            return x.detach() * t
        def change():
            t.stop_gradient = False
    """,
    "param stopgrad": """
        l = paddle.nn.Linear(2, 2)
        def f(x):
            return l(x)
        def change():
            l.weight.stop_gradient = True
            l.bias.stop_gradient = True
    """,
    "tensor inplace": """
        t = paddle.ones([2])
        def f(x):
            return x * t
        def change():
            t.set_value(paddle.ones([2]) * 3)
    """,
    "tensor rebound": """
        t = paddle.ones([2])
        def f(x):
            return x * t
        def change():
            global t
            t = paddle.ones([2]) * 3
    """,
    "tensor shape": """
        t = paddle.ones([2])
        def f(x):
            return x * t.shape[0]
        def change():
            global t
            t = paddle.ones([3])
    """,
    "item": """
        t = paddle.to_tensor(2.0)
        def f(x):
            return x * t.item()
        def change():
            t.set_value(paddle.to_tensor(3.0))
    """,
    "default dtype": """
        def f(x):
            return x * 0 + (2 if paddle.ones([1]).dtype == paddle.float32 else 3)
        def change():
            paddle.set_default_dtype("float64")
        def undo():
            paddle.set_default_dtype("float32")
    """,
    "grad enabled": """
        def f(x):
            return x * 2 if paddle.is_grad_enabled() else x * 3
        def change():
            paddle.set_grad_enabled(False)
        def undo():
            paddle.set_grad_enabled(True)
    """,
}

CASES = {
    **GLOBALS_AND_CELLS,
    **LONG_CONTAINERS,
    **MODULES,
    **CLASSES,
    **FUNCTIONS,
    **OBJECTS,
    **ARRAYS,
    **LAYERS,
    **TENSORS_AND_MODES,
}


def load(name: str) -> dict[str, Any]:
    """The module of a case, made afresh."""
    text = textwrap.dedent(CASES[name]).lstrip("\n")
    file = f"<case {next(_count)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope: dict[str, Any] = {"paddle": paddle, "np": np, "__name__": "made"}
    paddle.seed(3)
    exec(compile(text, file, "exec", dont_inherit=True), scope)
    return scope


def outcome(function: Any) -> Any:
    """What a call shows."""
    paddle.seed(5)
    try:
        result = function(paddle.to_tensor([1.0, 2.0]))
    except Exception as error:
        return type(error), str(error)
    return result.shape, result.dtype, result.tolist(), result.stop_gradient


@pytest.mark.row(111)
@pytest.mark.parametrize("name", CASES)
def test_a_change_is_seen(name: str) -> None:
    """G2: the result is dygraph's before and after, and there is a reason for each program."""
    plain, static = load(name), load(name)
    function = d2s.to_static(static["f"])
    try:
        before = outcome(plain["f"])
        assert outcome(function) == before
        count = len(function.programs)
        assert outcome(function) == before
        assert len(function.programs) == count, "the second call made a program"
        plain["change"]()
        after = outcome(plain["f"])
        plain.get("undo", lambda: None)()
        static["change"]()
        assert outcome(function) == after
        assert outcome(function) == after
    finally:
        for scope in (plain, static):
            scope.get("undo", lambda: None)()
    assert all(info.reason for info in function.programs)
    assert "other arguments" not in [info.reason for info in function.programs]


REASONS = {
    "global": "K changed",
    "mod attr": "m.K changed",
    "class attr": "A.K changed",
    "defaults": "g.__defaults__ changed",
    "np array": "A changed",
    "train": "l changed",
}


@pytest.mark.parametrize("name", REASONS)
def test_the_reason_names_what_has_changed(name: str, caplog: pytest.LogCaptureFixture) -> None:
    """G2: in ``programs`` and in the log."""
    scope = load(name)
    function = d2s.to_static(scope["f"])
    with config.options(log=1), caplog.at_level("INFO", "d2s"):
        outcome(function)
        scope["change"]()
        outcome(function)
    assert [info.reason for info in function.programs] == ["first call", REASONS[name]]
    captures = [record.getMessage() for record in caplog.records if record.name == "d2s.capture"]
    assert captures[-1].endswith(f" operations: {REASONS[name]}")


def test_what_has_come_back_is_known() -> None:
    """G2: the program of the old value is used again."""
    scope = load("global")
    function = d2s.to_static(scope["f"])
    for value in (2, 3, 2, 3, 2.0, 2):
        scope["K"] = value
        assert function(paddle.to_tensor([1.0])).tolist() == [value]
    assert [info.runs for info in function.programs] == [3, 2, 1]


def test_an_equal_object_is_no_change() -> None:
    """G2: numbers, strings, lists and dicts are compared by content."""
    scope = load("nested dict")
    function = d2s.to_static(scope["f"])
    for _ in range(50):
        scope["D"] = {"a": {"b": {"c": [1, {"d": int("2")}]}}}
        outcome(function)
    assert len(function.programs) == 1


def test_a_large_array_is_compared_whole() -> None:
    """G2: also beyond what would be cheap."""
    array = np.zeros([300, 300], "float32")
    function = d2s.to_static(lambda x: x + paddle.to_tensor(array).sum())
    assert function(paddle.to_tensor([1.0])).tolist() == [1.0]
    array[299, 299] = 7
    assert function(paddle.to_tensor([1.0])).tolist() == [8.0]
    array[299, 299] = 0
    assert function(paddle.to_tensor([1.0])).tolist() == [1.0]
    assert len(function.programs) == 2
