"""Python text and trees.  Knows nothing of tensors; imports ``errors`` and ``config`` only."""
