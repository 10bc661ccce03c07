"""Names and texts outside of ASCII, in front of the place on its line."""

import paddle


def größe(α, β):
    Δ = α * 2; return "→ ü", paddle.matmul(Δ, β)  # <- fails


def main(to_static):
    to_static(größe)(paddle.ones([2, 3]), paddle.ones([2, 3]))
