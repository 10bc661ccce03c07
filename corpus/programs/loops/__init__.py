"""while, for, break, continue, else, iterators."""
