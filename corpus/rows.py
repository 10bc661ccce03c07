"""The rows of the support table: what a program may contain or ask for, each with a number.

A number stays with its row for good: cases (``rows:`` in a docstring) and tests
(``@pytest.mark.row``) name rows by number. A new row goes to the end, into the last section.
"""

from __future__ import annotations

from dataclasses import dataclass

from corpus.language import Text


@dataclass(frozen=True)
class Row:
    """One line of the support table.

    Attributes:
        number: what cases and tests call it.
        feature: what it is about, in words for users.
        section: the heading that it stands under.
        threads: public threads about it, as ``owner/repository#number``.
        measured: the command that shows it, for a row that is a figure and no verdict.
    """

    number: int
    feature: Text
    section: Text
    threads: tuple[str, ...] = ()
    measured: str = ""


# Heading, number of its first row, the rows in order.
_SECTIONS: tuple[tuple[Text, int, tuple[Text, ...]], ...] = (
    (
        Text("Branches and logic", "分支与逻辑"),
        1,
        (
            Text(
                "`if`, `elif`, `else` on a tensor, with gradients",
                "张量上的 `if`、`elif`、`else`，带梯度",
            ),
            Text(
                "a variable bound on one side of a branch and not read afterwards",
                "只在分支一侧绑定、之后不再读取的变量",
            ),
            Text(
                "a variable bound on one side of a branch and read afterwards",
                "只在分支一侧绑定、之后读取的变量",
            ),
            Text("`None` on one side, a tensor on the other", "一侧是 `None`，另一侧是张量"),
            Text(
                "an int against a float, other strings, other objects on the two sides",
                "两侧分别是 int 与 float、不同的字符串、不同的其他对象",
            ),
            Text(
                "the same constant, such as a string, on both sides", "两侧是同一个常量，例如字符串"
            ),
            Text("other dtypes on the two sides", "两侧的数据类型不同"),
            Text("another shape, or another rank, on the two sides", "两侧的形状或秩不同"),
            Text("`a if t else b`, nested too", "`a if t else b`，包括嵌套"),
            Text("`and`, `or`, `not` in a condition", "条件里的 `and`、`or`、`not`"),
            Text(
                "a right operand that must not run when the left one, a tensor, decides",
                "左操作数是张量并已决定结果时，不允许运行的右操作数",
            ),
            Text("the value of `t and v` and of `t or v`", "`t and v` 和 `t or v` 的值"),
            Text(
                "chained comparison, `0 < x < 3`, as a condition and as a value",
                "连续比较 `0 < x < 3`，作为条件和作为值",
            ),
            Text("`x in [...]` with tensors", "带张量的 `x in [...]`"),
            Text(
                "`any`, `all`, `max`, `min`, `sum`, `sorted` over tensors",
                "对张量使用 `any`、`all`、`max`、`min`、`sum`、`sorted`",
            ),
            Text("the truth of a tensor, `==` and `!=`", "张量的真值，`==` 和 `!=`"),
        ),
    ),
    (
        Text("Loops", "循环"),
        17,
        (
            Text("`while` on a tensor, with gradients", "张量上的 `while`，带梯度"),
            Text("`else` of a `while` loop", "`while` 循环的 `else`"),
            Text("`while True` with a tensor `break`", "带张量 `break` 的 `while True`"),
            Text(
                "a condition that is a Python value at first and a tensor later",
                "起初是 Python 值、后来是张量的条件",
            ),
            Text("`:=` in the condition of a `while` or an `if`", "`while` 或 `if` 条件里的 `:=`"),
            Text("a loop variable whose shape grows", "形状增长的循环变量"),
            Text(
                "a loop variable that starts as an int and becomes a float",
                "起初是 int、后来成为 float 的循环变量",
            ),
            Text("a loop variable that starts as `None`", "起初是 `None` 的循环变量"),
            Text(
                "a variable bound in the body for the first time and read after the loop",
                "在循环体中第一次绑定、在循环之后读取的变量",
            ),
            Text(
                "`range` of a tensor, with two and three arguments, with a negative or "
                "variable step",
                "以张量为参数的 `range`：两个和三个参数，负的或可变的步长",
            ),
            Text("`for` over a tensor", "遍历张量的 `for`"),
            Text(
                "`enumerate` of a tensor, with a start as well",
                "对张量使用 `enumerate`，包括带起始值",
            ),
            Text("`zip` of tensors, with `strict=` as well", "对张量使用 `zip`，包括 `strict=`"),
            Text("`reversed` of a tensor and of a `range`", "对张量和 `range` 使用 `reversed`"),
            Text(
                "`for` over lists, dicts, sets, strings, and classes with `__iter__`",
                "遍历列表、字典、集合、字符串以及带 `__iter__` 的类",
            ),
            Text(
                "an iterator or generator that is consumed in a loop, endless ones too",
                "在循环里消耗的迭代器或生成器，包括无限的",
            ),
            Text("a list that changes while it is walked", "在遍历过程中改变的列表"),
            Text("walking an object that has `__getitem__` only", "遍历只有 `__getitem__` 的对象"),
            Text("a starred target, `for a, *b in ...`", "带星号的目标 `for a, *b in ...`"),
            Text("`else` of a `for` loop", "`for` 循环的 `else`"),
            Text("`break` and `continue`", "`break` 和 `continue`"),
            Text("`break` of an inner loop that is entered again", "再次进入的内层循环的 `break`"),
            Text(
                "a Python loop (`range`, `LayerList`) with a tensor `break`",
                "带张量 `break` 的 Python 循环（`range`、`LayerList`）",
            ),
            Text("the loop variable after the loop", "循环之后的循环变量"),
        ),
    ),
    (
        Text("Return", "返回"),
        41,
        (
            Text("early returns in a chain of branches", "一串分支中的提前返回"),
            Text(
                "a `return` in the inner one of two branches only",
                "只在两层分支的内层中的 `return`",
            ),
            Text(
                "a `return` in a tensor loop, and under a tensor condition in a Python loop",
                "张量循环中的 `return`，以及 Python 循环里张量条件下的 `return`",
            ),
            Text("a `return` in a loop under no condition", "循环里没有条件的 `return`"),
            Text(
                "`return None`, another structure or another dtype on some paths",
                "在某些路径上的 `return None`、另一种结构或另一种数据类型",
            ),
            Text("a `return` inside `with` and `try`", "`with` 和 `try` 里的 `return`"),
        ),
    ),
    (
        Text("Functions", "函数"),
        47,
        (
            Text(
                "`match` on Python values and tensors, with tensor guards",
                "对 Python 值和张量的 `match`，包括张量守卫",
            ),
            Text("list and dict comprehensions", "列表推导式和字典推导式"),
            Text(
                "comprehensions with a tensor condition, a tensor filter, over a tensor range",
                "带张量条件、张量过滤、遍历张量 range 的推导式",
            ),
            Text(
                "lambdas with a tensor condition, local and imported",
                "带张量条件的 lambda，本地的和导入的",
            ),
            Text("converting a lambda itself", "直接转换一个 lambda"),
            Text("nested functions and local decorators", "嵌套函数和局部装饰器"),
            Text(
                "`nonlocal` and `global` variables assigned under a tensor condition",
                "在张量条件下赋值的 `nonlocal` 和 `global` 变量",
            ),
            Text(
                "helpers: of a module, in a dict, callable objects, static and class "
                "methods, closures",
                "辅助函数：模块里的、字典里的、可调用对象、静态方法和类方法、闭包",
            ),
            Text(
                "`functools.partial` and `map` over functions with a tensor condition",
                "对带张量条件的函数使用 `functools.partial` 和 `map`",
            ),
            Text(
                "recursion that Python values decide, and recursion that a tensor decides",
                "由 Python 值决定的递归，和由张量决定的递归",
            ),
            Text(
                "generator functions, also with a tensor condition inside",
                "生成器函数，包括内部有张量条件的",
            ),
        ),
    ),
    (
        Text("Exceptions and effects", "异常与副作用"),
        58,
        (
            Text(
                "`try`, `except`, `finally`, also around a tensor condition",
                "`try`、`except`、`finally`，包括包围张量条件的",
            ),
            Text("`raise` under a tensor condition", "张量条件下的 `raise`"),
            Text(
                "`raise` under a tensor condition, inside a `try` that catches it",
                "张量条件下的 `raise`，处于捕获它的 `try` 之内",
            ),
            Text(
                "`assert` on a tensor; its message and type are kept",
                "对张量的 `assert`；保留其消息和类型",
            ),
            Text(
                "`print` of tensors and text, also in branches and to a file",
                "`print` 张量和文本，包括在分支里和写入文件",
            ),
            Text(
                "`with`: `no_grad` and context managers of the user's",
                "`with`：`no_grad` 和用户自己的上下文管理器",
            ),
            Text("`del`, also under a tensor condition", "`del`，包括在张量条件下"),
        ),
    ),
    (
        Text("Values and types", "值与类型"),
        65,
        (
            Text(
                "`int()`, `float()`, `bool()` of a tensor",
                "对张量使用 `int()`、`float()`、`bool()`",
            ),
            Text("`len()` of a tensor and of a list", "对张量和列表使用 `len()`"),
            Text(
                "`isinstance(x, paddle.Tensor)`, `type(x)`",
                "`isinstance(x, paddle.Tensor)`、`type(x)`",
            ),
            Text(
                "`isinstance(k, int)` of a value that a tensor branch has set",
                "对张量分支所设置的值使用 `isinstance(k, int)`",
            ),
            Text(
                "an int that a tensor branch has set, used as an index, a bound, a shape "
                "or an axis",
                "张量分支所设置的 int，用作下标、边界、形状或轴",
            ),
            Text(
                "floats on both sides: the dtype of what is computed with them",
                "两侧都是 float：由它计算出的值的数据类型",
            ),
            Text(
                "the text of a tensor in an f-string, `.tolist()`, `math` functions of a tensor",
                "f-string 里张量的文本、`.tolist()`、对张量使用 `math` 函数",
            ),
            Text("`.numpy()` and `.item()`", "`.numpy()` 和 `.item()`"),
            Text(
                "random numbers of Python and of Paddle, new ones on each call",
                "Python 和飞桨的随机数，每次调用都是新的",
            ),
        ),
    ),
    (
        Text("Containers", "容器"),
        74,
        (
            Text(
                "`append` in a tensor loop, then `stack`, `concat` or the last item",
                "在张量循环里 `append`，之后 `stack`、`concat` 或取最后一个元素",
            ),
            Text(
                "`len()` of a list that grew, and returning that list",
                "对增长了的列表使用 `len()`，并返回该列表",
            ),
            Text(
                "items of varying shape, `pop`, `insert`, `extend`, `+=`, items set at a "
                "tensor index",
                "形状变化的元素、`pop`、`insert`、`extend`、`+=`、在张量下标处设置元素",
            ),
            Text("a Python list read at a tensor index", "在张量下标处读取 Python 列表"),
            Text(
                "two names for one list, and helpers that change a list in a branch",
                "一个列表的两个名字，以及在分支里改变列表的辅助函数",
            ),
            Text("items of a dict set on both sides of a branch", "在分支两侧设置字典的元素"),
            Text("a new key of a dict on one side, `.update()`", "一侧的字典新键、`.update()`"),
            Text(
                "a dict with Python constants in a tensor loop", "张量循环里含有 Python 常量的字典"
            ),
            Text(
                "swapping, unpacking, namedtuples in branches and loops",
                "分支和循环里的交换、解包、具名元组",
            ),
            Text(
                "dataclasses: fields set in branches and loops, and merged",
                "dataclass：在分支和循环里设置字段，以及合并",
            ),
        ),
    ),
    (
        Text("Objects, state and in-place changes", "对象、状态与就地改变"),
        84,
        (
            Text("attributes set, or made, in a branch", "在分支里设置或创建的属性"),
            Text(
                "methods that change `self` in branches and loops",
                "在分支和循环里改变 `self` 的方法",
            ),
            Text(
                "buffers of a layer assigned in branches and loops",
                "在分支和循环里赋值的 Layer buffer",
            ),
            Text(
                "`x[...] = v`: slices, masks, in branches and loops",
                "`x[...] = v`：切片、掩码，在分支和循环里",
            ),
            Text("in-place methods, and writes through views", "就地方法，以及通过视图写入"),
            Text(
                "`x.shape` unpacked, unknown dimensions in an `InputSpec`, assertions on shapes",
                "解包 `x.shape`、`InputSpec` 中的未知维度、对形状的断言",
            ),
            Text(
                "shapes that depend on data (`nonzero`) in branches and bounds",
                "分支和边界里由数据决定的形状（`nonzero`）",
            ),
        ),
    ),
    (
        Text("Ways to be called", "调用方式"),
        91,
        (
            Text(
                "entry with keyword arguments, keyword-only ones and `**kwargs`",
                "入口函数带关键字参数、仅关键字参数和 `**kwargs`",
            ),
            Text("entry with `*args`", "入口函数带 `*args`"),
            Text(
                "entry: a decorated function, a class method, a `partial`, a callable object",
                "入口：被装饰的函数、类方法、`partial`、可调用对象",
            ),
            Text("`super()`, over one level and over two", "`super()`，跨一层和跨两层"),
            Text("private names, `self.__k`", "私有名字 `self.__k`"),
            Text("a first parameter that is not called `self`", "第一个参数不叫 `self`"),
        ),
    ),
    (
        Text("What a program sees again", "Program 会重新看到的东西"),
        97,
        (
            Text(
                "a global, an attribute or a closure variable that changes between calls",
                "在两次调用之间改变的全局变量、属性或闭包变量",
            ),
            Text(
                "a tensor of the closure that is set, or replaced, between calls",
                "在两次调用之间被设置或替换的闭包张量",
            ),
            Text(
                "batch norm statistics, dropout, switching between train and eval",
                "batch norm 统计量、dropout、在 train 与 eval 之间切换",
            ),
        ),
    ),
    (
        Text("The rest of Paddle", "飞桨的其他部分"),
        100,
        (
            Text(
                "`PyLayer`, `recompute`, `paddle.grad` inside, hooks of layers",
                "`PyLayer`、`recompute`、函数里的 `paddle.grad`、Layer 的 hook",
            ),
            Text("`Tensor.register_hook`", "`Tensor.register_hook`"),
            Text(
                "`amp.auto_cast` outside and inside of the function",
                "函数之外和之内的 `amp.auto_cast`",
            ),
            Text("`DataParallel` and distributed runs", "`DataParallel` 和分布式运行"),
            Text(
                "saving and loading a program with branches and loops, with `InputSpec`",
                "保存和加载带分支、循环和 `InputSpec` 的 Program",
            ),
            Text("export of branches and loops to ONNX", "把分支和循环导出到 ONNX"),
        ),
    ),
    (
        Text("Tools and errors", "工具与报错"),
        106,
        (
            Text("looking at the converted code", "查看转换后的代码"),
            Text(
                "`breakpoint()`, `pdb`, breakpoints of an editor",
                "`breakpoint()`、`pdb`、编辑器的断点",
            ),
            Text(
                "an error while a program is captured names the user's line",
                "捕获 Program 时的错误指出用户的代码行",
            ),
            Text(
                "an error of an operation on a run names the user's line, in branches and "
                "loops too",
                "运行时算子的错误指出用户的代码行，包括在分支和循环里",
            ),
            Text(
                "the message about two sides of a branch that do not fit", "分支两侧不相容时的消息"
            ),
            Text(
                "one program for each kind of call, and a reason when there is a new one",
                "每一类调用一个 Program，出现新的 Program 时给出原因",
            ),
            Text(
                "threads, on a captured function and on one that is not yet",
                "多线程，对已捕获的函数和尚未捕获的函数",
            ),
            Text(
                "functions made by `exec`, in a REPL, by `python -c`",
                "由 `exec`、REPL、`python -c` 创建的函数",
            ),
            Text("the time that a conversion and a call take", "一次转换和一次调用所需的时间"),
        ),
    ),
    (
        Text("Added by d2s", "d2s 增加的部分"),
        115,
        (
            Text(
                "gradients through a tensor loop inside a tensor loop",
                "穿过张量循环之内张量循环的梯度",
            ),
            Text(
                "a branch in a loop in a branch, and tensor loops in each other, without gradients",
                "分支里的循环里的分支，以及相互嵌套的张量循环，无梯度",
            ),
            Text(
                "a saved program with branches and loops, run by the inference library "
                "without Python",
                "保存的带分支和循环的 Program，由推理库运行，不需要 Python",
            ),
            Text("`logging` in branches and loops", "分支和循环里的 `logging`"),
            Text(
                "exception classes of the user's, with arguments and attributes",
                "用户自己的异常类，带参数和属性",
            ),
            Text("`async` functions and `await`", "`async` 函数和 `await`"),
            Text("`except*`", "`except*`"),
            Text(
                "closures that read a variable of a branch or a loop later",
                "之后才读取分支或循环变量的闭包",
            ),
            Text(
                "structures and NumPy arrays as arguments and results",
                "作为实参和结果的嵌套结构与 NumPy 数组",
            ),
            Text(
                "`deepcopy` and `state_dict` of a converted layer",
                "转换后 Layer 的 `deepcopy` 和 `state_dict`",
            ),
            Text(
                "a converted function that calls another one; functions left as they are",
                "转换后的函数调用另一个转换后的函数；保持原样的函数",
            ),
            Text(
                "coverage, profilers and Paddle's call stacks speak of the user's lines",
                "覆盖率、性能分析器和飞桨的调用栈显示用户的代码行",
            ),
            Text(
                "a value of a program that is kept in an object does not break later calls",
                "保存在对象里的 Program 的值不会破坏之后的调用",
            ),
        ),
    ),
)

# Reports of the behaviour, or of its lack, in Paddle's own trackers.
_THREADS = {
    11: ("PaddlePaddle/Paddle#50365",),
    88: ("PaddlePaddle/Paddle#79145", "PaddlePaddle/Paddle#79146"),
    105: ("PaddlePaddle/Paddle2ONNX#1310", "PaddlePaddle/Paddle2ONNX#1391"),
}
_MEASURED = {114: "make bench"}


def _rows() -> tuple[Row, ...]:
    rows: list[Row] = []
    for title, first, features in _SECTIONS:
        assert first == len(rows) + 1, f"section {title.en!r} starts at {len(rows) + 1}"
        rows += [
            Row(number, feature, title, _THREADS.get(number, ()), _MEASURED.get(number, ""))
            for number, feature in enumerate(features, first)
        ]
    return tuple(rows)


ROWS = _rows()
NUMBERS = frozenset(row.number for row in ROWS)
LAST = ROWS[-1].number
