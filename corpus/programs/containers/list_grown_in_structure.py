"""A rollout whose record is returned inside a dict beside the final state.

exercises: two grown lists returned in a dict
rows: 75
"""

import paddle


def rollout(state, goal):
    record = {"states": [], "rewards": []}
    states, rewards = record["states"], record["rewards"]
    while state.sum() < goal:
        states.append(state)
        rewards.append(-state.abs().max())
        state = state + 0.75
    record["final"] = state
    return record


def build():
    return rollout


def inputs():
    for goal in (3.0, 0.0, 1.0, 6.0):
        yield paddle.to_tensor([0.5, 0.25]), paddle.to_tensor(goal)
