"""Statements that decide what happens how often: conditions, loops, assignments, comprehensions, and running again."""
