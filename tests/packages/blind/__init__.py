"""A package whose shapes depend on data: nothing can be known before it runs."""

from blind.model import distance, load, step

__all__ = ["distance", "load", "step"]
