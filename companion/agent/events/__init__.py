"""What happens in a turn, as values."""
