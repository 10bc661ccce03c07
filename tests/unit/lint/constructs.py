"""What lint has a rule for, and what is like it and works; each is converted by the tests.

A function that is refused says its code at the end of the line that lint names. ``x`` is
``[1.0, 2.0]``.
"""

# ruff: noqa: PTH103, PTH120, PTH123

import asyncio
import bisect
import heapq
import json
import os
import random
import time
import uuid
from collections import deque
from contextlib import contextmanager

import numpy as np
import paddle
from paddle import nn
from paddle.autograd import PyLayer

import d2s

CACHE = {}
TEMPLATE = "sum %f"
RNG = np.random.RandomState(0)
LINEAR = nn.Linear(2, 1)
SGD = paddle.optimizer.SGD(0.1, parameters=LINEAR.parameters())


@d2s.to_static
def array_in_the_middle(x):
    return x * float(x.numpy().max())  # D2S208


@d2s.to_static
def list_of_numbers(x):
    return sum(x.tolist())  # D2S208


@d2s.to_static
def function_of_numpy(x):
    return paddle.to_tensor(np.asarray(x) * 2)  # D2S208


@d2s.to_static
def array_that_is_shown(x):
    print("x is", x.numpy())
    return x


@d2s.to_static
def number_that_is_computed_with(x):
    return x * x.sum().item() + float(x.mean())


@d2s.to_static
def shuffled(x):
    order = [1, 2, 3]
    random.shuffle(order)
    return x * order[0]


@d2s.to_static
def picked(x):
    return x * random.choice([1, 2])


@d2s.to_static
def noise(x):
    return x + paddle.to_tensor(np.random.rand(2).astype("float32"))


@d2s.to_static
def of_a_generator(x):
    return x[paddle.to_tensor(RNG.permutation(2))]


@d2s.to_static
def bytes_of_a_generator(x):
    return x * RNG.bytes(1)[0]  # D2S205


@d2s.to_static
def of_a_seed(x):
    order = [1, 2]
    random.Random(3).shuffle(order)
    return x * order[0] + float(np.random.RandomState(3).permutation(3)[0])


@d2s.to_static
def one_number(x):
    return x * random.random() + np.random.uniform(0, 1)


@d2s.to_static
def one_number_in_a_branch(x):
    if x.sum() > 0:
        x = x * random.random()
    return x


@d2s.to_static
def layer_of_its_own(x):
    linear = nn.Linear(2, 2)  # D2S205
    return linear(x)


@d2s.to_static
def parameter_of_its_own(x):
    return x + paddle.create_parameter([2], "float32")  # D2S205


@d2s.to_static
def layer_without_parameters(x):
    return nn.ReLU()(x)


@d2s.to_static
def backward_in_a_branch(x):
    weight = paddle.ones([2])
    weight.stop_gradient = False
    loss = (weight * x).sum()
    if loss > 0:
        loss.backward()
        return weight.grad
    return weight


@d2s.to_static
def step_in_a_branch(x):
    loss = LINEAR(x).square().mean()
    loss.backward()
    if loss > 0:
        SGD.step()
    SGD.clear_grad()
    return loss


@d2s.to_static
def step_in_a_loop(x):
    while x.sum() > 0:
        loss = LINEAR(x).square().mean()
        SGD.clear_grad()
        loss.backward()
        SGD.step()
        x = x - 1
    return x


@d2s.to_static
def rate_in_a_loop(x):
    while x.sum() > 0:
        SGD.set_lr(0.5)
        x = x - 1
    return x


@d2s.to_static
def written_text(x):
    with open(os.devnull, "w") as file:  # D2S205
        file.write("called")
    return x


@d2s.to_static
def key_of_the_run(x):
    found = {}
    found[int(x.sum())] = x
    return found


@d2s.to_static
def set_of_the_run(x):
    return x, {int(x.sum())}


@d2s.to_static
def text_as_a_key(x):
    CACHE[f"{x.sum().item():.1f}"] = 1  # D2S208
    return x


@d2s.to_static
def key_that_is_known(x):
    found = {}
    for index in range(2):
        found[index] = x[index]
    return found


@d2s.to_static
def key_of_two_texts(x):
    if x.sum() > 0:
        name = "up"
    else:
        name = "down"
    return {name: x, **{}}


@d2s.to_static
def new_key_in_each_trip(x):
    found = {}
    while x.sum() < 10:
        x = x * 2
        found[len(found)] = x  # D2S207
    return x


@d2s.to_static
def counted_key_in_each_trip(x):
    found, trips = {}, 0
    while x.sum() < 10:
        x = x * 2
        found[trips] = x
        trips += 1
    return found


@d2s.to_static
def written_as_json(x):
    return x, json.dumps({"sum": float(x.sum())})  # D2S208 TypeError


@d2s.to_static
def on_a_heap(x):
    heap = []
    heapq.heappush(heap, float(x[0]))
    heapq.heappush(heap, float(x[1]))
    return heapq.heappop(heap)


@d2s.to_static
def place_in_order(x):
    return x * bisect.bisect([1.0, 2.0, 3.0], float(x.sum()))


@d2s.to_static
def put_in_order(x):
    order = [1.0, 2.0]
    bisect.insort(order, float(x.sum()))  # D2S205
    return x * order[0]


def _power(x, n):
    if n < 1:
        return x * 0 + 1
    return x * _power(x, n - 1)  # D2S206


@d2s.to_static
def recursion(x):
    return _power(x, paddle.to_tensor(3) + x.sum().astype("int64") * 0)


def _times(x, n):
    if n == 0:
        return x
    return x + _times(x, n - 1)


@d2s.to_static
def recursion_of_python(x):
    return _times(x, 3)


@d2s.to_static
def items_later(x):
    return (part * 2 for part in x)  # D2S205


@d2s.to_static
def function_later(x):
    return lambda: x  # D2S205


def _halves(x):
    while x.sum() > 1:
        x = x / 2
        try:
            yield x  # D2S205
        finally:
            x = x + 0


@d2s.to_static
def yields_while(x):
    total = x * 0
    for half in _halves(x):
        total = total + half
    return total


@contextmanager
def _scaled(x, by):
    if x.sum() > 0:
        yield by
    else:
        yield -by


def _twice(x):
    yield x
    yield x * 2


@d2s.to_static
def yields(x):
    if x.sum() > 0:
        for part in _twice(x):
            x = x + part
    return x


@d2s.to_static
def iterator_in_a_branch(x):
    rates = (rate for rate in [0.5, 2.0, 10.0])
    rate = next(rates)
    if x.sum() < 1:
        rate = next(rates)  # D2S205
    return x * rate * next(rates)


@d2s.to_static
def iterator_of_its_own(x):
    rates = iter([0.5, 2.0])
    return x * next(rates) + next(rates)


@d2s.to_static
def which_object(x):
    best = x
    if x.sum() > 2:
        best = x * 0.5
    if best is x:  # D2S205
        best = best + 1
    return best


@d2s.to_static
def whether_there_is_one(x, mask=None):
    if mask is None:
        mask = x > 1
    return x * mask.astype(x.dtype)


class Reverse(PyLayer):
    @staticmethod
    def forward(ctx, x):
        return x * 1.0

    @staticmethod
    def backward(ctx, dy):
        return -0.5 * dy


@d2s.to_static
def py_layer_in_a_loop(x):
    x = x.detach()
    x.stop_gradient = False
    while x.abs().max() < 9:
        x = Reverse.apply(x) * 2  # D2S205
    return x


@d2s.to_static
def shapes_in_a_list(x):
    parts = []
    for index in range(int(x.sum()) - 1):
        parts.append(x[: index + 1])  # D2S207
    return paddle.concat(parts)


@d2s.to_static
def queue_that_decides_the_loop(x):
    queue = deque([x])
    total = paddle.zeros([])
    while queue:
        part = queue.popleft()
        total = total + part.sum()
        if part.sum() > 1:
            queue.append(part * 0.5)
    return total


@d2s.to_static
def grown_and_unpacked(x):
    states = [x]
    while x.sum() < 20:
        x = x * 2
        states.append(x)
    first, *rest = states
    return rest[0] + first


@d2s.to_static
def grown_as_arguments(x):
    states = [x]
    while x.sum() < 20:
        x = x * 2
        states.append(x)
    return set().union(*states)  # D2S207


@d2s.to_static
def one_name_too_many(x):
    y = x
    while x.sum() < 10:
        y.add_(paddle.ones([2]))
    return x


@d2s.to_static
def more_dimensions(x):
    total = x.sum()
    while total.max() < 100:
        total = (total * 2).unsqueeze(0)  # D2S202
    return total


@d2s.to_static
def filled_template(x, template="sum %f"):
    text = template % x.sum()  # D2S208
    return x


@d2s.to_static
def truth_of_two(x):
    limits = paddle.to_tensor([1.0, 2.0])
    if x > limits:  # D2S204
        x = x * 2
    return x


@d2s.to_static
def truth_of_all(x):
    limits = paddle.to_tensor([1.0, 2.0])
    if (x > limits).all():
        x = x * 2
    return x


@d2s.to_static
def filled_template_of_the_file(x):
    print(TEMPLATE % x.sum().item())  # D2S208
    return x


@d2s.to_static
def filled_template_with_a_size(x):
    print(TEMPLATE % x.shape[0])
    return x


async def _awaits(x):
    if x.sum() > 0:
        x = await _later(x)  # D2S205
    return x


async def _later(x):
    return x * 2


async def _awaits_first(x):
    y = await _later(x)
    if x.sum() > 0:
        y = y * 2
    return y


@d2s.to_static
def awaited_in_a_branch(x):
    return asyncio.run(_awaits(x))


@d2s.to_static
def awaited_in_front_of_a_branch(x):
    return asyncio.run(_awaits_first(x))


@d2s.to_static
def hook_in_a_loop(x):
    while x.sum() < 10:
        x = x * 2
        x.register_hook(lambda g: g * 2)  # D2S205
    return x


@d2s.to_static
def hook_in_a_branch(x):
    y = x * 2
    if x.sum() > 0:
        y.register_hook(lambda g: g * 2)
    return y


@d2s.to_static
def set_of_numbers(x):
    numbers = {int(value) for value in x}
    for number in numbers:
        x = x + number
    return x + numbers.pop()  # D2S207


@d2s.to_static
def set_of_numbers_in_an_expression(x):
    numbers = {int(value) for value in x}
    return x * max(number + 1 for number in numbers)


@d2s.to_static
def set_of_numbers_sorted(x):
    for number in sorted({int(value) for value in x}):
        x = x + number
    return x


@d2s.to_static
def set_of_tensors(x):
    for part in {x, x * 2}:
        x = x + part
    return x


@d2s.to_static
def other_dtype_of_the_same_memory(x):
    return (x * 2).view("int32")  # D2S205


@d2s.to_static
def other_shape_of_the_same_memory(x):
    return (x * 2).view([2, 1])


@d2s.to_static
def which_one_a_ternary_chose(x):
    y = x * 3
    chosen = x if x.sum() > 1 else y
    return chosen * 2 if chosen is y else chosen  # D2S205


@d2s.to_static
def whether_a_ternary_chose_none(x):
    chosen = x * 3 if x.sum() > 1 else None
    return x if chosen is None else chosen


@d2s.to_static
def one_name_too_many_that_changes(x):
    y = x * 1
    first, z = y, x
    while z.sum() < 10:
        z = z * 2
        y.add_(z)
    return first


@d2s.to_static
def one_name_too_many_that_nobody_reads(x):
    y = x * 1
    first = y
    while x.sum() < 10:
        x = x * 2
        y.add_(x)
    return y


class Sampler:
    def __init__(self):
        self.rng = np.random.RandomState(0)

    def pick(self, x):
        return x[paddle.to_tensor(self.rng.randint(0, 2, 2))]


SAMPLER = Sampler()


@d2s.to_static
def picked_by_an_object(x):
    return SAMPLER.pick(x)


# -- what is done, or asked for, once ------------------------------------------------------------


@d2s.to_static
def clock(x):
    return x + time.time()  # D2S205


@d2s.to_static
def environment(x):
    return x * len(os.environ.get("HOME", ""))  # D2S702


@d2s.to_static
def name(x):
    return x, str(uuid.uuid4())  # D2S205


@d2s.to_static
def own_text(x):
    with open(__file__) as file:  # D2S702
        return x * len(file.read())


@d2s.to_static
def nap(x):
    time.sleep(0.001)  # D2S205
    return x


@d2s.to_static
def own_folder(x):
    os.makedirs(os.path.dirname(__file__), exist_ok=True)  # D2S205
    return x


# -- layers --------------------------------------------------------------------------------------


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)
        self.offset = 0.5
        self.steps = []

    def forward(self, x, scale: float = 1.0):
        self.steps.append(1)
        hidden = self.linear(x)
        if hidden.mean() > scale:
            hidden = hidden * 2
        return self.shifted(hidden)

    def shifted(self, hidden):
        return hidden + self.offset + hidden.numpy().mean()  # D2S208


def not_converted(x):
    return x.numpy(), random.choice([1, 2]), asyncio, deque, _scaled
