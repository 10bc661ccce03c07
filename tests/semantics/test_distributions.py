"""Objects of ``paddle.distribution`` are their attributes: state, arguments and results."""

from __future__ import annotations

from typing import Any

import paddle
from paddle.distribution import Beta, Categorical, Dirichlet, Normal

import d2s
from tests.helpers import assert_same, scalar, tensor

X = tensor(1.0, -2.0, 3.0)


def parts(made: Normal | Beta) -> list[Any]:
    """The parameters of a distribution."""
    return [made.loc, made.scale] if isinstance(made, Normal) else [made.alpha, made.beta]


def test_made_and_asked_in_branches_and_loops() -> None:
    """B4, D2: what is asked of a distribution that a tensor has chosen, or that a loop replaces."""

    def chosen(x, k):
        if x.sum() > 0:
            found = Normal(x, x.exp())
        else:
            found = Normal(x * 2, x.exp() + 1)
        return found.entropy(), found.log_prob(k), found.loc

    def replaced(x, n):
        found = Normal(x, x * 0 + 1)
        for _ in range(n):
            found = Normal(found.loc * 0.5, found.scale + 0.1)
        return found.mean, found.variance

    assert_same(chosen, (X, scalar(1.0)), (-X, scalar(1.0)))
    assert_same(replaced, (X, scalar(3)), (X, scalar(0)))


def test_arguments_and_results() -> None:
    """G1: a distribution goes in and comes out as what it is, and can be asked outside."""

    @d2s.to_static(full_graph=True)
    def shifted(prior, x):
        return Normal(prior.loc + x, prior.scale), Dirichlet(x.exp())

    for step in (0.5, 1.5):
        x = X + step
        prior = Normal(X, X.exp())
        moved, other = shifted(prior, x)
        assert type(moved) is Normal
        assert type(other) is Dirichlet
        same = Normal(X + x, X.exp())
        assert moved.entropy().tolist() == same.entropy().tolist()
        assert moved.log_prob(x).tolist() == same.log_prob(x).tolist()
        assert other.mean.tolist() == Dirichlet(x.exp()).mean.tolist()


def test_kept_in_an_attribute() -> None:
    """F3: a belief that each call replaces, as in dygraph; the same object is returned."""

    class Belief:
        def __init__(self) -> None:
            self.now = Beta(tensor(1.0, 2.0), tensor(2.0, 1.0))

        def update(self, seen):
            self.now = Beta(self.now.alpha + seen, self.now.beta + 1 - seen)
            return self.now

    plain, converted = Belief(), Belief()
    update = d2s.to_static(converted.update, full_graph=True)
    for seen in (1.0, 0.0, 1.0):
        wanted, found = plain.update(scalar(seen)), update(scalar(seen))
        assert found is converted.now
        assert [part.tolist() for part in parts(found)] == [part.tolist() for part in parts(wanted)]


def test_gradients_through_what_a_layer_returns() -> None:
    """C7: the loss is made outside, of the distribution that the program has made."""
    head = paddle.nn.Linear(3, 4)
    policy = d2s.to_static(lambda x: Categorical(logits=head(x)), full_graph=True)
    action = paddle.to_tensor([2])
    (-policy(X).log_prob(action)).sum().backward()
    found = head.weight.grad.numpy()
    head.clear_gradients()
    (-Categorical(logits=head(X)).log_prob(action)).sum().backward()
    assert abs(found - head.weight.grad.numpy()).max() < 1e-6 < abs(found).max()
