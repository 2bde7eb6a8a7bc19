"""The processes of the agents, and the user's accounts with them."""
