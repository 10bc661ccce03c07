"""Samplers of words and pictures: drafts, votes, penalties, drawn beams, steps of diffusion."""

import math
from collections import Counter, deque

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import program


def table(vocab, seed, scale=1.5):
    """A language model: the logits of the next word, given the last one."""
    rng = np.random.RandomState(seed)
    return paddle.to_tensor(rng.randn(vocab, vocab).astype("float32") * scale)


class Dice:
    """Uniform numbers, drawn beforehand, so that two runs see the same ones."""

    def __init__(self, count, seed, rows=1):
        rng = np.random.RandomState(seed)
        self.numbers = paddle.to_tensor(rng.rand(count, rows).astype("float32"))
        self.position = 0

    def roll(self):
        number = self.numbers[self.position]
        self.position += 1
        return number


def draw(probs, u):
    """The index at which the running sum of each row passes ``u``."""
    below = paddle.cumsum(probs, axis=-1) < u.unsqueeze(-1)
    return below.astype("int64").sum(-1).clip(max=probs.shape[-1] - 1)


@program
def best_of_n_by_a_reward(convert):
    """Draws n answers, scores each by a reward model, stops early at one that is good enough."""

    @convert
    def best_of_n(logits, reward, start, n, steps, numbers, enough=2.0, eos=0):
        best, best_score, tried = None, -float("inf"), 0
        for i in range(n):
            tokens = [start]
            score = 0.0
            for t in range(steps):
                probs = F.softmax(logits[tokens[-1]], axis=-1)
                token = draw(probs, numbers[i, t])
                score = score + reward[tokens[-1], token]
                tokens.append(token)
                if token == eos:
                    break
            tried += 1
            score = score / len(tokens)
            if score > best_score:
                best, best_score = paddle.stack(tokens), score
            if best_score > enough:
                break
        return best, best_score, tried

    for seed, n, steps in ((0, 3, 3), (1, 2, 4), (2, 4, 2)):
        numbers = np.random.RandomState(seed).rand(n, steps).astype("float32")
        yield best_of_n(
            table(5, seed),
            table(5, seed + 9),
            paddle.to_tensor(1),
            n,
            steps,
            paddle.to_tensor(numbers),
            enough=0.8,
        )


@program
def majority_vote_over_answers(convert):
    """Self-consistency: several chains are drawn, the answer that most of them end with wins."""

    @convert
    def answer(logits, prompt, chains, steps, numbers):
        last = prompt[-1].expand([chains])
        paths = paddle.zeros([chains, steps], dtype="int64")
        logp = paddle.zeros([chains])
        for t in range(steps):
            temperature = max(0.3, 1.0 - 0.2 * t)
            probs = F.softmax(logits[last] / temperature, axis=-1)
            last = draw(probs, numbers[t, :chains])
            logp += paddle.log(paddle.take_along_axis(probs, last.unsqueeze(-1), 1)).squeeze(-1)
            paths[:, t] = last
        votes = {}
        for c in range(chains):
            key = paths[c, -1].item()
            votes[key] = votes.get(key, 0) + 1
        winner, count = Counter(votes).most_common(1)[0]
        mine = paths[:, -1] == winner
        best = paddle.where(mine, logp, paddle.full_like(logp, -1e9)).argmax()
        return paths[best], winner, count

    for seed, chains in ((0, 3), (1, 4)):
        numbers = np.random.RandomState(seed).rand(3, chains).astype("float32")
        yield answer(table(3, seed), paddle.to_tensor([1, 2]), chains, 3, paddle.to_tensor(numbers))


@program
def warped_sampling_with_minimum_length(convert):
    """Warpers as objects: minimum length, repetition, no bad words, tail-free and top-a."""

    class MinLength:
        def __init__(self, least, eos):
            self.least, self.eos = least, eos

        def __call__(self, ids, scores):
            if ids.shape[-1] < self.least:
                scores[:, self.eos] = -float("inf")
            return scores

    class Repetition:
        def __init__(self, penalty):
            self.penalty = penalty

        def __call__(self, ids, scores):
            seen = paddle.take_along_axis(scores, ids, axis=1)
            seen = paddle.where(seen < 0, seen * self.penalty, seen / self.penalty)
            return paddle.put_along_axis(scores, ids, seen, axis=1)

    class BadWords:
        def __init__(self, pairs):
            self.pairs = pairs

        def __call__(self, ids, scores):
            for b in range(ids.shape[0]):
                for first, second in self.pairs:
                    if ids[b, -1] == first:
                        scores[b, second] = -float("inf")
            return scores

    class TailFree:
        def __init__(self, z):
            self.z = z

        def __call__(self, ids, scores):
            probs = F.softmax(scores, axis=-1)
            order = probs.argsort(axis=-1, descending=True)
            ranked = paddle.take_along_axis(probs, order, axis=-1)
            curvature = ranked.diff(axis=-1).diff(axis=-1).abs()
            curvature = curvature / curvature.sum(-1, keepdim=True)
            drop = (curvature.cumsum(axis=-1) > self.z).astype("int64")
            no = paddle.zeros([drop.shape[0], 1], dtype="int64")
            drop = paddle.concat([no, drop, no + 1], axis=-1)
            drop = paddle.put_along_axis(paddle.zeros_like(drop), order, drop, axis=-1)
            return paddle.where(drop > 0, paddle.full_like(scores, -1e9), scores)

    @convert
    def sample(logits, ids, warpers, dice, steps, eos=0):
        finished = paddle.zeros([ids.shape[0]], dtype="bool")
        for _ in range(steps):
            scores = logits[ids[:, -1]]
            for warp in warpers:
                scores = warp(ids, scores)
            token = draw(F.softmax(scores, axis=-1), dice.roll())
            token = paddle.where(finished, paddle.full_like(token, eos), token)
            ids = paddle.concat([ids, token.unsqueeze(-1)], axis=-1)
            finished = finished | (token == eos)
            if finished.all():
                return ids
        return ids

    for seed, steps in ((0, 3), (1, 4), (2, 4)):
        warpers = [MinLength(3, 0), Repetition(1.3), BadWords([(1, 2), (3, 3)]), TailFree(0.8)]
        ids = paddle.to_tensor(np.random.RandomState(seed).randint(1, 6, (2, 2)))
        yield sample(table(6, seed), ids, warpers, Dice(steps, seed, rows=2), steps)


@program
def dry_and_exclude_top_choices(convert):
    """DRY: a word that would prolong a repeat is punished by the length of the repeat; then XTC."""

    def punish(scores, history, base, allowed):
        for i in range(len(history) - 1):
            length = 0
            while length <= i and history[i - length] == history[-1 - length]:
                length += 1
                if length > 4:
                    break
            if length >= allowed:
                follower = history[i + 1]
                scores[follower] = scores[follower] - base ** (length - allowed)
        return scores

    @convert
    def generate(logits, prompt, steps, numbers, base=1.75, allowed=1, threshold=0.2):
        history = [token for token in prompt]
        for t in range(steps):
            scores = punish(logits[history[-1]].clone(), history, base, allowed)
            probs = F.softmax(scores, axis=-1)
            likely = (probs >= threshold).nonzero().flatten()
            if len(likely) >= 2 and numbers[t, 0] < 0.5:
                keep = probs[likely].argmin()
                for k in range(len(likely)):
                    if k != keep:
                        probs[likely[k]] = 0.0
                probs = probs / probs.sum()
            history.append(draw(probs, numbers[t, 1]))
        return paddle.stack(history)

    for seed, length in ((0, 3), (1, 2)):
        rng = np.random.RandomState(seed)
        prompt = paddle.to_tensor(rng.randint(0, 4, (length,)))
        yield generate(
            table(4, seed), prompt, 3, paddle.to_tensor(rng.rand(3, 2).astype("float32"))
        )


@program
def beams_that_are_drawn(convert):
    """Beam sampling: candidates are drawn with gumbel noise instead of taken, sorted afterwards."""

    @convert
    def beam_sample(logits, start, width, max_length, noise, temperature=1.0, eos=0):
        vocab = logits.shape[-1]
        ids = paddle.full([width, 1], start, dtype="int64")
        scores = paddle.zeros([width])
        scores[1:] = -1e4
        finished = paddle.full([width, max_length], eos, dtype="int64")
        finished_scores = paddle.full([width], -1e9)
        while ids.shape[1] < max_length:
            step = F.log_softmax(logits[ids[:, -1]] / temperature, axis=-1)
            total = (step + scores.unsqueeze(-1)).flatten()
            gumbel = -paddle.log(-paddle.log(noise[ids.shape[1]]))
            _, picked = paddle.topk(total + gumbel, 2 * width)
            values, order = paddle.topk(total[picked], 2 * width)
            picked = picked[order]
            source, token = picked // vocab, picked % vocab
            ended = token == eos
            for k in range(width):
                if ended[k]:
                    worst = finished_scores.argmin()
                    value = values[k] / (ids.shape[1] + 1)
                    if value > finished_scores[worst]:
                        finished_scores[worst] = value
                        finished[worst] = eos
                        finished[worst, : ids.shape[1]] = ids[source[k]]
            scores, keep = paddle.topk(paddle.where(ended, values - 1e9, values), width)
            ids = paddle.concat([ids[source[keep]], token[keep].unsqueeze(-1)], axis=-1)
            if finished_scores.min() > scores.max() / max_length:
                break
        return ids, scores, finished, finished_scores

    for seed, width, longest in ((0, 2, 4), (1, 3, 4), (2, 2, 5)):
        noise = np.random.RandomState(seed).rand(longest, width * 4).astype("float32")
        yield beam_sample(table(4, seed), 1, width, longest, paddle.to_tensor(noise * 0.98 + 0.01))


@program
def siblings_in_a_beam(convert):
    """Li et al.: a hypothesis pays for its rank among its siblings, so that parents mix."""

    @convert
    def search(logits, start, width, steps, gamma, eos=0):
        vocab = logits.shape[-1]
        seqs = paddle.zeros([width, steps + 1], dtype="int64")
        seqs[:, 0] = start
        scores = paddle.to_tensor([0.0] + [-1e9] * (width - 1))
        alive = paddle.ones([width], dtype="bool")
        parents = []
        for t in range(1, steps + 1):
            logp = F.log_softmax(logits[seqs[:, t - 1]], axis=-1)
            only_eos = paddle.full_like(logp, -1e9)
            only_eos[:, eos] = 0.0
            logp = paddle.where(alive.unsqueeze(-1), logp, only_eos)
            ranked, order = paddle.sort(logp, -1, True), paddle.argsort(logp, -1, True)
            penalty = gamma * paddle.arange(1, vocab + 1, dtype="float32")
            total = scores.unsqueeze(-1) + ranked - penalty * alive.unsqueeze(-1).astype("float32")
            _, flat = paddle.topk(total.flatten(), width)
            parent, rank = flat // vocab, flat % vocab
            token = order[parent, rank]
            scores = scores[parent] + ranked[parent, rank]
            seqs = seqs[parent]
            seqs[:, t] = token
            alive = alive[parent] & (token != eos)
            parents.append(parent)
            if not alive.any():
                seqs = seqs[:, : t + 1]
                break
        mixed = sum(len(set(p.tolist())) for p in parents)
        return seqs, scores, mixed

    for seed, width, gamma in ((0, 3, 0.5), (1, 2, 1.0), (2, 2, 0.0)):
        yield search(table(5, seed, 2.5), 1 + seed, width, 4, gamma)


@program
def drafts_of_several_heads(convert):
    """Medusa: heads guess the next words at once, the model checks them, the longest prefix stays."""

    class Model(nn.Layer):
        def __init__(self, vocab, width, heads):
            super().__init__()
            rng = np.random.RandomState(5)
            self.embed = paddle.to_tensor(rng.randn(vocab, width).astype("float32"))
            self.mix = paddle.to_tensor(rng.randn(width, width).astype("float32") * 0.5)
            self.heads = [
                paddle.to_tensor(rng.randn(width, vocab).astype("float32"))
                for _ in range(heads + 1)
            ]
            self.accepted = 0
            self.calls = 0

        def hidden(self, ids):
            x = self.embed[ids]
            count = paddle.arange(1, len(ids) + 1, dtype="float32").unsqueeze(-1)
            return paddle.tanh((x + x.cumsum(0) / count) @ self.mix)

        @convert
        def generate(self, ids, longest):
            while ids.shape[0] < longest:
                last = self.hidden(ids)[-1]
                draft = [(last @ head).argmax() for head in self.heads]
                trial = paddle.concat([ids, paddle.stack(draft)])
                checked = (self.hidden(trial) @ self.heads[0]).argmax(-1)
                self.calls += 1
                accepted = 1
                for k in range(1, len(draft)):
                    if draft[k] != checked[ids.shape[0] + k - 1]:
                        break
                    accepted += 1
                self.accepted += accepted
                ids = trial[: ids.shape[0] + accepted]
            return ids[:longest]

    model = Model(4, 5, 2)
    for prompt, longest in (([1, 2], 6), ([3], 5), ([2, 0, 1], 7)):
        yield model.generate(paddle.to_tensor(prompt), longest), model.accepted, model.calls


@program
def expert_against_amateur(convert):
    """Contrastive decoding with an adaptive plausibility threshold, stopping at the end token."""

    @convert
    def decode(expert, amateur, prompt, steps, alpha=0.1, beta=0.5, eos=0):
        tokens = prompt.tolist()
        for _ in range(steps):
            e = F.log_softmax(expert[tokens[-1]], axis=-1)
            a = F.log_softmax(amateur[tokens[-1]], axis=-1)
            cutoff = math.log(alpha) + e.max()
            score = (1 + beta) * e - beta * a
            score[e < cutoff] = -float("inf")
            token = int(score.argmax())
            tokens.append(token)
            if token == eos and len(tokens) > 2:
                break
        return paddle.to_tensor(tokens)

    for seed, prompt in ((0, [1]), (1, [2, 3]), (2, [4])):
        yield decode(table(6, seed), table(6, seed + 20), paddle.to_tensor(prompt), 5)


@program
def brackets_by_a_stack(convert):
    """Constrained decoding: a stack of open brackets says which symbols may come next."""

    pairs = {1: 2, 3: 4}

    @convert
    def generate(logits, steps, deepest=2, eos=0):
        stack = []
        out = [paddle.to_tensor(5)]
        for t in range(steps):
            allowed = paddle.zeros([logits.shape[-1]], dtype="bool")
            allowed[5] = True
            if len(stack) < deepest and steps - t > len(stack) + 1:
                allowed[1] = allowed[3] = True
            if stack:
                allowed[stack[-1]] = True
                if steps - t <= len(stack):
                    allowed[:] = False
                    allowed[stack[-1]] = True
            else:
                allowed[eos] = True
            scores = paddle.where(allowed, logits[out[-1]], paddle.full_like(logits[0], -1e9))
            token = scores.argmax()
            out.append(token)
            if token == 1 or token == 3:
                stack.append(paddle.where(token == 1, paddle.to_tensor(2), paddle.to_tensor(4)))
            elif stack and token == stack[-1]:
                stack.pop()
            if token == eos:
                break
        return paddle.stack(out), len(stack)

    for seed, steps in ((0, 4), (1, 5), (4, 5)):
        yield generate(table(6, seed, 2.0), steps)


@program
def attention_sinks_with_a_window(convert):
    """StreamingLLM: the first keys stay, the others slide; a callback hears each word."""

    class Stream:
        def __init__(self, width, sinks, window):
            rng = np.random.RandomState(3)
            self.w = paddle.to_tensor(rng.randn(4, width, width).astype("float32") * 0.7)
            self.embed = paddle.to_tensor(rng.randn(6, width).astype("float32"))
            self.sinks, self.window = sinks, window
            self.keys = None
            self.values = None
            self.evicted = 0

        def push(self, k, v):
            if self.keys is None:
                self.keys, self.values = k, v
            else:
                self.keys = paddle.concat([self.keys, k])
                self.values = paddle.concat([self.values, v])
            extra = self.keys.shape[0] - self.sinks - self.window
            if extra > 0:
                self.evicted += extra
                self.keys = paddle.concat(
                    [self.keys[: self.sinks], self.keys[self.sinks + extra :]]
                )
                self.values = paddle.concat(
                    [self.values[: self.sinks], self.values[self.sinks + extra :]]
                )

        @convert
        def talk(self, token, steps, listen, patience=2):
            recent = deque(maxlen=3)
            same = 0
            for _ in range(steps):
                x = self.embed[token].unsqueeze(0)
                self.push(x @ self.w[1], x @ self.w[2])
                weights = F.softmax((x @ self.w[0]) @ self.keys.T, axis=-1)
                y = paddle.tanh(weights @ self.values @ self.w[3])
                new = (y @ self.embed.T).argmax(-1).squeeze(0)
                same = same + 1 if new == token else 0
                token = new
                recent.append(token)
                listen(token)
                if same >= patience:
                    break
            return paddle.stack(list(recent)), y

    for sinks, window, steps in ((1, 2, 5), (2, 2, 6)):
        heard = []
        stream = Stream(4, sinks, window)
        for token in (1, 3):
            yield stream.talk(paddle.to_tensor(token), steps, lambda t: heard.append(int(t)))
            yield stream.keys, stream.evicted, list(heard)


@program
def linear_multistep_diffusion(convert):
    """PLMS as a class: a list of the last predictions, a warm-up of the first order, None at first."""

    class Plms:
        def __init__(self, train_steps):
            betas = np.linspace(0.01, 0.2, train_steps, dtype="float32")
            self.alphas = paddle.to_tensor(np.cumprod(1 - betas))
            self.train_steps = train_steps
            self.timesteps = None
            self.ets = []
            self.counter = 0
            self.sample = None

        def set_timesteps(self, n):
            ratio = self.train_steps // n
            steps = (np.arange(0, n) * ratio).round()
            steps = np.concatenate([steps[:-1], steps[-2:-1], steps[-1:]])[::-1].copy()
            self.timesteps = paddle.to_tensor(steps.astype("int64"))
            self.ratio = ratio
            self.ets = []
            self.counter = 0
            self.sample = None

        def previous(self, x, t, before, eps):
            at = self.alphas[t]
            ap = self.alphas[before] if before >= 0 else paddle.to_tensor(1.0)
            ratio = (ap / at) ** 0.5
            rest = at * (1 - ap) ** 0.5 + (at * (1 - at) * ap) ** 0.5
            return ratio * x - (ap - at) * eps / rest

        def step(self, eps, t, x):
            before = t - self.ratio
            if self.counter != 1:
                self.ets = self.ets[-3:]
                self.ets.append(eps)
            else:
                before = t
                t = t + self.ratio
            if len(self.ets) == 1 and self.counter == 0:
                self.sample = x
            elif len(self.ets) == 1 and self.counter == 1:
                eps = (eps + self.ets[-1]) / 2
                x = self.sample
                self.sample = None
            elif len(self.ets) == 2:
                eps = (3 * self.ets[-1] - self.ets[-2]) / 2
            elif len(self.ets) == 3:
                eps = (23 * self.ets[-1] - 16 * self.ets[-2] + 5 * self.ets[-3]) / 12
            else:
                e = self.ets
                eps = (55 * e[-1] - 59 * e[-2] + 37 * e[-3] - 9 * e[-4]) / 24
            self.counter += 1
            return self.previous(x, t, before, eps)

    scheduler = Plms(20)
    weight = table(3, 2, 0.3)

    def network(x, t):
        return paddle.tanh(x @ weight) * (1 + t.astype("float32") / 20)

    @convert
    def sample(x, steps):
        scheduler.set_timesteps(steps)
        for t in scheduler.timesteps:
            x = scheduler.step(network(x, t), t, x)
        return x

    for steps, rows in ((4, 1), (4, 2), (5, 2), (4, 3)):
        x = np.random.RandomState(rows).randn(rows, 3).astype("float32")
        yield sample(paddle.to_tensor(x), steps), len(scheduler.ets), scheduler.counter


@program
def second_order_solver_with_restarts(convert):
    """DPM-Solver++ (2M) over Karras' sigmas, with dynamic thresholding and restarts of noise."""

    def karras(n, low=0.05, high=5.0, rho=7.0):
        ramp = paddle.linspace(0, 1, n)
        sigmas = (high ** (1 / rho) + ramp * (low ** (1 / rho) - high ** (1 / rho))) ** rho
        return paddle.concat([sigmas, paddle.zeros([1])])

    def denoise(x, sigma, weight):
        return x / (1 + sigma**2) + paddle.tanh(x @ weight) * sigma / (1 + sigma)

    def threshold(x, ratio=0.9):
        s = paddle.quantile(x.abs().flatten(1), ratio, axis=1, keepdim=True)
        s = paddle.maximum(s, paddle.ones_like(s))
        return paddle.clip(x / s, -1.0, 1.0) * s

    @convert
    def solve(x, weight, steps, noise, callback=None, restart_above=0.8):
        sigmas = karras(steps)
        old = None
        x = x * sigmas[0]
        restarts = 0
        for i in range(len(sigmas) - 1):
            denoised = threshold(denoise(x, sigmas[i], weight))
            if callback is not None:
                callback(i, denoised.mean())
            if sigmas[i + 1] == 0:
                x = denoised
                break
            t, t_next = -sigmas[i].log(), -sigmas[i + 1].log()
            h = t_next - t
            if old is None:
                mixed = denoised
            else:
                r = (t + sigmas[i - 1].log()) / h
                mixed = (1 + 1 / (2 * r)) * denoised - 1 / (2 * r) * old
            x = (sigmas[i + 1] / sigmas[i]) * x - (-h).expm1() * mixed
            old = denoised
            if x.std() > restart_above and restarts < 1:
                x = x + noise[i] * sigmas[i + 1]
                restarts += 1
                old = None
        return x, restarts

    seen = []
    for steps, rows, seed in ((4, 2, 0), (5, 2, 1), (4, 3, 2)):
        rng = np.random.RandomState(seed)
        x = paddle.to_tensor(rng.randn(rows, 4).astype("float32"))
        noise = paddle.to_tensor(rng.randn(steps, rows, 4).astype("float32"))
        yield solve(x, table(4, 7, 0.4), steps, noise)
        yield (
            solve(x, table(4, 7, 0.4), steps, noise, lambda i, m: seen.append((i, float(m)))),
            seen,
        )
