"""The terminal: translates commands and prints results. It decides nothing."""
