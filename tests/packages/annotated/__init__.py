"""Programs that are probed: axis mistakes with annotations, and their corrections."""
