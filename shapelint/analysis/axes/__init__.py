"""What axes mean: which line up, which is the batch, which holds classes."""
