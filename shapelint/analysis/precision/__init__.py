"""What few bits do to numbers: constants, sums, updates, bytes."""
