"""The Agent Client Protocol: its messages, and a connection over a process."""
