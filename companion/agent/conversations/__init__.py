"""What lasts: conversations, their files, and the sessions that are opened for them."""
