"""A trainer, a recommender, graphs, a cloth and a game."""

import contextlib
import enum
import io
import itertools
from collections import Counter
from dataclasses import dataclass

import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import program


class StopTraining(Exception):
    pass


class Callback:
    def on_batch_end(self, trainer, logs):
        pass

    def on_epoch_end(self, trainer, logs):
        pass


class Printer(Callback):
    def __init__(self, every=1):
        self.every = every

    def on_epoch_end(self, trainer, logs):
        if trainer.epoch % self.every == 0:
            print(" ".join(f"{k}={float(v):.4f}" for k, v in sorted(logs.items())))


class NaNGuard(Callback):
    def on_batch_end(self, trainer, logs):
        if paddle.isnan(logs["loss"]):
            raise StopTraining(f"loss is nan in epoch {trainer.epoch}")


class BestWeights(Callback):
    def __init__(self):
        self.best = float("inf")
        self.weights = None

    def on_epoch_end(self, trainer, logs):
        if logs["val"] < self.best:
            self.best = logs["val"]
            self.weights = {k: v.clone() for k, v in trainer.model.state_dict().items()}


class EarlyStopping(Callback):
    def __init__(self, patience=2, delta=0.0):
        self.patience, self.delta = patience, delta
        self.best, self.wait = None, 0

    def on_epoch_end(self, trainer, logs):
        if self.best is None or logs["val"] < self.best - self.delta:
            self.best, self.wait = logs["val"], 0
            return
        self.wait += 1
        if self.wait >= self.patience:
            raise StopTraining(f"no progress for {self.wait} epochs")


class Plateau(Callback):
    def __init__(self, factor=0.5):
        self.factor = factor
        self.last = None

    def on_epoch_end(self, trainer, logs):
        if self.last is not None and logs["val"] > self.last:
            trainer.optimizer.set_lr(trainer.optimizer.get_lr() * self.factor)
        self.last = logs["val"]


class Trainer:
    def __init__(self, model, optimizer, callbacks=()):
        self.model = model
        self.optimizer = optimizer
        self.callbacks = list(callbacks)
        self.epoch = 0
        self.history = []
        self.status = "new"

    def emit(self, event, logs):
        for callback in self.callbacks:
            getattr(callback, f"on_{event}")(self, logs)

    def run_epoch(self, batches, validation):
        self.model.train()
        total, seen = paddle.zeros([]), 0
        for x, y in batches:
            loss = F.cross_entropy(self.model(x), y)
            loss.backward()
            self.optimizer.step()
            self.optimizer.clear_grad()
            total += loss.detach() * len(y)
            seen += len(y)
            self.emit("batch_end", {"loss": loss})
        self.model.eval()
        with paddle.no_grad():
            x, y = validation
            logits = self.model(x)
            logs = {
                "loss": total / seen,
                "val": F.cross_entropy(logits, y),
                "acc": (logits.argmax(-1) == y).astype("float32").mean(),
            }
        self.history.append(logs)
        self.emit("epoch_end", logs)
        self.epoch += 1
        return logs

    def fit(self, batches, validation, epochs):
        try:
            for _ in range(epochs):
                self.run_epoch(batches, validation)
            self.status = "done"
        except StopTraining as reason:
            self.status = f"stopped: {reason}"
        return self.history[-1] if self.history else None


@program
def trainer_with_callbacks_that_stop_it(convert):
    """A trainer with callbacks: early stopping, best weights, a plateau schedule, a log and a guard against NaN."""

    paddle.seed(23)
    records = []
    x = paddle.randn([12, 3])
    y = (x[:, 0] > 0).astype("int64") + (x[:, 1] > 0.5).astype("int64")
    batches = [(x[:5], y[:5]), (x[5:10], y[5:10])]

    def build(lr, *callbacks):
        model = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 3))
        return Trainer(model, paddle.optimizer.SGD(lr, parameters=model.parameters()), callbacks)

    best = BestWeights()
    trainer = build(0.5, Printer(2), NaNGuard(), best, Plateau())
    epoch = convert(trainer.run_epoch)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        for _ in range(4):
            records.append(epoch(batches, (x[10:], y[10:])))
    records += [
        out.getvalue(),
        trainer.epoch,
        trainer.optimizer.get_lr(),
        best.best,
        best.weights["0.bias"],
    ]
    trainer = build(20.0, EarlyStopping(), NaNGuard())
    records += [
        convert(trainer.fit)(batches, (x[10:], y[10:]), 8),
        trainer.status,
        len(trainer.history),
    ]
    trainer = build(0.1, NaNGuard())
    spoiled = [(x[:5] * float("nan"), y[:5])]
    records += [convert(trainer.fit)(spoiled, (x[10:], y[10:]), 2), trainer.status]
    yield from records


class ColdUser(Exception):
    def __init__(self, user):
        super().__init__(f"user {user} has no history")
        self.user = user


class BPR(nn.Layer):
    def __init__(self, users, items, size=4, reg=0.01):
        super().__init__()
        self.user = nn.Embedding(users, size)
        self.item = nn.Embedding(items, size)
        self.bias = self.create_parameter([items], is_bias=True)
        self.reg = reg

    def score(self, users):
        return self.user(users) @ self.item.weight.T + self.bias

    def forward(self, users, positives, seen):
        """The BPR loss against the hardest unseen item of each user."""
        scores = self.score(users)
        blocked = paddle.where(seen, paddle.full_like(scores, -1e9), scores)
        negatives = blocked.argmax(axis=1)
        pick = lambda idx: paddle.take_along_axis(scores, idx.unsqueeze(1), 1).squeeze(1)
        margin = pick(positives) - pick(negatives)
        loss = -F.log_sigmoid(margin).mean()
        if self.reg:
            penalty = self.user(users).square().sum() + self.item(positives).square().sum()
            loss = loss + self.reg * penalty / len(users)
        return loss, (margin > 0).astype("float32").mean()


class Recommender:
    def __init__(self, model, items, diversity=0.3, strict=False):
        self.model = model
        self.items = items
        self.history = {}
        self.popular = Counter()
        self.diversity = diversity
        self.strict = strict

    def observe(self, user, item):
        self.history.setdefault(user, []).append(item)
        self.popular[item] += 1

    def mask(self, users):
        rows = []
        for u in users.tolist():
            row = [False] * self.items
            for item in self.history.get(u, ()):
                row[item] = True
            rows.append(row)
        return paddle.to_tensor(rows)

    def mmr(self, scores, k):
        """Maximal marginal relevance over the item vectors."""
        vectors = F.normalize(self.model.item.weight, axis=1)
        chosen = []
        best_similarity = paddle.full([self.items], -1.0)
        available = paddle.isfinite(scores)
        while len(chosen) < k and available.any():
            value = (
                scores
                if not chosen
                else (1 - self.diversity) * scores - self.diversity * best_similarity
            )
            value = paddle.where(available, value, paddle.full_like(value, -float("inf")))
            pick = value.argmax()
            chosen.append(pick)
            available[pick] = False
            best_similarity = paddle.maximum(best_similarity, vectors @ vectors[pick])
        return paddle.stack(chosen) if chosen else paddle.zeros([0], dtype="int64")

    def recommend(self, user, k=3):
        who = int(user)
        if who not in self.history:
            if self.strict:
                raise ColdUser(who)
            return paddle.to_tensor([item for item, _ in self.popular.most_common(k)]), "popular"
        scores = self.model.score(user.reshape([1]))[0]
        for item in self.history[who]:
            scores[item] = -float("inf")
        return self.mmr(scores, k), "personal"

    def hit_rate(self, held_out, k=3):
        hits = 0
        for user, item in held_out.items():
            ranked, _ = self.recommend(paddle.to_tensor(user), k)
            if (ranked == item).any():
                hits += 1
        return hits / len(held_out)


@program
def recommender_with_marginal_relevance(convert):
    """A recommender: BPR training with hard negatives, cold-start fallback, MMR re-ranking and hit-rate."""

    paddle.seed(77)
    model = BPR(4, 7)
    rec = Recommender(model, 7)
    for user, item in [(0, 1), (0, 2), (1, 2), (1, 5), (2, 2), (2, 6), (0, 5)]:
        rec.observe(user, item)
    opt = paddle.optimizer.Adagrad(0.1, parameters=model.parameters())
    forward, recommend, rate = convert(model.forward), convert(rec.recommend), convert(rec.hit_rate)
    records = []
    for users, positives in [([0, 1, 2], [1, 5, 6]), ([0, 1], [2, 2]), ([2, 0, 1], [2, 5, 2])]:
        users = paddle.to_tensor(users)
        loss, order = forward(users, paddle.to_tensor(positives), rec.mask(users))
        loss.backward()
        records += [loss, order, model.bias.grad]
        opt.step()
        opt.clear_grad()
    for user, k in [(0, 3), (1, 2), (3, 2), (2, 9)]:
        records.append(recommend(paddle.to_tensor(user), k=k))
    records.append(rate({0: 6, 1: 1, 3: 2}))
    rec.strict, rec.diversity = True, 0.9
    records.append(recommend(paddle.to_tensor(0)))
    try:
        recommend(paddle.to_tensor(3))
    except ColdUser as error:
        records += [str(error), error.user]
    yield from records


class NegativeCycle(ValueError):
    pass


class Graph:
    def __init__(self, nodes, edges, weights=None):
        self.nodes = nodes
        self.src = paddle.to_tensor([a for a, _ in edges])
        self.dst = paddle.to_tensor([b for _, b in edges])
        self.weights = paddle.ones([len(edges)]) if weights is None else paddle.to_tensor(weights)

    def with_self_loops(self):
        extra = paddle.arange(self.nodes)
        g = Graph.__new__(Graph)
        g.nodes = self.nodes
        g.src, g.dst = paddle.concat([self.src, extra]), paddle.concat([self.dst, extra])
        g.weights = paddle.concat([self.weights, paddle.ones([self.nodes])])
        return g

    def aggregate(self, messages, reduce="sum"):
        shape = [self.nodes] + messages.shape[1:]
        if reduce == "sum":
            return paddle.zeros(shape).index_add(self.dst, 0, messages)
        if reduce == "max":
            index = self.dst.reshape([-1] + [1] * (messages.ndim - 1)).expand_as(messages)
            return paddle.full(shape, -1e9).put_along_axis(
                index, messages, 0, reduce="amax", include_self=True
            )
        raise ValueError(reduce)


class GATLayer(nn.Layer):
    def __init__(self, inputs, outputs, heads=2, residual=True):
        super().__init__()
        self.heads, self.outputs = heads, outputs
        self.proj = nn.Linear(inputs, heads * outputs)
        self.attn = self.create_parameter([heads, 2 * outputs])
        self.skip = nn.Linear(inputs, heads * outputs) if residual else None
        self.drop = nn.Dropout(0.0)

    def forward(self, graph, x):
        g = graph.with_self_loops()
        h = self.proj(x).reshape([g.nodes, self.heads, self.outputs])
        pair = paddle.concat([h[g.src], h[g.dst]], axis=-1)
        logits = F.leaky_relu((pair * self.attn).sum(-1), 0.2)
        top = g.aggregate(logits.detach(), "max")[g.dst]
        weight = (logits - top).exp() * g.weights.unsqueeze(-1)
        weight = weight / (g.aggregate(weight)[g.dst] + 1e-9)
        out = g.aggregate(self.drop(weight).unsqueeze(-1) * h[g.src]).flatten(1)
        return out if self.skip is None else F.elu(out + self.skip(x))


def pagerank(graph, damping=0.85, tol=1e-5, limit=100, personal=None):
    n = graph.nodes
    degree = paddle.zeros([n]).index_add(graph.src, 0, graph.weights)
    restart = paddle.full([n], 1.0 / n) if personal is None else personal / personal.sum()
    rank = restart
    for i in range(limit):
        share = paddle.where(degree > 0, rank / degree.clip(min=1e-12), paddle.zeros([n]))
        lost = rank[degree == 0].sum()
        new = (
            damping * (graph.aggregate(share[graph.src] * graph.weights) + lost * restart)
            + (1 - damping) * restart
        )
        change = (new - rank).abs().sum()
        rank = new
        if change < tol:
            return rank, i + 1
    return rank, None


def bellman_ford(graph, source, target):
    distance = paddle.full([graph.nodes], float("inf"))
    distance[source] = 0.0
    parent = [-1] * graph.nodes
    edges = list(zip(graph.src.tolist(), graph.dst.tolist(), graph.weights))
    for round_ in range(graph.nodes):
        changed = False
        for a, b, w in edges:
            if distance[a] + w < distance[b]:
                distance[b] = distance[a] + w
                parent[b] = a
                changed = True
        if not changed:
            break
    else:
        raise NegativeCycle(f"{graph.nodes} rounds and still improving")
    path, node = [], target
    while node != -1:
        path.append(node)
        node = parent[node]
    return distance, path[::-1] if path[-1] == source else None


@program
def graph_attention_ranks_and_shortest_paths(convert):
    """Graph learning: attention over edge lists, PageRank with dangling nodes, and Bellman-Ford with negative cycles."""

    paddle.seed(18)
    edges = [(0, 1), (1, 2), (2, 0), (0, 3), (3, 4), (1, 3)]
    graph = Graph(5, edges, [1.0, 2.0, 0.5, 4.0, 1.0, 0.5])
    small = Graph(3, [(0, 1), (1, 0)], [1.0, 1.0])
    layer = GATLayer(3, 4)
    records = []
    forward, rank, shortest = convert(layer.forward), convert(pagerank), convert(bellman_ford)
    for g in (graph, small):
        x = paddle.randn([g.nodes, 3])
        x.stop_gradient = False
        out = forward(g, x)
        out.square().sum().backward()
        records += [out, x.grad, layer.attn.grad]
        layer.clear_gradients()
    records += [rank(graph), rank(small, tol=1e-3), rank(graph, limit=2)]
    records.append(rank(graph, personal=paddle.to_tensor([0.0, 0.0, 0.0, 0.0, 1.0])))
    records += [shortest(graph, 0, 4), shortest(graph, 4, 0), shortest(small, 0, 1)]
    graph.weights[2] = -5.0
    try:
        shortest(graph, 0, 4)
    except NegativeCycle as error:
        records.append(str(error))
    yield from records


@dataclass
class World:
    dt: float = 0.05
    gravity: float = -9.8
    floor: float = -0.4
    friction: float = 0.3
    iterations: int = 3
    tear: float = 1.6


class Sphere:
    def __init__(self, centre, radius):
        self.centre = paddle.to_tensor(centre)
        self.radius = radius

    def push(self, x):
        away = x - self.centre
        distance = away.norm(axis=-1, keepdim=True)
        inside = distance < self.radius
        if not inside.any():
            return x, 0
        surface = self.centre + away / distance.clip(min=1e-6) * self.radius
        return paddle.where(inside, surface, x), int(inside.sum())


class Cloth:
    def __init__(self, rows, cols, spacing=0.2, pinned=(0,)):
        grid = [[c * spacing, 0.5, r * spacing] for r in range(rows) for c in range(cols)]
        self.x = paddle.to_tensor(grid)
        self.previous = self.x.clone()
        self.inverse_mass = paddle.ones([rows * cols])
        for p in pinned:
            self.inverse_mass[p] = 0.0
        self.links = []
        for r in range(rows):
            for c in range(cols):
                i = r * cols + c
                if c + 1 < cols:
                    self.links.append((i, i + 1, spacing))
                if r + 1 < rows:
                    self.links.append((i, i + cols, spacing))


class Simulation:
    def __init__(self, cloth, world=None, obstacles=()):
        self.cloth = cloth
        self.world = world or World()
        self.obstacles = list(obstacles)
        self.time = 0.0
        self.contacts = []
        self.torn = []

    def satisfy(self, x):
        kept = []
        for a, b, rest in self.cloth.links:
            delta = x[b] - x[a]
            length = delta.norm()
            if length > self.world.tear * rest:
                self.torn.append((a, b))
                continue
            kept.append((a, b, rest))
            wa, wb = self.cloth.inverse_mass[a], self.cloth.inverse_mass[b]
            total = wa + wb
            if total == 0:
                continue
            fix = delta * ((length - rest) / length / total)
            x[a] = x[a] + wa * fix
            x[b] = x[b] - wb * fix
        self.cloth.links = kept
        return x

    def step(self, wind=None):
        w, cloth = self.world, self.cloth
        velocity = cloth.x - cloth.previous
        acceleration = paddle.zeros_like(cloth.x)
        acceleration[:, 1] = w.gravity
        if wind is not None:
            acceleration = acceleration + wind
        x = cloth.x + (velocity * 0.99 + acceleration * w.dt**2) * cloth.inverse_mass.unsqueeze(1)
        for _ in range(w.iterations):
            x = self.satisfy(x)
        hits = 0
        for obstacle in self.obstacles:
            x, n = obstacle.push(x)
            hits += n
        below = x[:, 1] < w.floor
        if below.any():
            x[:, 1] = paddle.where(below, paddle.full_like(x[:, 1], w.floor), x[:, 1])
            slide = (x - cloth.x) * w.friction
            slide[:, 1] = 0.0
            x = paddle.where(below.unsqueeze(1), x - slide, x)
        cloth.previous, cloth.x = cloth.x, x
        self.contacts.append(hits)
        self.time += w.dt
        return self.energy()

    def energy(self):
        v = (self.cloth.x - self.cloth.previous) / self.world.dt
        kinetic = 0.5 * v.square().sum()
        potential = -self.world.gravity * self.cloth.x[:, 1].sum()
        return {"kinetic": kinetic, "potential": potential, "total": kinetic + potential}


@program
def cloth_that_tears(convert):
    """A cloth by position-based dynamics: Verlet, distance constraints, tearing, a floor and a sphere, energy drift."""

    records = []
    simulation = Simulation(Cloth(2, 3, pinned=(0, 2)), obstacles=[Sphere([0.2, 0.3, 0.2], 0.15)])
    step = convert(simulation.step)
    for i in range(5):
        wind = paddle.to_tensor([0.0, 0.0, 3.0]) if i >= 3 else None
        records.append(step(wind))
    records += [simulation.cloth.x, simulation.contacts, round(simulation.time, 3), simulation.torn]
    fall = Simulation(Cloth(1, 3, pinned=()), World(floor=0.47, tear=1.5))
    step = convert(fall.step)
    for push in (0.0, 400.0, 0.0):
        wind = paddle.zeros([3, 3])
        wind[2, 0] = push
        records.append(step(wind))
        records += [list(fall.torn), len(fall.cloth.links)]
    records += [fall.cloth.x, fall.cloth.previous]
    yield from records


class Move(enum.IntEnum):
    LEFT = 0
    UP = 1
    RIGHT = 2
    DOWN = 3


class IllegalMove(Exception):
    pass


def slide_row(row):
    """One row moved to the left; the merged row and the points."""
    tiles = row[row > 0]
    out, points = [], 0
    i = 0
    while i < tiles.shape[0]:
        if i + 1 < tiles.shape[0] and tiles[i] == tiles[i + 1]:
            out.append(tiles[i] * 2)
            points += tiles[i] * 2
            i += 2
        else:
            out.append(tiles[i])
            i += 1
    out += [paddle.zeros([], dtype=row.dtype)] * (row.shape[0] - len(out))
    return paddle.stack(out), points


class Game:
    def __init__(self, board, order):
        self.board = board
        self.order = itertools.cycle(order)
        self.score = 0
        self.moves = []

    def slide(self, board, move):
        turned = paddle.rot90(board, int(move))
        rows, gained = [], 0
        for row in turned:
            new, points = slide_row(row)
            rows.append(new)
            gained = gained + points
        return paddle.rot90(paddle.stack(rows), -int(move)), gained

    def legal(self):
        found = []
        for move in Move:
            after, _ = self.slide(self.board, move)
            if not paddle.equal_all(after, self.board):
                found.append(move)
        return found

    def spawn(self):
        empty = paddle.nonzero(self.board == 0)
        if empty.shape[0] == 0:
            return False
        r, c = empty[next(self.order) % empty.shape[0]]
        self.board[r, c] = 2
        return True

    def play(self, move):
        after, gained = self.slide(self.board, move)
        if (after == self.board).all():
            raise IllegalMove(f"{move.name} changes nothing")
        self.board = after
        self.score += int(gained)
        self.moves.append(move.name[0])
        self.spawn()
        return self.board


def heuristic(board):
    empty = (board == 0).sum().astype("float32")
    logs = paddle.where(
        board > 0, board.astype("float32"), paddle.ones_like(board, dtype="float32")
    ).log2()
    rough = (logs[:, 1:] - logs[:, :-1]).abs().sum() + (logs[1:] - logs[:-1]).abs().sum()
    corner = logs.max() if logs[0, 0] == logs.max() else paddle.zeros([])
    return 2.0 * empty - 0.5 * rough + corner


def expectimax(game, depth=1):
    best_move, best_value = None, -float("inf")
    for move in game.legal():
        after, gained = game.slide(game.board, move)
        value = heuristic(after) + float(gained) * 0.1
        if depth > 1:
            cells = paddle.nonzero(after == 0)
            total = 0.0
            for cell in cells[:2]:
                child = after.clone()
                child[cell[0], cell[1]] = 2
                total += heuristic(child)
            value = value + total / max(1, min(2, cells.shape[0]))
        if value > best_value:
            best_move, best_value = move, value
    return best_move, best_value


@program
def expectimax_for_2048(convert):
    """The game 2048 on a tensor board, with legal moves, a heuristic and an expectimax player."""

    board = paddle.to_tensor([[2, 2, 4, 0], [0, 2, 0, 2], [4, 4, 8, 8], [0, 0, 0, 2]])
    game = Game(board, [3, 1, 4, 1, 5])
    slide, player, play = convert(slide_row), convert(expectimax), convert(game.play)
    records = []
    for row in [[2, 2, 2, 2], [0, 4, 0, 4], [2, 4, 2, 4], [8, 0, 0, 0], [2, 2]]:
        records.append(slide(paddle.to_tensor(row)))
    for depth in (1, 2, 1):
        move, value = player(game, depth=depth)
        records += [move.name, value, play(move), game.score]
    stuck = Game(paddle.to_tensor([[2, 4], [4, 2]]), [0])
    records += [convert(stuck.legal)(), player(stuck)]
    try:
        convert(stuck.play)(Move.UP)
    except IllegalMove as error:
        records.append(str(error))
    records += [game.moves, game.board]
    yield from records
