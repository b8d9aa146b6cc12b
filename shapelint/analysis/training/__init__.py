"""What optimizers, grad scalers and schedulers do along each path, and what they miss."""
