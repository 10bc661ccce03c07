"""From a call to a captured program and back to tensors: key, capture, cache, run, save."""
