"""What lasts: conversations, their files, and the opening of sessions for them."""
