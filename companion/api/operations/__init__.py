"""For the operator of a server: logs, metrics, who calls, and how often they may."""
