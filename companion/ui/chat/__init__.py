"""Conversations with agents in tabs: one ordinary view each, the transcript above, the unsent text
at its end. The conversations themselves are `companion/chat`'s. UI thread only."""
