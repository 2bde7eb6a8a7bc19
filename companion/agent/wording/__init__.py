"""What is said to people, in their language, and what can go wrong."""
