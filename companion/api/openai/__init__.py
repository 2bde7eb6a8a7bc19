"""What /v1 has beside its handlers: requests, kept conversations, checked answers, errors."""
