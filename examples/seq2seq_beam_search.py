"""Translate with beam search: train a GRU encoder and decoder, export the search as one file.

The task is small enough to be learnt here: write a number backwards.  ``search`` is the whole beam
search, a loop that ends when every beam has ended; the exported file holds all of it.

    python -m examples.seq2seq_beam_search
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import paddle
from paddle import nn
from paddle.nn import functional as F
from paddle.static import InputSpec

import d2s

START, END, DIGITS = 10, 11, 12
BATCH, LENGTH = 64, 5


class Backwards(nn.Layer):
    """An encoder, a decoder with attention, and a beam search."""

    def __init__(self, width=64):
        super().__init__()
        self.words = nn.Embedding(DIGITS, width)
        self.encoder = nn.GRU(width, width)
        self.cell = nn.GRUCell(2 * width, width)
        self.head = nn.Linear(2 * width, DIGITS)

    def look(self, state, memory):
        """Attention of a state [rows, width] over the encoder's states [rows, time, width]."""
        weights = F.softmax(paddle.matmul(memory, state.unsqueeze(-1)), axis=1)
        return (weights * memory).sum(1)

    def one(self, word, state, memory):
        """One step of the decoder: scores of the next word, and the new state."""
        seen = self.look(state, memory)
        _, state = self.cell(paddle.concat([self.words(word), seen], -1), state)
        return self.head(paddle.concat([state, self.look(state, memory)], -1)), state

    @d2s.to_static
    def forward(self, source, target):
        """The loss of writing ``target`` for ``source``."""
        memory, last = self.encoder(self.words(source))
        state = last[0]
        word = paddle.full([source.shape[0]], START, "int64")
        loss = 0.0
        for t in range(target.shape[1]):
            scores, state = self.one(word, state, memory)
            loss = loss + F.cross_entropy(scores, target[:, t])
            word = target[:, t]
        return loss / target.shape[1]

    @d2s.to_static
    @paddle.no_grad()
    def search(self, source, beams: int = 4, longest: int = 16):
        """The best ``beams`` results of one number, best first, and their scores."""
        memory, last = self.encoder(self.words(source))
        memory = memory.expand([beams, -1, -1])
        state = last[0].expand([beams, -1])
        words = paddle.full([beams, 1], START, "int64")
        scores = paddle.to_tensor([0.0] + [-1e9] * (beams - 1))
        done = paddle.zeros([beams], "bool")
        only_end = paddle.full([DIGITS], -1e9)
        only_end[END] = 0.0
        for _ in range(longest):
            found, state = self.one(words[:, -1], state, memory)
            found = F.log_softmax(found)
            found = paddle.where(done.unsqueeze(1), only_end.unsqueeze(0), found)
            total = (scores.unsqueeze(1) + found).flatten()
            scores, best = paddle.topk(total, beams)
            beam, word = best // DIGITS, best % DIGITS
            words = paddle.concat([words[beam], word.unsqueeze(1)], 1)
            state, done = state[beam], done[beam] | (word == END)
            if done.all():
                break
        return words[:, 1:], scores


def pairs(batches, seed):
    """Numbers and the same backwards, with an end."""
    paddle.seed(seed)
    for _ in range(batches):
        source = paddle.randint(0, 10, [BATCH, LENGTH])
        end = paddle.full([BATCH, 1], END, "int64")
        yield source, paddle.concat([source.flip(1), end], 1)


def train(steps=300):
    """A model that has learnt it, and its losses."""
    paddle.seed(3)
    model = Backwards()
    adam = paddle.optimizer.Adam(4e-3, parameters=model.parameters())
    losses = []
    for source, target in pairs(steps, seed=4):
        loss = model(source, target)
        loss.backward()
        adam.step()
        adam.clear_grad()
        losses.append(float(loss))
        if len(losses) % 50 == 0:
            print(f"step {len(losses):>3}  loss {losses[-1]:.4f}")
    model.eval()
    return model, losses


def export(model, path):
    """The search as a file, for numbers of any length."""
    d2s.save(model.search, path, input_spec=[InputSpec([1, None], "int64", "source")])


def main(steps=300, path=None):
    """Train, search, and export to ``path``; the losses, the words and their scores."""
    model, losses = train(steps)
    if path is not None:
        export(model, path)
    words, scores = model.search(paddle.to_tensor([[3, 1, 4, 1, 5]]))
    for row, score in zip(words.tolist(), scores.tolist(), strict=True):
        print(row, f"{score:.3f}")
    return losses, words.tolist(), scores.tolist()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        main(path=str(Path(folder) / "search"))
        served = paddle.jit.load(str(Path(folder) / "search"))
        for number in ([2, 7, 1, 8, 3], [5, 7, 7, 2]):  # it has learnt five digits
            words, _ = served(paddle.to_tensor([number]))
            print("from the file:", number, "->", words.tolist()[0])
