"""Functions and classes of the linted code: their definitions, calls, objects, and what is remembered of them."""
