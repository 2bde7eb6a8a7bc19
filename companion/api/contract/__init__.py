"""What may be asked and what is answered: fields, checks, texts, refusals, and openapi.json."""
