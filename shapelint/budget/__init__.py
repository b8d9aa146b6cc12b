"""What a module costs before it runs: parameters, bytes by pile, floating-point operations."""
