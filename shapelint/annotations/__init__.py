"""What authors state of shapes: jaxtyping, type hints, docstrings, comments."""
