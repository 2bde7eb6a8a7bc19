"""What is done for a request: one module for each subject, and what they share."""
