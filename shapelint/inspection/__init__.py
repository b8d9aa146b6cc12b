"""What was inferred, for people: `shapelint shapes`."""
