"""Software around models: builders from configurations, loggers, caches, augmenters, encoders."""

import heapq
import math
from collections import Counter, OrderedDict, defaultdict
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Callable

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import program


@program
def models_built_from_nested_configs(convert):
    """Models built from nested configs: a registry with defaults, variables, repeated blocks, errors with a path."""

    class ConfigError(Exception):
        pass

    class Gate(nn.Layer):
        """Lets a row through only when its score is above the threshold."""

        def __init__(self, width, threshold=0.0):
            super().__init__()
            self.score, self.threshold = nn.Linear(width, 1), threshold

        def forward(self, x):
            score = self.score(x)
            if score.max() < self.threshold:
                return paddle.zeros_like(x)
            return paddle.where(score > self.threshold, x * F.sigmoid(score), 0.1 * x)

    class Residual(nn.Layer):
        def __init__(self, body):
            super().__init__()
            self.body = body

        def forward(self, x):
            y = self.body(x)
            return x + y if x.shape == y.shape else y

    REGISTRY = {
        "linear": lambda width, size, bias=True: (
            nn.Linear(width, size, bias_attr=None if bias else False),
            size,
        ),
        "act": lambda width, kind="ReLU": (getattr(nn, kind)(), width),
        "norm": lambda width: (nn.LayerNorm(width), width),
        "gate": lambda width, **options: (Gate(width, **options), width),
    }

    def merge(base, extra):
        out = deepcopy(base)
        for k, v in extra.items():
            out[k] = merge(out[k], v) if isinstance(v, dict) and isinstance(out.get(k), dict) else v
        return out

    def build(config, width, variables, path="model"):
        layers = []
        for i, item in enumerate(config["layers"]):
            where = f"{path}.{i}"
            options = {
                k: variables[v[1:]] if str(v).startswith("$") else v for k, v in item.items()
            }
            kind, times, residual = (
                options.pop("type"),
                options.pop("repeat", 1),
                options.pop("residual", False),
            )
            for _ in range(times):
                try:
                    made = (
                        build(options, width, variables, where)
                        if kind == "block"
                        else REGISTRY[kind](width, **options)
                    )
                except KeyError as e:
                    raise ConfigError(f"{where}: unknown {e}, known are {sorted(REGISTRY)}") from e
                except (TypeError, AttributeError) as e:
                    raise ConfigError(f"{where} ({kind}): {e}") from e
                layers.append(Residual(made[0]) if residual else made[0])
                width = made[1]
        return nn.Sequential(*layers), width

    def records_of(convert):
        hidden = {"type": "linear", "size": "$hidden"}
        block = {
            "type": "block",
            "repeat": "$depth",
            "residual": True,
            "layers": [{"type": "norm"}, hidden, {"type": "act", "kind": "Tanh"}],
        }
        base = {
            "vars": {"hidden": 4, "depth": 2},
            "layers": [hidden, block, {"type": "linear", "size": 2, "bias": False}],
        }
        overrides = [
            {},
            {"vars": {"depth": 1, "hidden": 6}},
            {
                "layers": [
                    {"type": "gate", "threshold": 0.3},
                    {"type": "act"},
                    {"type": "gate", "threshold": 5},
                ]
            },
            {"layers": [block, {"type": "conv", "size": 3}]},
            {"layers": [{"type": "gate"}, {"type": "linear"}]},
        ]
        records = []
        for k, override in enumerate(overrides):
            paddle.seed(k)
            config = merge(base, override)
            try:
                model, width = build(config, 3, config["vars"])
            except ConfigError as e:
                records.append((type(e).__name__, str(e), type(e.__cause__).__name__))
                continue
            run = convert(model)
            for rows in (4, 1, 2):
                x = paddle.to_tensor(
                    np.random.RandomState(rows).randn(rows, 3).astype("float32"),
                    stop_gradient=False,
                )
                y = run(x)
                (y**2).sum().backward()
                records += [y, x.grad]
            records += [width, [type(m).__name__ for m in model], len(model.parameters())]
        return records

    yield from records_of(convert)


@program
def metrics_logged_in_contexts(convert):
    """An evaluation loop that logs metrics into nested scopes, times nothing, and renders an aligned text report."""

    class Meter:
        def __init__(self):
            self.total, self.weight, self.low, self.high = 0.0, 0, float("inf"), -float("inf")

        def add(self, value, weight=1):
            self.total += value * weight
            self.weight += weight
            self.low, self.high = min(self.low, value), max(self.high, value)

    class Logger:
        def __init__(self):
            self.meters, self.stack, self.warnings = defaultdict(Meter), [], []

        @contextmanager
        def scope(self, name):
            self.stack.append(name)
            try:
                yield self
            except FloatingPointError as e:
                self.warnings.append(f"{'/'.join(self.stack)}: {e}")
            finally:
                self.stack.pop()

        def log(self, weight=1, **values):
            for name, value in values.items():
                self.meters["/".join([*self.stack, name])].add(float(value), weight)

        def report(self):
            width = max((len(n) for n in self.meters), default=0)
            lines = [
                f"{n:<{width}} {m.total / m.weight:>8.3f} [{m.low:.2f}, {m.high:.2f}] n={m.weight}"
                for n, m in sorted(self.meters.items())
            ]
            return "\n".join(lines + [f"! {w}" for w in self.warnings])

    def records_of(convert):
        def calibration(probs, correct, bins):
            """Expected calibration error and the bins that have samples."""
            confidence, error, used = probs.max(axis=-1), paddle.zeros([]), []
            for b in range(bins):
                inside = (confidence > b / bins).logical_and(confidence <= (b + 1) / bins)
                if inside.any():
                    gap = (confidence[inside].mean() - correct[inside].mean()).abs()
                    error += gap * inside.sum() / confidence.shape[0]
                    used.append(b)
            return error, used

        def evaluate(logger, splits, predict, bins=4, topk=(1, 2)):
            confusion = {}
            for split, batches in splits.items():
                if not batches:
                    continue
                with logger.scope(split):
                    for i, (x, y) in enumerate(batches):
                        with logger.scope("batch"):
                            logits = predict(x)
                            if paddle.isnan(logits).any():
                                raise FloatingPointError(
                                    f"batch {i} has {int(paddle.isnan(logits).sum())} nan logits"
                                )
                            logger.log(len(y), loss=F.cross_entropy(logits, y))
                            ranked = logits.argsort(axis=-1, descending=True)
                            for k in topk:
                                hit = (ranked[:, :k] == y.unsqueeze(-1)).any(axis=-1)
                                logger.log(len(y), **{f"top{k}": hit.astype("float32").mean()})
                        correct = (ranked[:, 0] == y).astype("float32")
                        ece, used = calibration(F.softmax(logits, axis=-1), correct, bins)
                        logger.log(ece=ece, bins=len(used))
                        matrix = confusion.setdefault(
                            split, paddle.zeros([logits.shape[1]] * 2, dtype="int64")
                        )
                        for t, p in zip(y.tolist(), ranked[:, 0].tolist()):
                            matrix[t, p] += 1
            return confusion

        run = convert(evaluate)
        records = []
        for classes, shapes, bad, options in [
            (3, {"train": (6, 4), "valid": (5,)}, None, {}),
            (2, {"test": (4, 1, 3)}, 1, {"bins": 2, "topk": (1,)}),
            (4, {"empty": (), "one": (1,)}, None, {"topk": (1, 2, 3)}),
        ]:
            rng = np.random.RandomState(classes)
            weight = paddle.to_tensor(rng.randn(3, classes).astype("float32"))

            def batch(n):
                return paddle.to_tensor(rng.randn(n, 3), dtype="float32"), paddle.to_tensor(
                    rng.randint(0, classes, [n])
                )

            splits = {name: [batch(n) for n in sizes] for name, sizes in shapes.items()}
            if bad is not None:
                splits["test"][bad][0][0, 1] = float("nan")
            logger = Logger()
            for temperature in (1.0, 0.25):
                records.append(run(logger, splits, lambda x: x @ weight / temperature, **options))
                records += [logger.report(), list(logger.stack)]
        return records

    yield from records_of(convert)


@program
def features_in_a_bounded_cache(convert):
    """A layer that keeps the features of recent documents in an LRU cache with a time to live."""

    @dataclass
    class Entry:
        value: paddle.Tensor
        born: int
        uses: int = 0

    class LRU:
        def __init__(self, capacity, ttl=None):
            self.capacity, self.ttl = capacity, ttl
            self.entries = OrderedDict()
            self.hits = self.misses = self.expired = 0
            self.evicted = []

        def get(self, key, now):
            entry = self.entries.get(key)
            if entry is not None and self.ttl is not None and now - entry.born > self.ttl:
                del self.entries[key]
                self.expired += 1
                entry = None
            if entry is None:
                self.misses += 1
                return None
            self.hits += 1
            entry.uses += 1
            self.entries.move_to_end(key)
            return entry.value

        def put(self, key, value, now):
            self.entries[key] = Entry(value, now)
            while len(self.entries) > self.capacity:
                self.evicted.append(self.entries.popitem(last=False)[0])

        def __repr__(self):
            return f"LRU({', '.join(f'{k}x{e.uses}' for k, e in self.entries.items())})"

    def records_of(convert):
        class Ranker(nn.Layer):
            def __init__(self, library, dim, cache):
                super().__init__()
                self.library = library
                self.encode = nn.GRU(3, dim)
                self.cache = cache
                self.now = 0

            def features(self, key):
                cached = self.cache.get(key, self.now)
                if cached is not None:
                    return cached
                try:
                    document = self.library[key]
                except KeyError:
                    raise LookupError(f"document {key!r} is not in the library") from None
                out, _ = self.encode(document.unsqueeze(0))
                value = out[0].max(axis=0) if out.shape[1] > 2 else out[0, -1]
                self.cache.put(key, value.detach(), self.now)
                return value

            def forward(self, query, keys, top=None):
                self.now += 1
                table = paddle.stack([self.features(k) for k in keys])
                scores = paddle.nn.functional.cosine_similarity(table, query.unsqueeze(0), axis=-1)
                order = paddle.argsort(scores, descending=True).tolist()
                if top is not None:
                    order = order[:top]
                return [(keys[i], scores[i]) for i in order]

        records = []
        for capacity, ttl, dim in [(3, None, 4), (2, 1, 3), (0, None, 4)]:
            rng = np.random.RandomState(dim)
            paddle.seed(dim)
            library = {
                k: paddle.to_tensor(rng.randn(n, 3).astype("float32"))
                for n, k in enumerate("abcde", 1)
            }
            model = Ranker(library, dim, LRU(capacity, ttl))
            rank = convert(model)
            for keys, top in [
                ("ab", None),
                ("abc", 2),
                ("dea", None),
                ("a", 1),
                ("cbd", None),
                ("ax", None),
                ("ba", None),
            ]:
                query = paddle.to_tensor(rng.randn(dim).astype("float32"), stop_gradient=False)
                try:
                    ranking = rank(query, list(keys), top)
                except LookupError as e:
                    records.append((type(e).__name__, str(e), repr(model.cache)))
                    continue
                ranking[0][1].backward()
                weight = model.encode.parameters()[0]
                records.append({"ranking": ranking, "grad": query.grad})
                records.append(weight.grad.abs().sum() if weight.grad is not None else None)
                records.append([repr(model.cache), "a" in model.cache.entries])
                model.clear_gradients()
            cache = model.cache
            records.append(
                [cache.hits, cache.misses, cache.expired, "".join(cache.evicted), model.now]
            )
        return records

    yield from records_of(convert)


@program
def images_augmented_by_policies(convert):
    """A pipeline of random image transforms with probabilities, one draw per image, and a replayable record."""

    @dataclass(frozen=True)
    class Step:
        name: str
        apply: Callable
        p: float = 0.5

    def flip(image, amount):
        return image.flip(axis=-1) if amount < 0.5 else image.flip(axis=-2)

    def brightness(image, amount):
        return (image + (amount - 0.5)).clip(0, 1)

    def rotate(image, amount):
        angle = (amount - 0.5) * math.pi / 2
        c, s = angle.cos(), angle.sin()
        theta = paddle.stack([c, -s, 0 * c, s, c, 0 * c]).reshape([1, 2, 3])
        grid = F.affine_grid(theta, [1, *image.shape], align_corners=False)
        return F.grid_sample(image.unsqueeze(0), grid, align_corners=False).squeeze(0)

    def cutout(image, amount):
        height, width = image.shape[-2:]
        side = max(1, min(height, width) // 3)
        top, left = int(amount * (height - side + 1)), int((1 - amount) * (width - side + 1))
        out = image.clone()
        out[:, top : top + side, left : left + side] = image.mean()
        return out

    def crop(image, amount):
        height, width = image.shape[-2:]
        if min(height, width) < 4:
            raise ValueError(f"cannot crop {height}x{width}")
        row = int((amount * 3).floor())
        piece = image[:, row : row + height - 2, row : row + width - 2]
        return F.interpolate(piece.unsqueeze(0), size=[height, width], mode="bilinear").squeeze(0)

    def records_of(convert):
        def augment(images, steps, dice, strict=True):
            """dice has one (chance, amount) pair for every image and step."""
            out, journal = [], []
            for image, rolls in zip(images, dice):
                done = []
                for step, (chance, amount) in zip(steps, rolls):
                    if chance >= step.p:
                        continue
                    try:
                        image = step.apply(image, amount)
                        done.append(f"{step.name}({float(amount):.2f})")
                    except ValueError as e:
                        if strict:
                            raise
                        done.append(f"{step.name} failed: {e}")
                out.append(image)
                journal.append(" > ".join(done) or "unchanged")
            return paddle.stack(out), journal

        def mixup(images, labels, lam):
            if lam == 1:
                return images, labels
            back = paddle.arange(images.shape[0] - 1, -1, -1)
            return lam * images + (1 - lam) * images[back], lam * labels + (1 - lam) * labels[back]

        run, mix = convert(augment), convert(mixup)
        everything = [
            Step("flip", flip),
            Step("light", brightness, 0.8),
            Step("turn", rotate),
            Step("hole", cutout),
            Step("crop", crop, 0.4),
        ]
        records = []
        for seed, count, size, steps, strict in [
            (1, 4, (6, 6), everything, True),
            (2, 3, (8, 5), everything[::-1], True),
            (3, 2, (3, 7), [Step("crop", crop, 1.0), Step("hole", cutout, 1.0)], False),
            (3, 2, (3, 7), [Step("crop", crop, 1.0)], True),
            (4, 1, (4, 4), [], True),
        ]:
            paddle.seed(seed)
            images = paddle.rand([count, 2, *size])
            images.stop_gradient = False
            dice = paddle.rand([count, len(steps), 2]) if steps else [[]] * count
            try:
                out, journal = run(images, steps, dice, strict=strict)
            except ValueError as e:
                records.append((type(e).__name__, str(e)))
                continue
            mixed, soft = mix(
                out, F.one_hot(paddle.arange(count) % 3, 3), lam=0.7 if count > 2 else 1
            )
            (mixed * soft.sum()).mean().backward()
            records += [out, journal, mixed.mean(axis=[1, 2, 3]), soft, images.grad]
            records.append(run(images.detach(), steps[:1], dice, strict)[1])
        return records

    yield from records_of(convert)


@program
def bags_of_byte_pairs(convert):
    """Learn byte pair merges from a small corpus, then embed texts as weighted bags of the pieces."""

    CORPUS = "low lower lowest new newer newest wide wider widest slow slower"

    def learn_merges(text, count):
        words = Counter(tuple(w) + ("</w>",) for w in text.split())
        merges = []
        while len(merges) < count:
            pairs = defaultdict(int)
            for word, n in words.items():
                for pair in zip(word, word[1:]):
                    pairs[pair] += n
            if not pairs:
                break
            merges.append(best := max(sorted(pairs), key=pairs.get))
            words = Counter({merge_word(w, best): n for w, n in words.items()})
        return merges

    def merge_word(word, pair):
        out, i = (), 0
        while i < len(word):
            step = 2 if word[i : i + 2] == pair else 1
            out += ("".join(word[i : i + step]),)
            i += step
        return out

    class Tokenizer:
        def __init__(self, merges, unk="<unk>"):
            self.rank = {pair: i for i, pair in enumerate(merges)}
            pieces = {c for c in CORPUS if c != " "} | {"".join(p) for p in merges} | {"</w>"}
            self.vocab = {unk: 0, **{p: i for i, p in enumerate(sorted(pieces), 1)}}
            self.split = lru_cache(maxsize=64)(self._split)

        def _split(self, word):
            parts = tuple(word) + ("</w>",)
            while len(parts) > 1:
                ranked = [(self.rank[p], p) for p in zip(parts, parts[1:]) if p in self.rank]
                if not ranked:
                    break
                parts = merge_word(parts, min(ranked)[1])
            return parts

        def __call__(self, text, strict=False):
            pieces = [p for w in text.lower().split() for p in self.split(w)]
            if strict and (unknown := [p for p in pieces if p not in self.vocab]):
                raise KeyError(f"{unknown} of {text!r} unknown")
            return [self.vocab.get(p, 0) for p in pieces]

    def records_of(convert):
        class BagEncoder(nn.Layer):
            def __init__(self, tokenizer, dim, decay=0.8):
                super().__init__()
                self.tokenizer = tokenizer
                self.table = nn.Embedding(len(tokenizer.vocab), dim)
                self.gate = nn.Linear(dim, 1)
                self.decay = decay
                self.seen = Counter()

            def forward(self, texts, strict=False):
                rows = []
                for text in texts:
                    ids = self.tokenizer(text, strict=strict)
                    self.seen.update(ids)
                    if not ids:
                        rows.append(paddle.zeros([self.table.weight.shape[1]]))
                        continue
                    vectors = self.table(paddle.to_tensor(ids))
                    weights = nn.functional.softmax(self.gate(vectors), 0)
                    recency = paddle.to_tensor([self.decay**i for i in range(len(ids))][::-1])
                    rows.append((vectors * weights * recency.unsqueeze(-1)).sum(axis=0))
                stacked = paddle.stack(rows)
                norms = stacked.norm(axis=-1, keepdim=True)
                return paddle.where(norms == 0, stacked, stacked / norms.clip(min=1e-6))

        records = []
        for count, dim in [(0, 4), (6, 4), (30, 3)]:
            tokenizer = Tokenizer(merges := learn_merges(CORPUS, count))
            records.append([len(merges), len(tokenizer.vocab), tokenizer.split("lowest")])
            paddle.seed(count)
            encoder = BagEncoder(tokenizer, dim)
            encode = convert(encoder)
            for texts in (
                ["low newest"],
                ["wider slow", "", "newer"],
                ["Lower lowest zoo", "wide"],
            ):
                out = encode(texts)
                records.append(out)
                (out * paddle.arange(dim, dtype="float32")).sum().backward()
            records.append(encoder.gate.weight.grad)
            records.append(encoder.seen.most_common(3))
            try:
                encode(["low", "zoo"], strict=True)
            except KeyError as e:
                records.append((type(e).__name__, str(e)))
        return records

    yield from records_of(convert)


@program
def beams_that_block_ngrams(convert):
    """Beam search over a GRU language model, with length penalty, n-gram blocking and early stopping."""

    BOS, EOS = 1, 2

    @dataclass
    class Hypothesis:
        tokens: list
        logp: float
        state: Any = field(repr=False, default=None)

        @property
        def done(self):
            return self.tokens[-1] == EOS

        def score(self, alpha):
            return self.logp / ((5 + len(self.tokens)) / 6) ** alpha

        def repeats(self, token, n):
            if n == 0 or len(self.tokens) < n:
                return False
            grams = {tuple(self.tokens[i : i + n]) for i in range(len(self.tokens) - n + 1)}
            return tuple(self.tokens[len(self.tokens) - n + 1 :] + [token]) in grams

    def records_of(convert):
        class LanguageModel(nn.Layer):
            def __init__(self, vocab, hidden):
                super().__init__()
                self.embed = nn.Embedding(vocab, hidden)
                self.cell = nn.GRUCell(hidden, hidden)
                self.head = nn.Linear(hidden, vocab)
                self.calls = 0

            def forward(self, tokens, state):
                self.calls += 1
                out, state = self.cell(self.embed(tokens) * 3, state)
                return F.log_softmax(self.head(out) * 4, axis=-1), state

        def search(model, context, width=3, max_len=8, alpha=0.6, no_repeat=0, ban=()):
            if width < 1:
                raise ValueError(f"beam width must be positive, got {width}")
            beams = [Hypothesis([BOS], 0.0, context)]
            finished = []
            for _ in range(max_len):
                tokens = paddle.to_tensor([b.tokens[-1] for b in beams])
                logp, states = model(tokens, paddle.stack([b.state for b in beams]))
                if ban:
                    mask = paddle.zeros_like(logp)
                    mask[:, list(ban)] = -1e9
                    logp = logp + mask
                top, index = logp.topk(min(2 * width, logp.shape[-1]), axis=-1)
                candidates = []
                for i, beam in enumerate(beams):
                    for value, token in zip(top[i].tolist(), index[i].tolist()):
                        if beam.repeats(token, no_repeat):
                            continue
                        candidates.append(
                            Hypothesis(beam.tokens + [token], beam.logp + value, states[i])
                        )
                best = heapq.nlargest(width, candidates, key=lambda h: h.score(alpha))
                finished.extend(h for h in best if h.done)
                beams = [h for h in best if not h.done]
                if (
                    not beams
                    or len(finished) >= width
                    and max(b.score(alpha) for b in beams) <= min(h.score(alpha) for h in finished)
                ):
                    break
            return sorted(finished or beams, key=lambda h: -h.score(alpha))[:width]

        paddle.seed(5)
        model = LanguageModel(9, 6)
        model.eval()
        run = convert(search)
        records = []
        options = [
            {},
            {"width": 1},
            {"width": 2, "alpha": 0.0, "max_len": 5},
            {"width": 4, "no_repeat": 2},
            {"width": 2, "ban": (EOS,), "max_len": 4},
            {"width": 3, "ban": (0, 3, 4), "no_repeat": 1},
            {"width": 0},
        ]
        for k, kwargs in enumerate(options):
            context = paddle.linspace(-1, 1, 6) * (k + 1)
            try:
                with paddle.no_grad():
                    for hyp in run(model, context, **kwargs):
                        records.append(
                            {"tokens": hyp.tokens, "logp": round(hyp.logp, 3), "done": hyp.done}
                        )
                        records.append(hyp.state)
            except ValueError as e:
                records.append((type(e).__name__, str(e)))
            records.append(model.calls)
        return records

    yield from records_of(convert)


@program
def attention_over_edges(convert):
    """Graph attention on an edge list: softmax over incoming edges, self loops, dropped edges, several heads."""

    class Graph:
        def __init__(self, nodes, edges):
            self.nodes = nodes
            self.edges = sorted(set(edges))
            for a, b in self.edges:
                if not (0 <= a < nodes and 0 <= b < nodes):
                    raise IndexError(f"edge ({a}, {b}) leaves the graph of {nodes} nodes")

        def with_self_loops(self):
            return Graph(self.nodes, self.edges + [(i, i) for i in range(self.nodes)])

        def isolated(self):
            return sorted(set(range(self.nodes)) - {n for edge in self.edges for n in edge})

        def tensors(self):
            pairs = np.array(self.edges, dtype="int64").reshape(-1, 2)
            return paddle.to_tensor(pairs[:, 0]), paddle.to_tensor(pairs[:, 1])

    def records_of(convert):
        def edge_softmax(scores, target, nodes):
            top = paddle.full([nodes, scores.shape[1]], -1e9)
            for n in range(nodes):
                mine = scores[target == n]
                if mine.shape[0] > 0:
                    top[n] = mine.max(axis=0)
            weights = paddle.exp(scores - paddle.gather(top, target))
            total = paddle.zeros([nodes, scores.shape[1]])
            total = paddle.scatter_nd_add(total, target.unsqueeze(-1), weights)
            return weights / paddle.gather(total, target)

        class GAT(nn.Layer):
            def __init__(self, dims, heads, combine="concat", self_loops=True):
                super().__init__()
                self.heads, self.combine, self.self_loops = heads, combine, self_loops
                self.projections = nn.LayerList()
                self.attention = nn.ParameterList()
                width = dims[0]
                for out in dims[1:]:
                    self.projections.append(nn.Linear(width, out * heads, bias_attr=False))
                    self.attention.append(self.create_parameter([2, heads, out]))
                    width = out * heads if combine == "concat" else out

            def forward(self, graph, x):
                if x.shape[0] != graph.nodes:
                    raise ValueError(f"{x.shape[0]} rows of features for {graph.nodes} nodes")
                if self.self_loops:
                    graph = graph.with_self_loops()
                source, target = graph.tensors()
                maps = []
                for depth, (linear, att) in enumerate(zip(self.projections, self.attention)):
                    h = linear(x).reshape([graph.nodes, self.heads, -1])
                    left, right = (h * att[0]).sum(-1), (h * att[1]).sum(-1)
                    scores = F.leaky_relu(
                        paddle.gather(left, source) + paddle.gather(right, target), 0.2
                    )
                    alpha = edge_softmax(scores, target, graph.nodes)
                    message = paddle.gather(h, source) * alpha.unsqueeze(-1)
                    h = paddle.scatter_nd_add(paddle.zeros_like(h), target.unsqueeze(-1), message)
                    x = h.flatten(1) if self.combine == "concat" else h.mean(axis=1)
                    if depth < len(self.projections) - 1:
                        x = F.elu(x)
                    maps.append(alpha)
                return x, maps

        records = []
        graphs = [
            Graph(4, [(0, 1), (1, 2), (2, 3), (3, 0)]),
            Graph(3, []),
            Graph(5, [(0, 1), (0, 2), (0, 2), (3, 4), (4, 3)]),
        ]
        for combine, heads in [("concat", 2), ("mean", 3)]:
            paddle.seed(heads)
            layer = GAT([3, 4, 2], heads, combine)
            forward = convert(layer)
            for k, graph in enumerate(graphs):
                x = paddle.to_tensor(
                    np.random.RandomState(k).randn(graph.nodes, 3).astype("float32"),
                    stop_gradient=False,
                )
                out, maps = forward(graph, x)
                (out**2).sum().backward()
                records += [out, maps, x.grad, graph.isolated()]
            records.append([p.grad for p in layer.attention])
            layer.self_loops = False
            records.append(forward(graphs[0], paddle.ones([4, 3]))[0])
            try:
                forward(graphs[0], paddle.ones([2, 3]))
            except ValueError as e:
                records.append((type(e).__name__, str(e)))
        try:
            Graph(2, [(0, 5)])
        except IndexError as e:
            records.append((type(e).__name__, str(e)))
        return records

    yield from records_of(convert)
