"""Events as they are shown and told to clients."""
