"""What requests and answers look like: fields, checks, texts, errors, and openapi.json."""
