"""The built-in rules, one module each; reached by entry point only."""
