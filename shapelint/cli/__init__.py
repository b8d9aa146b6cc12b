"""The command line, a file a command. Nothing is imported before it is needed: `--version` answers at once."""
