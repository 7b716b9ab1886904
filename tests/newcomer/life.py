"""Conway's game of life, as long as anything changes."""

import numpy as np

import tosajit as tj
from tosajit import ops


def step(board):
    wide = np.pad(board, 1)
    around = sum(wide[a : a + 8, b : b + 8] for a in range(3) for b in range(3)) - board
    return np.where((around == 3) | ((around == 2) & (board == 1)), 1, 0).astype(np.int32)


@tj.jit
def settle(board):
    def changes(now, before):
        return (now != before).any()

    return ops.while_loop(changes, lambda now, before: (step(now), now), step(board), board)[0]


board = np.zeros((8, 8), np.int32)
board[2, 2:4] = board[3, 2] = 1
settled = settle(board)
assert np.array_equal(settled, step(settled))
assert settled.sum() == 4
print(settled.sum())
