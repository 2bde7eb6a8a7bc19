"""A message of the user with all its results."""
