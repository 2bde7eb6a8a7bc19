"""The processes of the agents, and who the user is to them."""
