"""The events of a turn, as values."""
