"""What annotations, docstrings, comments and uses say of values, and whether values meet it."""
