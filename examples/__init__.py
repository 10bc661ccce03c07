"""Programs as people write them, each converted by d2s: ``python -m examples.NAME``.

What Paddle says about itself is left out of what they print.
"""

from __future__ import annotations

import os
import warnings

# Read when Paddle's library is loaded; 3 lets nothing but fatal errors through.
os.environ.setdefault("GLOG_minloglevel", "3")
for _text in (
    "No ccache found",
    "Tensor do not have 'place' interface",
    "What you save is a function",
    "When training, we now always track global mean and variance",
    "no variable in your model",
):
    warnings.filterwarnings("ignore", message=_text)
