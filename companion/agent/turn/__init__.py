"""A message of the user and all that comes of it."""
