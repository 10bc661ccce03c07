"""Data structures on tensors: heaps, trees, stacks, queues, rings, sets, sparse forms."""

from collections import OrderedDict, deque, namedtuple
from dataclasses import dataclass, field
from typing import List, Optional

import numpy as np
import paddle
import paddle.nn.functional as F

from corpus.realistic import attempt, program


@program
def binary_heap_in_an_array(convert):
    """A min-heap in a fixed tensor with sift-up and sift-down loops; heapsort with it."""

    class Heap:
        def __init__(self, capacity):
            self.data = paddle.full([capacity], float("inf"))
            self.size = paddle.zeros([], dtype="int64")
            self.swaps = paddle.zeros([], dtype="int64")

        def _swap(self, i, j):
            a, b = self.data[i].clone(), self.data[j].clone()
            self.data[i] = b
            self.data[j] = a
            self.swaps = self.swaps + 1

        @convert
        def push(self, value):
            i = self.size
            self.data[i] = value
            self.size = self.size + 1
            while i > 0:
                parent = (i - 1) // 2
                if self.data[i] >= self.data[parent]:
                    break
                self._swap(i, parent)
                i = parent

        @convert
        def pop(self):
            top = self.data[0].clone()
            self.size = self.size - 1
            self.data[0] = self.data[self.size].clone()
            self.data[self.size] = float("inf")
            i = paddle.zeros([], dtype="int64")
            while 2 * i + 1 < self.size:
                child = 2 * i + 1
                if child + 1 < self.size and self.data[child + 1] < self.data[child]:
                    child = child + 1
                if self.data[i] <= self.data[child]:
                    break
                self._swap(i, child)
                i = child
            return top

    rng = np.random.RandomState(0)
    heap = Heap(capacity=8)
    for value in rng.randn(6):
        heap.push(paddle.to_tensor(float(value)))
    yield heap.data.clone(), heap.size, heap.swaps
    yield [heap.pop() for _ in range(3)]
    heap.push(paddle.to_tensor(-5.0))
    yield heap.data.clone(), heap.size
    yield [heap.pop() for _ in range(4)], heap.swaps


@program
def search_tree_in_parallel_arrays(convert):
    """A binary search tree as arrays of keys and children; insert, find, depth, in-order walk."""

    class Tree:
        NONE = -1

        def __init__(self, capacity):
            self.keys = paddle.zeros([capacity], dtype="int64")
            self.left = paddle.full([capacity], self.NONE, dtype="int64")
            self.right = paddle.full([capacity], self.NONE, dtype="int64")
            self.count = 0

        @convert
        def insert(self, key):
            """Returns whether the key is new."""
            new = self.count
            if new == 0:
                self.keys[0] = key
                self.count = 1
                return paddle.to_tensor(True)
            node = paddle.zeros([], dtype="int64")
            fresh = paddle.to_tensor(False)
            while True:
                if key == self.keys[node]:
                    break
                goes_left = key < self.keys[node]
                child = paddle.where(goes_left, self.left[node], self.right[node])
                if child == self.NONE:
                    self.keys[new] = key
                    if goes_left:
                        self.left[node] = new
                    else:
                        self.right[node] = new
                    fresh = paddle.to_tensor(True)
                    break
                node = child
            return fresh

        def add(self, key):
            had_root = self.count > 0
            fresh = self.insert(paddle.to_tensor(key))
            if had_root and fresh:
                self.count += 1
            return fresh

        @convert
        def find(self, key):
            node = paddle.zeros([], dtype="int64")
            steps = paddle.zeros([], dtype="int64")
            while node != self.NONE and self.keys[node] != key:
                steps += 1
                if key < self.keys[node]:
                    node = self.left[node]
                else:
                    node = self.right[node]
            return node, steps

        @convert
        def in_order(self):
            stack, out = [], []
            node = 0 if self.count else self.NONE
            while stack or node != self.NONE:
                while node != self.NONE:
                    stack.append(node)
                    node = int(self.left[node])
                node = stack.pop()
                out.append(self.keys[node])
                node = int(self.right[node])
            return paddle.stack(out)

    tree = Tree(capacity=8)
    for key in (5, 2, 8, 2, 6, 9, 1):
        yield tree.add(key), tree.count
    yield tree.keys, tree.left, tree.right
    for key in (6, 1, 7, 5):
        yield tree.find(paddle.to_tensor(key))
    yield attempt(lambda: tree.in_order())


@program
def stack_machine_for_postfix(convert):
    """A stack machine interprets postfix programs over tensors, with jumps and an error stack."""
    Instruction = namedtuple("Instruction", ["op", "arg"], defaults=[None])

    @dataclass
    class Machine:
        limit: int = 30
        stack: List[paddle.Tensor] = field(default_factory=list)
        registers: dict = field(default_factory=dict)
        executed: int = 0

        def push(self, value):
            self.stack.append(value)

        def pop(self):
            assert self.stack, "the stack is empty"
            return self.stack.pop()

        def binary(self, function):
            b, a = self.pop(), self.pop()
            self.push(function(a, b))

        def run(self, program):
            counter = 0
            while counter < len(program):
                op, arg = program[counter]
                counter += 1
                self.executed += 1
                assert self.executed <= self.limit, f"more than {self.limit} instructions"
                if op == "push":
                    self.push(arg)
                elif op == "load":
                    self.push(self.registers[arg])
                elif op == "store":
                    self.registers[arg] = self.pop()
                elif op == "add":
                    self.binary(lambda a, b: a + b)
                elif op == "mul":
                    self.binary(lambda a, b: a * b)
                elif op == "max":
                    self.binary(paddle.maximum)
                elif op == "select":
                    test, a, b = self.pop(), self.pop(), self.pop()
                    self.push(a if test > 0 else b)
                elif op == "repeat":
                    times, back = arg
                    self.registers["#"] = self.registers.get("#", 0) + 1
                    if self.registers["#"] < times:
                        counter -= back + 1
                else:
                    raise ValueError(f"no instruction {op!r}")
            return self.pop()

    @convert
    def execute(program, limit=30, **registers):
        machine = Machine(limit=limit)
        machine.registers.update(registers)
        result = machine.run(program)
        return result, machine.executed, len(machine.stack)

    I = Instruction
    polynomial = [I("load", "x"), I("load", "x"), I("mul"), I("push", 3.0), I("add")]
    choose = [
        I("push", -1.0),
        I("load", "x"),
        I("load", "x"),
        I("select"),
        I("push", 2.0),
        I("mul"),
    ]
    doubling = [I("load", "x"), I("push", 2.0), I("mul"), I("store", "x"), I("repeat", (3, 4))]
    for x in (2.0, -0.5):
        yield execute(polynomial, x=paddle.to_tensor(x))
        yield execute(choose, x=paddle.to_tensor(x))
    yield execute(doubling + [I("load", "x")], x=paddle.to_tensor([1.0, 3.0]))
    yield attempt(lambda: execute([I("add")], x=paddle.to_tensor(1.0)))
    yield attempt(lambda: execute([I("jump")]))
    yield attempt(lambda: execute(doubling * 3, limit=5, x=paddle.to_tensor(1.0)))


@program
def ring_buffer_statistics(convert):
    """A ring buffer with running sums: sliding mean, variance, monotone-deque maximum, outliers."""

    class Ring:
        def __init__(self, size):
            self.buffer = paddle.zeros([size])
            self.size, self.head, self.filled = size, 0, 0
            self.total = paddle.zeros([])
            self.squares = paddle.zeros([])

        def push(self, value):
            old = self.buffer[self.head].clone()
            self.total = self.total - old + value
            self.squares = self.squares - old * old + value * value
            self.buffer[self.head] = value
            self.head = (self.head + 1) % self.size
            self.filled = min(self.filled + 1, self.size)

        @property
        def mean(self):
            return self.total / self.filled

        @property
        def std(self):
            return (self.squares / self.filled - self.mean.square()).clip(min=0).sqrt()

    class OutlierFilter:
        def __init__(self, size=4, limit=1.5):
            self.ring, self.limit = Ring(size), limit
            self.rejected = paddle.zeros([], dtype="int64")

        @convert
        def __call__(self, value):
            if self.ring.filled < 2:
                self.ring.push(value)
                return value
            z = (value - self.ring.mean) / (self.ring.std + 0.1)
            if z.abs() > self.limit:
                self.rejected += 1
                value = self.ring.mean + self.limit * z.sign() * (self.ring.std + 0.1)
            self.ring.push(value)
            return value

    @convert
    def sliding_maximum(values, window):
        candidates = deque()
        out = []
        for i in range(values.shape[0]):
            while candidates and candidates[0] <= i - window:
                candidates.popleft()
            while candidates and values[candidates[-1]] <= values[i]:
                candidates.pop()
            candidates.append(i)
            if i >= window - 1:
                out.append(values[candidates[0]])
        return paddle.stack(out)

    clean = OutlierFilter()
    for value in (1.0, 1.2, 5.0, 0.9, -3.0, 1.1, 1.0, 1.3):
        yield clean(paddle.to_tensor(value))
    yield clean.ring.buffer, clean.ring.mean, clean.rejected, clean.ring.head
    rng = np.random.RandomState(1)
    for n, window in ((5, 2), (6, 3)):
        yield attempt(lambda: sliding_maximum(paddle.to_tensor(rng.randn(n)), window))


@program
def segment_tree_with_lazy_sums(convert):
    """A segment tree in one tensor: point updates, range sums, prefix search for sampling."""

    class SumTree:
        def __init__(self, leaves):
            self.leaves = leaves
            self.tree = paddle.zeros([2 * leaves])

        @convert
        def update(self, index, value):
            i = index + self.leaves
            delta = value - self.tree[i]
            while i >= 1:
                self.tree[i] = self.tree[i] + delta
                i = i // 2
            return self.tree[1]

        @convert
        def range_sum(self, low, high):
            total = paddle.zeros([])
            low, high = low + self.leaves, high + self.leaves
            while low < high:
                if low % 2 == 1:
                    total = total + self.tree[low]
                    low = low + 1
                if high % 2 == 1:
                    high = high - 1
                    total = total + self.tree[high]
                low, high = low // 2, high // 2
            return total

        @convert
        def find(self, mass):
            i = paddle.ones([], dtype="int64")
            while i < self.leaves:
                left = 2 * i
                if mass < self.tree[left]:
                    i = left
                else:
                    mass = mass - self.tree[left]
                    i = left + 1
            return i - self.leaves, mass

    class PrioritySampler:
        def __init__(self, capacity, alpha=0.6):
            self.tree, self.alpha = SumTree(capacity), alpha
            self.next, self.items = 0, OrderedDict()

        def add(self, item, error):
            slot = self.next % self.tree.leaves
            self.items[slot] = item
            self.tree.update(paddle.to_tensor(slot), (error.abs() + 1e-2) ** self.alpha)
            self.next += 1

        def sample(self, uniforms):
            total = self.tree.tree[1]
            return [self.items[int(self.tree.find(u * total)[0])] for u in uniforms]

    tree = SumTree(8)
    rng = np.random.RandomState(2)
    for index, value in ((0, 1.0), (3, 2.5), (7, 0.5), (3, 1.5)):
        yield tree.update(paddle.to_tensor(index), paddle.to_tensor(value))
    yield tree.tree.clone()
    for low, high in ((0, 8), (1, 4), (3, 3), (5, 8)):
        yield tree.range_sum(paddle.to_tensor(low), paddle.to_tensor(high))
        yield tree.range_sum(low, high)
    for mass in (0.2, 1.0, 2.9):
        yield tree.find(paddle.to_tensor(mass))
    sampler = PrioritySampler(capacity=4)
    for i in range(6):
        sampler.add(f"item{i}", paddle.to_tensor(float(rng.randn())))
    yield sampler.sample(paddle.to_tensor([0.1, 0.5, 0.95])), sampler.tree.tree


@program
def bloom_filter_and_count_min(convert):
    """Sketches with integer hashes: membership, approximate counts, heavy hitters."""

    class Hasher:
        def __init__(self, buckets, seeds=(7, 31, 101)):
            self.buckets, self.seeds = buckets, paddle.to_tensor(list(seeds))

        def __call__(self, keys):
            keys = keys.astype("int64").unsqueeze(-1)
            return (keys * self.seeds * 2654435 + self.seeds * 97) % self.buckets

    class Bloom:
        def __init__(self, buckets=32):
            self.hash = Hasher(buckets)
            self.bits = paddle.zeros([buckets], dtype="int64")

        @convert
        def add(self, keys):
            positions = self.hash(keys).flatten()
            self.bits = paddle.scatter_nd_add(
                self.bits, index=positions.unsqueeze(-1), updates=paddle.ones_like(positions)
            ).clip(max=1)
            return self.bits.sum()

        @convert
        def __contains__(self, key):
            return bool(self.bits[self.hash(key.reshape([1]))[0]].all())

        @convert
        def query(self, keys):
            return self.bits[self.hash(keys)].astype("bool").all(axis=-1)

    class CountMin:
        def __init__(self, buckets=16, depth=3):
            self.hash = Hasher(buckets, seeds=range(3, 3 + 2 * depth, 2))
            self.table = paddle.zeros([depth, buckets])
            self.heavy: Optional[paddle.Tensor] = None
            self.depth = depth

        @convert
        def add(self, keys, heavy_share=0.4):
            positions = self.hash(keys)
            for row in range(self.depth):
                hot = F.one_hot(positions[:, row], self.table.shape[1]).sum(axis=0)
                self.table[row] = self.table[row] + hot
            total = self.table[0].sum()
            for key in keys:
                if self.estimate(key) > heavy_share * total:
                    self.heavy = key
            return total

        def estimate(self, key):
            position = self.hash(key.reshape([1]))[0]
            return paddle.stack([self.table[i, position[i]] for i in range(self.depth)]).min()

    rng = np.random.RandomState(3)
    bloom, sketch = Bloom(), CountMin()
    for n in (3, 5, 3):
        keys = paddle.to_tensor(rng.randint(0, 50, n))
        yield bloom.add(keys), bloom.query(keys), bloom.query(keys + 1)
        yield sketch.add(paddle.concat([keys, paddle.full([4], 9, dtype="int64")])), sketch.heavy
    yield attempt(lambda: paddle.to_tensor(3) in bloom)
    yield sketch.table, sketch.estimate(paddle.to_tensor(9))
