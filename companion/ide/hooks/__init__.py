"""What the CLIs report at their own events, through the hooks of this package's extension."""
