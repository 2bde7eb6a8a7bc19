"""The way of a request to its handler: who may come in, which route it takes, what goes back."""
