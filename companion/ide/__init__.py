"""The companion that a CLI finds: discovery, sessions, MCP, context, one endpoint per window."""
