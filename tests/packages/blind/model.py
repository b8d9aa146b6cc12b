"""Shapes come from a file that is read at run time."""

# ruff: noqa: F722, F821 - shape strings

import json
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float


@dataclass
class Batch:
    points: Float[np.ndarray, "n d"]
    weights: Float[np.ndarray, "n"]


def load(config: str) -> tuple[np.ndarray, np.ndarray]:
    """Points, and their weights as the file holds them."""
    settings = json.loads(config)
    return np.array(settings["points"]), np.array(settings["weights"])


def distance(points: Float[np.ndarray, "n d"], center: Float[np.ndarray, "d"]) -> Float[np.ndarray, "n"]:
    return ((points - center) ** 2).sum(-1)


def step(points: Float[np.ndarray, "n d"], weights: Float[np.ndarray, "n"]) -> float:
    return float((distance(points, points.mean(0)) * weights).mean())
