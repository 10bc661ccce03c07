"""``python -m corpus.probes NAME CONVERTER``: run one probe in this process, print its verdict."""

from __future__ import annotations

import importlib
import sys
import warnings

from corpus.converters import converter

if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    name, converter_ = sys.argv[1:]
    module = importlib.import_module(f"corpus.probes.{name}")
    print(f"verdict: {module.probe(converter(converter_))}", flush=True)
