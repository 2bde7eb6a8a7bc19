"""What the CLIs say at their own events, by hooks that this package's extension brings along."""
