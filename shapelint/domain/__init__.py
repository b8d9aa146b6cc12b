"""What can be known of a value: symbolic sizes, shapes, dtypes, and how two states of knowledge are joined."""
