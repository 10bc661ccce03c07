"""The verifier: trees from Python's parser are right, and each rule has a tree that breaks it."""

from __future__ import annotations

import ast
import copy
import sysconfig
import textwrap
import warnings
from pathlib import Path

import gast
import pytest

from d2s.syntax.verify import Problem, verify


def tree_of(text: str) -> gast.Module:
    return gast.parse(textwrap.dedent(text))


def function_of(text: str) -> gast.FunctionDef:
    return tree_of(text).body[0]


def name(identifier: str, ctx: gast.AST | None = None, line: int = 1) -> gast.Name:
    node = gast.Name(identifier, ctx or gast.Load(), None, None)
    return placed(node, line)


def placed(node: gast.AST, line: int = 1) -> gast.AST:
    node.lineno = node.end_lineno = line
    node.col_offset = node.end_col_offset = 0
    return node


def messages(tree: gast.AST, **options: object) -> list[str]:
    return [str(problem) for problem in verify(tree, **options)]


RIGHT = '''
import a.b as c, d
from e import *
x: int
x: int = 1
(x.y), z[0], *w = x
x += 1
del x, y[0], z.a, (b, [c])

@decorator
def f(a, /, b: int = 1, *args, c, d=2, **kwargs) -> int:
    """Doc."""
    global g
    for i, [j, *k] in a:
        if i:
            break
        while j:
            continue
        else:
            break
    else:
        return
    with a as (b, c), d:
        return [i for i, j in b if (n := i)], {**a, 1: 2}, f(*a, **b)
    try:
        pass
    except A as e:
        del e
    finally:
        lambda x, y=1: (yield)

    def inner():
        nonlocal n, i, e, b, kwargs, inner, l
        n = 1
        class l: pass
    import l
    match a:
        case {"k": p, **q} | [p, *q] | A(x=p) as q if p:
            def inner2():
                nonlocal p, q
    class C(A, metaclass=B):
        nonlocal_ = 1
        def method(self):
            nonlocal __class__
            return super()
'''


def test_right_trees_have_no_problems():
    assert verify(tree_of(RIGHT)) == []


@pytest.mark.parametrize(
    "step", [pytest.param(40, id="sample"), pytest.param(1, marks=pytest.mark.slow)]
)
def test_the_standard_library_has_no_problems(step):
    root = Path(sysconfig.get_path("stdlib"))
    paths = sorted(path for path in root.rglob("*.py") if "site-packages" not in path.parts)
    assert len(paths[::step]) > 30
    wrong = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # invalid escapes in files of the standard library
        for path in paths[::step]:
            try:
                text = path.read_bytes()
                compile(text, str(path), "exec")  # some parse, but break the very rules
                tree = gast.parse(text)
            except (SyntaxError, ValueError):
                continue
            problems = verify(tree)
            if problems:
                wrong[str(path)] = str(problems[0])
    assert wrong == {}


def test_a_problem_prints_itself():
    assert str(Problem("is wrong", 3, "Name")) == "line 3: Name: is wrong"
    assert str(Problem("is wrong", None, "Name")) == "Name: is wrong"


def test_problems_are_sorted_by_line():
    tree = tree_of("def f():\n    return x\n    return y\n")
    tree.body[0].body[1].value.ctx = gast.Store()
    tree.body[0].body[0].value.ctx = gast.Del()
    assert [problem.line for problem in verify(tree)] == [2, 3]


# -- a tree ---------------------------------------------------------------------------------------


def test_a_node_twice():
    tree = tree_of("x = 1\ny = 2")
    tree.body[1].value = tree.body[0].value
    assert messages(tree) == ["line 1: Constant: is in the tree twice"]


def test_a_statement_twice():
    tree = tree_of("def f():\n    pass")
    tree.body.append(tree.body[0])
    assert messages(tree) == ["line 1: FunctionDef: is in the tree twice"]


def test_a_node_below_itself():
    tree = tree_of("x = [1]")
    tree.body[0].value.elts = [tree.body[0].value]
    assert messages(tree) == ["line 1: List: is in the tree twice"]


def test_contexts_and_operators_may_be_shared():
    tree = tree_of("x + y\nz + w")
    first, second = (statement.value for statement in tree.body)
    second.op = first.op
    second.left.ctx = second.right.ctx = first.left.ctx
    assert verify(tree) == []


def test_a_node_of_ast():
    tree = tree_of("x = 1")
    tree.body[0].value = ast.Constant(1)
    (problem,) = messages(tree)
    assert problem.endswith("ast.Constant is not a node type of gast")


def test_a_node_of_an_unknown_class():
    class Novelty(gast.expr):
        _fields = ()
        _attributes = ()

    tree = tree_of("x = 1")
    tree.body[0].value = Novelty()
    (problem,) = messages(tree)
    assert problem.endswith("Novelty is not a node type of gast")


# -- fields ---------------------------------------------------------------------------------------


def test_none_for_an_expression():
    tree = tree_of("if x: pass")
    tree.body[0].test = None
    assert messages(tree) == ["line 1: If: None in 'test'"]


def test_none_for_a_statement():
    tree = tree_of("if x: pass")
    tree.body[0].body.append(None)
    assert messages(tree) == ["line 1: If: [Pass, None] in 'body'"]


def test_an_expression_for_a_statement():
    tree = tree_of("x\ny")
    tree.body[0] = tree.body[0].value
    assert messages(tree) == ["Module: [Name, Expr] in 'body'"]


def test_a_list_in_a_body():
    tree = tree_of("x\ny")
    tree.body = [tree.body[:1], tree.body[1]]
    assert messages(tree) == ["Module: [[Expr], Expr] in 'body'"]


def test_a_string_for_a_name():
    tree = tree_of("f(x)")
    tree.body[0].value.func = "f"
    assert messages(tree) == ["line 1: Call: 'f' in 'func'"]


def test_a_missing_field():
    tree = tree_of("f(x)")
    del tree.body[0].value.keywords
    assert messages(tree) == ["line 1: Call: has no 'keywords'"]


def test_a_missing_optional_field_is_none():
    tree = tree_of("def f():\n    return 1")
    del tree.body[0].returns, tree.body[0].body[0].value
    assert verify(tree) == []


def test_a_statement_for_an_expression():
    tree = tree_of("x = 1")
    tree.body[0].value = placed(gast.Pass())
    assert messages(tree) == ["line 1: Assign: Pass in 'value'"]


# -- positions ------------------------------------------------------------------------------------


@pytest.mark.parametrize("attribute", ["lineno", "col_offset", "end_lineno"])
@pytest.mark.parametrize(
    "pick",
    [
        lambda tree: tree.body[0],
        lambda tree: tree.body[0].value,
        lambda tree: tree.body[0].targets[0],
        lambda tree: tree.body[1].args.args[0],
        lambda tree: tree.body[2].handlers[0],
        lambda tree: tree.body[3].cases[0].pattern,
    ],
)
@pytest.mark.parametrize("value", [None, "1", True])
def test_no_position(attribute, pick, value):
    tree = tree_of(
        """
        x = 1
        def f(a): pass
        try: pass
        except A as e: pass
        match x:
            case 1: pass
        """
    )
    node = pick(tree)
    setattr(node, attribute, value)
    (problem,) = verify(tree)
    assert problem.message == f"has no {attribute}"
    assert problem.node == type(node).__name__


def test_no_position_at_all():
    tree = tree_of("x = 1")
    tree.body[0].value = gast.Constant(1, None)
    assert messages(tree) == ["Constant: has no lineno, col_offset, end_lineno"]


def test_an_end_before_the_start():
    tree = tree_of("x = 1")
    tree.body[0].lineno = 5
    assert messages(tree) == ["line 5: Assign: goes from line 5 to line 1"]


def test_a_line_before_the_first():
    tree = tree_of("x = 1")
    tree.body[0].lineno = 0
    assert messages(tree) == ["line 0: Assign: goes from line 0 to line 1"]


# -- contexts -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "pick", "found", "meant"),
    [
        ("x = y", lambda s: s.targets[0], "Load", "Store"),
        ("x = y", lambda s: s.value, "Store", "Load"),
        ("x.a = y", lambda s: s.targets[0], "Load", "Store"),
        ("x.a = y", lambda s: s.targets[0].value, "Store", "Load"),
        ("x[i] = y", lambda s: s.targets[0].slice, "Store", "Load"),
        ("x, (y, *z) = w", lambda s: s.targets[0].elts[1].elts[1].value, "Load", "Store"),
        ("x, (y, *z) = w", lambda s: s.targets[0].elts[1].elts[1], "Load", "Store"),
        ("x, y = w", lambda s: s.targets[0], "Load", "Store"),
        ("x += y", lambda s: s.target, "Load", "Store"),
        ("x: int = y", lambda s: s.target, "Load", "Store"),
        ("x: int = y", lambda s: s.annotation, "Store", "Load"),
        ("for x in y: pass", lambda s: s.target, "Load", "Store"),
        ("for x in y: pass", lambda s: s.iter, "Store", "Load"),
        ("with x as y: pass", lambda s: s.items[0].optional_vars, "Load", "Store"),
        ("[x for x in y]", lambda s: s.value.generators[0].target, "Load", "Store"),
        ("(x := y)", lambda s: s.value.target, "Load", "Store"),
        ("del x", lambda s: s.targets[0], "Store", "Del"),
        ("del (x, y)", lambda s: s.targets[0].elts[0], "Load", "Del"),
        ("del x", lambda s: s.targets[0], "Load", "Del"),
        ("def f(x): pass", lambda s: s.args.args[0], "Load", "Param"),
        ("def f(*x): pass", lambda s: s.args.vararg, "Store", "Param"),
        ("def f(x=y): pass", lambda s: s.args.defaults[0], "Param", "Load"),
        ("try: pass\nexcept A as e: pass", lambda s: s.handlers[0].name, "Load", "Store"),
        ("f(x)", lambda s: s.value.args[0], "Param", "Load"),
    ],
)
def test_contexts(text, pick, found, meant):
    tree = tree_of(text)
    node = pick(tree.body[0])
    node.ctx = getattr(gast, found)()
    (problem,) = verify(tree)
    assert problem.message.startswith(f"is {found} where {meant} is meant")
    assert problem.node == type(node).__name__


def test_a_missing_context():
    tree = tree_of("x")
    del tree.body[0].value.ctx
    assert messages(tree) == ["line 1: Name: has no 'ctx'"]


def test_what_cannot_be_assigned():
    tree = tree_of("x = y")
    tree.body[0].targets[0] = placed(gast.Constant(1, None))
    assert messages(tree) == ["line 1: Constant: cannot stand where Store is meant"]


def test_a_parameter_that_is_no_name():
    tree = tree_of("def f(x): pass")
    tree.body[0].args.args[0] = placed(gast.Tuple([], gast.Param()))
    assert messages(tree) == ["line 1: Tuple: is a parameter, but not a name"]


# -- names and bodies -----------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["def f(): pass", "async def f(): pass", "class f: pass"])
def test_an_empty_definition_name(text):
    tree = tree_of(text)
    tree.body[0].name = ""
    (problem,) = verify(tree)
    assert problem.message == "has an empty name"


def test_an_empty_name():
    tree = tree_of("x")
    tree.body[0].value.id = ""
    assert messages(tree) == ["line 1: Name: is an empty name"]


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("def f(): pass", "body"),
        ("class f: pass", "body"),
        ("if x: pass", "body"),
        ("for x in y: pass", "body"),
        ("while x: pass", "body"),
        ("with x: pass", "body"),
        ("with x: pass", "items"),
        ("try: pass\nfinally: pass", "body"),
        ("match x:\n    case 1: pass", "cases"),
        ("import x", "names"),
        ("global x", "names"),
    ],
)
def test_an_empty_body(text, field):
    tree = tree_of(text)
    setattr(tree.body[0], field, [])
    assert messages(tree) == [f"line 1: {type(tree.body[0]).__name__}: has an empty {field!r}"]


def test_an_empty_handler_body():
    tree = tree_of("try: pass\nexcept A: pass")
    tree.body[0].handlers[0].body = []
    assert messages(tree) == ["line 2: ExceptHandler: has an empty 'body'"]


def test_an_empty_module_is_fine():
    assert verify(tree_of("")) == []


def test_a_try_without_handlers():
    tree = tree_of("try: pass\nfinally: pass")
    tree.body[0].finalbody = []
    assert messages(tree) == ["line 1: Try: has neither 'except' nor 'finally'"]


@pytest.mark.parametrize(
    "text",
    [
        "def f(a, b): pass",
        "def f(a, /, b): pass",
        "def f(a, *b): pass",
        "def f(*a, b): pass",
        "def f(a, **b): pass",
        "lambda a, b: 1",
        "async def f(a, b): pass",
    ],
)
def test_parameters_of_one_name(text):
    tree = tree_of(text)
    for node in gast.walk(tree):
        if isinstance(node, gast.Name):
            node.id = "same"
    (problem,) = verify(tree)
    assert problem.message == "has 2 parameters named 'same'"


# -- jumps ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("jump", [gast.Break, gast.Continue])
@pytest.mark.parametrize(
    "text",
    [
        "pass",
        "if x: pass",
        "def f(): pass",
        "for x in y:\n    def f(): pass",
        "while x:\n    class C: pass",
        "for x in y: z\nelse: pass",
        "while x: z\nelse: pass",
    ],
)
def test_a_jump_outside_of_a_loop(jump, text):
    tree = replace_pass(tree_of(text), jump)
    (problem,) = verify(tree)
    assert problem.message == f"{jump.__name__.lower()!r} outside of a loop"


@pytest.mark.parametrize("jump", [gast.Break, gast.Continue])
@pytest.mark.parametrize(
    "text",
    [
        "for x in y: pass",
        "while x:\n    if y:\n        with z: pass",
        "while x:\n    for y in z: w\n    else: pass",
        "def f():\n    for x in y:\n        try: pass\n        finally: pass",
    ],
)
def test_a_jump_in_a_loop(jump, text):
    assert verify(replace_pass(tree_of(text), jump)) == []


@pytest.mark.parametrize(
    "text", ["pass", "for x in y: pass", "class C: pass", "def f():\n    class C: pass"]
)
def test_a_return_outside_of_a_function(text):
    tree = replace_pass(tree_of(text), lambda: gast.Return(None))
    (problem,) = verify(tree)
    assert problem.message == "'return' outside of a function"


def replace_pass(tree, make):
    class Replacer(gast.NodeTransformer):
        def visit_Pass(self, node):
            return gast.copy_location(make(), node)

    return Replacer().visit(tree)


# -- nonlocal -------------------------------------------------------------------------------------


def test_a_nonlocal_that_nobody_binds():
    tree = tree_of("def f():\n    def g():\n        nonlocal x")
    assert messages(tree) == ["line 3: Nonlocal: no enclosing function binds 'x'"]


@pytest.mark.parametrize(
    "binding",
    [
        "x = 1",
        "x += 1",
        "x: object",
        "for x in y: pass",
        "for i, (x, *z) in y: pass",
        "with y as x: pass",
        "import x",
        "import x.y",
        "from y import z as x",
        "def x(): pass",
        "class x: pass",
        "(x := 1)",
        "[(x := i) for i in y]",
        "del x",
        "try: pass\n    except A as x: pass",
        "match y:\n        case x: pass",
        "match y:\n        case [*x]: pass",
        "match y:\n        case {**x}: pass",
        "match y:\n        case 1 as x: pass",
        "if y:\n        while z:\n            x = 1",
        "lambda y=(x := 1): y",
        "@(x := y)\n    def z(): pass",
        "class z(x := y): pass",
    ],
)
def test_what_binds_a_nonlocal(binding):
    assert verify(tree_of(f"def f():\n    def g():\n        nonlocal x\n    {binding}")) == []


@pytest.mark.parametrize("parameters", ["x", "x, /", "*x", "*, x", "**x", "y, x=1"])
def test_parameters_bind_a_nonlocal(parameters):
    assert verify(tree_of(f"def f({parameters}):\n    def g():\n        nonlocal x")) == []


@pytest.mark.parametrize(
    "other",
    [
        "print(x)",
        "[x for x in y]",
        "y.x = 1",
        "def z(): x = 1",
        "def z(x): pass",
        "class z: x = 1",
        "lambda x: 1",
        "global x",
        "import y.x",
    ],
)
def test_what_does_not_bind_a_nonlocal(other):
    tree = tree_of(f"def f():\n    def g():\n        nonlocal x\n    {other}")
    assert messages(tree) == ["line 3: Nonlocal: no enclosing function binds 'x'"]


def test_a_global_hides_what_is_bound_further_out():
    tree = tree_of(
        "def f(x):\n    def g():\n        global x\n        def h():\n            nonlocal x"
    )
    assert messages(tree) == ["line 5: Nonlocal: no enclosing function binds 'x'"]


def test_a_module_binds_no_nonlocals():
    tree = tree_of("x = 1\ndef f():\n    def g():\n        nonlocal x")
    assert messages(tree) == ["line 4: Nonlocal: no enclosing function binds 'x'"]


def test_a_class_binds_no_nonlocals_but_lets_them_through():
    tree = tree_of(
        "def f(x):\n    class C:\n        y = 1\n        def g():\n            nonlocal x, y"
    )
    assert messages(tree) == ["line 5: Nonlocal: no enclosing function binds 'y'"]


def test_free_names_are_bound_outside():
    function = function_of("def f():\n    def g():\n        nonlocal x, y")
    assert messages(function, free=["x"]) == ["line 3: Nonlocal: no enclosing function binds 'y'"]


def test_what_the_root_declares_is_bound_outside():
    function = function_of("def f():\n    nonlocal x\n    def g():\n        nonlocal x")
    assert verify(function) == []
    assert messages(tree_of("def f():\n    nonlocal x")) != []


def test_a_tree_between_passes_may_lack_bindings():
    tree = tree_of("def f():\n    def g():\n        nonlocal x")
    assert verify(tree, complete=False) == []


def test_a_nonlocal_parameter():
    tree = tree_of("def f(x):\n    def g(x):\n        nonlocal x")
    assert messages(tree) == ["line 3: Nonlocal: 'x' is a parameter, too"]


def test_a_nonlocal_global():
    tree = tree_of("def f(x):\n    def g():\n        global x\n        nonlocal x")
    assert messages(tree) == ["line 4: Nonlocal: 'x' is global, too"]


# -- manners --------------------------------------------------------------------------------------


def test_the_tree_is_left_alone():
    tree = tree_of(RIGHT)
    before = copy.deepcopy(tree)
    verify(tree)
    assert gast.dump(tree, include_attributes=True) == gast.dump(before, include_attributes=True)
    assert [vars(node).keys() for node in gast.walk(tree)] == [
        vars(node).keys() for node in gast.walk(before)
    ]


def test_a_deep_tree_needs_no_recursion():
    tree = name("x")
    for _ in range(20_000):
        tree = placed(gast.UnaryOp(gast.Not(), tree))
    assert verify(tree) == []
