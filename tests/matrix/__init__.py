"""The versions of Paddle and Python on which d2s is tried, and what came of it."""
