"""What the operator of a server sees and limits: logs, metrics, callers, their rate."""
