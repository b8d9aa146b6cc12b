"""Library calls that are more than an op: transforms of functions, models, settings, environments, casts of modules."""
