"""The agents that can be run: what differs between them, one module each."""
