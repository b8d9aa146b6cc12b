"""What a probe has to survive, and what it has to say that it cannot do."""

# ruff: noqa: F722, F821 - shape strings

import os
import time

import numpy as np
from jaxtyping import Float


def dies(x: Float[np.ndarray, "n"]) -> None:
    os.abort()


def leaves(x: Float[np.ndarray, "n"]) -> None:
    raise SystemExit(3)


def sleeps(x: Float[np.ndarray, "n"]) -> None:
    time.sleep(60)


def swallows(x: Float[np.ndarray, "n"]) -> Float[np.ndarray, "m"]:
    return np.ones(10**13)


def chooses(x: Float[np.ndarray, "n d"], axis: int) -> Float[np.ndarray, "k"]:
    return x.sum(axis)


def refuses(x: Float[np.ndarray, "n"]) -> Float[np.ndarray, "n"]:
    raise ValueError("only on Sundays")


def contradicts(x: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n"]:
    return x


def talks(x: Float[np.ndarray, "n"]) -> Float[np.ndarray, "n"]:
    print('{"result": 1}')
    return x
