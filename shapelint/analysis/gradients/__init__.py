"""Where gradients flow, where they are cut, and which graphs are kept."""
