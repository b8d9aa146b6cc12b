"""What rules ask of the events of a file, shared by several of them."""
