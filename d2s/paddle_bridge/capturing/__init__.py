"""Paddle while a program is captured: values, blocks, dtypes, call stacks."""
